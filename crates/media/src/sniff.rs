//! Tells a file's type from its first bytes, and what to say about a type that is not accepted.

use crate::Kind;
use crate::matroska::ebml;

/// How many leading bytes [`sniff`] needs to be certain.
pub const SNIFF_BYTES: usize = 64;

/// Major brands of files that look like MP4 but hold still pictures, camera raw data or only sound.
const OTHER_BRANDS: &[&[u8; 4]] = &[
    b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1", b"mif2",
    b"msf1", b"miaf", b"avif", b"avis", b"crx ", b"M4A ", b"M4B ", b"M4P ",
];

/// The type of a file that begins with `head`; pass at least [`SNIFF_BYTES`] bytes of it.
pub fn sniff(head: &[u8]) -> Option<Kind> {
    if head.starts_with(b"\xFF\xD8\xFF") {
        Some(Kind::Jpeg)
    } else if head.starts_with(b"\x89PNG\r\n\x1A\n") {
        Some(Kind::Png)
    } else if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") {
        Some(Kind::Gif)
    } else if head.starts_with(b"RIFF") {
        (head.get(8..12)? == b"WEBP").then_some(Kind::Webp)
    } else if head.starts_with(&ebml::HEADER_ID.to_be_bytes()) {
        (ebml::document_type(head)? == b"webm").then_some(Kind::Webm)
    } else {
        movie(head)
    }
}

fn movie(head: &[u8]) -> Option<Kind> {
    match head.get(4..8)? {
        b"ftyp" => {
            let brand: &[u8; 4] = head.get(8..)?.first_chunk()?;
            match brand {
                b"qt  " => Some(Kind::Mov),
                other if OTHER_BRANDS.contains(&other) => None,
                _ => Some(Kind::Mp4),
            }
        }
        // QuickTime files older than the ftyp box begin with one of these.
        b"moov" | b"mdat" | b"wide" => Some(Kind::Mov),
        _ => None,
    }
}

/// What to tell someone who sent a file that [`sniff`] does not know.
pub(crate) fn advice(head: &[u8]) -> &'static str {
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
    if head.is_empty() {
        "The file is empty; choose another one."
    } else if head.get(4..8) == Some(b"ftyp") {
        "The file is a picture or sound in a format that is not accepted, such as HEIC or AVIF; \
         convert it to JPEG."
    } else if text.starts_with(b"<") {
        "The file is a document such as SVG or HTML; export it as PNG."
    } else if text.starts_with(b"#EXTM3U") {
        "The file is a playlist, which only points to a video; send the video itself as MP4."
    } else if text.starts_with(b"%PDF") {
        "The file is a PDF; export its pages as PNG or JPEG."
    } else if is_archive(head) {
        "The file is an archive; unpack it and send the pictures or videos one by one."
    } else if head.starts_with(&ebml::HEADER_ID.to_be_bytes()) {
        "The file is a Matroska video; convert it to MP4 or WebM."
    } else {
        "The type of the file is not accepted; send a JPEG, PNG, WebP or GIF picture, or an MP4, \
         MOV or WebM video."
    }
}

fn is_archive(head: &[u8]) -> bool {
    [&b"PK\x03\x04"[..], b"PK\x05\x06", b"\x1F\x8B", b"7z\xBC\xAF", b"Rar!", b"BZh", b"\xFD7zXZ"]
        .iter()
        .any(|magic| head.starts_with(magic))
}
