//! The RIFF chunks a WebP file is made of.

use std::io::{self, Write};

use crate::Refusal;
use crate::refusal::damaged;
use crate::source::Source;

pub(super) struct Chunk {
    pub(super) name: [u8; 4],
    pub(super) length: u32,
    /// Where the content begins.
    pub(super) start: u64,
    /// Where the next chunk begins, after a byte that keeps offsets even.
    pub(super) next: u64,
}

impl Chunk {
    pub(super) fn read(source: &mut Source, end: u64) -> Result<Self, Refusal> {
        let name = source.array()?;
        let length = u32::from_le_bytes(source.array()?);
        let start = source.position();
        let content_end = start + u64::from(length);
        if content_end > end {
            return damaged("a WebP chunk is longer than the file");
        }
        // The even byte may be missing at the very end of the file.
        let next = (content_end + u64::from(length & 1)).min(end);
        Ok(Self { name, length, start, next })
    }

    pub(super) fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }

    /// The content of a chunk that must have exactly this many bytes.
    pub(super) fn content<const N: usize>(&self, source: &mut Source) -> Result<[u8; N], Refusal> {
        if self.length as usize != N {
            return damaged("a WebP chunk has the wrong length");
        }
        source.array()
    }

    pub(super) fn copy(&self, source: &mut Source, target: &mut dyn Write) -> Result<(), Refusal> {
        source.seek(self.start)?;
        target.write_all(&self.name)?;
        target.write_all(&self.length.to_le_bytes())?;
        source.copy(u64::from(self.length), target)?;
        Ok(target.write_all(&[0][..(self.length & 1) as usize])?)
    }
}

/// Writes a small chunk whose content has an even number of bytes.
pub(super) fn write(name: &[u8; 4], content: &[u8], target: &mut dyn Write) -> Result<(), Refusal> {
    target.write_all(name)?;
    target.write_all(&(content.len() as u32).to_le_bytes())?;
    Ok(target.write_all(content)?)
}

/// A target that only counts what it is given.
#[derive(Default)]
pub(super) struct Counter {
    pub(super) bytes: u64,
}

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
