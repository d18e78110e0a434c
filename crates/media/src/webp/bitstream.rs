//! Reads the size of a picture from the head of a VP8 or VP8L bitstream.

use super::chunk::Chunk;
use crate::Refusal;
use crate::refusal::damaged;
use crate::source::Source;

/// The largest size either bitstream can express is 16384, so the sums below cannot overflow.
pub(super) fn size(chunk: &Chunk, source: &mut Source) -> Result<(u32, u32), Refusal> {
    source.seek(chunk.start)?;
    if &chunk.name == b"VP8L" { lossless(chunk, source) } else { lossy(chunk, source) }
}

fn lossy(chunk: &Chunk, source: &mut Source) -> Result<(u32, u32), Refusal> {
    if chunk.length < 10 {
        return damaged("the WebP picture is too short");
    }
    let head: [u8; 10] = source.array()?;
    let is_key_frame = head[0] & 1 == 0;
    if !is_key_frame || head[3..6] != [0x9D, 0x01, 0x2A] {
        return damaged("the WebP picture has a wrong header");
    }
    // The upper two bits of each number ask for scaling, which no viewer does.
    let side = |at: usize| u32::from(u16::from_le_bytes([head[at], head[at + 1]]) & 0x3FFF);
    Ok((side(6), side(8)))
}

fn lossless(chunk: &Chunk, source: &mut Source) -> Result<(u32, u32), Refusal> {
    if chunk.length < 5 {
        return damaged("the WebP picture is too short");
    }
    let [signature, bits @ ..]: [u8; 5] = source.array()?;
    let bits = u32::from_le_bytes(bits);
    let version = bits >> 29;
    if signature != 0x2F || version != 0 {
        return damaged("the WebP picture has a wrong header");
    }
    Ok(((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1))
}
