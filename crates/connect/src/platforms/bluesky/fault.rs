//! What the refusals of a server mean.

use bytes::Bytes;
use campanile_model::{
    publish::{Class, Failure},
    time::{DAY, Millis, SECOND},
};
use http::{HeaderMap, Response, StatusCode};
use serde::Deserialize;

use crate::FetchError;
use crate::platforms::{from_fetch, from_status};

const MESSAGE_CHARACTERS: usize = 500;

/// Why a call brought nothing.
#[derive(Debug)]
pub(super) enum Fault {
    /// No whole answer came.
    Lost(FetchError),
    Said(Said),
    /// A success that cannot be read.
    Garbled,
}

/// A refusal in the server's words.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) status: StatusCode,
    /// The machine's name for it; empty when the answer came from something else on the way.
    pub(super) name: String,
    pub(super) message: String,
    pub(super) retry_at: Option<Millis>,
    /// All of it, for the calls whose refusals carry more.
    pub(super) body: Bytes,
}

/// Reads an answer that is not a success.
pub(super) fn said(response: &Response<Bytes>, now: Millis) -> Said {
    #[derive(Default, Deserialize)]
    struct Body {
        error: String,
        #[serde(default)]
        message: String,
    }
    // Proxies in front of a server answer with pages for people.
    let body: Body = serde_json::from_slice(response.body()).unwrap_or_default();
    Said {
        status: response.status(),
        name: shorten(&body.error),
        message: shorten(&body.message),
        retry_at: matches!(response.status().as_u16(), 429 | 503)
            .then(|| retry_at(response.headers(), now))
            .flatten(),
        body: response.body().clone(),
    }
}

fn shorten(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MESSAGE_CHARACTERS).collect()
}

/// When a server wants to be asked again. Older ones only tell when their count starts anew.
fn retry_at(headers: &HeaderMap, now: Millis) -> Option<Millis> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<Millis>().ok();
    let after =
        number("retry-after").map(|seconds| now.saturating_add(seconds.saturating_mul(SECOND)));
    let reset = || {
        let exhausted = number("ratelimit-remaining").is_none_or(|left| left <= 0);
        let reset = number("ratelimit-reset").filter(|_| exhausted)?;
        Some(reset.saturating_mul(SECOND))
    };
    // What lies in the past or beyond a day is a clock that goes wrong.
    after.or_else(reset).map(|at| at.clamp(now + SECOND, now + DAY))
}

impl Said {
    pub(super) fn is(&self, name: &str) -> bool {
        self.name == name
    }

    /// The token is not accepted, or the account has left: a person or a renewal must help.
    pub(super) fn is_about_credentials(&self) -> bool {
        match self.status.as_u16() {
            401 => true,
            400 => self.is("ExpiredToken") || self.is("InvalidToken"),
            403 => self.is("AccountNotFound"),
            _ => false,
        }
    }

    pub(super) fn failure(&self) -> Failure {
        let status = self.status.as_u16();
        let code = match self.name.as_str() {
            "" => format!("http_{status}"),
            name => name.to_owned(),
        };
        let message = match self.message.as_str() {
            "" => format!("the server answered with status {status}"),
            message => message.to_owned(),
        };
        let mut failure = from_status(self.status, code, message);
        if self.is_about_credentials() {
            failure.class = Class::Auth;
        } else if self.is("BlobNotFound") {
            // It was kept for some hours only; the next try uploads it again.
            failure.class = Class::Transient;
        }
        failure.retry_at = self.retry_at;
        failure
    }
}

impl Fault {
    pub(super) fn failure(&self) -> Failure {
        match self {
            Self::Lost(error) => from_fetch(error),
            Self::Said(said) => said.failure(),
            Self::Garbled => {
                let message = "the server's answer is not what the AT Protocol promises";
                Failure::new(Class::Transient, "unreadable_answer", message)
            }
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        fault.failure()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = 1_793_491_200_000;

    fn answer(status: u16, body: &str, headers: &[(&str, &str)]) -> Said {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        said(&response.body(Bytes::copy_from_slice(body.as_bytes())).unwrap(), NOW)
    }

    #[test]
    fn every_refusal_has_its_class() {
        for (status, name, class) in [
            (400, "ExpiredToken", Class::Auth),
            (400, "InvalidToken", Class::Auth),
            (401, "AuthMissing", Class::Auth),
            (401, "AccountTakedown", Class::Auth),
            (403, "AccountNotFound", Class::Auth),
            (400, "InvalidRequest", Class::Rejected),
            (400, "InvalidMimeType", Class::Rejected),
            (400, "BlobNotFound", Class::Transient),
            (413, "PayloadTooLarge", Class::Rejected),
            (429, "RateLimitExceeded", Class::RateLimited),
            (500, "InternalServerError", Class::Transient),
            (502, "UpstreamFailure", Class::Transient),
        ] {
            let body = format!(r#"{{"error":"{name}","message":"why"}}"#);
            let failure = answer(status, &body, &[]).failure();

            assert_eq!((failure.class, failure.code.as_str()), (class, name));
            assert_eq!(failure.message, "why");
        }
    }

    #[test]
    fn pages_for_people_are_judged_by_their_status() {
        let failure = answer(503, "<html>busy", &[]).failure();

        assert_eq!((failure.class, failure.code.as_str()), (Class::Transient, "http_503"));
    }

    #[test]
    fn a_server_says_in_two_ways_when_to_come_back() {
        let at = |headers: &[(&str, &str)]| answer(429, "", headers).retry_at;

        assert_eq!(at(&[("retry-after", "30")]), Some(NOW + 30_000));
        assert_eq!(at(&[("ratelimit-reset", "1793491260")]), Some(NOW + 60_000));
        assert_eq!(at(&[("ratelimit-reset", "5"), ("ratelimit-remaining", "0")]), Some(NOW + 1000));
        assert_eq!(at(&[("ratelimit-reset", "1793491260"), ("ratelimit-remaining", "7")]), None);
        assert_eq!(at(&[("retry-after", "99999999999999999")]), Some(NOW + DAY));
        assert_eq!(at(&[("retry-after", "soon")]), None);
    }
}
