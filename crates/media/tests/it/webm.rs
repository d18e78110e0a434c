//! WebM layouts that the fixtures do not have.

use crate::{cleaned, contains, fixture, refusal_code, replaced};

fn element(id: &[u8], content: &[u8]) -> Vec<u8> {
    let size = u16::try_from(content.len()).expect("short") | 0x4000;
    [id, &size.to_be_bytes(), content].concat()
}

const ATTACHMENTS: &[u8] = &[0x19, 0x41, 0xA4, 0x69];
const TAGS: &[u8] = &[0x12, 0x54, 0xC3, 0x67];
const VOID: &[u8] = &[0xEC];

#[test]
fn attachments_and_tags_after_a_live_recording_become_void() {
    let (_, plain) = cleaned(&fixture("live.webm"));
    for id in [ATTACHMENTS, TAGS, VOID] {
        for content in [b"CANARY".to_vec(), b"CANARY".repeat(100)] {
            let (_, after) = cleaned(&[&plain[..], &element(id, &content)].concat());
            assert!(after.starts_with(&plain) && !contains(&after, b"CANARY"));
            assert_eq!(after[plain.len()], 0xEC);
        }
    }
}

#[test]
fn elements_after_the_segment_become_void() {
    let (_, plain) = cleaned(&fixture("sound.webm"));
    let (_, after) = cleaned(&[&plain[..], &element(TAGS, b"CANARY")].concat());
    assert!(!contains(&after, b"CANARY"));
}

#[test]
fn a_live_recording_has_parts_of_unknown_size() {
    // Otherwise the fixture would not test what it is for.
    let live = fixture("live.webm");
    assert!(contains(&live, b"\x18\x53\x80\x67\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), "the segment");
    let cluster = b"\x1F\x43\xB6\x75\x7F\xFF";
    assert!(live.windows(cluster.len()).filter(|window| window == cluster).count() > 1);
}

#[test]
fn matroska_is_refused() {
    let matroska = replaced(fixture("sound.webm"), b"\x84webm", b"\x84mkv\0");
    assert_eq!(refusal_code(&matroska), "unsupported_media_type");
}

#[test]
fn truncated_recordings_are_refused() {
    for name in ["live.webm", "sound.webm"] {
        let video = fixture(name);
        assert_eq!(refusal_code(&video[..video.len() - 3]), "media_damaged", "{name}");
    }
}

#[test]
fn tracks_other_than_picture_and_sound_are_refused() {
    let subtitles = replaced(fixture("sound.webm"), &[0x83, 0x81, 2], &[0x83, 0x81, 17]);
    assert_eq!(refusal_code(&subtitles), "unsupported_media_type");
    let no_picture = replaced(fixture("live.webm"), &[0x83, 0x81, 1], &[0x83, 0x81, 2]);
    assert_eq!(refusal_code(&no_picture), "unsupported_media_type");
}
