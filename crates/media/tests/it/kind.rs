//! Names of types, and types told from first bytes.

use campanile_media::{Kind, SNIFF_BYTES, sniff};

use crate::{FIXTURES, fixture};

#[test]
fn every_mime_type_leads_back_to_its_kind() {
    for kind in Kind::ALL {
        assert_eq!(Kind::from_mime(kind.mime()), Some(*kind));
        assert_eq!(kind.is_image(), kind.mime().starts_with("image/"));
    }
    assert_eq!(Kind::from_mime("Video/MP4; codecs=\"avc1\""), Some(Kind::Mp4));
    assert_eq!(Kind::from_mime("image/svg+xml"), None);
}

#[test]
fn the_first_bytes_of_real_files_are_enough() {
    for name in FIXTURES {
        let kind = sniff(&fixture(name)[..SNIFF_BYTES]).expect("known");
        assert_eq!(name.rsplit('.').next(), Some(kind.extension()), "{name}");
    }
}

#[test]
fn no_prefix_of_a_head_is_taken_for_another_kind() {
    for name in FIXTURES {
        let head = &fixture(name)[..SNIFF_BYTES];
        for length in 0..SNIFF_BYTES {
            let short = sniff(&head[..length]);
            assert!(short.is_none() || short == sniff(head), "{name}");
        }
    }
}
