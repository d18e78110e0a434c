//! The elements WebM files are made of.

use crate::Refusal;
use crate::patch::Patches;
use crate::refusal::damaged;
use crate::source::Source;

pub(crate) const HEADER_ID: u32 = 0x1A45_DFA3;
const DOCUMENT_TYPE_ID: u32 = 0x4282;
const VOID: u8 = 0xEC;

/// The document type stated in the header element that `head` begins with.
pub(crate) fn document_type(head: &[u8]) -> Option<&[u8]> {
    let mut rest = head.get(4..)?;
    let size = take_number(&mut rest)?;
    let mut rest = rest.get(..usize::try_from(size).ok()?).unwrap_or(rest);
    while !rest.is_empty() {
        let id = take_id(&mut rest)?;
        let size = usize::try_from(take_number(&mut rest)?).ok()?;
        let (content, after) = rest.split_at_checked(size)?;
        if id == DOCUMENT_TYPE_ID {
            return Some(content);
        }
        rest = after;
    }
    None
}

fn take_id(bytes: &mut &[u8]) -> Option<u32> {
    let length = bytes.first()?.leading_zeros() as usize + 1;
    let (id, rest) = bytes.split_at_checked(length).filter(|_| length <= 4)?;
    *bytes = rest;
    Some(id.iter().fold(0, |id, byte| id << 8 | u32::from(*byte)))
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let length = bytes.first()?.leading_zeros() as usize + 1;
    let (number, rest) = bytes.split_at_checked(length).filter(|_| length <= 8)?;
    *bytes = rest;
    let value = number.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    Some(value & !(1 << (7 * length)))
}

/// An element whose extent has been checked against the element around it.
#[derive(Clone, Copy)]
pub(super) struct Element {
    pub(super) id: u32,
    pub(super) start: u64,
    pub(super) body: u64,
    end: Option<u64>,
}

impl Element {
    pub(super) fn read(source: &mut Source, start: u64, limit: u64) -> Result<Self, Refusal> {
        source.seek(start)?;
        let (id, _) = prefixed(source, 4)?;
        let (size, size_length) = prefixed(source, 8)?;
        let size = size & !(1 << (7 * size_length));
        let body = source.position();
        // All bits set mean that the writer did not know the size yet: a live recording.
        let is_unknown = size == (1 << (7 * size_length)) - 1;
        let end = body.checked_add(size).filter(|end| *end <= limit);
        if body > limit || (end.is_none() && !is_unknown) {
            return damaged("the video ends before its content does");
        }
        Ok(Self { id: id as u32, start, body, end: end.filter(|_| !is_unknown) })
    }

    /// The end of an element that may be as long as what is around it.
    pub(super) fn end_or(&self, limit: u64) -> u64 {
        self.end.unwrap_or(limit)
    }

    pub(super) fn known_end(&self) -> Option<u64> {
        self.end
    }

    /// The end of an element that must state its size.
    pub(super) fn end(&self) -> Result<u64, Refusal> {
        match self.end {
            Some(end) => Ok(end),
            None => damaged("a part of the video does not state its size"),
        }
    }

    /// An unsigned number of at most eight bytes.
    pub(super) fn unsigned(&self, source: &mut Source) -> Result<u64, Refusal> {
        let mut value = 0;
        for _ in 0..self.number_bytes()? {
            value = value << 8 | u64::from(source.byte()?);
        }
        Ok(value)
    }

    pub(super) fn float(&self, source: &mut Source) -> Result<f64, Refusal> {
        match self.number_bytes()? {
            0 => Ok(0.0),
            4 => Ok(f64::from(f32::from_be_bytes(source.array()?))),
            8 => Ok(f64::from_be_bytes(source.array()?)),
            _ => damaged("a number in the video has the wrong length"),
        }
    }

    fn number_bytes(&self) -> Result<u64, Refusal> {
        match self.end()? - self.body {
            bytes @ 0..=8 => Ok(bytes),
            _ => damaged("a number in the video has the wrong length"),
        }
    }

    /// Turns the element into a void of the same size.
    pub(super) fn blank(&self, patches: &mut Patches) -> Result<(), Refusal> {
        let end = self.end()?;
        let total = end - self.start;
        match total - 2 {
            content @ 0..=126 => patches.replace(self.start, end, &[VOID, 0x80 | content as u8]),
            // The longest size field leaves nothing to decide: it always fits.
            _ => {
                let mut head = [VOID, 0, 0, 0, 0, 0, 0, 0, 0];
                head[1..].copy_from_slice(&((total - 9) | 1 << 56).to_be_bytes());
                patches.replace(self.start, end, &head)
            }
        }
    }
}

/// Reads a number whose leading zero bits tell how many bytes it has.
fn prefixed(source: &mut Source, most: usize) -> Result<(u64, usize), Refusal> {
    let first = source.byte()?;
    let length = first.leading_zeros() as usize + 1;
    if length > most {
        return damaged("the video contains an unknown part");
    }
    let mut value = u64::from(first);
    for _ in 1..length {
        value = value << 8 | u64::from(source.byte()?);
    }
    Ok((value, length))
}
