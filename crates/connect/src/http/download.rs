//! A file from a URL given by a user, streamed to where it is kept.

use std::time::Duration;

use http::{HeaderMap, Request, header};
use http_body_util::Empty;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::Http;
use super::deadline::Deadline;
use super::error::{FetchError, Phase};
use super::exchange::{Answer, Patience};
use super::pace::{MinimumPace, PaceKeeper};
use crate::target::Target;

/// How much is downloaded, how far it is searched for, and how long it may take.
#[derive(Debug, Clone)]
pub struct DownloadLimits {
    pub max_bytes: u64,
    pub max_redirects: u32,
    /// For lookup, connecting and handshake, each, on every hop.
    pub connect: Duration,
    /// From the request to the head of the answer, on every hop.
    pub answer: Duration,
    /// For everything, all hops and the body included.
    pub total: Duration,
    pub pace: MinimumPace,
}

impl DownloadLimits {
    /// The usual limits, for a file of at most this size.
    pub fn up_to(max_bytes: u64) -> Self {
        Self {
            max_bytes,
            max_redirects: 3,
            connect: Duration::from_secs(5),
            answer: Duration::from_secs(15),
            total: Duration::from_secs(600),
            pace: MinimumPace { bytes_per_second: 10 * 1024, window: Duration::from_secs(10) },
        }
    }
}

/// A file that has come whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downloaded {
    pub bytes: u64,
    /// What the server calls it; the truth is in the bytes.
    pub content_type: Option<String>,
    /// Where the redirects ended.
    pub final_url: String,
}

/// What the head of an answer asks for.
enum Step {
    Follow(Target),
    Read,
}

impl Http {
    /// Streams a file into `sink`; after a failure the sink may hold a part of it.
    ///
    /// Every hop of a redirect is judged like the first URL.
    pub async fn download(
        &self,
        url: &str,
        limits: &DownloadLimits,
        sink: &mut (impl AsyncWrite + Unpin),
    ) -> Result<Downloaded, FetchError> {
        let deadline = Deadline::after(limits.total);
        let patience = Patience { connect: limits.connect, answer: limits.answer, deadline };
        let mut target = Target::parse(url, self.policy())?;
        let mut redirects = 0;
        loop {
            let answer = self.exchange(&target, Request::new(Empty::new()), &patience).await?;
            match self.step(&target, &answer)? {
                Step::Follow(_) if redirects == limits.max_redirects => {
                    return Err(FetchError::TooManyRedirects);
                }
                Step::Follow(next) => target = next,
                Step::Read => return receive(answer, &target, limits, deadline, sink).await,
            }
            redirects += 1;
        }
    }

    fn step(&self, target: &Target, answer: &Answer) -> Result<Step, FetchError> {
        match answer.head.status.as_u16() {
            // Of the other successes none brings a whole file.
            200 | 203 => Ok(Step::Read),
            301 | 302 | 303 | 307 | 308 => {
                let location = answer.head.headers.get(header::LOCATION);
                let location = location.ok_or(FetchError::protocol("a redirect to nowhere"))?;
                let location = std::str::from_utf8(location.as_bytes())
                    .map_err(|_| FetchError::protocol("a redirect that cannot be read"))?;
                Ok(Step::Follow(target.join(location, self.policy())?))
            }
            status => Err(FetchError::Status(status)),
        }
    }
}

async fn receive(
    mut answer: Answer,
    target: &Target,
    limits: &DownloadLimits,
    deadline: Deadline,
    sink: &mut (impl AsyncWrite + Unpin),
) -> Result<Downloaded, FetchError> {
    refuse_encoded(&answer.head.headers)?;
    let too_large = || FetchError::TooLarge { limit: limits.max_bytes };
    if answer.declared_length().is_some_and(|length| length > limits.max_bytes) {
        return Err(too_large());
    }
    let mut pace = PaceKeeper::new(limits.pace);
    let mut bytes = 0;
    loop {
        let next = deadline.run_to_end(Phase::Body, pace.wait(answer.next()));
        let Some(piece) = next.await??? else { break };
        bytes += piece.len() as u64;
        if bytes > limits.max_bytes {
            return Err(too_large());
        }
        pace.count(piece.len() as u64);
        let written = deadline.run_to_end(Phase::Body, sink.write_all(&piece));
        written.await?.map_err(FetchError::Sink)?;
    }
    // Some sinks report a failed write only here.
    deadline.run_to_end(Phase::Body, sink.flush()).await?.map_err(FetchError::Sink)?;
    let content_type = answer.head.headers.get(header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok()).map(ToOwned::to_owned);
    Ok(Downloaded { bytes, content_type, final_url: target.url().to_owned() })
}

/// A server that compresses although asked not to would leave a file nobody can open.
fn refuse_encoded(headers: &HeaderMap) -> Result<(), FetchError> {
    match headers.get(header::CONTENT_ENCODING) {
        Some(encoding) if !encoding.as_bytes().eq_ignore_ascii_case(b"identity") => {
            Err(FetchError::protocol("it compresses although asked not to"))
        }
        _ => Ok(()),
    }
}
