//! Cleans PNG files, animated ones included: chunks that affect the picture stay, the rest goes.

use std::io::Write;

use crate::crc::Crc;
use crate::orientation::Orientation;
use crate::refusal::damaged;
use crate::source::Source;
use crate::{Facts, Kind, Limits, Refusal};

const SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1A\n";

/// Chunks copied as they are; those that are looked into are named in [`Picture::chunk`].
const KEPT: &[&[u8; 4]] = &[
    b"PLTE", b"IDAT", b"acTL", b"fdAT", b"iCCP", b"sRGB", b"gAMA", b"cHRM", b"tRNS", b"pHYs",
    b"sBIT", b"bKGD", b"cICP",
];

pub(crate) fn clean(
    source: &mut Source,
    target: &mut dyn Write,
    limits: &Limits,
) -> Result<Facts, Refusal> {
    source.skip(SIGNATURE.len() as u64)?;
    target.write_all(SIGNATURE)?;
    let size = header(source, target, limits)?;
    let mut picture = Picture::default();
    loop {
        let chunk = Chunk::read(source)?;
        picture.chunk(chunk, source, target)?;
        limits.check_frames(picture.frames)?;
        if &chunk.name == b"IEND" {
            return picture.facts(size);
        }
    }
}

fn header(
    source: &mut Source,
    target: &mut dyn Write,
    limits: &Limits,
) -> Result<(u32, u32), Refusal> {
    let chunk = Chunk::read(source)?;
    if &chunk.name != b"IHDR" {
        return damaged("the PNG does not begin with its header");
    }
    let [w0, w1, w2, w3, h0, h1, h2, h3, depth, colour, compression, filter, interlace] =
        chunk.content(source)?;
    let depth_fits = match colour {
        0 => matches!(depth, 1 | 2 | 4 | 8 | 16),
        3 => matches!(depth, 1 | 2 | 4 | 8),
        2 | 4 | 6 => matches!(depth, 8 | 16),
        _ => false,
    };
    if !depth_fits || compression != 0 || filter != 0 || interlace > 1 {
        return damaged("the PNG header is wrong");
    }
    let size = (u32::from_be_bytes([w0, w1, w2, w3]), u32::from_be_bytes([h0, h1, h2, h3]));
    limits.check_size(size.0, size.1)?;
    source.seek(chunk.start)?;
    chunk.copy(source, target)?;
    Ok(size)
}

#[derive(Default)]
struct Picture {
    orientation: Orientation,
    has_data: bool,
    is_animated: bool,
    frames: u32,
    microseconds: u64,
}

impl Picture {
    fn facts(&self, size: (u32, u32)) -> Result<Facts, Refusal> {
        if !self.has_data {
            return damaged("the PNG contains no picture");
        }
        let size = self.orientation.shown(size);
        let frames = if self.is_animated { self.frames } else { 1 };
        Ok(Facts::animated(Kind::Png, size, frames, self.microseconds / 1000))
    }

    fn chunk(
        &mut self,
        chunk: Chunk,
        source: &mut Source,
        target: &mut dyn Write,
    ) -> Result<(), Refusal> {
        match &chunk.name {
            b"IEND" if chunk.length > 0 => damaged("the last PNG chunk is not empty"),
            b"IEND" => chunk.copy(source, target),
            b"eXIf" => self.exif(chunk, source, target),
            b"fcTL" => {
                self.frame(chunk.content(source)?);
                source.seek(chunk.start)?;
                chunk.copy(source, target)
            }
            name if KEPT.contains(&name) => {
                self.has_data |= name == b"IDAT";
                self.is_animated |= name == b"acTL";
                chunk.copy(source, target)
            }
            [b'a'..=b'z', ..] => chunk.skip(source),
            _ => damaged("the PNG contains an unknown part"),
        }
    }

    fn exif(
        &mut self,
        chunk: Chunk,
        source: &mut Source,
        target: &mut dyn Write,
    ) -> Result<(), Refusal> {
        // The first directory comes first in the files of every writer known to exist.
        let tiff = source.piece(u16::try_from(chunk.length).unwrap_or(u16::MAX))?;
        source.seek(chunk.start)?;
        chunk.skip(source)?;
        match self.orientation.replace(&tiff) {
            Some(exif) => write_chunk(b"eXIf", &exif, target),
            None => Ok(()),
        }
    }

    fn frame(&mut self, control: [u8; 26]) {
        self.frames += 1;
        let numerator = u64::from(u16::from_be_bytes([control[20], control[21]]));
        // The specification gives a denominator of zero the meaning of hundredths.
        let denominator = match u16::from_be_bytes([control[22], control[23]]) {
            0 => 100,
            other => u64::from(other),
        };
        self.microseconds += numerator * 1_000_000 / denominator;
    }
}

#[derive(Clone, Copy)]
struct Chunk {
    name: [u8; 4],
    length: u32,
    /// Where the content begins.
    start: u64,
}

impl Chunk {
    fn read(source: &mut Source) -> Result<Self, Refusal> {
        let length = u32::from_be_bytes(source.array()?);
        let name = source.array()?;
        if u64::from(length) + 4 > source.remaining() {
            return damaged("a PNG chunk is longer than the file");
        }
        Ok(Self { name, length, start: source.position() })
    }

    /// The content of a chunk that must have exactly this many bytes.
    fn content<const N: usize>(self, source: &mut Source) -> Result<[u8; N], Refusal> {
        if self.length as usize != N {
            return damaged("a PNG chunk has the wrong length");
        }
        source.array()
    }

    fn skip(self, source: &mut Source) -> Result<(), Refusal> {
        source.skip(u64::from(self.length) + 4)
    }

    /// Copies the chunk; the checksum proves that what is published is what was made.
    fn copy(self, source: &mut Source, target: &mut dyn Write) -> Result<(), Refusal> {
        let mut crc = Crc::new();
        crc.add(&self.name);
        target.write_all(&self.length.to_be_bytes())?;
        target.write_all(&self.name)?;
        source.each(u64::from(self.length), |slice| {
            crc.add(slice);
            Ok(target.write_all(slice)?)
        })?;
        if u32::from_be_bytes(source.array()?) != crc.value() {
            return damaged("a PNG checksum does not match");
        }
        Ok(target.write_all(&crc.value().to_be_bytes())?)
    }
}

fn write_chunk(name: &[u8; 4], content: &[u8; 26], target: &mut dyn Write) -> Result<(), Refusal> {
    let mut crc = Crc::new();
    crc.add(name);
    crc.add(content);
    target.write_all(&(content.len() as u32).to_be_bytes())?;
    target.write_all(name)?;
    target.write_all(content)?;
    Ok(target.write_all(&crc.value().to_be_bytes())?)
}
