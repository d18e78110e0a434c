//! One request with a small answer, read whole.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Body;

use super::Http;
use super::deadline::Deadline;
use super::error::{FetchError, Phase};
use super::exchange::{Answer, Patience};
use super::upload::Upload;
use crate::target::Target;

/// How much of an answer is read, and how long it may take.
#[derive(Debug, Clone)]
pub struct AnswerLimits {
    pub max_bytes: usize,
    pub overflow: Overflow,
    /// For lookup, connecting and handshake, each.
    pub connect: Duration,
    /// For everything, the body of the answer included.
    pub total: Duration,
}

/// What becomes of an answer longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// The rest is left unread: for answers of which only the status matters.
    Cut,
    /// The answer is useless without its end: [`FetchError::TooLarge`].
    Refuse,
}

impl Default for AnswerLimits {
    fn default() -> Self {
        Self {
            max_bytes: 64 * 1024,
            overflow: Overflow::Refuse,
            connect: Duration::from_secs(5),
            total: Duration::from_secs(15),
        }
    }
}

impl Http {
    /// Sends one request to the absolute URI it names; any status is an answer, redirects too.
    pub async fn request(
        &self,
        request: Request<Bytes>,
        limits: &AnswerLimits,
    ) -> Result<Response<Bytes>, FetchError> {
        self.ask(request.map(Full::new), limits).await
    }

    /// Sends one request whose body is read while it is sent; `total` includes the sending.
    pub async fn upload(
        &self,
        request: Request<()>,
        body: Upload,
        limits: &AnswerLimits,
    ) -> Result<Response<Bytes>, FetchError> {
        self.ask(request.map(|()| body), limits).await
    }

    async fn ask<B>(
        &self,
        request: Request<B>,
        limits: &AnswerLimits,
    ) -> Result<Response<Bytes>, FetchError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let target = Target::parse(&request.uri().to_string(), self.policy())?;
        let deadline = Deadline::after(limits.total);
        let patience = Patience { connect: limits.connect, answer: limits.total, deadline };
        let mut answer = self.exchange(&target, request, &patience).await?;
        let body = deadline.run_to_end(Phase::Body, read(&mut answer, limits)).await??;
        Ok(Response::from_parts(answer.head, body))
    }
}

async fn read(answer: &mut Answer, limits: &AnswerLimits) -> Result<Bytes, FetchError> {
    let mut body = BytesMut::new();
    while let Some(piece) = answer.next().await? {
        let room = limits.max_bytes - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            match limits.overflow {
                Overflow::Cut => break,
                Overflow::Refuse => {
                    return Err(FetchError::TooLarge { limit: limits.max_bytes as u64 });
                }
            }
        }
    }
    Ok(body.freeze())
}
