//! The storage of media files.

use std::fs;
use std::ops::Range;
use std::path::Path;

use campanile_connect::{BlobError, Blobs};
use futures_util::future::join_all;
use futures_util::{StreamExt, TryStreamExt};
use tempfile::TempDir;

/// Larger than one part of an upload, and no multiple of any step inside.
const LARGE: usize = 17 * 1024 * 1024 + 13;

fn content(size: usize) -> Vec<u8> {
    (0..size).map(|index| (index % 251) as u8).collect()
}

fn open(data_dir: &TempDir) -> Blobs {
    Blobs::open("file:media", data_dir.path()).expect("a storage")
}

async fn put(blobs: &Blobs, data_dir: &TempDir, name: &str, content: &[u8]) {
    let path = data_dir.path().join(name.replace('/', "-"));
    fs::write(&path, content).expect("a file");
    blobs.put_file(name, &path).await.expect("stored");
}

async fn get(blobs: &Blobs, name: &str, range: Option<Range<u64>>) -> Vec<u8> {
    let blob = blobs.read(name, range).await.expect("a blob");
    let chunks: Vec<_> = blob.chunks.try_collect().await.expect("the bytes");
    assert!(chunks.iter().all(|chunk| (1..=64 * 1024).contains(&chunk.len())));
    chunks.concat()
}

/// All files below the directory.
fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path.file_name().expect("a name").to_string_lossy().into_owned());
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn what_is_put_is_read_back_at_every_size() {
    let data_dir = TempDir::new().expect("a directory");
    let blobs = open(&data_dir);
    let part = 8 * 1024 * 1024;

    for size in [0, 1, 64 * 1024, 64 * 1024 + 1, part - 1, part, part + 1, LARGE] {
        let content = content(size);
        put(&blobs, &data_dir, "ws_1/blob_1", &content).await;

        assert_eq!(blobs.size("ws_1/blob_1").await.expect("a size"), Some(size as u64));
        assert!(get(&blobs, "ws_1/blob_1", None).await == content, "{size}");
    }

    assert_eq!(files(&data_dir.path().join("media")), ["blob_1"], "no temporary file is left");
}

#[tokio::test]
async fn a_range_is_read_alone() {
    let data_dir = TempDir::new().expect("a directory");
    let blobs = open(&data_dir);
    let content = content(200_000);
    put(&blobs, &data_dir, "a", &content).await;

    for range in [0..1, 0..200_000, 199_999..200_000, 65_535..131_073, 100_000..999_999] {
        let blob = blobs.read("a", Some(range.clone())).await.expect("a blob");
        let end = range.end.min(200_000);
        assert_eq!((blob.size, blob.range), (200_000, range.start..end));
        let expected = &content[range.start as usize..end as usize];
        assert!(get(&blobs, "a", Some(range)).await == expected);
    }
    for (start, end) in [(200_000, 200_001), (u64::MAX - 1, u64::MAX), (5, 5), (6, 5)] {
        let outcome = blobs.read("a", Some(Range { start, end })).await;
        assert!(matches!(outcome, Err(BlobError::OutOfRange { size: 200_000 })), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_deleted_blob_is_gone_and_may_be_deleted_again() {
    let data_dir = TempDir::new().expect("a directory");
    let blobs = open(&data_dir);
    put(&blobs, &data_dir, "ws_1/a", b"a").await;

    blobs.delete("ws_1/a").await.expect("deleted");
    blobs.delete("ws_1/a").await.expect("deleted before");
    blobs.delete("ws_2/never").await.expect("never there");

    assert_eq!(blobs.size("ws_1/a").await.expect("no size"), None);
    let outcome = blobs.read("ws_1/a", None).await;
    assert!(matches!(outcome, Err(BlobError::Missing { .. })), "{outcome:?}");
    let outcome = blobs.read("ws_1/a", Some(0..1)).await;
    assert!(matches!(outcome, Err(BlobError::Missing { .. })), "{outcome:?}");
}

#[tokio::test]
async fn no_name_reaches_outside_of_the_storage() {
    let data_dir = TempDir::new().expect("a directory");
    let blobs = open(&data_dir);
    let secret = data_dir.path().join("secret");
    fs::write(&secret, "secret").expect("a file");
    let absolute = secret.to_string_lossy().into_owned();

    for name in ["../secret", "ws_1/../../secret", "..", ".", "", "/", "a/", "a#1", "A", &absolute]
    {
        let bad =
            |outcome: Result<(), BlobError>| matches!(outcome, Err(BlobError::BadName { .. }));
        assert!(bad(blobs.read(name, None).await.map(|_| ())), "{name}");
        assert!(bad(blobs.size(name).await.map(|_| ())), "{name}");
        assert!(bad(blobs.delete(name).await), "{name}");
        assert!(bad(blobs.put_file(name, &secret).await), "{name}");
    }

    assert_eq!(fs::read(&secret).expect("still there"), b"secret");
    assert!(files(&data_dir.path().join("media")).is_empty());
}

#[tokio::test]
async fn puts_at_the_same_time_do_not_mix() {
    let data_dir = TempDir::new().expect("a directory");
    let blobs = open(&data_dir);
    let contents: Vec<_> = (0u8..16).map(|byte| vec![byte; 9 * 1024 * 1024]).collect();

    // Half of them under names of their own, half fighting for one.
    join_all(contents.iter().enumerate().map(|(index, content)| {
        let path = data_dir.path().join(format!("source_{index}"));
        fs::write(&path, content).expect("a file");
        let name = if index < 8 { format!("ws_1/own_{index}") } else { "ws_1/shared".to_owned() };
        let blobs = blobs.clone();
        async move { blobs.put_file(&name, &path).await.expect("stored") }
    }))
    .await;

    for (index, content) in contents.iter().enumerate().take(8) {
        assert!(get(&blobs, &format!("ws_1/own_{index}"), None).await == *content);
    }
    let shared = get(&blobs, "ws_1/shared", None).await;
    assert!(contents[8..].contains(&shared), "one of the contents, whole");
    assert_eq!(files(&data_dir.path().join("media")).len(), 9, "no temporary file is left");
}

#[tokio::test]
async fn a_reader_keeps_what_it_opened() {
    let data_dir = TempDir::new().expect("a directory");
    let blobs = open(&data_dir);
    put(&blobs, &data_dir, "a", &content(300_000)).await;
    let mut blob = blobs.read("a", None).await.expect("a blob");
    let first = blob.chunks.next().await.expect("a chunk").expect("bytes");

    put(&blobs, &data_dir, "a", b"other").await;
    blobs.delete("a").await.expect("deleted");

    let rest: Vec<_> = blob.chunks.try_collect().await.expect("the bytes");
    assert!([first.to_vec(), rest.concat()].concat() == content(300_000));
}

#[tokio::test]
async fn a_file_cut_short_on_the_disk_is_an_error_and_not_an_end() {
    let data_dir = TempDir::new().expect("a directory");
    let blobs = open(&data_dir);
    put(&blobs, &data_dir, "a", &content(300_000)).await;
    let blob = blobs.read("a", None).await.expect("a blob");

    let file = fs::OpenOptions::new().write(true).open(data_dir.path().join("media/a"));
    file.expect("the file").set_len(100_000).expect("cut");

    let outcome = blob.chunks.try_collect::<Vec<_>>().await;
    assert!(matches!(outcome, Err(BlobError::Disk(_))), "{outcome:?}");
}

#[tokio::test]
async fn a_missing_source_leaves_nothing() {
    let data_dir = TempDir::new().expect("a directory");
    let blobs = open(&data_dir);

    let outcome = blobs.put_file("a", &data_dir.path().join("nothing")).await;

    assert!(matches!(outcome, Err(BlobError::Source(_))), "{outcome:?}");
    assert_eq!(blobs.size("a").await.expect("no size"), None);
}

#[tokio::test]
async fn the_check_passes_and_leaves_nothing() {
    let data_dir = TempDir::new().expect("a directory");
    let blobs = open(&data_dir);

    join_all((0..8).map(|_| blobs.check()))
        .await
        .into_iter()
        .for_each(|check| check.expect("fine"));

    assert!(files(&data_dir.path().join("media")).is_empty());
}

#[tokio::test]
async fn the_check_sees_a_storage_that_is_gone() {
    let data_dir = TempDir::new().expect("a directory");
    let blobs = open(&data_dir);
    fs::remove_dir(data_dir.path().join("media")).expect("removed");
    fs::write(data_dir.path().join("media"), "a file now").expect("written");

    assert!(blobs.check().await.is_err());
}

#[test]
fn only_addresses_of_files_are_opened() {
    let data_dir = TempDir::new().expect("a directory");
    let open = |url: &str| Blobs::open(url, data_dir.path());
    let absolute = format!("file:{}", data_dir.path().join("elsewhere").display());

    assert!(open(&absolute).is_ok() && data_dir.path().join("elsewhere").is_dir());
    assert!(open("s3://bucket").expect_err("no S3").to_string().contains("S3"));
    for url in ["", "media", "file:", "file://host/media", "http://example.com", "FILE:media"] {
        assert!(matches!(open(url), Err(BlobError::BadAddress { .. })), "{url}");
    }
    fs::write(data_dir.path().join("taken"), "").expect("a file");
    assert!(matches!(open("file:taken/media"), Err(BlobError::Directory { .. })));
}
