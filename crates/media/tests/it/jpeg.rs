//! JPEG segments that the fixtures do not have.

use crate::{cleaned, contains, fixture, minimal_exif, refusal_code, replaced};

fn segment(marker: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len() + 2).expect("short");
    [&[0xFF, marker], &length.to_be_bytes()[..], payload].concat()
}

/// An upright photo with further segments after its start.
fn photo_with(segments: &[Vec<u8>]) -> Vec<u8> {
    let (_, plain) = cleaned(&fixture("progressive.jpg"));
    [&plain[..2], &segments.concat(), &plain[2..]].concat()
}

#[test]
fn colour_information_stays() {
    let profile = segment(0xE2, b"ICC_PROFILE\0\x01\x01profile");
    let adobe = segment(0xEE, b"Adobe\0\x64\0\0\0\0\x01");
    let photo = photo_with(&[profile, adobe]);
    assert!(cleaned(&photo).1 == photo);
}

#[test]
fn thumbnails_and_application_data_go() {
    let plain = photo_with(&[]);
    let mut thumbnail = b"JFIF\0\x01\x02\x01\0\x48\0\x48\x01\x01".to_vec();
    thumbnail.extend([1, 2, 3]);
    let photo = photo_with(&[
        segment(0xE0, b"JFXX\0\x13CANARY"),
        segment(0xE2, b"MPF\0CANARY"),
        segment(0xE5, b"CANARY"),
        segment(0xED, b"Photoshop 3.0\0CANARY"),
        segment(0xFE, b"CANARY"),
    ]);
    assert!(cleaned(&photo).1 == plain);
    let bare = segment(0xE0, b"JFIF\0\x01\x02\x01\0\x48\0\x48\0\0");
    assert!(cleaned(&photo_with(&[segment(0xE0, &thumbnail)])).1 == photo_with(&[bare]));
}

#[test]
fn the_first_orientation_decides() {
    let exif = |value| segment(0xE1, &[&b"Exif\0\0"[..], &minimal_exif(value)].concat());
    let (facts, after) = cleaned(&photo_with(&[exif(8), exif(3)]));
    assert_eq!((facts.width, facts.height), (32, 48));
    assert!(after == photo_with(&[exif(8)]));
    assert!(cleaned(&photo_with(&[exif(1), exif(3)])).1 == photo_with(&[]));
}

#[test]
fn fill_bytes_and_stray_bytes_go() {
    let stray = vec![0x00, 0x12, 0xFF, 0x00, 0xFF, 0xFF, 0xFF];
    assert!(cleaned(&photo_with(&[segment(0xE5, b""), stray])).1 == photo_with(&[]));
}

#[test]
fn what_follows_the_picture_goes() {
    let (_, motion) = cleaned(&fixture("motion.jpg"));
    assert!(motion == cleaned(&fixture("progressive.jpg")).1);
    assert!(motion.ends_with(&[0xFF, 0xD9]) && !contains(&motion, b"Exif"));
}

#[test]
fn damaged_files_are_refused() {
    let photo = photo_with(&[]);
    assert_eq!(refusal_code(&photo[..photo.len() - 2]), "media_damaged");
    assert_eq!(refusal_code(b"\xFF\xD8\xFF\xD9"), "media_damaged");
    assert_eq!(refusal_code(b"\xFF\xD8\xFF\xE1\0\x01"), "media_damaged");
    let twice = [&photo[..photo.len() - 2], &photo[2..]].concat();
    assert_eq!(refusal_code(&twice), "media_damaged");
    let lossless = replaced(photo, &[0xFF, 0xC2], &[0xFF, 0xC3]);
    assert_eq!(refusal_code(&lossless), "unsupported_media_type");
}
