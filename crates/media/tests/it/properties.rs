//! Whatever the bytes are: no panic, and what was accepted once is accepted again unchanged.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::{FIXTURES, clean, fixture};

/// Beginnings that lead past the type check into each of the parsers.
const BEGINNINGS: &[&[u8]] = &[
    b"",
    b"\xFF\xD8\xFF",
    b"\x89PNG\r\n\x1A\n",
    b"GIF89a\x02\0\x02\0\0\0\0",
    b"RIFF\x40\0\0\0WEBP",
    b"RIFF\x40\0\0\0WEBPVP8X\x0A\0\0\0\x2A\0\0\0\0\0\0\0\0\0",
    b"\0\0\0\x10ftypisom\0\0\0\0",
    b"\0\0\0\x10ftypqt  \0\0\0\0\0\0\0\0moov\0\0\0\x40trak",
    b"\x1A\x45\xDF\xA3\x87\x42\x82\x84webm\x18\x53\x80\x67\xFF",
];

fn check(bytes: &[u8]) {
    if let Ok((facts, output)) = clean(bytes) {
        let (facts_again, output_again) = clean(&output).expect("accepted again");
        assert_eq!(facts, facts_again);
        assert!(output == output_again, "a second cleaning changed the file");
    }
}

#[test]
fn fixtures_cut_short_at_every_length() {
    for name in FIXTURES {
        let bytes = fixture(name);
        for length in 0..bytes.len() {
            check(&bytes[..length]);
        }
    }
}

#[test]
fn fixtures_with_every_single_byte_changed() {
    for name in FIXTURES {
        let mut bytes = fixture(name);
        for at in 0..bytes.len() {
            let original = bytes[at];
            for changed in [0, 1, 0xFF, original ^ 1, original ^ 0x80] {
                bytes[at] = changed;
                check(&bytes);
            }
            bytes[at] = original;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn arbitrary_bytes(beginning in select(BEGINNINGS), rest in vec(any::<u8>(), 0..200)) {
        check(&[beginning, &rest[..]].concat());
    }

    #[test]
    fn fixtures_with_bytes_changed(
        name in select(FIXTURES),
        changes in vec((any::<Index>(), any::<u8>()), 1..10),
    ) {
        let mut bytes = fixture(name);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        check(&bytes);
    }

    #[test]
    fn fixtures_with_a_part_moved(
        name in select(FIXTURES),
        from in any::<Index>(),
        to in any::<Index>(),
        length in 1..400_usize,
    ) {
        let mut bytes = fixture(name);
        let from = from.index(bytes.len());
        let part: Vec<u8> = bytes[from..].iter().copied().take(length).collect();
        let to = to.index(bytes.len());
        bytes.splice(to..to, part);
        check(&bytes);
    }
}
