//! The bytes of a connection: nobody may stop reading for ever, and refusals that hyper makes
//! on its own get a body like all others.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::http::StatusCode;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep},
};

use crate::problem::{Code, Problem};

/// How long the other side may take no bytes while there are some for it.
const STALL: Duration = Duration::from_secs(30);

/// hyper's refusals are short, and ours carry a request id.
const LONGEST_BARE_REFUSAL: usize = 512;

pub(crate) struct Wire {
    stream: TcpStream,
    /// Runs while the other side does not read.
    stall: Option<Pin<Box<Sleep>>>,
    explained: Option<Explained>,
}

/// Bytes that go out in the place of what hyper wrote.
struct Explained {
    bytes: Vec<u8>,
    sent: usize,
    /// How much hyper believes to have written then.
    instead_of: usize,
}

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, stall: None, explained: None }
    }

    /// Turns a wait for the other side into an error once it has lasted too long.
    fn impatient<T>(
        &mut self,
        outcome: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.stall = None;
            return outcome;
        }
        let stall = self
            .stall
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + STALL)));
        ready!(stall.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Sends the explanation, and then reports what hyper wrote as written.
    fn poll_explain(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        while let Some(explained) = &mut self.explained {
            let rest = &explained.bytes[explained.sent..];
            let sent = ready!(Pin::new(&mut self.stream).poll_write(context, rest))?;
            explained.sent += sent;
            if explained.sent >= explained.bytes.len() || sent == 0 {
                let instead_of = explained.instead_of;
                self.explained = None;
                return Poll::Ready(Ok(instead_of));
            }
        }
        Poll::Ready(Ok(0))
    }

    fn write_or_explain(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
        write: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if self.explained.is_none() {
            self.explained = explain(bytes);
        }
        let outcome = match self.explained {
            Some(_) => self.poll_explain(context),
            None => write(Pin::new(&mut self.stream), context),
        };
        self.impatient(outcome, context)
    }
}

/// What to send instead of a refusal without a body.
fn explain(bytes: &[u8]) -> Option<Explained> {
    if bytes.len() > LONGEST_BARE_REFUSAL || !bytes.starts_with(b"HTTP/1.1 4") {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    if text.contains("x-request-id") || !text.ends_with("\r\n\r\n") {
        return None;
    }
    let (code, detail) = match text.get(9..12)? {
        "414" => (Code::UriTooLong, "Use at most 8 KiB for path and query."),
        "431" => (Code::HeadersTooLarge, "Send at most 64 headers and 16 KiB."),
        _ => (Code::MalformedRequest, "Send the request as RFC 9112 describes it."),
    };
    let body = Problem::new(code, detail).body("none").to_string();
    let status: StatusCode = code.status();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\n\
         x-content-type-options: nosniff\r\ncache-control: no-store\r\nconnection: close\r\n\r\n",
        body.len()
    );
    Some(Explained { bytes: (head + &body).into_bytes(), sent: 0, instead_of: bytes.len() })
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write_or_explain(context, bytes, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // A refusal of hyper's own comes in one piece.
        let only = if let [only] = slices { &**only } else { &[] };
        self.write_or_explain(context, only, |stream, context| {
            stream.poll_write_vectored(context, slices)
        })
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
