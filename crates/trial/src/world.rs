//! What all clients of a run share.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use campanile_model::time::{self, Millis};
use serde::{Deserialize, Deserializer};

use crate::{api::Api, diary::Entry};

pub(crate) struct World {
    pub(crate) api: Api,
    pub(crate) seed: u64,
    /// Names of accounts and what the service calls them.
    pub(crate) connections: BTreeMap<String, String>,
    pub(crate) stop: AtomicBool,
    posts: AtomicU64,
    diary: Mutex<Vec<Entry>>,
}

impl World {
    pub(crate) fn new(api: Api, seed: u64, connections: BTreeMap<String, String>) -> Self {
        let (stop, posts) = (AtomicBool::new(false), AtomicU64::new(0));
        Self { api, seed, connections, stop, posts, diary: Mutex::default() }
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.posts.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn keep(&self, entry: Entry) {
        self.diary.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    pub(crate) fn diary(&self) -> Vec<Entry> {
        self.diary.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The jobs of a post as the service shows them, newest first.
    pub(crate) async fn jobs(&self, post: &str) -> Vec<Job> {
        let mut reply = self.api.get(&format!("/schedule?post_id={post}")).await;
        let jobs = serde_json::from_value::<Vec<Job>>(reply.json["publish_jobs"].take());
        let mut jobs = jobs.unwrap_or_else(|error| {
            self.api.complain(format!("the jobs of {post} cannot be read: {error}"));
            Vec::new()
        });
        jobs.iter_mut().for_each(Job::count_failures);
        jobs
    }
}

/// A job, as far as it is judged.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Job {
    pub(crate) id: String,
    /// Whether it started more than a minute after its time.
    pub(crate) late: bool,
    pub(crate) targets: Vec<Target>,
    pub(crate) attempts: Vec<Attempt>,
}

impl Job {
    fn count_failures(&mut self) {
        for (number, target) in self.targets.iter_mut().enumerate() {
            let own = self.attempts.iter().filter(|attempt| attempt.target == number);
            target.failures = own.filter(|attempt| !attempt.succeeded()).count();
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Attempt {
    /// Which of the job's targets, counted from 0.
    target: usize,
    state: String,
}

impl Attempt {
    pub(crate) fn succeeded(&self) -> bool {
        self.state == "succeeded"
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) connection_id: Option<String>,
    pub(crate) outcome: String,
    pub(crate) stage: String,
    pub(crate) published: Vec<Receipt>,
    /// Attempts that failed, whether they came to their call or not.
    #[serde(skip)]
    pub(crate) failures: usize,
    /// When it is tried or looked at again, if that has a time.
    #[serde(deserialize_with = "moment")]
    pub(crate) next_attempt_at: Option<Millis>,
}

fn moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Millis>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.and_then(|text| time::parse(&text)))
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) remote_id: String,
}
