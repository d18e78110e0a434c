//! Limits hold, and are checked before the work they are meant to avoid.

use std::io::{self, Cursor, Read, Seek, SeekFrom};

use campanile_media::{Limits, Refusal, clean};

use crate::{clean_within, fixture};

#[track_caller]
fn assert_code(name: &str, limits: Limits, code: &str) {
    let refusal = clean_within(&fixture(name), &limits).expect_err("refused");
    assert_eq!(refusal.code(), code, "{refusal}");
}

#[test]
fn each_limit_has_its_code() {
    let limits = Limits::default();
    assert_code("photo.jpg", Limits { image_bytes: 100, ..limits }, "media_too_large");
    assert_code("live.webm", Limits { video_bytes: 100, ..limits }, "media_too_large");
    for name in ["photo.jpg", "photo.png", "lossy.webp", "animated.gif", "rotated.mov", "live.webm"]
    {
        assert_code(name, Limits { image_side: 23, ..limits }, "media_dimensions_exceeded");
        assert_code(name, Limits { image_pixels: 383, ..limits }, "media_dimensions_exceeded");
    }
    for name in ["animated.gif", "animated.png", "animated.webp"] {
        assert_code(name, Limits { gif_frames: 2, ..limits }, "media_too_long");
    }
    for name in ["telemetry.mp4", "rotated.mov", "sound.webm"] {
        assert_code(name, Limits { video_ms: 999, ..limits }, "media_too_long");
    }
}

#[test]
fn a_file_at_the_limit_is_accepted() {
    let bytes = fixture("rotated.mov");
    let video_bytes = bytes.len() as u64;
    let limits = Limits {
        video_bytes,
        image_pixels: 48 * 32,
        image_side: 48,
        video_ms: 1000,
        ..Limits::default()
    };
    assert!(clean_within(&bytes, &limits).is_ok());
}

/// Claims a size and fails on every read.
struct Unreadable {
    length: u64,
}

impl Read for Unreadable {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("read"))
    }
}

impl Seek for Unreadable {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        Ok(if position == SeekFrom::End(0) { self.length } else { 0 })
    }
}

#[test]
fn the_size_is_checked_before_anything_is_read() {
    let mut huge = Unreadable { length: (1 << 30) + 1 };
    let refusal = clean(&mut huge, &mut Vec::new(), &Limits::default()).expect_err("refused");
    assert!(matches!(refusal, Refusal::TooLarge { .. }));
    let mut small = Unreadable { length: 1000 };
    let refusal = clean(&mut small, &mut Vec::new(), &Limits::default()).expect_err("refused");
    assert_eq!(refusal.code(), "io");
}

/// Accepts nothing.
struct Full;

impl io::Write for Full {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported() {
    let mut source = Cursor::new(fixture("photo.jpg"));
    let refusal = clean(&mut source, &mut Full, &Limits::default()).expect_err("refused");
    assert_eq!(refusal.code(), "io");
}
