//! MP4 and QuickTime layouts that the fixtures do not have, and boxes that lie.

use campanile_media::Kind;

use crate::{clean, cleaned, contains, find, fixture, refusal_code, replaced};

fn media_box(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let size = u32::try_from(content.len() + 8).expect("short").to_be_bytes();
    [&size[..], kind, content].concat()
}

fn file_type() -> Vec<u8> {
    media_box(b"ftyp", b"isom\0\0\0\0")
}

#[test]
fn boxes_of_unknown_content_become_free_space() {
    let (_, plain) = cleaned(&fixture("telemetry.mp4"));
    let large = [&[0, 0, 0, 1][..], b"uuid", &22_u64.to_be_bytes(), b"CANARY"].concat();
    let to_the_end = [&[0, 0, 0, 0][..], b"meta", b"CANARY"].concat();
    for hidden in [
        media_box(b"gps ", b"CANARY"),
        media_box(b"free", b"CANARY"),
        media_box(b"uuid", b"CANARY"),
        large,
        to_the_end,
    ] {
        let (_, after) = cleaned(&[&plain[..], &hidden].concat());
        assert!(after.starts_with(&plain) && !contains(&after, b"CANARY"));
        assert_eq!(&after[plain.len() + 4..plain.len() + 8], b"free");
        assert_eq!(&after[plain.len()..plain.len() + 4], &hidden[..4]);
    }
}

#[test]
fn samples_of_tracks_that_are_neither_picture_nor_sound_are_blanked() {
    let before = fixture("telemetry.mp4");
    let at = find(&before, b"CANARY-TELEMETRY").expect("the text track's sample");
    let (_, after) = cleaned(&before);
    assert!(after[at - 2..at + 26].iter().all(|byte| *byte == 0));

    let metadata = replaced(before.clone(), b"soun", b"meta");
    let (facts, after) = cleaned(&metadata);
    assert_eq!(facts.duration_ms, Some(1000));
    let zeros = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == 0).count();
    assert!(zeros(&after) > zeros(&cleaned(&before).1));
}

#[test]
fn a_dropped_track_cannot_point_at_anything_but_media_data() {
    let before = fixture("telemetry.mp4");
    let last = before.windows(4).rposition(|window| window == b"stco").expect("an offset table");
    let mut lying = before;
    lying[last + 12..last + 16].copy_from_slice(&[0, 0, 0, 4]);
    assert_eq!(refusal_code(&lying), "media_damaged");
}

#[test]
fn handler_names_go() {
    let named = replaced(fixture("telemetry.mp4"), b"VideoHandler", b"CANARY-MAKER");
    assert!(!contains(&cleaned(&named).1, b"CANARY"));
}

#[test]
fn references_to_other_files_are_refused() {
    let external = replaced(fixture("telemetry.mp4"), b"url \0\0\0\x01", b"url \0\0\0\0");
    let refusal = clean(&external).expect_err("refused");
    assert_eq!(refusal.code(), "unsupported_media_type");
    assert!(refusal.to_string().contains("another file"));
}

#[test]
fn sound_alone_is_refused() {
    let sound = replaced(fixture("fragmented.mp4"), b"vide", b"soun");
    assert_eq!(refusal_code(&sound), "unsupported_media_type");
}

#[test]
fn quicktime_without_a_file_type_is_accepted() {
    let before = fixture("rotated.mov");
    let first = u32::from_be_bytes(*before.first_chunk().expect("a box")) as usize;
    let mut old = before;
    old.splice(..first, media_box(b"wide", &vec![0; first - 8]));
    assert_eq!(cleaned(&old).0.kind, Kind::Mov);
}

#[test]
fn box_sizes_that_lie_are_refused() {
    let huge = [&[0, 0, 0, 1][..], b"moov", &u64::MAX.to_be_bytes()].concat();
    let short_large = [&[0, 0, 0, 1][..], b"moov", &15_u64.to_be_bytes()].concat();
    let endless = [&[0, 0, 0, 0][..], b"moov"].concat();
    let tiny = [&[0, 0, 0, 7][..], b"moov", &[0; 8]].concat();
    let beyond = [&[0, 0, 1, 0][..], b"moov", &[0; 8]].concat();
    let inner_zero = [media_box(b"moov", &[0; 8]), media_box(b"mdat", b"")].concat();
    for lie in [huge, short_large, endless, tiny, beyond, inner_zero, vec![0, 0]] {
        assert_eq!(refusal_code(&[file_type(), lie].concat()), "media_damaged");
    }
}

#[test]
fn deep_nesting_is_refused() {
    for kind in [b"moov", b"trak", b"mdia", b"moof", b"udta"] {
        let nested = (0..10_000_u32)
            .rev()
            .flat_map(|depth| [&(8 + depth * 8).to_be_bytes()[..], kind].concat())
            .collect::<Vec<u8>>();
        assert_eq!(refusal_code(&[file_type(), nested].concat()), "media_damaged");
    }
}

#[test]
fn too_many_boxes_are_refused() {
    let boxes = media_box(b"mdat", b"").repeat(1_000_001);
    assert_eq!(refusal_code(&[file_type(), boxes].concat()), "media_damaged");
}
