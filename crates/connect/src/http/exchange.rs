//! One request and the head of its answer, on a connection of their own.

use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, Uri, Version};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::task::JoinHandle;

use super::Http;
use super::deadline::Deadline;
use super::error::{FetchError, Phase};
use crate::target::{Refused, Target};

const USER_AGENT: &str = concat!("Campanile/", env!("CARGO_PKG_VERSION"));

/// Bound of the header block of an answer, and of what is read ahead of its body.
const MAX_HEADER_BYTES: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;

/// Headers that describe the connection, which is not the caller's, or the framing of the body.
const CONNECTION_HEADERS: [HeaderName; 9] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// An answer whose body is still on its way; dropping it closes the connection.
pub(super) struct Answer {
    pub(super) head: http::response::Parts,
    body: Incoming,
    _driver: Driver,
}

impl Answer {
    /// The next piece of the body, or `None` once it has come whole.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, FetchError> {
        while let Some(frame) = self.body.frame().await {
            // A frame without data carries trailers, which nobody here reads.
            if let Ok(data) = frame.map_err(FetchError::during_exchange)?.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    /// What the server says it will send; what it does send is counted.
    pub(super) fn declared_length(&self) -> Option<u64> {
        self.head.headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
    }
}

/// Keeps the connection moving while the answer is read, and no longer.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The times an exchange may take before its body begins.
pub(super) struct Patience {
    pub(super) connect: Duration,
    pub(super) answer: Duration,
    pub(super) deadline: Deadline,
}

impl Http {
    /// Connects, sends the request, and waits for the head of the answer.
    pub(super) async fn exchange<B>(
        &self,
        target: &Target,
        request: Request<B>,
        patience: &Patience,
    ) -> Result<Answer, FetchError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let request = dress(target, request)?;
        let stream = self.connect(target, patience.connect, patience.deadline).await?;
        let (mut sender, connection) = http1::Builder::new()
            .max_headers(MAX_HEADERS)
            .max_header_size(MAX_HEADER_BYTES)
            .max_buf_size(MAX_HEADER_BYTES)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(FetchError::during_exchange)?;
        let driver = Driver(tokio::spawn(async move {
            // A failure of the connection also reaches the sender or the body, with more context.
            drop(connection.await);
        }));
        let answer = sender.send_request(request);
        let answer = patience.deadline.run(Phase::Answer, patience.answer, answer).await?;
        let (head, body) = Response::into_parts(answer.map_err(FetchError::during_exchange)?);
        Ok(Answer { head, body, _driver: driver })
    }
}

/// Gives the request the form it has on the wire; the target alone decides where it goes.
fn dress<B: Body>(target: &Target, request: Request<B>) -> Result<Request<B>, FetchError> {
    let (mut parts, body) = request.into_parts();
    if parts.method == Method::CONNECT {
        return Err(Refused::Method.into());
    }
    parts.uri = Uri::try_from(target.path_and_query()).map_err(|_| Refused::Malformed)?;
    parts.version = Version::HTTP_11;
    dress_headers(&mut parts.headers, target)?;
    // Many servers insist on a length where there could have been a body.
    let is_empty = body.size_hint().exact() == Some(0);
    if is_empty && [Method::POST, Method::PUT, Method::PATCH].contains(&parts.method) {
        parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    Ok(Request::from_parts(parts, body))
}

fn dress_headers(headers: &mut HeaderMap, target: &Target) -> Result<(), FetchError> {
    for name in CONNECTION_HEADERS {
        headers.remove(name);
    }
    let host = HeaderValue::from_str(target.authority()).map_err(|_| Refused::Malformed)?;
    headers.insert(header::HOST, host);
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    // Compression would make the counted bytes and the kept bytes two different things.
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.entry(header::USER_AGENT).or_insert(HeaderValue::from_static(USER_AGENT));
    headers.entry(header::ACCEPT).or_insert(HeaderValue::from_static("*/*"));
    Ok(())
}
