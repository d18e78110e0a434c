//! Calls to one server of the AT Protocol.

use std::time::Duration;

use campanile_model::time::Millis;
use http::{HeaderValue, Request, header};
use serde::{Serialize, de::DeserializeOwned};
use url::Url;

use super::fault::{Fault, said};
use crate::{AnswerLimits, Http, Refused, Upload};

/// A list of posts with everything around them is larger than other answers.
const ANSWER_BYTES: usize = 4 << 20;
const SENDING_AT_LEAST: Duration = Duration::from_secs(60);
/// Bytes a second that a file is sent with when it goes badly.
const SLOWEST: u64 = 250_000;

/// A server, and the token that is shown to it.
#[derive(Clone, Copy)]
pub(super) struct Server<'a> {
    pub(super) http: &'a Http,
    pub(super) origin: &'a str,
    pub(super) token: Option<&'a str>,
    pub(super) now: Millis,
}

impl<'a> Server<'a> {
    pub(super) fn new(http: &'a Http, origin: &'a str, now: Millis) -> Self {
        Self { http, origin, token: None, now }
    }

    pub(super) fn with_token(self, token: &'a str) -> Self {
        Self { token: Some(token), ..self }
    }

    /// Asks for something.
    pub(super) async fn query<T: DeserializeOwned>(
        &self,
        method: &str,
        parameters: &[(&str, &str)],
    ) -> Result<T, Fault> {
        let request = Request::get(self.address(method, parameters)?.as_str());
        self.call(request, Upload::new(), Duration::from_secs(15)).await
    }

    /// Has something done; no content is an empty body.
    pub(super) async fn procedure<T: DeserializeOwned>(
        &self,
        method: &str,
        content: Option<&(impl Serialize + Sync)>,
    ) -> Result<T, Fault> {
        let mut request = Request::post(self.address(method, &[])?.as_str());
        let mut body = Upload::new();
        if let Some(content) = content {
            request = request.header(header::CONTENT_TYPE, "application/json");
            body = body.bytes(serde_json::to_vec(content).map_err(|_| malformed())?);
        }
        self.call(request, body, Duration::from_secs(30)).await
    }

    /// Hands over a file.
    pub(super) async fn send_file<T: DeserializeOwned>(
        &self,
        method: &str,
        parameters: &[(&str, &str)],
        media_type: &str,
        content: Upload,
    ) -> Result<T, Fault> {
        let request = Request::post(self.address(method, parameters)?.as_str())
            .header(header::CONTENT_TYPE, media_type);
        let total = SENDING_AT_LEAST.max(Duration::from_secs(content.length() / SLOWEST));
        self.call(request, content, total).await
    }

    fn address(&self, method: &str, parameters: &[(&str, &str)]) -> Result<Url, Fault> {
        let address = format!("{}/xrpc/{method}", self.origin.trim_end_matches('/'));
        let mut address = Url::parse(&address).map_err(|_| malformed())?;
        if !parameters.is_empty() {
            address.query_pairs_mut().extend_pairs(parameters);
        }
        Ok(address)
    }

    async fn call<T: DeserializeOwned>(
        &self,
        request: http::request::Builder,
        body: Upload,
        total: Duration,
    ) -> Result<T, Fault> {
        let mut request = request.body(()).map_err(|_| malformed())?;
        if let Some(token) = self.token {
            let mut value =
                HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| malformed())?;
            value.set_sensitive(true);
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        let limits = AnswerLimits { max_bytes: ANSWER_BYTES, total, ..AnswerLimits::default() };
        let response = self.http.upload(request, body, &limits).await.map_err(Fault::Lost)?;
        if !response.status().is_success() {
            return Err(Fault::Said(said(&response, self.now)));
        }
        // Some procedures answer with nothing at all.
        let body = if response.body().is_empty() { b"null" } else { &response.body()[..] };
        serde_json::from_slice(body).map_err(|_| Fault::Garbled)
    }
}

fn malformed() -> Fault {
    Fault::Lost(Refused::Malformed.into())
}
