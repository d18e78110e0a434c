//! Where media files are kept.

mod disk;
mod name;
mod read;
mod write;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::{ObjectStore, ObjectStoreExt};

pub use read::Blob;

/// A failed use of the storage.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    #[error("the storage address {url:?} is not understood: write file:PATH")]
    BadAddress { url: String },
    #[error("this build stores media in files only: S3 is not built in yet, write file:PATH")]
    NoS3,
    #[error("the media directory {} cannot be used", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("{name:?} is not the name of a blob")]
    BadName { name: String },
    #[error("there is no blob {name}")]
    Missing { name: String },
    #[error("the range lies outside of the blob, which has {size} bytes")]
    OutOfRange { size: u64 },
    #[error("the file to store cannot be read")]
    Source(#[source] io::Error),
    #[error("the storage failed")]
    Storage(#[from] object_store::Error),
    #[error("a stored file cannot be read or made durable")]
    Disk(#[source] io::Error),
    #[error("the storage gave back something else than was written to it")]
    Altered,
}

/// The storage of media files; clones share it.
///
/// A blob is written once, whole, under a name of lower-case letters, digits and underscores,
/// with slashes between parts; after that it is only read and deleted.
#[derive(Debug, Clone)]
pub struct Blobs {
    store: Arc<dyn ObjectStore>,
    /// The directory of the files, where they are on this machine.
    directory: Option<PathBuf>,
}

impl Blobs {
    /// Opens the storage at `file:PATH`, a relative path being taken from `data_dir`, and makes
    /// the directory where there is none. The path is taken as it is written, without escapes.
    pub fn open(storage_url: &str, data_dir: &Path) -> Result<Self, BlobError> {
        let bad_address = || BlobError::BadAddress { url: storage_url.to_owned() };
        match storage_url.split_once(':').ok_or_else(bad_address)? {
            ("file", path) => {
                let directory = disk::locate(path, data_dir).ok_or_else(bad_address)?;
                let (store, directory) = disk::open(directory)?;
                Ok(Self { store: Arc::new(store), directory: Some(directory) })
            }
            ("s3", _) => Err(BlobError::NoS3),
            _ => Err(bad_address()),
        }
    }

    /// Copies a local file into the storage, in place of what had the name before.
    ///
    /// On return the blob survives a loss of power; after a failure nothing of it is visible.
    pub async fn put_file(&self, name: &str, path: &Path) -> Result<(), BlobError> {
        let location = name::locate(name)?;
        write::copy_file(self.store.as_ref(), &location, path).await?;
        self.make_durable(name).await
    }

    /// Opens a blob, or the part of it that `range` and the blob have in common.
    ///
    /// On a disk only a regular file is a blob: a link could lead to anything.
    pub async fn read(&self, name: &str, range: Option<Range<u64>>) -> Result<Blob, BlobError> {
        if let Some(directory) = &self.directory {
            disk::refuse_links(directory.clone(), name::locate(name)?.to_string()).await?;
        }
        read::open(self.store.as_ref(), name, range).await
    }

    /// The size of a blob in bytes, or `None` where there is none.
    pub async fn size(&self, name: &str) -> Result<Option<u64>, BlobError> {
        match self.store.head(&name::locate(name)?).await {
            Ok(about) => Ok(Some(about.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes a blob if there is one.
    ///
    /// A loss of power may bring it back: the rows that name blobs are what counts.
    pub async fn delete(&self, name: &str) -> Result<(), BlobError> {
        if let Some(directory) = &self.directory {
            disk::remove_half_written(directory.clone(), name::locate(name)?.to_string()).await?;
        }
        match self.store.delete(&name::locate(name)?).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes, reads and deletes a small blob, to see that the storage works.
    pub async fn check(&self) -> Result<(), BlobError> {
        static PROBES: AtomicU64 = AtomicU64::new(0);
        let number = PROBES.fetch_add(1, Ordering::Relaxed);
        let name = format!("probe_{}_{number}", std::process::id());
        let content = Bytes::from(format!("Campanile {name}"));

        let outcome = self.write_and_compare(&name, content).await;
        let deleted = self.delete(&name).await;
        outcome.and(deleted)
    }

    async fn write_and_compare(&self, name: &str, content: Bytes) -> Result<(), BlobError> {
        self.store.put(&name::locate(name)?, content.clone().into()).await?;
        self.make_durable(name).await?;
        let chunks: Vec<Bytes> = self.read(name, None).await?.chunks.try_collect().await?;
        if chunks.concat() == content { Ok(()) } else { Err(BlobError::Altered) }
    }

    async fn make_durable(&self, name: &str) -> Result<(), BlobError> {
        match &self.directory {
            Some(directory) => disk::make_durable(directory.clone(), name.to_owned()).await,
            None => Ok(()),
        }
    }
}
