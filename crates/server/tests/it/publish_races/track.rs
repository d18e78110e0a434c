//! Many posts that are due at one moment, and clients who act around it.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use campanile_model::time::{self, Millis};
use serde_json::{Value, json};

use crate::{
    lab::{Lab, Reply, wait_until},
    publishing::sandbox,
    steps::{self, list, new_post, text},
};

/// As many as a timeline and a list of jobs show at once, with room to find too many.
const OF_A_HEAT: usize = 100;
const CLIENTS: usize = 12;

/// From the first post to the moment when all are due.
const RUN_UP: Millis = 1500;
/// When clients act, in relation to that moment.
const EARLIEST: Millis = -60;
const SPREAD: u64 = 420;

pub(super) fn races() -> usize {
    #[expect(clippy::disallowed_methods, reason = "not a setting of the service")]
    let wanted = std::env::var("CAMPANILE_TEST_RACES");
    wanted.map_or(600, |number| number.parse().expect("a number in CAMPANILE_TEST_RACES"))
}

/// Numbers that have nothing to do with each other (splitmix64).
pub(super) fn chance() -> u64 {
    static STATE: AtomicU64 = AtomicU64::new(0x00ca_4a21_1e00);
    let state = STATE.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The service's clock as seen from here: both run on the same machine.
pub(super) struct Watch {
    at: Millis,
    started: Instant,
}

impl Watch {
    fn set(lab: &Lab) -> Self {
        // The answer is on its way for a moment, so this clock is never ahead.
        let at = steps::now(lab);
        Self { at, started: Instant::now() }
    }

    pub(super) fn now(&self) -> Millis {
        self.at + Millis::try_from(self.started.elapsed().as_millis()).expect("a short while")
    }

    fn sleep_until(&self, at: Millis) {
        let pause = u64::try_from(at - self.now()).unwrap_or(0);
        std::thread::sleep(Duration::from_millis(pause));
    }
}

pub(super) struct Racer {
    pub(super) post: Value,
    pub(super) job: String,
    pub(super) words: String,
}

/// One lot of races on an account of its own.
pub(super) struct Heat<'l> {
    pub(super) lab: &'l Lab,
    pub(super) account: String,
    pub(super) due: Millis,
    pub(super) watch: Watch,
    pub(super) racers: Vec<Racer>,
}

/// What the sandbox has of an account: words, and when they came.
pub(super) type Timeline = BTreeMap<String, Vec<Millis>>;

impl<'l> Heat<'l> {
    /// Plans the posts of one heat.
    pub(super) fn plan(lab: &'l Lab, number: usize, size: usize) -> Self {
        let account = format!("heat{number}");
        let connection = sandbox(lab, &account);
        let watch = Watch::set(lab);
        let due = watch.now() + RUN_UP;
        let draft = |racer: usize| {
            json!({
                "content": format!("{number}.{racer}"), "scheduled_at": time::format(due),
                "targets": [{ "connection_id": connection }],
            })
        };
        let posts = in_parallel(size, |racer| new_post(lab, draft(racer)));
        assert!(watch.now() < due + EARLIEST, "the machine is too slow for this run-up");
        let jobs = jobs(lab, size);
        let racers = posts.into_iter().map(|post| {
            let job = jobs.iter().find(|job| job["post_id"] == post["id"]).expect("a job");
            let (job, words) = (text(&job["id"]).to_owned(), text(&post["content"]).to_owned());
            Racer { post, job, words }
        });
        Self { lab, account, due, racers: racers.collect(), watch }
    }

    /// Every client acts on each of its racers at a moment of chance; returns what was said.
    pub(super) fn run(&self, act: impl Fn(&Racer) -> Reply + Sync) -> Vec<Reply> {
        let moments: Vec<Millis> = self
            .racers
            .iter()
            .map(|_| EARLIEST + Millis::try_from(chance() % SPREAD).expect("a small number"))
            .collect();
        let mut order: Vec<usize> = (0..self.racers.len()).collect();
        order.sort_by_key(|racer| moments[*racer]);
        let mut replies = in_parallel(order.len(), |place| {
            let racer = order[place];
            self.watch.sleep_until(self.due + moments[racer]);
            (racer, act(&self.racers[racer]))
        });
        replies.sort_by_key(|(racer, _)| *racer);
        replies.into_iter().map(|(_, reply)| reply).collect()
    }

    /// Waits until no job of the heat has anything left to do, and returns them by their post.
    pub(super) fn finish(&self) -> BTreeMap<String, Value> {
        let mut found = Vec::new();
        wait_until("every job of the heat is over", || {
            found = jobs(self.lab, 2 * OF_A_HEAT);
            found.iter().all(|job| !["queued", "running"].contains(&text(&job["state"])))
        });
        let own = |job: &&Value| self.racers.iter().any(|racer| racer.post["id"] == job["post_id"]);
        assert_eq!(found.iter().filter(own).count(), self.racers.len(), "one job for each post");
        found.into_iter().map(|job| (text(&job["post_id"]).to_owned(), job)).collect()
    }

    pub(super) fn timeline(&self) -> Timeline {
        timeline(self.lab, &self.account)
    }
}

pub(super) fn timeline(lab: &Lab, account: &str) -> Timeline {
    let path = format!("/api/sandbox/{account}");
    let found = lab.get(&path).key(&lab.key).send().expect(200).json;
    let mut timeline = Timeline::new();
    for post in list(&found["posts"]) {
        let at = time::parse(text(&post["created_at"])).expect("a time");
        timeline.entry(text(&post["content"]["text"]).to_owned()).or_default().push(at);
    }
    timeline
}

/// The newest jobs.
fn jobs(lab: &Lab, count: usize) -> Vec<Value> {
    let path = format!("/schedule?limit={count}");
    list(&lab.get(&path).key(&lab.key).send().expect(200).json["publish_jobs"]).clone()
}

/// Runs all races in heats, and returns how often each answer was given.
pub(super) fn tournament(
    lab: &Lab,
    heat: impl Fn(&Heat<'_>) -> Vec<String>,
) -> BTreeMap<String, u32> {
    let mut answers = BTreeMap::new();
    let mut left = races();
    for number in 0.. {
        let size = left.min(OF_A_HEAT);
        if size == 0 {
            break;
        }
        left -= size;
        for answer in heat(&Heat::plan(lab, number, size)) {
            *answers.entry(answer).or_default() += 1;
        }
    }
    // Shown with --nocapture: whether the races were close ones.
    println!("{:?}: {answers:?}", lab.engine);
    answers
}

/// Status and code of an answer.
pub(super) fn verdict(reply: &Reply) -> String {
    format!("{} {}", reply.status, reply.code()).trim_end().to_owned()
}

/// Runs numbered steps in as many threads as there are clients, in the order of their numbers.
pub(super) fn in_parallel<T: Send>(count: usize, step: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let mut done: Vec<(usize, T)> = std::thread::scope(|scope| {
        let worker = || {
            let take =
                || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < count);
            std::iter::from_fn(take).map(|number| (number, step(number))).collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..CLIENTS.min(count)).map(|_| scope.spawn(worker)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a client")).collect()
    });
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}
