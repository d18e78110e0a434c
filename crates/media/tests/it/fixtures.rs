//! Every real file: its facts are right, its secrets are gone, and cleaning it again changes nothing.

use campanile_media::{Facts, Kind};

use crate::{FIXTURES, cleaned, contains, fixture, minimal_exif};

fn facts(kind: Kind, width: u32, height: u32) -> Facts {
    Facts { kind, width, height, duration_ms: None, frames: None }
}

fn lasting(duration_ms: u64, facts: Facts) -> Facts {
    Facts { duration_ms: Some(duration_ms), ..facts }
}

fn expected(name: &str) -> Facts {
    let animated = |frames, facts| Facts { frames: Some(frames), ..facts };
    match name {
        "photo.jpg" => facts(Kind::Jpeg, 32, 48),
        "progressive.jpg" | "motion.jpg" => facts(Kind::Jpeg, 48, 32),
        "photo.png" => facts(Kind::Png, 32, 48),
        "animated.png" => animated(3, lasting(600, facts(Kind::Png, 24, 16))),
        "lossy.webp" => facts(Kind::Webp, 32, 48),
        "plain.webp" => facts(Kind::Webp, 48, 32),
        "animated.webp" => animated(3, lasting(800, facts(Kind::Webp, 24, 16))),
        "animated.gif" => animated(4, lasting(800, facts(Kind::Gif, 24, 16))),
        "telemetry.mp4" => lasting(1000, facts(Kind::Mp4, 48, 32)),
        "fragmented.mp4" => facts(Kind::Mp4, 48, 32),
        "rotated.mov" => lasting(1000, facts(Kind::Mov, 32, 48)),
        "sound.webm" => lasting(1008, facts(Kind::Webm, 48, 32)),
        "live.webm" => facts(Kind::Webm, 48, 32),
        _ => panic!("no facts for {name}"),
    }
}

#[test]
fn facts_are_right() {
    for name in FIXTURES {
        assert_eq!(cleaned(&fixture(name)).0, expected(name), "{name}");
    }
}

#[test]
fn secrets_are_gone() {
    for name in FIXTURES {
        let before = fixture(name);
        let (_, after) = cleaned(&before);
        let has_secrets = *name != "plain.webp";
        assert_eq!(contains(&before, b"CANARY"), has_secrets, "{name}");
        for secret in [&b"CANARY"[..], b"52.516", b"52,30", b"+52.5", b"xmpmeta", b"Photoshop"] {
            assert!(!contains(&after, secret), "{name}: {}", secret.escape_ascii());
        }
    }
}

#[test]
fn orientation_is_all_that_is_left_of_exif() {
    for (name, orientation) in [("photo.jpg", 6), ("photo.png", 8), ("lossy.webp", 5)] {
        let (_, after) = cleaned(&fixture(name));
        assert!(contains(&after, &minimal_exif(orientation)), "{name}");
    }
    for name in ["progressive.jpg", "animated.png", "animated.webp"] {
        let (_, after) = cleaned(&fixture(name));
        assert!(!contains(&after, b"MM\0*") && !contains(&after, b"II*\0"), "{name}");
    }
}

#[test]
fn the_time_of_recording_is_gone() {
    // 2024-05-06 07:08:09, in seconds since 1904.
    let recorded = (1_714_979_289_u32 + 2_082_844_800).to_be_bytes();
    for name in ["telemetry.mp4", "rotated.mov"] {
        let before = fixture(name);
        assert!(contains(&before, &recorded), "{name}");
        assert!(!contains(&cleaned(&before).1, &recorded), "{name}");
    }
}

#[test]
fn videos_keep_their_length_in_bytes() {
    for name in FIXTURES {
        let before = fixture(name);
        let (facts, after) = cleaned(&before);
        assert!(facts.kind.is_image() || before.len() == after.len(), "{name}");
    }
}
