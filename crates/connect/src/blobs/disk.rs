//! Blobs as files of this machine.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use object_store::local::LocalFileSystem;

use super::BlobError;

/// The directory meant by what follows `file:`, if that can be a directory of this machine.
pub(super) fn locate(path: &str, data_dir: &Path) -> Option<PathBuf> {
    // In file://host/path the host comes second, and only the empty host is this machine.
    let path = match path.strip_prefix("//") {
        Some(absolute) if absolute.starts_with('/') => absolute,
        Some(_) => return None,
        None => path,
    };
    if path.is_empty() { None } else { Some(data_dir.join(path)) }
}

/// Opens the directory, and makes it first where there is none.
pub(super) fn open(directory: PathBuf) -> Result<(LocalFileSystem, PathBuf), BlobError> {
    let directory =
        prepare(&directory).map_err(|source| BlobError::Directory { path: directory, source })?;
    let store = LocalFileSystem::new_with_prefix(&directory)?.with_fsync(true);
    Ok((store, directory))
}

fn prepare(directory: &Path) -> io::Result<PathBuf> {
    let directory = std::path::absolute(directory)?;
    let missing = directory.ancestors().take_while(|ancestor| !ancestor.exists()).count();
    fs::create_dir_all(&directory)?;
    // Only where an entry was made: the directories above may not be ours to open.
    directory.ancestors().skip(1).take(missing).try_for_each(sync)?;
    fs::canonicalize(&directory)
}

/// Makes every directory on the way to the blob durable.
///
/// The store itself makes the file and the directories it has made durable. It cannot see that a
/// directory it found was made a moment ago by another put that has not come to that point yet.
pub(super) async fn make_durable(directory: PathBuf, name: String) -> Result<(), BlobError> {
    let sync_all = move || -> io::Result<()> {
        let depth = name.split('/').count();
        directory.join(name).ancestors().skip(1).take(depth).try_for_each(sync)
    };
    tokio::task::spawn_blocking(sync_all)
        .await
        .map_err(io::Error::other)
        .and_then(|synced| synced)
        .map_err(BlobError::Disk)
}

/// Refuses a blob whose file is anything but a file.
pub(super) async fn refuse_links(directory: PathBuf, name: String) -> Result<(), BlobError> {
    let found = tokio::fs::symlink_metadata(directory.join(&name)).await;
    match found {
        Ok(about) if !about.is_file() => Err(BlobError::Missing { name }),
        // What is not there is told by the read itself.
        _ => Ok(()),
    }
}

/// A put that was killed leaves its file under the blob's name with a number behind it.
pub(super) async fn remove_half_written(directory: PathBuf, name: String) -> Result<(), BlobError> {
    for number in 1..=3 {
        match tokio::fs::remove_file(directory.join(format!("{name}#{number}"))).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(BlobError::Disk(error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_data_directory_or_absolute() {
        let located = |path| locate(path, Path::new("/data"));

        assert_eq!(located("media"), Some(PathBuf::from("/data/media")));
        assert_eq!(located("/srv/media"), Some(PathBuf::from("/srv/media")));
        assert_eq!(located("///srv/media"), Some(PathBuf::from("/srv/media")));
        assert_eq!(located("//server/media"), None);
        assert_eq!(located(""), None);
        assert_eq!(located("//"), None);
    }
}
