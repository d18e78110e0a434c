//! A local file on its way into the storage.

use std::path::Path as FilePath;

use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt};
use tokio::fs::File;
use tokio::io::AsyncReadExt;

use super::BlobError;

/// What is held in memory of a file at a time; remote stores want parts of 5 MiB and more.
const PART: usize = 8 * 1024 * 1024;

/// Copies the file; the blob appears under its name only once it is whole.
pub(super) async fn copy_file(
    store: &dyn ObjectStore,
    location: &Path,
    path: &FilePath,
) -> Result<(), BlobError> {
    let mut file = File::open(path).await.map_err(BlobError::Source)?;
    let first = next_part(&mut file).await?;
    if first.len() < PART {
        store.put(location, first.into()).await?;
        return Ok(());
    }
    let mut upload = store.put_multipart(location).await?;
    match copy_parts(upload.as_mut(), first, &mut file).await {
        Ok(()) => Ok(()),
        Err(error) => {
            // The first failure is the one to tell; what this leaves behind has no name.
            drop(upload.abort().await);
            Err(error)
        }
    }
}

async fn copy_parts(
    upload: &mut dyn MultipartUpload,
    first: Vec<u8>,
    file: &mut File,
) -> Result<(), BlobError> {
    let mut part = first;
    while !part.is_empty() {
        upload.put_part(part.into()).await?;
        part = next_part(file).await?;
    }
    upload.complete().await?;
    Ok(())
}

/// The next part of the file, shorter than [`PART`] only at its end.
async fn next_part(file: &mut File) -> Result<Vec<u8>, BlobError> {
    let mut part = Vec::new();
    file.take(PART as u64).read_to_end(&mut part).await.map_err(BlobError::Source)?;
    Ok(part)
}
