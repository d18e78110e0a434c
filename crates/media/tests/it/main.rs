//! Tests of the crate from outside, on files made by real programs and on hostile ones.

mod fixtures;
mod gif;
mod jpeg;
mod kind;
mod limits;
mod mp4;
mod png;
mod properties;
mod refused;
mod webm;
mod webp;

use std::io::Cursor;

use campanile_media::{Facts, Limits, Refusal};

/// Files made by cjpeg, cwebp, gif2webp and ffmpeg, with metadata written by exiftool and ffmpeg;
/// `tests/fixtures/make.sh` says how.
const FIXTURES: &[&str] = &[
    "photo.jpg",
    "progressive.jpg",
    "motion.jpg",
    "photo.png",
    "animated.png",
    "lossy.webp",
    "plain.webp",
    "animated.webp",
    "animated.gif",
    "telemetry.mp4",
    "fragmented.mp4",
    "rotated.mov",
    "sound.webm",
    "live.webm",
];

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn clean_within(bytes: &[u8], limits: &Limits) -> Result<(Facts, Vec<u8>), Refusal> {
    let mut output = Vec::new();
    let facts = campanile_media::clean(&mut Cursor::new(bytes), &mut output, limits)?;
    Ok((facts, output))
}

fn clean(bytes: &[u8]) -> Result<(Facts, Vec<u8>), Refusal> {
    clean_within(bytes, &Limits::default())
}

/// Cleans a file that must be accepted, and checks that a second cleaning changes nothing.
#[track_caller]
fn cleaned(bytes: &[u8]) -> (Facts, Vec<u8>) {
    let (facts, output) = clean(bytes).expect("accepted");
    assert!(clean(&output).expect("accepted again") == (facts, output.clone()));
    (facts, output)
}

#[track_caller]
fn refusal_code(bytes: &[u8]) -> &'static str {
    clean(bytes).expect_err("refused").code()
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    find(bytes, needle).is_some()
}

/// Replaces the first occurrence of `old`, which must be there.
#[track_caller]
fn replaced(mut bytes: Vec<u8>, old: &[u8], new: &[u8]) -> Vec<u8> {
    let at = find(&bytes, old).expect("found");
    bytes.splice(at..at + old.len(), new.iter().copied());
    bytes
}

/// The Exif block that remains of a picture that is not upright.
fn minimal_exif(orientation: u8) -> Vec<u8> {
    let mut exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".to_vec();
    exif.extend([orientation, 0, 0, 0, 0, 0, 0]);
    exif
}
