//! A buffered reader over an untrusted file that never reads past the length it measured.

use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};

use crate::Refusal;
use crate::refusal::damaged;

const BUFFER_BYTES: usize = 64 * 1024;

pub(crate) trait Stream: Read + Seek {}

impl<T: Read + Seek> Stream for T {}

/// Reads through one fixed buffer; short skips and seeks stay inside it.
pub(crate) struct Source<'a> {
    stream: &'a mut dyn Stream,
    buffer: Box<[u8]>,
    /// Where in the file the buffer begins.
    base: u64,
    /// How much of the buffer holds data.
    filled: usize,
    /// How much of that data has been taken.
    taken: usize,
    length: u64,
}

impl<'a> Source<'a> {
    pub(crate) fn new(stream: &'a mut dyn Stream) -> Result<Self, Refusal> {
        let length = stream.seek(SeekFrom::End(0))?;
        stream.rewind()?;
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        Ok(Self { stream, buffer, base: 0, filled: 0, taken: 0, length })
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn position(&self) -> u64 {
        self.base + self.taken as u64
    }

    pub(crate) fn remaining(&self) -> u64 {
        self.length.saturating_sub(self.position())
    }

    /// The first bytes of the file, fewer if it is shorter; the position does not move.
    pub(crate) fn head(&mut self, bytes: usize) -> Result<&[u8], Refusal> {
        self.seek(0)?;
        let available = self.buffered()?;
        Ok(&available[..bytes.min(available.len())])
    }

    pub(crate) fn seek(&mut self, position: u64) -> Result<(), Refusal> {
        if position > self.length {
            return ends_early();
        }
        match position.checked_sub(self.base) {
            Some(inside) if inside <= self.filled as u64 => self.taken = inside as usize,
            _ => {
                self.stream.seek(SeekFrom::Start(position))?;
                (self.base, self.filled, self.taken) = (position, 0, 0);
            }
        }
        Ok(())
    }

    pub(crate) fn skip(&mut self, bytes: u64) -> Result<(), Refusal> {
        match self.position().checked_add(bytes) {
            Some(position) => self.seek(position),
            None => ends_early(),
        }
    }

    /// The bytes ready to be taken; empty only at the end of the file.
    pub(crate) fn buffered(&mut self) -> Result<&[u8], Refusal> {
        if self.taken == self.filled {
            self.fill()?;
        }
        Ok(&self.buffer[self.taken..self.filled])
    }

    pub(crate) fn consume(&mut self, bytes: usize) {
        self.taken = self.filled.min(self.taken + bytes);
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Refusal> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Refusal> {
        let mut array = [0; N];
        self.read_into(&mut array)?;
        Ok(array)
    }

    /// Reads a piece into memory; the type of its length keeps it below 64 KiB.
    pub(crate) fn piece(&mut self, bytes: u16) -> Result<Vec<u8>, Refusal> {
        let mut piece = vec![0; usize::from(bytes)];
        self.read_into(&mut piece)?;
        Ok(piece)
    }

    pub(crate) fn copy(&mut self, bytes: u64, target: &mut dyn Write) -> Result<(), Refusal> {
        self.each(bytes, |slice| Ok(target.write_all(slice)?))
    }

    /// Hands the next bytes over in slices of whatever size is buffered.
    pub(crate) fn each(
        &mut self,
        mut bytes: u64,
        mut take: impl FnMut(&[u8]) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        while bytes > 0 {
            let available = self.buffered()?;
            if available.is_empty() {
                return ends_early();
            }
            let wanted = usize::try_from(bytes).unwrap_or(usize::MAX).min(available.len());
            take(&available[..wanted])?;
            self.consume(wanted);
            bytes -= wanted as u64;
        }
        Ok(())
    }

    fn read_into(&mut self, mut target: &mut [u8]) -> Result<(), Refusal> {
        self.each(target.len() as u64, |slice| Ok(target.write_all(slice)?))
    }

    fn fill(&mut self) -> Result<(), Refusal> {
        self.base += self.filled as u64;
        (self.filled, self.taken) = (0, 0);
        // A file still growing must not outrun the size that was checked against the limits.
        let wanted = self.length.saturating_sub(self.base).min(BUFFER_BYTES as u64) as usize;
        while self.filled < wanted {
            match self.stream.read(&mut self.buffer[self.filled..wanted]) {
                Ok(0) => break,
                Ok(bytes) => self.filled += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn ends_early<T>() -> Result<T, Refusal> {
    damaged("it ends before its content does")
}
