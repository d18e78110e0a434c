//! WebP layouts that the fixtures do not have.

use crate::{cleaned, contains, fixture, refusal_code, replaced};

fn chunk(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("short").to_le_bytes();
    let padding = &[0][..content.len() % 2];
    [&name[..], &length, content, padding].concat()
}

fn riff(chunks: &[u8]) -> Vec<u8> {
    let length = u32::try_from(chunks.len() + 4).expect("short").to_le_bytes();
    [&b"RIFF"[..], &length, b"WEBP", chunks].concat()
}

#[test]
fn flags_tell_what_is_left() {
    let (_, after) = cleaned(&fixture("lossy.webp"));
    assert_eq!(after[20], 0x08, "only Exif, for the orientation");
    let (_, after) = cleaned(&fixture("animated.webp"));
    assert_eq!(after[20] & !0x10, 0x02, "only the animation");
}

#[test]
fn a_plain_file_stays_as_it_is() {
    let before = fixture("plain.webp");
    assert!(cleaned(&before).1 == before);
}

#[test]
fn unknown_chunks_and_trailing_data_go() {
    let plain = fixture("plain.webp");
    let with_unknown = riff(&[&plain[12..], &chunk(b"SECR", b"CANARY!")].concat());
    assert!(cleaned(&[&with_unknown[..], b"CANARY"].concat()).1 == plain);
}

#[test]
fn unknown_chunks_inside_frames_go() {
    let (_, plain) = cleaned(&fixture("animated.webp"));
    let at = crate::find(&plain, b"ANMF").expect("a frame");
    let length = u32::from_le_bytes(*plain[at + 4..].first_chunk().expect("a length"));
    let end = at + 8 + length as usize;
    let frame = [&plain[at + 8..end], &chunk(b"SECR", b"CANARY")].concat();
    let chunks = [&plain[12..at], &chunk(b"ANMF", &frame), &plain[end + (length as usize & 1)..]];
    let hiding = riff(&chunks.concat());
    assert!(contains(&hiding, b"CANARY"));
    assert!(cleaned(&hiding).1 == plain);
}

#[test]
fn damaged_files_are_refused() {
    let plain = fixture("plain.webp");
    assert_eq!(refusal_code(&plain[..plain.len() - 2]), "media_damaged");
    assert_eq!(refusal_code(&riff(b"")), "media_damaged");
    assert_eq!(refusal_code(&riff(&chunk(b"VP8L", &[0x2F, 0, 0]))), "media_damaged");
    let no_signature = replaced(plain, &[0x2F], &[0x30]);
    assert_eq!(refusal_code(&no_signature), "media_damaged");
}

#[test]
fn a_canvas_that_hides_a_larger_picture_is_refused() {
    let plain = fixture("plain.webp");
    let tiny_canvas = chunk(b"VP8X", &[0; 10]);
    let lying = riff(&[&tiny_canvas, &plain[12..]].concat());
    assert_eq!(refusal_code(&lying), "media_damaged");
    let vast_canvas = chunk(b"VP8X", &[0, 0, 0, 0, 255, 255, 255, 255, 255, 255]);
    let lying = riff(&[&vast_canvas, &plain[12..]].concat());
    assert_eq!(refusal_code(&lying), "media_dimensions_exceeded");
}
