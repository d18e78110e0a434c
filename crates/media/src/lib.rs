//! Facts about an untrusted picture or video, and a copy of it without private metadata.
//!
//! Only headers are read and no pixel is ever decoded, so memory use does not grow with what a
//! hostile file claims to hold.

mod crc;
mod facts;
mod gif;
mod isobmff;
mod jpeg;
mod kind;
mod limits;
mod matroska;
mod orientation;
mod patch;
mod png;
mod refusal;
mod sniff;
mod source;
mod webp;

use std::io::{BufWriter, Read, Seek, Write};

pub use facts::Facts;
pub use kind::Kind;
pub use limits::Limits;
pub use refusal::Refusal;
pub use sniff::{SNIFF_BYTES, sniff};

use source::Source;

/// Reads `source` from its start and writes the cleaned file to `target`.
///
/// The type is taken from the bytes alone. On a refusal the target may hold a part of the output,
/// which must be thrown away. Cleaning a cleaned file again changes nothing.
pub fn clean<R: Read + Seek, W: Write>(
    source: &mut R,
    target: &mut W,
    limits: &Limits,
) -> Result<Facts, Refusal> {
    let mut source = Source::new(source)?;
    limits.check_any_bytes(source.length())?;
    let head = source.head(SNIFF_BYTES)?;
    let kind = sniff(head).ok_or_else(|| Refusal::UnknownType { advice: sniff::advice(head) })?;
    limits.check_bytes(kind, source.length())?;

    let mut target = BufWriter::new(target);
    let facts = clean_kind(kind, &mut source, &mut target, limits)?;
    target.flush()?;
    Ok(facts)
}

fn clean_kind(
    kind: Kind,
    source: &mut Source,
    target: &mut dyn Write,
    limits: &Limits,
) -> Result<Facts, Refusal> {
    match kind {
        Kind::Jpeg => jpeg::clean(source, target, limits),
        Kind::Png => png::clean(source, target, limits),
        Kind::Webp => webp::clean(source, target, limits),
        Kind::Gif => gif::clean(source, target, limits),
        Kind::Mp4 | Kind::Mov => isobmff::clean(kind, source, target, limits),
        Kind::Webm => matroska::clean(source, target, limits),
    }
}
