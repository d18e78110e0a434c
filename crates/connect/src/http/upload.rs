//! A request body that is read while it is sent.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt};
use hyper::body::{Body, Frame, SizeHint};

use crate::blobs::{Blob, BlobError};

/// Pieces that are sent one after the other under one exact length.
///
/// Of a blob no more than a chunk is in memory at a time, however large it is.
#[derive(Default)]
pub struct Upload {
    pieces: VecDeque<Piece>,
    /// Bytes that are still to be sent.
    left: u64,
}

enum Piece {
    Bytes(Bytes),
    Blob { chunks: BoxStream<'static, Result<Bytes, BlobError>>, left: u64 },
}

impl Upload {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn bytes(mut self, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        // An empty piece would look like the end of the body.
        if !bytes.is_empty() {
            self.left += bytes.len() as u64;
            self.pieces.push_back(Piece::Bytes(bytes));
        }
        self
    }

    /// A blob that has to bring exactly `length` bytes; with any other the request breaks off.
    pub fn blob(mut self, blob: Blob, length: u64) -> Self {
        self.left += length;
        self.pieces.push_back(Piece::Blob { chunks: blob.chunks, left: length });
        self
    }

    /// What the header `content-length` will say.
    pub fn length(&self) -> u64 {
        self.left
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Upload").field("left", &self.left).finish_non_exhaustive()
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = BlobError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BlobError>>> {
        while let Some(piece) = self.pieces.front_mut() {
            let next = ready!(piece.poll_next(context));
            match next {
                None => drop(self.pieces.pop_front()),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(bytes)) => {
                    self.left -= bytes.len() as u64;
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
            }
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

impl Piece {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BlobError>>> {
        match self {
            Self::Bytes(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Bytes(bytes) => Poll::Ready(Some(Ok(std::mem::take(bytes)))),
            Self::Blob { chunks, left } => {
                let next = ready!(chunks.poll_next_unpin(context));
                Poll::Ready(match next {
                    None if *left == 0 => None,
                    Some(Ok(chunk)) if chunk.len() as u64 <= *left => {
                        *left -= chunk.len() as u64;
                        Some(Ok(chunk))
                    }
                    // Shorter or longer than promised: the other side must not take it for whole.
                    None | Some(Ok(_)) => Some(Err(BlobError::Altered)),
                    Some(Err(error)) => Some(Err(error)),
                })
            }
        }
    }
}
