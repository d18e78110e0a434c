//! Types that are never accepted, each with advice.

use crate::clean;

#[track_caller]
fn assert_advice(bytes: &[u8], advice: &str) {
    let refusal = clean(bytes).expect_err("refused");
    assert_eq!(refusal.code(), "unsupported_media_type");
    assert!(refusal.to_string().contains(advice), "{refusal}");
}

#[test]
fn documents() {
    assert_advice(b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "SVG");
    assert_advice(b"\xEF\xBB\xBF <?xml version=\"1.0\"?><svg/>", "SVG");
    assert_advice(b"\n<!DOCTYPE html><html></html>", "HTML");
    assert_advice(b"%PDF-1.7\n", "PDF");
}

#[test]
fn playlists() {
    assert_advice(b"#EXTM3U\n#EXT-X-VERSION:3\n", "playlist");
    assert_advice(
        b"<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\"/>",
        "document",
    );
}

#[test]
fn archives() {
    assert_advice(b"PK\x03\x04\x14\0\0\0", "archive");
    assert_advice(b"\x1F\x8B\x08\0", "archive");
}

#[test]
fn pictures_in_other_formats() {
    for brand in [b"heic", b"avif", b"mif1", b"crx "] {
        let file = [&[0, 0, 0, 16][..], b"ftyp", brand, &[0; 4]].concat();
        assert_advice(&file, "JPEG");
    }
    assert_advice(b"BM\0\0\0\0", "JPEG");
    assert_advice(b"II*\0\x08\0\0\0", "JPEG");
    assert_advice(b"RIFF\x04\0\0\0WAVE", "JPEG");
}

#[test]
fn nothing_and_noise() {
    assert_advice(b"", "empty");
    assert_advice(b"just some text", "JPEG");
    assert_advice(&[0; 100], "JPEG");
}
