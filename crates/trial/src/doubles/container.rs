//! Threads' interface, as far as publishing text and reading it back need it: a container is
//! made, worked on for a moment, published at most once, and says what became of it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use campanile_model::time::{self, Millis, SECOND};
use serde_json::{Value, json};

use super::{
    Double,
    fate::{self, Fate},
    mastodon::{TOKEN_PREFIX, write},
    wire::{Answer, Asked},
};
use crate::{chance::Chance, ledger::Event, now};

/// Codes of the interface: a container that is not what the call needs, one that is not ready.
const CONTAINER: i64 = 24;
const NOT_READY: i64 = 9007;

/// A container lives for a day; some here live for seconds, so that a later try needs a new one.
const SHORT_LIFE: Duration = Duration::from_secs(4);
const LONG_LIFE: Duration = Duration::from_secs(24 * 3600);
/// How long it may be worked on.
const LONGEST_WORK: u64 = 1_500;

pub(super) struct Container {
    text: String,
    ready_at: Instant,
    expires_at: Instant,
    fails: bool,
    is_published: bool,
}

impl Container {
    /// One for this text. The third one is always good, as pauses between tries grow long.
    fn new(double: &Double, account: &str, text: &str, tries: u32) -> Self {
        let shared = &double.shared;
        let mut chance = Chance::new(shared.seed, &format!("container {account} {text} {tries}"));
        let is_bad = !shared.is_calm() && tries < 2;
        let work = if is_bad && chance.percent(40) { chance.below(LONGEST_WORK) } else { 0 };
        let life = if is_bad && chance.percent(20) { SHORT_LIFE } else { LONG_LIFE };
        let now = Instant::now();
        Self {
            text: text.to_owned(),
            ready_at: now + Duration::from_millis(work),
            expires_at: now + life,
            fails: is_bad && chance.percent(2),
            is_published: false,
        }
    }

    fn status(&self) -> &'static str {
        let now = Instant::now();
        match self {
            _ if self.is_published => "PUBLISHED",
            _ if now < self.ready_at => "IN_PROGRESS",
            _ if self.fails => "ERROR",
            _ if now > self.expires_at => "EXPIRED",
            _ => "FINISHED",
        }
    }
}

pub(super) async fn answer(double: Arc<Double>, asked: Asked) -> Option<Answer> {
    let path: Vec<&str> = asked.path.split('/').skip(1).collect();
    let account = asked.bearer().strip_prefix(TOKEN_PREFIX).unwrap_or_default().to_owned();
    match (asked.method.as_str(), path.as_slice()) {
        _ if account.is_empty() => Some(error(401, 190)),
        ("GET", ["v1.0", "me"]) => {
            Some(Answer::json(200, &json!({ "id": account, "username": account })))
        }
        ("POST", ["v1.0", _, "threads"]) => create(&double, &account, &asked),
        ("GET", ["v1.0", _, "threads"]) => Some(list(&double, &account, &asked).await),
        ("POST", ["v1.0", _, "threads_publish"]) => publish(double, account, &asked).await,
        ("GET", ["v1.0", container]) => Some(status(&double, &account, container).await),
        _ => Some(error(404, 100)),
    }
}

fn error(status: u16, code: i64) -> Answer {
    let message = "the double does not want to";
    Answer::json(status, &json!({ "error": { "message": message, "code": code } }))
}

/// How the platform says what a fate wants to be said.
fn failure(status: u16) -> Answer {
    match status {
        429 => error(429, 4),
        422 => error(400, 25),
        status => error(status, 1),
    }
}

/// Nobody minds a container too many, so a lost answer loses nothing.
fn create(double: &Double, account: &str, asked: &Asked) -> Option<Answer> {
    let text = asked.parameter("text").unwrap_or_default();
    let tries = double.with(account, |room| room.count_try(&format!("create {text}")));
    let container = Container::new(double, account, &text, tries);
    let id = double.with(account, |room| room.add_container(container));
    let mut chance = double.shared.chance("create");
    let is_bad = !double.shared.is_calm() && tries < 2;
    match chance.below(100) {
        0..3 if is_bad => None,
        3..6 if is_bad => Some(failure(500)),
        _ => Some(Answer::json(200, &json!({ "id": id }))),
    }
}

async fn status(double: &Double, account: &str, id: &str) -> Answer {
    if fate::read_fails(&double.shared, account).await {
        return failure(503);
    }
    match double.with(account, |room| room.container(id).map(|found| found.status())) {
        Some(status) => Answer::json(200, &json!({ "id": id, "status": status })),
        None => error(400, CONTAINER),
    }
}

async fn publish(double: Arc<Double>, account: String, asked: &Asked) -> Option<Answer> {
    let id = asked.parameter("creation_id").unwrap_or_default();
    let found = double.with(&account, |room| {
        room.container(&id).map(|found| (found.text.clone(), found.status()))
    });
    let text = match found {
        Some((_, "IN_PROGRESS")) => return Some(error(400, NOT_READY)),
        Some((text, _)) => text,
        None => return Some(error(400, CONTAINER)),
    };
    let tries = double.with(&account, |room| room.count_try(&text));
    let fate = Fate::roll(&double.shared, &account, &text, tries);
    if fate == Fate::Refuse {
        write(&double, Event::Refused, fate, &account, &text, "");
    }
    let accept = move || accept(&double, fate, &account, &id);
    fate.happen(accept, failure).await
}

/// Publishes what the container holds, unless that was done before or is too late.
fn accept(double: &Double, fate: Fate, account: &str, id: &str) -> Answer {
    let published = double.with(account, |room| {
        let container = room.container(id).filter(|found| found.status() == "FINISHED")?;
        container.is_published = true;
        let text = container.text.clone();
        let id = (3_000_000 + room.statuses.len()).to_string();
        room.statuses.push(json!({
            "id": id, "text": text, "timestamp": time::format(now()),
            "permalink": format!("https://double.example/@{account}/post/{id}"),
        }));
        Some((text, id))
    });
    match published {
        Some((text, id)) => {
            write(double, Event::Accepted, fate, account, &text, &id);
            Answer::json(200, &json!({ "id": id }))
        }
        None => error(400, CONTAINER),
    }
}

async fn list(double: &Double, account: &str, asked: &Asked) -> Answer {
    if fate::read_fails(&double.shared, account).await {
        return failure(503);
    }
    let number = |name| asked.parameter(name).and_then(|text| text.parse::<usize>().ok());
    let since = number("since").and_then(|since| Millis::try_from(since).ok()).unwrap_or(0);
    let (skipped, limit) = (number("after").unwrap_or(0), number("limit").unwrap_or(25));
    let is_new = |post: &&Value| {
        let at = post["timestamp"].as_str().and_then(time::parse);
        at.is_some_and(|at| at >= since * SECOND)
    };
    double.with(account, |room| {
        let newest = room.statuses.iter().rev().take_while(is_new).skip(skipped).take(limit);
        let page: Vec<Value> = newest.cloned().collect();
        let after = (page.len() == limit).then(|| (skipped + limit).to_string());
        Answer::json(200, &json!({ "data": page, "paging": { "cursors": { "after": after } } }))
    })
}
