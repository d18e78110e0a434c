//! What HTTP says, in the words of publishing.

use bytes::Bytes;
use campanile_model::publish::{Class, Failure};
use http::{Response, StatusCode};
use serde::de::DeserializeOwned;

use crate::FetchError;

/// A request that got no whole answer. Whether a *publish* may be repeated after it is told by
/// [`FetchError::surely_not_sent`]; every other request may.
pub fn from_fetch(error: &FetchError) -> Failure {
    let class = match error {
        FetchError::Refused(_) => Class::Rejected,
        _ => Class::Transient,
    };
    Failure::new(class, error.code(), error.to_string())
}

/// The class of an answer that is not a success, where a platform has nothing better to say.
pub fn from_status(
    status: StatusCode,
    code: impl Into<String>,
    message: impl Into<String>,
) -> Failure {
    let class = match status.as_u16() {
        401 => Class::Auth,
        408 | 425 | 500..=599 => Class::Transient,
        429 => Class::RateLimited,
        _ => Class::Rejected,
    };
    Failure::new(class, code, message)
}

/// Reads a successful answer, or says that it makes no sense.
pub fn expect_json<T: DeserializeOwned>(response: &Response<Bytes>) -> Result<T, Failure> {
    serde_json::from_slice(response.body()).map_err(|_| {
        let message = "the server's answer is not what its interface promises";
        Failure::new(Class::Transient, "unreadable_answer", message)
    })
}
