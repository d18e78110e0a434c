//! A blob on its way out of the storage.

use std::fmt;
use std::io;
use std::ops::Range;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use object_store::{GetOptions, GetRange, GetResultPayload, ObjectStore, ObjectStoreExt};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use super::{BlobError, name};

/// Most bytes handed out in one piece.
const CHUNK: usize = 64 * 1024;

/// An open blob, or a part of one.
pub struct Blob {
    /// The size of the whole blob.
    pub size: u64,
    /// The part that `chunks` brings.
    pub range: Range<u64>,
    /// The bytes, in pieces of at most 64 KiB; ends with an error if any are missing.
    pub chunks: BoxStream<'static, Result<Bytes, BlobError>>,
}

impl fmt::Debug for Blob {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { size, range, chunks: _ } = self;
        formatter.debug_struct("Blob").field("size", size).field("range", range).finish()
    }
}

pub(super) async fn open(
    store: &dyn ObjectStore,
    name: &str,
    range: Option<Range<u64>>,
) -> Result<Blob, BlobError> {
    let location = name::locate(name)?;
    let missing = |error| match error {
        object_store::Error::NotFound { .. } => BlobError::Missing { name: name.to_owned() },
        error => BlobError::Storage(error),
    };
    if let Some(range) = &range {
        // Stores differ in what they say of a range they cannot serve; so it is asked first.
        let size = store.head(&location).await.map_err(missing)?.size;
        if range.start >= range.end || range.start >= size {
            return Err(BlobError::OutOfRange { size });
        }
    }
    let options = GetOptions { range: range.map(GetRange::Bounded), ..GetOptions::default() };
    let found = store.get_opts(&location, options).await.map_err(missing)?;
    let (size, range) = (found.meta.size, found.range);
    let chunks = match found.payload {
        // Read here, in larger steps than the store would take, and with an eye on the end.
        GetResultPayload::File(file, _) => {
            let mut file = File::from_std(file);
            file.seek(io::SeekFrom::Start(range.start)).await.map_err(BlobError::Disk)?;
            stream::try_unfold((file, range.end - range.start), next_chunk).boxed()
        }
        GetResultPayload::Stream(stream) => {
            stream.map_err(BlobError::from).map_ok(bounded).try_flatten().boxed()
        }
    };
    Ok(Blob { size, range, chunks })
}

async fn next_chunk(
    (mut file, left): (File, u64),
) -> Result<Option<(Bytes, (File, u64))>, BlobError> {
    if left == 0 {
        return Ok(None);
    }
    let step = left.min(CHUNK as u64);
    let mut chunk = Vec::with_capacity(CHUNK);
    (&mut file).take(step).read_to_end(&mut chunk).await.map_err(BlobError::Disk)?;
    if chunk.len() as u64 != step {
        return Err(BlobError::Disk(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(Some((chunk.into(), (file, left - step))))
}

/// Cuts a piece of any size into pieces of at most [`CHUNK`] bytes, without copying.
fn bounded(mut piece: Bytes) -> impl stream::Stream<Item = Result<Bytes, BlobError>> + Send {
    stream::iter(std::iter::from_fn(move || {
        let next = piece.split_to(piece.len().min(CHUNK));
        if next.is_empty() { None } else { Some(Ok(next)) }
    }))
}
