//! The call that publishes, the look at what it did, and the call that takes a post away.

use campanile_model::publish::{Class, Failure, Receipt};
use serde::Deserialize;
use serde_json::{Value, json};

use super::fault::{Fault, Said};
use super::record::{COLLECTION, Frozen};
use super::xrpc::Server;
use crate::platforms::{Account, Answer, Sight};

/// Writes the record, if nothing else is at its place. To write the very same record again
/// changes nothing, which is what makes the call safe to repeat.
pub(super) async fn publish(server: &Server<'_>, frozen: &Frozen) -> Answer {
    #[derive(Deserialize)]
    struct Written {
        cid: String,
    }
    let content = json!({
        "repo": frozen.repo,
        "collection": COLLECTION,
        "rkey": frozen.rkey,
        "record": frozen.record,
        "validate": true,
        "swapRecord": null,
    });
    match server.procedure::<Written>("com.atproto.repo.putRecord", Some(&content)).await {
        Ok(written) => Answer::Published(frozen.receipt(&written.cid)),
        Err(fault) => judge(&fault),
    }
}

/// Whether it is certain that a failed call published nothing.
fn judge(fault: &Fault) -> Answer {
    let is_certain = match fault {
        Fault::Lost(error) => error.surely_not_sent(),
        Fault::Garbled => false,
        Fault::Said(said) => is_refusal(said),
    };
    match (is_certain, fault.failure()) {
        (true, failure) => Answer::Refused(failure),
        (false, failure) => Answer::Unclear(Failure { class: Class::Ambiguous, ..failure }),
    }
}

/// Whether the server itself looked at the call and turned it down.
fn is_refusal(said: &Said) -> bool {
    match said.status.as_u16() {
        401 | 413 | 429 => true,
        // Something is at the place of the record: another one, or this one from an earlier try.
        400 if said.is("InvalidSwap") => false,
        // These speak of a wait that was too long, not of what happened meanwhile.
        408 | 425 => false,
        // Without a name it was not the server that answered, but something on the way to it.
        400..=499 => !said.name.is_empty(),
        _ => false,
    }
}

/// Reads the place of the record. Only the server that keeps it knows at once what is there.
pub(super) async fn find(server: &Server<'_>, frozen: &Frozen) -> Sight {
    #[derive(Deserialize)]
    struct Found {
        cid: Option<String>,
        value: Value,
    }
    let place =
        [("repo", frozen.repo.as_str()), ("collection", COLLECTION), ("rkey", &frozen.rkey)];
    let found = server.query::<Found>("com.atproto.repo.getRecord", &place).await;
    match found {
        Ok(Found { cid: Some(cid), value }) if frozen.is_same(&value) => {
            Sight::Found(frozen.receipt(&cid))
        }
        Ok(Found { cid: None, .. }) => Sight::Unreadable(Fault::Garbled.failure()),
        Ok(_) => {
            let message = "another post is where this one was to be";
            Sight::Unknowable(Failure::new(Class::Ambiguous, "another_record", message))
        }
        Err(Fault::Said(said)) if said.status.as_u16() == 400 && said.is("RecordNotFound") => {
            Sight::Absent
        }
        Err(fault) => Sight::Unreadable(fault.failure()),
    }
}

/// Takes a post away; the server does not mind when it is gone already.
pub(super) async fn delete(
    server: &Server<'_>,
    account: &Account,
    receipt: &Receipt,
) -> Result<(), Failure> {
    let own = format!("at://{}/{COLLECTION}/", account.remote_id);
    let rkey = receipt.remote_id.strip_prefix(&own).ok_or_else(|| {
        let message = "the post does not belong to this account";
        Failure::new(Class::Rejected, "not_own_post", message)
    })?;
    let content = json!({ "repo": account.remote_id, "collection": COLLECTION, "rkey": rkey });
    server.procedure::<Value>("com.atproto.repo.deleteRecord", Some(&content)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;
    use crate::{FetchError, Phase, Refused};

    fn said(status: u16, name: &str) -> Fault {
        let status = StatusCode::from_u16(status).unwrap();
        let message = "why".to_owned();
        Fault::Said(Said { status, name: name.to_owned(), message, ..Said::default() })
    }

    #[test]
    fn a_named_refusal_is_certain() {
        for (status, name, class) in [
            (400, "ExpiredToken", Class::Auth),
            (400, "InvalidToken", Class::Auth),
            (401, "AuthMissing", Class::Auth),
            (401, "", Class::Auth),
            (403, "AccountNotFound", Class::Auth),
            (400, "BlobNotFound", Class::Transient),
            (400, "InvalidRequest", Class::Rejected),
            (400, "InvalidMimeType", Class::Rejected),
            (400, "InvalidSize", Class::Rejected),
            (413, "", Class::Rejected),
            (429, "RateLimitExceeded", Class::RateLimited),
            (429, "", Class::RateLimited),
        ] {
            match judge(&said(status, name)) {
                Answer::Refused(failure) => assert_eq!(failure.class, class, "{status} {name}"),
                other => panic!("{status} {name}: {other:?}"),
            }
        }
    }

    #[test]
    fn everything_else_may_have_worked() {
        let unclear = [
            said(400, "InvalidSwap"),
            said(400, ""),
            said(403, ""),
            said(302, ""),
            said(408, "Timeout"),
            said(500, "InternalServerError"),
            said(502, "UpstreamFailure"),
            said(503, "NotEnoughResources"),
            said(504, ""),
            Fault::Garbled,
            Fault::Lost(FetchError::Truncated),
            Fault::Lost(FetchError::Timeout { phase: Phase::Answer }),
        ];
        for fault in unclear {
            match judge(&fault) {
                Answer::Unclear(failure) => assert_eq!(failure.class, Class::Ambiguous),
                other => panic!("{fault:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn what_was_not_sent_did_not_happen() {
        let error = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        for (error, class) in [
            (FetchError::Connect(error), Class::Transient),
            (FetchError::Timeout { phase: Phase::Lookup }, Class::Transient),
            (FetchError::Refused(Refused::PrivateNetwork), Class::Rejected),
        ] {
            match judge(&Fault::Lost(error)) {
                Answer::Refused(failure) => assert_eq!(failure.class, class),
                other => panic!("{other:?}"),
            }
        }
    }
}
