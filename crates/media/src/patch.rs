//! Copies a file with some ranges overwritten, so that every offset stored in it stays valid.

use std::io::{self, Read, Write};

use crate::Refusal;
use crate::refusal::unsupported;
use crate::source::Source;

/// Enough for every sample of a four-hour recording's metadata tracks, in some ten megabytes.
const MOST_PATCHES: usize = 1 << 18;

/// The longest replacement header: a box type followed by a 64-bit box size.
const HEAD_BYTES: usize = 12;

/// Replaces the bytes from `start` to `end` by a short head and then zeros.
#[derive(Clone, Copy)]
struct Patch {
    start: u64,
    end: u64,
    head: [u8; HEAD_BYTES],
    head_length: u8,
}

#[derive(Default)]
pub(crate) struct Patches {
    list: Vec<Patch>,
}

impl Patches {
    pub(crate) fn zero(&mut self, start: u64, end: u64) -> Result<(), Refusal> {
        match self.list.last_mut() {
            _ if start == end => Ok(()),
            Some(last) if last.end == start => {
                last.end = end;
                Ok(())
            }
            _ => self.replace(start, end, &[]),
        }
    }

    /// The head must be at most [`HEAD_BYTES`] long and fit the range.
    pub(crate) fn replace(&mut self, start: u64, end: u64, head: &[u8]) -> Result<(), Refusal> {
        if self.list.len() == MOST_PATCHES {
            return unsupported("its metadata is in too many places to remove; convert it anew");
        }
        let mut patch = Patch { start, end, head: [0; HEAD_BYTES], head_length: head.len() as u8 };
        patch.head[..head.len()].copy_from_slice(head);
        self.list.push(patch);
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Forgets the patches added after the list had this length.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.list.truncate(length);
    }

    /// Copies the whole source; overlapping ranges are allowed as long as they have no heads.
    pub(crate) fn copy(
        mut self,
        source: &mut Source,
        target: &mut dyn Write,
    ) -> Result<(), Refusal> {
        self.list.sort_unstable_by_key(|patch| patch.start);
        source.seek(0)?;
        for patch in &self.list {
            let position = source.position();
            if patch.end <= position {
                continue;
            }
            source.copy(patch.start.saturating_sub(position), target)?;
            let start = source.position();
            let head = &patch.head[..usize::from(patch.head_length)];
            target.write_all(head)?;
            let zeros = (patch.end - start).saturating_sub(head.len() as u64);
            io::copy(&mut io::repeat(0).take(zeros), target)?;
            source.seek(patch.end)?;
        }
        source.copy(source.remaining(), target)
    }
}
