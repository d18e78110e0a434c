//! A server of the AT Protocol, as far as publishing text and reading it back need it.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use campanile_model::time::{MINUTE, Millis, SECOND};
use serde_json::{Value, json};

use super::{
    Double,
    fate::{self, Fate},
    mastodon::write,
    wire::{Answer, Asked},
};
use crate::{chance::Chance, ledger::Event, now};

const COLLECTION: &str = "app.bsky.feed.post";
const DID: &str = "did:plc:";

/// Tokens are renewed five minutes before their end: these live little longer, so that renewing
/// happens often enough to be killed in.
const LIFE: Millis = 5 * MINUTE + 30 * SECOND;

pub(super) async fn answer(double: Arc<Double>, asked: Asked) -> Option<Answer> {
    let method = asked.path.strip_prefix("/xrpc/").unwrap_or_default();
    match method {
        "com.atproto.server.createSession" => {
            let named = asked.json["identifier"].as_str().unwrap_or_default();
            let account = named.strip_prefix(DID).unwrap_or(named.trim_end_matches(".test"));
            Some(session(&double, account))
        }
        "com.atproto.server.refreshSession" => Some(refresh(&double, &asked)),
        "com.atproto.repo.putRecord" => put(double, asked).await,
        "com.atproto.repo.getRecord" => Some(get(&double, &asked).await),
        // The directory of identities is here too.
        "" if asked.path.starts_with("/did:") => {
            Some(Answer::json(200, &document(&double, &asked.path[1..])))
        }
        _ => Some(refusal(404, "MethodNotImplemented")),
    }
}

fn refusal(status: u16, name: &str) -> Answer {
    Answer::json(status, &json!({ "error": name, "message": "the double does not want to" }))
}

fn document(double: &Double, did: &str) -> Value {
    let kind = "AtprotoPersonalDataServer";
    let service = json!({ "id": "#atproto_pds", "type": kind, "serviceEndpoint": double.origin });
    json!({ "id": did, "service": [service] })
}

/// New tokens; the refresh token before is worth nothing from now on.
fn session(double: &Double, account: &str) -> Answer {
    let did = format!("{DID}{account}");
    let (access, refresh) = double.with(account, |room| {
        room.sessions += 1;
        room.refresh_token =
            token(&json!({ "sub": did, "session": room.sessions, "kind": "refresh" }));
        let end = (now() + LIFE) / SECOND;
        let access = json!({ "sub": did, "exp": end, "scope": "com.atproto.appPass" });
        (token(&access), room.refresh_token.clone())
    });
    Answer::json(
        200,
        &json!({
            "did": did, "handle": format!("{account}.test"), "accessJwt": access,
            "refreshJwt": refresh, "didDoc": document(double, &did), "active": true,
        }),
    )
}

fn token(claims: &Value) -> String {
    format!("e30.{}.signature", URL_SAFE_NO_PAD.encode(claims.to_string()))
}

fn claims(token: &str) -> Option<Value> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    serde_json::from_slice(&claims).ok()
}

/// The account of a token that has not ended.
fn account_of(token: &str) -> Option<String> {
    let claims = claims(token)?;
    let has_ended = claims["exp"].as_i64().is_some_and(|end| end * SECOND < now());
    let did = claims["sub"].as_str().filter(|_| !has_ended)?;
    did.strip_prefix(DID).map(str::to_owned)
}

fn refresh(double: &Double, asked: &Asked) -> Answer {
    let Some(account) = account_of(asked.bearer()) else { return refusal(400, "InvalidToken") };
    if double.with(&account, |room| room.refresh_token != asked.bearer()) {
        return refusal(400, "ExpiredToken");
    }
    session(double, &account)
}

async fn put(double: Arc<Double>, asked: Asked) -> Option<Answer> {
    let Some(account) = account_of(asked.bearer()) else {
        return Some(refusal(400, "ExpiredToken"));
    };
    let text = asked.json["record"]["text"].as_str().unwrap_or_default().to_owned();
    let tries = double.with(&account, |room| room.count_try(&text));
    let fate = Fate::roll(&double.shared, &account, &text, tries);
    if fate == Fate::Refuse {
        write(&double, Event::Refused, fate, &account, &text, "");
        return Some(refusal(400, "InvalidRequest"));
    }
    let accept = move || accept(&double, fate, &account, &text, &asked.json);
    let name = |status| if status == 429 { "RateLimitExceeded" } else { "UpstreamFailure" };
    fate.happen(accept, |status| refusal(status, name(status))).await
}

/// Writes the record. The same one again changes nothing; another one at its place is refused.
fn accept(double: &Double, fate: Fate, account: &str, text: &str, sent: &Value) -> Answer {
    let (place, record) = (sent["rkey"].as_str().unwrap_or_default(), &sent["record"]);
    let uri = format!("at://{DID}{account}/{COLLECTION}/{place}");
    let (is_new, is_same) = double.with(account, |room| {
        let before = room.records.get(place);
        let found = (before.is_none(), before == Some(record));
        room.records.entry(place.to_owned()).or_insert_with(|| record.clone());
        found
    });
    if is_new {
        write(double, Event::Accepted, fate, account, text, &uri);
    }
    if is_new || is_same {
        Answer::json(200, &json!({ "uri": uri, "cid": cid(record) }))
    } else {
        refusal(400, "InvalidSwap")
    }
}

fn cid(record: &Value) -> String {
    format!("bafy{:x}", Chance::new(0, &record.to_string()).below(u64::MAX))
}

async fn get(double: &Double, asked: &Asked) -> Answer {
    let parameter = |name| asked.parameter(name).unwrap_or_default();
    let (repo, place) = (parameter("repo"), parameter("rkey"));
    let account = repo.strip_prefix(DID).unwrap_or_default();
    if fate::read_fails(&double.shared, account).await {
        return refusal(502, "UpstreamFailure");
    }
    match double.with(account, |room| room.records.get(&place).cloned()) {
        Some(record) => {
            let uri = format!("at://{repo}/{COLLECTION}/{place}");
            Answer::json(200, &json!({ "uri": uri, "cid": cid(&record), "value": record }))
        }
        None => refusal(400, "RecordNotFound"),
    }
}
