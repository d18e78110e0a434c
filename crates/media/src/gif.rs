//! Cleans GIF files: frames, their timing and the loop count stay, comments and other data go.

use std::io::Write;

use crate::refusal::damaged;
use crate::source::Source;
use crate::{Facts, Kind, Limits, Refusal};

const EXTENSION: u8 = 0x21;
const IMAGE: u8 = 0x2C;
const TRAILER: u8 = 0x3B;

const PLAIN_TEXT: u8 = 0x01;
const GRAPHIC_CONTROL: u8 = 0xF9;
const APPLICATION: u8 = 0xFF;

pub(crate) fn clean(
    source: &mut Source,
    target: &mut dyn Write,
    limits: &Limits,
) -> Result<Facts, Refusal> {
    let header: [u8; 13] = source.array()?;
    let (width, height) = pair(&header, 6);
    limits.check_size(width, height)?;
    target.write_all(&header)?;
    copy_colour_table(header[10], source, target)?;

    let mut animation = Animation { limits, control: None, frames: 0, hundredths: 0 };
    loop {
        match source.byte()? {
            IMAGE => animation.image(source, target)?,
            EXTENSION => animation.extension(source, target)?,
            TRAILER if animation.frames > 0 => break,
            TRAILER => return damaged("the GIF contains no picture"),
            // Some writers leave an empty block behind, which decoders pass over.
            0 => {}
            _ => return damaged("the GIF contains an unknown block"),
        }
    }
    target.write_all(&[TRAILER])?;
    let duration_ms = animation.hundredths * 10;
    Ok(Facts::animated(Kind::Gif, (width, height), animation.frames, duration_ms))
}

struct Animation<'a> {
    limits: &'a Limits,
    /// Timing of the next picture, held back because it goes with a block that may be dropped.
    control: Option<[u8; 4]>,
    frames: u32,
    hundredths: u64,
}

impl Animation<'_> {
    fn image(&mut self, source: &mut Source, target: &mut dyn Write) -> Result<(), Refusal> {
        self.frames = self.frames.saturating_add(1);
        self.limits.check_frames(self.frames)?;
        let descriptor: [u8; 9] = source.array()?;
        let ((left, top), (width, height)) = (pair(&descriptor, 0), pair(&descriptor, 4));
        // Viewers grow the canvas for a picture that reaches beyond it.
        self.limits.check_size(width, height)?;
        self.limits.check_size(left + width, top + height)?;

        if let Some(control) = self.control.take() {
            self.hundredths += u64::from(u16::from_le_bytes([control[1], control[2]]));
            target.write_all(&[EXTENSION, GRAPHIC_CONTROL, 4])?;
            target.write_all(&control)?;
            target.write_all(&[0])?;
        }
        target.write_all(&[IMAGE])?;
        target.write_all(&descriptor)?;
        copy_colour_table(descriptor[8], source, target)?;
        target.write_all(&[source.byte()?])?;
        copy_blocks(source, target)
    }

    fn extension(&mut self, source: &mut Source, target: &mut dyn Write) -> Result<(), Refusal> {
        match source.byte()? {
            GRAPHIC_CONTROL => {
                if source.byte()? != 4 {
                    return damaged("a GIF frame control has the wrong length");
                }
                self.control = Some(source.array()?);
            }
            APPLICATION => {
                let length = source.byte()?;
                let name = source.piece(u16::from(length))?;
                if matches!(&name[..], b"NETSCAPE2.0" | b"ANIMEXTS1.0") {
                    return copy_loop_count(&name, source, target);
                }
                if length == 0 {
                    return Ok(());
                }
            }
            PLAIN_TEXT => self.control = None,
            _ => {}
        }
        skip_blocks(source)
    }
}

/// Copies only the loop count, so that nothing else can travel under a kept name.
fn copy_loop_count(
    name: &[u8],
    source: &mut Source,
    target: &mut dyn Write,
) -> Result<(), Refusal> {
    let mut count = None;
    loop {
        let length = source.byte()?;
        if length == 0 {
            break;
        }
        if let [1, low, high] = source.piece(u16::from(length))?[..] {
            count.get_or_insert([low, high]);
        }
    }
    if let Some([low, high]) = count {
        target.write_all(&[EXTENSION, APPLICATION, name.len() as u8])?;
        target.write_all(name)?;
        target.write_all(&[3, 1, low, high, 0])?;
    }
    Ok(())
}

fn copy_colour_table(
    flags: u8,
    source: &mut Source,
    target: &mut dyn Write,
) -> Result<(), Refusal> {
    if flags & 0x80 == 0 {
        return Ok(());
    }
    source.copy(3 * (2 << (flags & 7)), target)
}

fn copy_blocks(source: &mut Source, target: &mut dyn Write) -> Result<(), Refusal> {
    loop {
        let length = source.byte()?;
        target.write_all(&[length])?;
        if length == 0 {
            return Ok(());
        }
        source.copy(u64::from(length), target)?;
    }
}

fn skip_blocks(source: &mut Source) -> Result<(), Refusal> {
    loop {
        match source.byte()? {
            0 => return Ok(()),
            length => source.skip(u64::from(length))?,
        }
    }
}

fn pair(bytes: &[u8], at: usize) -> (u32, u32) {
    let number = |at: usize| u32::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    (number(at), number(at + 2))
}
