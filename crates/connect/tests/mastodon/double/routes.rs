//! What the double answers.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use campanile_model::time;
use http::request::Parts;
use serde_json::{Value, json};

use super::{Fault, Keys, Media, Older, State, TOKEN};
use crate::world::now;

pub(super) struct Answer {
    /// Nought when the connection is to break.
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: String,
    pub(super) after: Duration,
}

impl Answer {
    fn new(status: u16, body: &Value) -> Self {
        let body = body.to_string();
        Self { status, headers: Vec::new(), body, after: Duration::ZERO }
    }

    fn error(status: u16, text: &str) -> Self {
        Self::new(status, &json!({ "error": text }))
    }
}

pub(super) fn answer(state: &mut State, address: SocketAddr, head: &Parts, body: &Bytes) -> Answer {
    let path: Vec<&str> = head.uri.path().split('/').skip(1).collect();
    let query = head.uri.query().unwrap_or_default();
    match (head.method.as_str(), path.as_slice()) {
        ("GET", ["api", "v2", "instance"]) if state.has_v2 => instance(address),
        ("GET", ["api", "v1", "instance"]) if state.software.is_some() => instance(address),
        ("GET", [".well-known", "nodeinfo"]) if state.software.is_some() => {
            let href = format!("http://{address}/nodeinfo/2.0");
            Answer::new(200, &json!({ "links": [{ "rel": "x", "href": href }] }))
        }
        ("GET", ["nodeinfo", "2.0"]) => {
            Answer::new(200, &json!({ "software": { "name": state.software } }))
        }
        _ if !is_signed(head) => Answer::error(401, "The access token is invalid"),
        ("GET", ["api", "v1", "accounts", "verify_credentials"]) => {
            let count = state.statuses.len();
            Answer::new(
                200,
                &json!({ "id": "1", "acct": "somebody", "followers_count": 3, "statuses_count": count }),
            )
        }
        ("GET", ["api", "v1", "apps", "verify_credentials"]) => {
            Answer::new(200, &json!({ "name": "x", "scopes": state.scopes }))
        }
        ("GET", ["api", "v1", "accounts", "1", "statuses"]) => list(state, query),
        ("POST", ["api", "v2", "media"]) => upload(state, head, body),
        ("GET", ["api", "v1", "media", id]) => media(state, id),
        ("POST", ["api", "v1", "statuses"]) => publish(state, address, head, body),
        ("GET", ["api", "v1", "statuses"]) => Answer::error(404, "Not Found"),
        ("GET", ["api", "v1", "statuses", id]) => match find(state, id) {
            Some(at) => Answer::new(200, &state.statuses[at]),
            None => Answer::error(404, "Record not found"),
        },
        ("GET", ["api", "v1", "statuses", id, "source"]) => match find(state, id) {
            Some(at) => Answer::new(200, &json!({ "id": id, "text": state.statuses[at]["text"] })),
            None => Answer::error(404, "Record not found"),
        },
        ("DELETE", ["api", "v1", "statuses", id]) => match find(state, id) {
            Some(at) => Answer::new(200, &state.statuses.remove(at)),
            None => Answer::error(404, "Record not found"),
        },
        _ => Answer::error(404, "Not Found"),
    }
}

fn is_signed(head: &Parts) -> bool {
    head.headers.get("authorization").is_some_and(|value| value == &format!("Bearer {TOKEN}"))
}

fn instance(address: SocketAddr) -> Answer {
    let statuses = json!({ "max_characters": 500, "characters_reserved_per_url": 25 });
    let about = json!({
        "domain": address.to_string(), "version": "0.20.0",
        "configuration": { "statuses": statuses },
    });
    Answer::new(200, &about)
}

fn find(state: &State, id: &str) -> Option<usize> {
    state.statuses.iter().position(|status| status["id"] == id)
}

fn list(state: &State, query: &str) -> Answer {
    if let Some(status) = state.unreadable {
        return Answer::error(status, "Not now");
    }
    let below = query.split('&').find_map(|pair| pair.strip_prefix("max_id="));
    let below = below.map_or(u64::MAX, |id| id.parse().expect("a number"));
    let below = match state.older {
        Older::Below => below,
        Older::Including => below.saturating_add(1),
        Older::Never => u64::MAX,
    };
    let number = |status: &&Value| status["id"].as_str().map_or(0, |id| id.parse().expect("one"));
    let newest = state.statuses.iter().rev().filter(|status| number(status) < below);
    Answer::new(200, &newest.take(state.page).cloned().collect())
}

fn upload(state: &mut State, head: &Parts, body: &Bytes) -> Answer {
    let id = fresh_id(state);
    let content_type = head.headers["content-type"].to_str().expect("text").to_owned();
    let left = state.processing;
    let media = Media { id: id.clone(), body: body.clone(), content_type, left, gone: false };
    state.media.push(media);
    if left > 0 {
        return Answer::new(202, &json!({ "id": id, "url": null }));
    }
    Answer::new(200, &json!({ "id": id, "url": "https://files.example/1" }))
}

fn media(state: &mut State, id: &str) -> Answer {
    let media = state.media.iter_mut().find(|media| media.id == id && !media.gone);
    match media {
        None => Answer::error(404, "Record not found"),
        Some(media) if media.left > 0 => {
            media.left -= 1;
            Answer::new(206, &json!({ "id": id, "url": null }))
        }
        Some(_) => Answer::new(200, &json!({ "id": id, "url": "https://files.example/1" })),
    }
}

fn publish(state: &mut State, address: SocketAddr, head: &Parts, body: &Bytes) -> Answer {
    let key = head.headers["idempotency-key"].to_str().expect("text").to_owned();
    match (state.keys, state.answers.get(&key)) {
        (Keys::Ignored, _) | (_, None) => {}
        (Keys::Honoured, Some((status, value))) => {
            return Answer::new(*status, value);
        }
        (Keys::Replayed, Some((status, value))) => {
            let mut answer = Answer::new(*status, value);
            answer.headers.push(("idempotent-replayed", "true".to_owned()));
            return answer;
        }
        (Keys::RefusedTwice, Some(_)) => return Answer::error(400, "Duplicate idempotency key."),
    }
    let count = state.statuses.len();
    let answer = faulty(state, address, body);
    if state.keys != Keys::Honoured {
        let value = serde_json::from_str(&answer.body).unwrap_or(Value::Null);
        state.answers.insert(key, (answer.status, value));
    } else if let Some(status) = state.statuses.get(count) {
        state.answers.insert(key, (200, status.clone()));
    }
    answer
}

fn faulty(state: &mut State, address: SocketAddr, body: &Bytes) -> Answer {
    let fault = (!state.faults.is_empty()).then(|| state.faults.remove(0));
    if let Some(Fault::Answer(status, headers)) = fault {
        return Answer { headers, ..Answer::error(status, "Not now") };
    }
    let sent: Value = serde_json::from_slice(body).expect("JSON");
    if let Some(refusal) = refusal(state, &sent) {
        return refusal;
    }
    let status = keep(state, address, &sent);
    let answer = Answer::new(200, &status);
    match fault {
        None => answer,
        Some(Fault::LoseAnswer | Fault::Answer(..)) => Answer { status: 0, ..answer },
        Some(Fault::Late(after)) => Answer { after, ..answer },
        Some(Fault::AnswerAfter(status)) => Answer::error(status, "Oh no"),
        Some(Fault::Nonsense) => Answer { body: "<html>".to_owned(), ..answer },
    }
}

fn refusal(state: &State, sent: &Value) -> Option<Answer> {
    let text = sent["status"].as_str().expect("a text");
    let ids = sent["media_ids"].as_array().cloned().unwrap_or_default();
    let files: Vec<_> = ids
        .iter()
        .map(|id| state.media.iter().find(|media| *id == media.id && !media.gone))
        .collect();
    if text.chars().count() > 500 {
        return Some(Answer::error(422, "Validation failed: Text is too long"));
    }
    if files.iter().any(|file| file.is_none_or(|file| file.left > 0)) {
        // In another language than one would think of.
        return Some(Answer::error(422, "Zatím to nejde"));
    }
    None
}

fn keep(state: &mut State, address: SocketAddr, sent: &Value) -> Value {
    let id = fresh_id(state);
    let text = sent["status"].as_str().expect("a text");
    let shown = text.replace('&', "&amp;").replace('<', "&lt;").replace('\n', "<br>");
    let shown = if state.markdown { shown.replace('*', "") } else { shown };
    let files = sent["media_ids"].as_array().map_or(0, Vec::len);
    let poll = sent["poll"]["options"].as_array().map(|options| {
        let options: Vec<_> = options.iter().map(|title| json!({ "title": title })).collect();
        json!({ "options": options, "multiple": sent["poll"]["multiple"] })
    });
    let status = json!({
        "id": id, "url": format!("http://{address}/@somebody/{id}"), "text": text,
        "content": format!("<p>{shown}</p>"), "created_at": time::format(now()),
        "visibility": sent["visibility"], "in_reply_to_id": sent["in_reply_to_id"],
        "spoiler_text": sent["spoiler_text"], "language": sent["language"],
        "media_attachments": vec![json!({ "id": "x", "description": "-" }); files], "poll": poll,
        "favourites_count": 2,
    });
    state.statuses.push(status.clone());
    status
}

fn fresh_id(state: &mut State) -> String {
    state.next_id += 1;
    state.next_id.to_string()
}
