//! GIF blocks that the fixtures do not have.

use crate::{clean, cleaned, refusal_code};

const HEADER: &[u8] = b"GIF89a\x02\0\x03\0\0\0\0";
const FRAME: &[u8] = b"\x2C\0\0\0\0\x02\0\x03\0\0\x02\x02\x44\x01\0";
const CONTROL: &[u8] = b"\x21\xF9\x04\0\x07\0\0\0";
const LOOP: &[u8] = b"\x21\xFF\x0BNETSCAPE2.0\x03\x01\0\0\0";

fn gif(blocks: &[&[u8]]) -> Vec<u8> {
    [HEADER, &blocks.concat(), b"\x3B"].concat()
}

#[test]
fn frames_timing_and_loops_stay() {
    let before = gif(&[LOOP, CONTROL, FRAME, CONTROL, FRAME]);
    let (facts, after) = cleaned(&before);
    assert!(after == before);
    assert_eq!((facts.width, facts.height), (2, 3));
    assert_eq!((facts.frames, facts.duration_ms), (Some(2), Some(140)));
}

#[test]
fn a_single_frame_is_no_animation() {
    let (facts, _) = cleaned(&gif(&[CONTROL, FRAME]));
    assert_eq!((facts.frames, facts.duration_ms), (None, None));
}

#[test]
fn comments_texts_and_application_data_go() {
    let comment = b"\x21\xFE\x06CANARY\0";
    let text = b"\x21\x01\x0C\0\0\0\0\0\0\0\0\0\0\0\0\x06CANARY\0";
    let application = b"\x21\xFF\x0BXMP DataXMP\x06CANARY\0";
    let hidden = b"\x21\xFF\x0BNETSCAPE2.0\x06CANARY\x03\x01\0\0\0";
    // The control before the text belongs to the text, and must not change the next frame.
    let before = gif(&[hidden, comment, CONTROL, text, application, FRAME, b"\0"]);
    let (_, after) = cleaned(&[&before[..], b"CANARY"].concat());
    assert!(after == gif(&[LOOP, FRAME]), "{}", after.escape_ascii());
}

#[test]
fn too_many_frames_are_refused() {
    let accepted = [&FRAME.repeat(36_000)[..]];
    assert!(clean(&gif(&accepted)).is_ok());
    assert_eq!(refusal_code(&gif(&[&FRAME.repeat(40_000)])), "media_too_long");
}

#[test]
fn damaged_files_are_refused() {
    assert_eq!(refusal_code(&gif(&[])), "media_damaged");
    assert_eq!(refusal_code(HEADER), "media_damaged");
    assert_eq!(refusal_code(&[HEADER, FRAME].concat()), "media_damaged");
    assert_eq!(refusal_code(&gif(&[FRAME, b"\x77"])), "media_damaged");
    assert_eq!(refusal_code(b"GIF89a\xFF\xFF\xFF\xFF\0\0\0"), "media_dimensions_exceeded");
}
