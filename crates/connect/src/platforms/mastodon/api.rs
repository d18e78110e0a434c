//! Requests to the server of one account.

use std::time::Duration;

use bytes::Bytes;
use campanile_model::publish::{Class, Failure};
use campanile_model::time::Millis;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, request};
use serde::{Deserialize, Serialize};
use url::Url;
use zeroize::Zeroizing;

use crate::platforms::{Access, Secret};
use crate::{AnswerLimits, FetchError, Http, Refused, Upload};

/// How long things may take; other than the default only in tests.
#[derive(Clone, Debug)]
pub struct Pace {
    pub answer: Duration,
    pub upload: Duration,
    /// How long a server may work on a file that was uploaded.
    pub processing: Duration,
    /// Between two questions whether it is done; the pauses grow from the first to the longest.
    pub first_pause: Duration,
    pub longest_pause: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(30),
            upload: Duration::from_secs(600),
            processing: Duration::from_secs(600),
            first_pause: Duration::from_secs(2),
            longest_pause: Duration::from_secs(10),
        }
    }
}

/// A page of statuses with long texts, custom emoji and previews takes some hundred kilobytes.
const MOST_BYTES: usize = 4 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct Credential {
    access_token: String,
}

/// The form in which a token is kept.
pub(super) fn secret(token: &str) -> Secret {
    let json = serde_json::json!({ "access_token": token });
    Secret(Zeroizing::new(json.to_string()))
}

#[derive(Clone)]
pub(super) struct Api<'a> {
    http: &'a Http,
    origin: &'a str,
    authorization: Option<HeaderValue>,
    pub(super) pace: &'a Pace,
    pub(super) now: Millis,
}

impl<'a> Api<'a> {
    /// Requests on behalf of an account.
    pub(super) fn of(access: &Access<'a>, pace: &'a Pace) -> Result<Self, Failure> {
        let unusable = || {
            let message = "the stored credential cannot be read; connect the account again";
            Failure::new(Class::Auth, "unreadable_credential", message)
        };
        let credential: Credential =
            serde_json::from_str(&access.secret.0).map_err(|_| unusable())?;
        let api = Self::anonymous(access.http, &access.account.server, pace, access.now);
        api.with_token(&credential.access_token).ok_or_else(unusable)
    }

    /// Requests that everybody may make.
    pub(super) fn anonymous(http: &'a Http, origin: &'a str, pace: &'a Pace, now: Millis) -> Self {
        Self { http, origin, authorization: None, pace, now }
    }

    /// `None` when no header can carry such a token.
    pub(super) fn with_token(&self, token: &str) -> Option<Self> {
        let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
        value.set_sensitive(true);
        Some(Self { authorization: Some(value), ..self.clone() })
    }

    pub(super) async fn get(&self, path: &str) -> Result<Response<Bytes>, FetchError> {
        self.send(self.request(Method::GET, path), Bytes::new()).await
    }

    pub(super) async fn delete(&self, path: &str) -> Result<Response<Bytes>, FetchError> {
        self.send(self.request(Method::DELETE, path), Bytes::new()).await
    }

    /// Sends JSON with a key that lets the server recognise a repetition.
    pub(super) async fn post_once(
        &self,
        path: &str,
        key: &str,
        json: Vec<u8>,
    ) -> Result<Response<Bytes>, FetchError> {
        let request = self
            .request(Method::POST, path)
            .header(CONTENT_TYPE, "application/json")
            .header("idempotency-key", key);
        self.send(request, json.into()).await
    }

    pub(super) async fn upload(
        &self,
        path: &str,
        content_type: &str,
        body: Upload,
    ) -> Result<Response<Bytes>, FetchError> {
        let request = self.request(Method::POST, path).header(CONTENT_TYPE, content_type);
        let request = request.body(()).map_err(|_| Refused::Malformed)?;
        let limits = AnswerLimits { total: self.pace.upload, ..self.limits() };
        self.http.upload(request, body, &limits).await
    }

    /// The path of an address on this server; `None` for one that leads elsewhere.
    pub(super) fn path_of(&self, address: &str) -> Option<String> {
        let (origin, address) = (Url::parse(self.origin).ok()?, Url::parse(address).ok()?);
        (origin.origin() == address.origin()).then(|| address.path().to_owned())
    }

    fn request(&self, method: Method, path: &str) -> request::Builder {
        let request = Request::builder().method(method).uri(format!("{}{path}", self.origin));
        match &self.authorization {
            Some(value) => request.header(AUTHORIZATION, value),
            None => request,
        }
    }

    async fn send(
        &self,
        request: request::Builder,
        body: Bytes,
    ) -> Result<Response<Bytes>, FetchError> {
        let request = request.body(body).map_err(|_| Refused::Malformed)?;
        self.http.request(request, &self.limits()).await
    }

    fn limits(&self) -> AnswerLimits {
        let total = self.pace.answer;
        AnswerLimits { max_bytes: MOST_BYTES, total, ..AnswerLimits::default() }
    }
}

/// An id, as it can stand in a path or a query.
pub(super) fn quoted(id: &str) -> String {
    url::form_urlencoded::byte_serialize(id.as_bytes()).collect()
}
