//! What a server's answers mean, as far as statuses and headers tell.

use bytes::Bytes;
use campanile_model::publish::{Class, Failure};
use campanile_model::time::{self, DAY, Millis, SECOND};
use http::{HeaderMap, Response};
use serde::Deserialize;

use crate::FetchError;
use crate::platforms::{from_fetch, from_status};

/// Of what a server says about a failure.
const MOST_CHARACTERS: usize = 300;

/// The failure that an answer without success stands for.
pub(super) fn failure(response: &Response<Bytes>, now: Millis) -> Failure {
    let status = response.status();
    let failure = from_status(status, format!("http_{}", status.as_u16()), message(response));
    let limited = matches!(status.as_u16(), 429 | 503);
    match retry_at(response.headers(), now).filter(|_| limited) {
        Some(at) => failure.until(at),
        None => failure,
    }
}

/// A failure after which the call may have worked.
pub(super) fn unclear(failure: Failure) -> Failure {
    Failure { class: Class::Ambiguous, ..failure }
}

pub(super) fn unclear_fetch(error: &FetchError) -> Failure {
    unclear(from_fetch(error))
}

/// The server's own words, which come in the language of the account.
pub(super) fn message(response: &Response<Bytes>) -> String {
    #[derive(Deserialize)]
    struct Said {
        error: String,
    }
    let status = response.status().as_u16();
    match serde_json::from_slice::<Said>(response.body()) {
        Ok(said) if !said.error.trim().is_empty() => {
            let clean = said.error.chars().filter(|c| !c.is_control());
            clean.take(MOST_CHARACTERS).collect()
        }
        // Proxies answer with pages of their own.
        _ => format!("the server answered with status {status}"),
    }
}

/// The time that the server had when it answered.
pub(super) fn clock(response: &Response<Bytes>) -> Option<Millis> {
    time::parse(&http_date(response.headers().get("date")?.to_str().ok()?)?)
}

/// When the server wants to be asked again, by all that it says about it.
fn retry_at(headers: &HeaderMap, now: Millis) -> Option<Millis> {
    let header = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let reset = header("x-ratelimit-reset").and_then(|text| moment(text, now));
    let after = header("retry-after").and_then(|text| moment(text, now));
    let at = reset.max(after)?;
    // A clock that is wrong must not put a post off for ever.
    (at > now).then_some(at.min(now + DAY))
}

/// Mastodon writes a time, others a number of seconds, or seconds since 1970.
fn moment(text: &str, now: Millis) -> Option<Millis> {
    /// Larger numbers cannot be meant as a pause.
    const TEN_YEARS: i64 = 10 * 365 * 24 * 3600;
    if let Ok(seconds) = text.parse::<i64>() {
        let millis = seconds.checked_mul(SECOND)?;
        return if seconds > TEN_YEARS { Some(millis) } else { now.checked_add(millis.max(0)) };
    }
    time::parse(text).or_else(|| time::parse(&http_date(text)?))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` in the form that everything else has.
fn http_date(text: &str) -> Option<String> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let mut words = text.strip_suffix(" GMT")?.split(' ').skip(1);
    let (day, month, year, clock) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let month = MONTHS.find(month).filter(|_| month.len() == 3)? / 3 + 1;
    Some(format!("{year}-{month:02}-{day}T{clock}Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = 1_794_735_000_000;

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Response<Bytes> {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        response.body(Bytes::from(body.to_owned())).unwrap()
    }

    fn retry(headers: &[(&str, &str)]) -> Option<Millis> {
        failure(&answer(429, headers, ""), NOW).retry_at
    }

    #[test]
    fn the_time_to_come_back_is_read_in_every_form() {
        let minute = Some(NOW + 60_000);

        assert_eq!(retry(&[("x-ratelimit-reset", "2026-11-15T09:31:00.000000Z")]), minute);
        assert_eq!(retry(&[("x-ratelimit-reset", "2026-11-15T10:31:00+01:00")]), minute);
        assert_eq!(retry(&[("x-ratelimit-reset", "1794735060")]), minute);
        assert_eq!(retry(&[("retry-after", "60")]), minute);
        assert_eq!(retry(&[("retry-after", "Sun, 15 Nov 2026 09:31:00 GMT")]), minute);
        assert_eq!(retry(&[("retry-after", "5"), ("x-ratelimit-reset", "1794735060")]), minute);
    }

    #[test]
    fn nonsense_about_time_is_not_believed() {
        for text in ["", "soon", "-5", "0", "2020-01-01T00:00:00Z", "99999999999999999999"] {
            assert_eq!(retry(&[("x-ratelimit-reset", text)]), None, "{text}");
        }
        assert_eq!(retry(&[("retry-after", "9999999")]), Some(NOW + DAY));
        let forbidden = answer(403, &[("retry-after", "60")], "");
        assert_eq!(failure(&forbidden, NOW).retry_at, None);
    }

    #[test]
    fn the_server_is_quoted_if_it_says_something() {
        let said = answer(422, &[], r#"{"error":"Too\nlong"}"#);
        let page = answer(502, &[], "<html>Bad gateway</html>");
        let endless = answer(400, &[], &format!(r#"{{"error":"{}"}}"#, "é".repeat(5000)));

        assert_eq!(message(&said), "Toolong");
        assert_eq!(message(&page), "the server answered with status 502");
        assert_eq!(message(&endless).chars().count(), MOST_CHARACTERS);
    }

    #[test]
    fn statuses_have_classes() {
        for (status, class) in [
            (400, Class::Rejected),
            (401, Class::Auth),
            (403, Class::Rejected),
            (404, Class::Rejected),
            (422, Class::Rejected),
            (429, Class::RateLimited),
            (500, Class::Transient),
            (503, Class::Transient),
        ] {
            let failure = failure(&answer(status, &[], ""), NOW);
            assert_eq!((failure.class, failure.code), (class, format!("http_{status}")));
        }
    }
}
