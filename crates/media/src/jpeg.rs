//! Cleans JPEG files: what a decoder needs stays, application segments and comments go.

use std::io::Write;

use crate::orientation::Orientation;
use crate::refusal::{damaged, unsupported};
use crate::source::Source;
use crate::{Facts, Kind, Limits, Refusal};

const RST0: u8 = 0xD0;
const RST7: u8 = 0xD7;
const SOI: u8 = 0xD8;
const EOI: u8 = 0xD9;
const SOS: u8 = 0xDA;
const APP0: u8 = 0xE0;
const APP1: u8 = 0xE1;
const APP2: u8 = 0xE2;
const APP14: u8 = 0xEE;

/// Both contain a thumbnail or free space after these lengths, which the copy leaves out.
const JFIF_BYTES: usize = 14;
const ADOBE_BYTES: usize = 12;

pub(crate) fn clean(
    source: &mut Source,
    target: &mut dyn Write,
    limits: &Limits,
) -> Result<Facts, Refusal> {
    source.skip(2)?;
    target.write_all(&[0xFF, SOI])?;
    let mut picture = Picture { limits, size: None, scans: false, orientation: Default::default() };
    let mut marker = next_marker(source)?;
    loop {
        marker = match marker {
            // Whatever follows (a second picture, a motion photo's video) has metadata of its own.
            EOI => {
                target.write_all(&[0xFF, EOI])?;
                return picture.facts();
            }
            SOS => {
                picture.begin_scan(source, target)?;
                copy_scan(source, target)?
            }
            RST0..=RST7 => next_marker(source)?,
            _ => {
                picture.segment(marker, source, target)?;
                next_marker(source)?
            }
        };
    }
}

struct Picture<'a> {
    limits: &'a Limits,
    size: Option<(u32, u32)>,
    scans: bool,
    orientation: Orientation,
}

impl Picture<'_> {
    fn facts(&self) -> Result<Facts, Refusal> {
        match self.size {
            Some(size) if self.scans => Ok(Facts::still(Kind::Jpeg, self.orientation.shown(size))),
            _ => damaged("the JPEG contains no picture"),
        }
    }

    fn begin_scan(&mut self, source: &mut Source, target: &mut dyn Write) -> Result<(), Refusal> {
        if self.size.is_none() {
            return damaged("the JPEG has picture data before its size");
        }
        self.scans = true;
        let header = payload(source)?;
        write_segment(SOS, &header, target)
    }

    fn segment(
        &mut self,
        marker: u8,
        source: &mut Source,
        target: &mut dyn Write,
    ) -> Result<(), Refusal> {
        let payload = payload(source)?;
        match marker {
            0xC0..=0xC2 => {
                self.frame_header(&payload)?;
                write_segment(marker, &payload, target)
            }
            // DHT, DQT, DNL and DRI.
            0xC4 | 0xDB..=0xDD => write_segment(marker, &payload, target),
            0xC3..=0xCF | 0xDE | 0xDF => {
                unsupported("it is a rare variant of JPEG; save it as an ordinary JPEG")
            }
            APP0 | APP1 | APP2 | APP14 => self.application(marker, payload, target),
            0xE0.. => Ok(()),
            _ => damaged("the JPEG contains an unknown marker"),
        }
    }

    fn frame_header(&mut self, payload: &[u8]) -> Result<(), Refusal> {
        if self.size.is_some() {
            return damaged("the JPEG states its size twice");
        }
        let &[_precision, high, low, wide, narrow, components, ref rest @ ..] = payload else {
            return damaged("the JPEG frame header is too short");
        };
        if !matches!(components, 1 | 3 | 4) || rest.len() != usize::from(components) * 3 {
            return damaged("the JPEG frame header is wrong");
        }
        let (width, height) = (u16::from_be_bytes([wide, narrow]), u16::from_be_bytes([high, low]));
        let (width, height) = (u32::from(width), u32::from(height));
        self.limits.check_size(width, height)?;
        self.size = Some((width, height));
        Ok(())
    }

    fn application(
        &mut self,
        marker: u8,
        mut payload: Vec<u8>,
        target: &mut dyn Write,
    ) -> Result<(), Refusal> {
        match marker {
            APP0 if payload.starts_with(b"JFIF\0") && payload.len() >= JFIF_BYTES => {
                payload.truncate(JFIF_BYTES);
                payload[JFIF_BYTES - 2..].fill(0);
                write_segment(marker, &payload, target)
            }
            APP1 if payload.starts_with(b"Exif\0") && !self.scans => {
                let tiff = payload.get(6..).unwrap_or_default();
                match self.orientation.replace(tiff) {
                    Some(exif) => write_segment(marker, &[b"Exif\0\0", &exif[..]].concat(), target),
                    None => Ok(()),
                }
            }
            APP2 if payload.starts_with(b"ICC_PROFILE\0") => {
                write_segment(marker, &payload, target)
            }
            APP14 if payload.starts_with(b"Adobe") && payload.len() >= ADOBE_BYTES => {
                write_segment(marker, &payload[..ADOBE_BYTES], target)
            }
            _ => Ok(()),
        }
    }
}

/// Finds the next marker; decoders skip stray bytes between segments, so the copy drops them.
fn next_marker(source: &mut Source) -> Result<u8, Refusal> {
    loop {
        while source.byte()? != 0xFF {}
        match after_fill(source)? {
            0x00 => {}
            marker => return Ok(marker),
        }
    }
}

/// Any number of FF bytes may precede the second byte of a marker.
fn after_fill(source: &mut Source) -> Result<u8, Refusal> {
    loop {
        match source.byte()? {
            0xFF => {}
            other => return Ok(other),
        }
    }
}

fn payload(source: &mut Source) -> Result<Vec<u8>, Refusal> {
    match u16::from_be_bytes(source.array()?).checked_sub(2) {
        Some(bytes) => source.piece(bytes),
        None => damaged("a JPEG segment is shorter than its header"),
    }
}

fn write_segment(marker: u8, payload: &[u8], target: &mut dyn Write) -> Result<(), Refusal> {
    let Ok(length) = u16::try_from(payload.len() + 2) else {
        return damaged("a JPEG segment is too long");
    };
    target.write_all(&[0xFF, marker])?;
    target.write_all(&length.to_be_bytes())?;
    Ok(target.write_all(payload)?)
}

/// Copies entropy-coded data and returns the marker that ended it.
fn copy_scan(source: &mut Source, target: &mut dyn Write) -> Result<u8, Refusal> {
    loop {
        let data = source.buffered()?;
        if data.is_empty() {
            return damaged("the JPEG ends in the middle of the picture");
        }
        let plain = data.iter().position(|byte| *byte == 0xFF).unwrap_or(data.len());
        target.write_all(&data[..plain])?;
        let ended = plain == data.len();
        source.consume(plain);
        if ended {
            continue;
        }
        source.consume(1);
        match after_fill(source)? {
            second @ (0x00 | RST0..=RST7) => target.write_all(&[0xFF, second])?,
            marker => return Ok(marker),
        }
    }
}
