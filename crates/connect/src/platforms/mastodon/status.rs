//! The one call that publishes, and what its answer means.

use bytes::Bytes;
use campanile_model::publish::{Class, Failure};
use http::Response;

use super::answers::{failure, message, unclear, unclear_fetch};
use super::api::Api;
use super::frozen::Frozen;
use super::look::receipt;
use super::media::{self, State};
use super::wire::Status;
use crate::platforms::{Answer, expect_json, from_fetch};

/// Keys that failed calls may have used up before one is given up.
const ROUNDS: u32 = 8;

pub(super) async fn publish(api: &Api<'_>, frozen: &Frozen) -> Answer {
    let body = match serde_json::to_vec(&frozen.status) {
        Ok(body) => body,
        Err(error) => return rejected("unwritable", error.to_string()),
    };
    for round in 0..ROUNDS {
        let key = frozen.call_key(round);
        let answer = match api.post_once("/api/v1/statuses", &key, body.clone()).await {
            Ok(answer) => answer,
            Err(error) if error.surely_not_sent() => return Answer::Refused(from_fetch(&error)),
            Err(error) => return Answer::Unclear(unclear_fetch(&error)),
        };
        // Pleroma keeps failures under their key as well, and repeats them for hours without
        // trying. Such an answer is proof that the call it belonged to came to its end, and
        // where that was not clear, reading came before this try; so the next key may be used.
        // A later try starts from the first key again, and so meets whatever was published.
        let is_repeated = answer.headers().contains_key("idempotent-replayed");
        if is_repeated && !answer.status().is_success() {
            continue;
        }
        return judge(api, frozen, &answer).await;
    }
    let message = "the server repeats the failures of earlier tries";
    Answer::Refused(Failure::new(Class::Transient, "keys_used_up", message))
}

fn rejected(code: &str, message: String) -> Answer {
    Answer::Refused(Failure::new(Class::Rejected, code, message))
}

async fn judge(api: &Api<'_>, frozen: &Frozen, answer: &Response<Bytes>) -> Answer {
    let failure = failure(answer, api.now);
    match answer.status().as_u16() {
        200..=299 => match expect_json::<Status>(answer) {
            Ok(status) => Answer::Published(receipt(&status)),
            Err(failure) => Answer::Unclear(unclear(failure)),
        },
        // Pixelfed remembers keys without what they published.
        400 if says_duplicate(answer) => Answer::Unclear(unclear(failure)),
        // 409: another call with the key is at work.
        408 | 409 | 425 | 500..=599 => Answer::Unclear(unclear(failure)),
        422 | 404 | 400 if !frozen.status.media_ids.is_empty() => {
            Answer::Refused(media_failure(api, frozen).await.unwrap_or(failure))
        }
        _ => Answer::Refused(failure),
    }
}

fn says_duplicate(answer: &Response<Bytes>) -> bool {
    let said = message(answer).to_lowercase();
    said.contains("duplicate") && said.contains("idempotency")
}

/// Whether files were the reason for the refusal. Words would not tell, as they come in every
/// language; the files themselves do. Both cases pass: preparing again waits or uploads.
async fn media_failure(api: &Api<'_>, frozen: &Frozen) -> Option<Failure> {
    for id in &frozen.status.media_ids {
        let (code, message) = match media::state(api, id).await.ok()? {
            State::Ready => continue,
            State::Processing => ("media_processing", "a file is still being worked on"),
            State::Gone => ("media_gone", "an uploaded file is not there any more"),
        };
        return Some(Failure::new(Class::Transient, code, message));
    }
    None
}
