//! What one account has on a double.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use campanile_model::time;
use serde_json::{Value, json};

use super::container::Container;
use crate::now;

/// How long a cache keeps its keys that should keep them for an hour.
const FORGETFUL: Duration = Duration::from_secs(2);

const FIRST_CONTAINER: usize = 2_000_000;

#[derive(Default)]
pub(super) struct Room {
    /// Oldest first.
    pub(super) statuses: Vec<Value>,
    keys: HashMap<String, (usize, Instant)>,
    at_work: HashSet<String>,
    tries: HashMap<String, u32>,
    /// By their place.
    pub(super) records: HashMap<String, Value>,
    containers: Vec<Container>,
    /// The one refresh token that counts, and how many there were before it.
    pub(super) refresh_token: String,
    pub(super) sessions: u64,
}

/// What a key says about a call.
pub(super) enum Known {
    Not,
    /// Another call with it has not come to its end.
    AtWork,
    Published(Value),
}

impl Room {
    /// How often this text was sent before.
    pub(super) fn count_try(&mut self, text: &str) -> u32 {
        let tries = self.tries.entry(text.to_owned()).or_default();
        *tries += 1;
        *tries - 1
    }

    pub(super) fn known(&mut self, key: &str, forgetful: bool) -> Known {
        if self.at_work.contains(key) {
            return Known::AtWork;
        }
        match self.keys.get(key) {
            Some((_, since)) if forgetful && since.elapsed() > FORGETFUL => Known::Not,
            Some((index, _)) => Known::Published(self.statuses[*index].clone()),
            None => Known::Not,
        }
    }

    pub(super) fn begin(&mut self, key: &str) {
        self.at_work.insert(key.to_owned());
    }

    pub(super) fn end(&mut self, key: &str) {
        self.at_work.remove(key);
    }

    /// Keeps a container; says what it is called.
    pub(super) fn add_container(&mut self, container: Container) -> String {
        self.containers.push(container);
        (FIRST_CONTAINER + self.containers.len() - 1).to_string()
    }

    pub(super) fn container(&mut self, id: &str) -> Option<&mut Container> {
        let number = id.parse::<usize>().ok()?.checked_sub(FIRST_CONTAINER)?;
        self.containers.get_mut(number)
    }

    /// Publishes a status, as it was sent.
    pub(super) fn publish(&mut self, account: &str, key: &str, sent: &Value) -> Value {
        let index = self.statuses.len();
        let id = (1_000_000 + index).to_string();
        let text = sent["status"].as_str().unwrap_or_default();
        let status = json!({
            "id": id, "url": format!("https://double.example/@{account}/{id}"),
            "content": format!("<p>{text}</p>"), "created_at": time::format(now()),
            "visibility": sent["visibility"], "in_reply_to_id": sent["in_reply_to_id"],
        });
        self.statuses.push(status.clone());
        self.keys.insert(key.to_owned(), (index, Instant::now()));
        status
    }
}
