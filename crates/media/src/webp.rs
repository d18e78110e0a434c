//! Cleans WebP files, animated ones included: Exif, XMP and unknown chunks go.

mod bitstream;
mod chunk;

use std::io::Write;

use crate::orientation::Orientation;
use crate::refusal::damaged;
use crate::source::Source;
use crate::{Facts, Kind, Limits, Refusal};
use chunk::{Chunk, Counter};

const HAS_PROFILE: u8 = 0x20;
const HAS_ALPHA: u8 = 0x10;
const HAS_EXIF: u8 = 0x08;
const IS_ANIMATED: u8 = 0x02;

/// Position, size, duration and blending, before the chunks of an animation frame.
const FRAME_HEADER_BYTES: u64 = 16;

/// The file's size comes first in the file, so it is cleaned twice: once to count, once to write.
pub(crate) fn clean(
    source: &mut Source,
    target: &mut dyn Write,
    limits: &Limits,
) -> Result<Facts, Refusal> {
    let mut counter = Counter::default();
    let survey = Picture::walk(source, &mut counter, limits, 0)?;
    let Ok(size) = u32::try_from(counter.bytes + 4) else {
        return damaged("the WebP is too long");
    };
    target.write_all(b"RIFF")?;
    target.write_all(&size.to_le_bytes())?;
    target.write_all(b"WEBP")?;
    let picture = Picture::walk(source, target, limits, survey.seen)?;
    picture.facts()
}

struct Picture<'a> {
    limits: &'a Limits,
    /// Flags of the extended header; absent in a plain file of one bitstream.
    flags: Option<u8>,
    /// Flags for what the copy really holds, as the first walk found it.
    written_flags: u8,
    seen: u8,
    size: (u32, u32),
    orientation: Orientation,
    frames: u32,
    duration_ms: u64,
}

impl<'a> Picture<'a> {
    fn walk(
        source: &mut Source,
        target: &mut dyn Write,
        limits: &'a Limits,
        written_flags: u8,
    ) -> Result<Self, Refusal> {
        source.seek(4)?;
        let end = 8 + u64::from(u32::from_le_bytes(source.array()?));
        if end > source.length() {
            return damaged("the WebP ends before its content does");
        }
        source.skip(4)?;
        let mut picture = Self {
            limits,
            flags: None,
            written_flags,
            seen: 0,
            size: (0, 0),
            orientation: Orientation::default(),
            frames: 0,
            duration_ms: 0,
        };
        let mut is_first = true;
        // A file may end with fewer bytes than a chunk header; there is no use for them.
        while source.position() + 8 <= end {
            let chunk = Chunk::read(source, end)?;
            picture.chunk(&chunk, is_first, source, target)?;
            source.seek(chunk.next)?;
            is_first = false;
        }
        Ok(picture)
    }

    fn facts(&self) -> Result<Facts, Refusal> {
        if self.frames == 0 {
            return damaged("the WebP contains no picture");
        }
        let size = self.orientation.shown(self.size);
        Ok(Facts::animated(Kind::Webp, size, self.frames, self.duration_ms))
    }

    fn chunk(
        &mut self,
        chunk: &Chunk,
        is_first: bool,
        source: &mut Source,
        target: &mut dyn Write,
    ) -> Result<(), Refusal> {
        let is_extended = self.flags.is_some();
        let is_animated = self.has(IS_ANIMATED);
        match &chunk.name {
            b"VP8X" if is_first => self.extended_header(chunk, source, target),
            b"ICCP" if is_extended => {
                self.seen |= HAS_PROFILE;
                chunk.copy(source, target)
            }
            b"EXIF" if self.has(HAS_EXIF) => self.exif(chunk, source, target),
            b"ANIM" if is_animated => chunk.copy(source, target),
            b"ANMF" if is_animated => self.animation_frame(chunk, source, target),
            b"ALPH" if is_extended && !is_animated => chunk.copy(source, target),
            b"VP8 " | b"VP8L" if !is_animated && self.frames == 0 => {
                self.still(chunk, source, target)
            }
            _ => Ok(()),
        }
    }

    fn has(&self, flag: u8) -> bool {
        self.flags.is_some_and(|flags| flags & flag != 0)
    }

    fn extended_header(
        &mut self,
        chunk: &Chunk,
        source: &mut Source,
        target: &mut dyn Write,
    ) -> Result<(), Refusal> {
        let content: [u8; 10] = chunk.content(source)?;
        let flags = content[0];
        self.size = (triple(&content[4..]) + 1, triple(&content[7..]) + 1);
        self.limits.check_size(self.size.0, self.size.1)?;
        self.flags = Some(flags);
        let kept = flags & (HAS_ALPHA | IS_ANIMATED) | self.written_flags;
        chunk::write(b"VP8X", &[&[kept, 0, 0, 0], &content[4..]].concat(), target)
    }

    fn exif(
        &mut self,
        chunk: &Chunk,
        source: &mut Source,
        target: &mut dyn Write,
    ) -> Result<(), Refusal> {
        let block = source.piece(u16::try_from(chunk.length).unwrap_or(u16::MAX))?;
        // Some writers put the JPEG prefix before the block, which does not belong here.
        let tiff = block.strip_prefix(b"Exif\0\0").unwrap_or(&block);
        match self.orientation.replace(tiff) {
            Some(exif) => {
                self.seen |= HAS_EXIF;
                chunk::write(b"EXIF", &exif, target)
            }
            None => Ok(()),
        }
    }

    fn still(
        &mut self,
        chunk: &Chunk,
        source: &mut Source,
        target: &mut dyn Write,
    ) -> Result<(), Refusal> {
        let size = bitstream::size(chunk, source)?;
        self.limits.check_size(size.0, size.1)?;
        if self.flags.is_some() && size != self.size {
            return damaged("the WebP states two different sizes");
        }
        self.size = size;
        self.frames = 1;
        chunk.copy(source, target)
    }

    fn animation_frame(
        &mut self,
        chunk: &Chunk,
        source: &mut Source,
        target: &mut dyn Write,
    ) -> Result<(), Refusal> {
        self.frames = self.frames.saturating_add(1);
        self.limits.check_frames(self.frames)?;
        let header: [u8; FRAME_HEADER_BYTES as usize] = source.array()?;
        let (left, top) = (triple(&header) * 2, triple(&header[3..]) * 2);
        let size = (triple(&header[6..]) + 1, triple(&header[9..]) + 1);
        if left + size.0 > self.size.0 || top + size.1 > self.size.1 {
            return damaged("a WebP frame lies outside the picture");
        }
        self.duration_ms += u64::from(triple(&header[12..]));

        let mut counter = Counter::default();
        copy_frame_content(chunk, size, source, &mut counter)?;
        let Ok(length) = u32::try_from(counter.bytes + FRAME_HEADER_BYTES) else {
            return damaged("a WebP frame is too long");
        };
        target.write_all(b"ANMF")?;
        target.write_all(&length.to_le_bytes())?;
        target.write_all(&header)?;
        copy_frame_content(chunk, size, source, target)
    }
}

fn copy_frame_content(
    frame: &Chunk,
    size: (u32, u32),
    source: &mut Source,
    target: &mut dyn Write,
) -> Result<(), Refusal> {
    let mut has_picture = false;
    source.seek(frame.start + FRAME_HEADER_BYTES)?;
    while source.position() + 8 <= frame.end() {
        let chunk = Chunk::read(source, frame.end())?;
        match &chunk.name {
            b"ALPH" => chunk.copy(source, target)?,
            b"VP8 " | b"VP8L" if !has_picture => {
                if bitstream::size(&chunk, source)? != size {
                    return damaged("a WebP frame states two different sizes");
                }
                has_picture = true;
                chunk.copy(source, target)?;
            }
            _ => {}
        }
        source.seek(chunk.next)?;
    }
    if has_picture { Ok(()) } else { damaged("a WebP frame contains no picture") }
}

fn triple(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0])
}
