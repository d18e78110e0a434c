//! Mastodon's interface, as far as publishing text and reading it back need it.

use std::sync::Arc;

use campanile_model::time;
use serde_json::{Value, json};

use super::{
    Double, Kind,
    fate::{self, Fate},
    room::Known,
    wire::{Answer, Asked},
};
use crate::{
    ledger::{Event, Line},
    now,
};

/// The token of an account is its name behind this.
pub(crate) const TOKEN_PREFIX: &str = "token-of-";

const PAGE: usize = 40;

pub(super) async fn answer(double: Arc<Double>, asked: Asked) -> Option<Answer> {
    let path: Vec<&str> = asked.path.split('/').skip(1).collect();
    let account = asked.bearer().strip_prefix(TOKEN_PREFIX).unwrap_or_default().to_owned();
    match (asked.method.as_str(), path.as_slice()) {
        ("GET", ["api", "v2", "instance"]) => Some(Answer::json(200, &json!({ "version": "4.5" }))),
        ("GET", [".well-known", "nodeinfo"]) => {
            let href = format!("{}/nodeinfo/2.0", double.origin);
            Some(Answer::json(200, &json!({ "links": [{ "href": href }] })))
        }
        ("GET", ["nodeinfo", "2.0"]) => {
            let name = if double.kind == Kind::Ignoring { "gotosocial" } else { "mastodon" };
            Some(Answer::json(200, &json!({ "software": { "name": name } })))
        }
        _ if account.is_empty() => Some(error(401)),
        ("GET", ["api", "v1", "accounts", "verify_credentials"]) => {
            Some(Answer::json(200, &json!({ "id": account, "acct": account })))
        }
        ("GET", ["api", "v1", "accounts", _, "statuses"]) => {
            Some(list(&double, &account, &asked).await)
        }
        ("POST", ["api", "v1", "statuses"]) => publish(double, account, asked).await,
        _ => Some(error(404)),
    }
}

fn error(status: u16) -> Answer {
    Answer::json(status, &json!({ "error": "the double does not want to" }))
}

async fn list(double: &Double, account: &str, asked: &Asked) -> Answer {
    let max = asked.parameter("max_id").and_then(|id| id.parse::<usize>().ok());
    if double.kind == Kind::Unreadable {
        let is_first = account == Kind::Unreadable.account(0);
        return if is_first { error(503) } else { endless(max) };
    }
    if fate::read_fails(&double.shared, account).await {
        return error(503);
    }
    let id = |status: &Value| status["id"].as_str().and_then(|id| id.parse::<usize>().ok());
    let is_older = |status: &&Value| max.is_none_or(|max| id(status).is_some_and(|id| id < max));
    double.with(account, |room| {
        let newest = room.statuses.iter().rev().filter(is_older).take(PAGE);
        Answer::json(200, &newest.cloned().collect())
    })
}

/// A page of a list that nobody reads to its end.
fn endless(max: Option<usize>) -> Answer {
    let newest = max.unwrap_or(900_000);
    let chatter = (1..=PAGE).map(|back| {
        let (id, at) = ((newest - back).to_string(), time::format(now()));
        json!({ "id": id, "created_at": at, "content": "<p>chatter</p>", "visibility": "private" })
    });
    Answer::json(200, &chatter.collect())
}

async fn publish(double: Arc<Double>, account: String, asked: Asked) -> Option<Answer> {
    let key = match double.kind {
        // A key that nobody looks at is as good as a new one for each call.
        Kind::Ignoring => double.shared.chance("key").below(u64::MAX).to_string(),
        _ => asked.header("idempotency-key").to_owned(),
    };
    let text = asked.json["status"].as_str().unwrap_or_default().to_owned();
    let forgetful = double.kind == Kind::Forgetful;
    let known = double.with(&account, |room| {
        let known = room.known(&key, forgetful);
        if let Known::Not = known {
            room.begin(&key);
        }
        known
    });
    match known {
        Known::AtWork => return Some(error(409)),
        Known::Published(status) => return Some(Answer::json(200, &status)),
        Known::Not => {}
    }
    let tries = double.with(&account, |room| room.count_try(&text));
    let fate = Fate::roll(&double.shared, &account, &text, tries);
    if fate == Fate::Refuse {
        write(&double, Event::Refused, fate, &account, &text, "");
    }
    let is_over = !matches!(fate, Fate::CutAndAccept(_));
    let accept = {
        let (double, account, key) = (double.clone(), account.clone(), key.clone());
        move || accept(&double, fate, &account, &key, &asked.json)
    };
    let answer = fate.happen(accept, error).await;
    if is_over {
        double.with(&account, |room| room.end(&key));
    }
    answer
}

fn accept(double: &Double, fate: Fate, account: &str, key: &str, sent: &Value) -> Answer {
    let status = double.with(account, |room| {
        room.end(key);
        room.publish(account, key, sent)
    });
    let (text, id) = (sent["status"].as_str(), status["id"].as_str());
    let (text, id) = (text.unwrap_or_default(), id.unwrap_or_default());
    write(double, Event::Accepted, fate, account, text, id);
    Answer::json(200, &status)
}

/// A platform that cannot keep its ledger proves nothing, so it ends.
pub(super) fn write(
    double: &Double,
    event: Event,
    fate: Fate,
    account: &str,
    text: &str,
    id: &str,
) {
    let (account, text, id) = (account.to_owned(), text.to_owned(), id.to_owned());
    let line = Line { event, trouble: fate.trouble(), account, text, id, at: now() };
    if let Err(error) = double.shared.write(&line) {
        eprintln!("the ledger cannot be written: {error}");
        std::process::exit(2);
    }
}
