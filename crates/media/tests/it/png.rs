//! PNG chunks that the fixtures do not have.

use crate::{cleaned, fixture, refusal_code, replaced};

const AFTER_HEADER: usize = 8 + 25;

/// The checksum of the specification, bit by bit, to check the table against.
fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { 0xEDB8_8320 ^ (crc >> 1) } else { crc >> 1 }
        })
    })
}

fn chunk(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("short").to_be_bytes();
    let checked = [name, content].concat();
    [&length[..], &checked, &checksum(&checked).to_be_bytes()].concat()
}

fn picture_with(chunks: &[Vec<u8>]) -> Vec<u8> {
    let (_, plain) = cleaned(&fixture("animated.png"));
    [&plain[..AFTER_HEADER], &chunks.concat(), &plain[AFTER_HEADER..]].concat()
}

fn header_of(width: u32, height: u32) -> Vec<u8> {
    let content = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
    [&b"\x89PNG\r\n\x1A\n"[..], &chunk(b"IHDR", &content)].concat()
}

#[test]
fn colour_information_stays() {
    let picture = picture_with(&[
        chunk(b"gAMA", &[0, 0, 0xB1, 0x8F]),
        chunk(b"sRGB", &[0]),
        chunk(b"cICP", &[1, 13, 0, 1]),
        chunk(b"pHYs", &[0, 0, 0, 1, 0, 0, 0, 1, 0]),
    ]);
    assert!(cleaned(&picture).1 == picture);
}

#[test]
fn text_times_and_unknown_chunks_go() {
    let names = [b"tEXt", b"zTXt", b"iTXt", b"tIME", b"caBX", b"prVt"];
    let chunks = names.map(|name| chunk(name, b"CANARY"));
    let picture = [&picture_with(&chunks)[..], b"CANARY after the end"].concat();
    assert!(cleaned(&picture).1 == picture_with(&[]));
}

#[test]
fn a_decompression_bomb_is_refused_by_its_header() {
    assert_eq!(refusal_code(&header_of(10_000, 10_000)), "media_dimensions_exceeded");
    assert_eq!(refusal_code(&header_of(20_000, 1)), "media_dimensions_exceeded");
    assert_eq!(refusal_code(&header_of(u32::MAX, u32::MAX)), "media_dimensions_exceeded");
    assert_eq!(refusal_code(&header_of(0, 1)), "media_damaged");
}

#[test]
fn damaged_files_are_refused() {
    let picture = picture_with(&[]);
    assert_eq!(refusal_code(&picture[..picture.len() - 12]), "media_damaged");
    let no_data = [header_of(1, 1), chunk(b"IEND", b"")].concat();
    assert_eq!(refusal_code(&no_data), "media_damaged");
    assert_eq!(refusal_code(&picture_with(&[chunk(b"QUUX", b"")])), "media_damaged");
    let wrong_header =
        replaced(picture.clone(), &[0, 0, 0, 24, 0, 0, 0, 16], &[0, 0, 0, 25, 0, 0, 0, 16]);
    assert_eq!(refusal_code(&wrong_header), "media_damaged");
    let long_chunk = [&picture[..AFTER_HEADER], b"\xFF\xFF\xFF\xFFtEXt"].concat();
    assert_eq!(refusal_code(&long_chunk), "media_damaged");
}
