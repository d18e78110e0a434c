//! Takes bytes in: from a URL or an upload, through cleaning, into storage.
//!
//! Bytes go from the network to a temporary file and from there, cleaned, to storage; they are
//! never held in memory. The object is announced in the store before it is written, so that a
//! crash at any point leaves something that the sweeper finds.

use std::io::{Read, Write};

use campanile_connect::{DownloadLimits, FetchError};
use campanile_engine::draft;
use campanile_media::{Kind, Limits, Refusal};
use campanile_model::{
    ids::{BlobId, WorkspaceId},
    time::Millis,
};
use campanile_store::media::{self, Facts};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt;

use crate::{
    app::App,
    problem::{Code, Problem},
};

/// A cleaned file that storage holds and the store has announced.
pub(crate) struct Stored {
    pub(crate) facts: Facts,
    pub(crate) kind: Kind,
}

pub(crate) fn limits(app: &App) -> Limits {
    Limits {
        image_bytes: app.config.image_limit,
        video_bytes: app.config.video_limit,
        ..Limits::default()
    }
}

/// Fetches `url` into a temporary file.
pub(crate) async fn download(
    app: &App,
    workspace: &WorkspaceId,
    url: &str,
) -> Result<NamedTempFile, Problem> {
    let _place = app.imports.enter(workspace).ok_or_else(|| {
        Problem::new(Code::Unavailable, "Too many imports run at once; try again in a moment.")
            .retry_after(5)
    })?;
    let file = temporary(app)?;
    let mut sink = tokio::fs::File::create(file.path()).await.map_err(Problem::internal)?;
    let largest = app.config.image_limit.max(app.config.video_limit);
    let limits = DownloadLimits::up_to(largest);
    app.http.download(url, &limits, &mut sink).await.map_err(|error| fetch_problem(&error))?;
    sink.flush().await.map_err(Problem::internal)?;
    Ok(file)
}

pub(crate) fn temporary(app: &App) -> Result<NamedTempFile, Problem> {
    NamedTempFile::new_in(&app.temporary).map_err(Problem::internal)
}

/// What the caller can mend is a fault of the field; the rest is the other side's.
fn fetch_problem(error: &FetchError) -> Problem {
    let code = error.code();
    let message = error.to_string();
    match error {
        FetchError::Sink(_) => Problem::new(Code::Unavailable, "The disk did not take the file."),
        FetchError::Timeout { .. } | FetchError::TooSlow => {
            Problem::new(Code::UpstreamTimeout, message).with("upstream_code", code.into())
        }
        FetchError::Refused(_) => Problem::invalid_field("source_url", code, message),
        FetchError::TooLarge { .. } => {
            Problem::invalid_field("source_url", "media_too_large", message)
        }
        _ => Problem::new(Code::UpstreamFailed, message).with("upstream_code", code.into()),
    }
}

/// Cleans the file and puts it into storage. `expected` is the type that was promised.
pub(crate) async fn store(
    app: &App,
    workspace: &WorkspaceId,
    raw: NamedTempFile,
    field: &'static str,
    expected: Option<Kind>,
    now: Millis,
) -> Result<Stored, Problem> {
    let limits = limits(app);
    let folder = app.temporary.clone();
    let cleaned = tokio::task::spawn_blocking(move || clean(&raw, &folder, &limits));
    let cleaned = cleaned.await.map_err(Problem::internal)?;
    let Cleaned { file, found, sha256, bytes } =
        cleaned.map_err(|refusal| refusal_problem(field, refusal))?;
    if let Some(expected) = expected.filter(|expected| *expected != found.kind) {
        let message =
            format!("promised {}, but the bytes are {}", expected.mime(), found.kind.mime());
        return Err(Problem::invalid_field(field, "media_type_mismatch", message));
    }
    let blob = BlobId::new(now);
    app.db.write(async |mut tx| media::announce_blob(&mut tx, workspace, &blob, now).await).await?;
    app.blobs.put_file(&draft::blob_name(workspace, &blob), file.path()).await.map_err(
        |error| {
            tracing::error!(error = &error as &dyn std::error::Error, "storage failed");
            Problem::new(Code::Unavailable, "The storage did not take the file; try again.")
                .retry_after(5)
        },
    )?;
    let facts = Facts {
        blob,
        sha256: sha256.to_vec(),
        bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
        media_type: found.kind.mime().to_owned(),
        width: found.width.into(),
        height: found.height.into(),
        duration_ms: found.duration_ms.and_then(|ms| i64::try_from(ms).ok()),
    };
    Ok(Stored { facts, kind: found.kind })
}

struct Cleaned {
    file: NamedTempFile,
    found: campanile_media::Facts,
    sha256: [u8; 32],
    bytes: u64,
}

fn clean(
    raw: &NamedTempFile,
    folder: &std::path::Path,
    limits: &Limits,
) -> Result<Cleaned, Refusal> {
    let mut source = raw.reopen()?;
    let file = NamedTempFile::new_in(folder)?;
    let mut target = std::io::BufWriter::new(file.reopen()?);
    let found = campanile_media::clean(&mut source, &mut target, limits)?;
    target.flush()?;
    let mut stored = file.reopen()?;
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let read = stored.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        hash.update(&chunk[..read]);
        bytes += read as u64;
    }
    Ok(Cleaned { file, found, sha256: hash.finalize().into(), bytes })
}

fn refusal_problem(field: &'static str, refusal: Refusal) -> Problem {
    match refusal {
        Refusal::Io(error) => Problem::internal(error),
        other => Problem::invalid_field(field, other.code(), other.to_string()),
    }
}
