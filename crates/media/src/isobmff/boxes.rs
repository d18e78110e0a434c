//! The boxes MP4 and QuickTime files are made of.

use crate::Refusal;
use crate::patch::Patches;
use crate::refusal::damaged;
use crate::source::Source;

/// A range of bytes in the file.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// A box whose extent has been checked against the box around it.
#[derive(Clone, Copy)]
pub(super) struct MediaBox {
    pub(super) kind: [u8; 4],
    start: u64,
    pub(super) body: Span,
}

impl MediaBox {
    /// Reads the box at `around.start`; only one that reaches the end of the file may omit its size.
    pub(super) fn read(source: &mut Source, around: Span) -> Result<Self, Refusal> {
        let start = around.start;
        source.seek(start)?;
        if around.end - start < 8 {
            return damaged("a part of the video is too short");
        }
        let size = u32::from_be_bytes(source.array()?);
        let kind = source.array()?;
        let size = match size {
            0 if around.end == source.length() => around.end - start,
            0 => return damaged("a part of the video does not state its size"),
            1 => u64::from_be_bytes(source.array()?),
            size => u64::from(size),
        };
        let body = source.position();
        match start.checked_add(size) {
            Some(end) if end > around.end => damaged("the video ends before its content does"),
            Some(end) if end >= body => Ok(Self { kind, start, body: Span { start: body, end } }),
            _ => damaged("a part of the video states a wrong size"),
        }
    }

    /// Turns the box into free space of the same size.
    pub(super) fn blank(&self, patches: &mut Patches) -> Result<(), Refusal> {
        let mut head = *b"free\0\0\0\0\0\0\0\0";
        // A 64-bit size stands between the type and the content, and must survive.
        let length = (self.body.start - self.start - 4) as usize;
        head[4..].copy_from_slice(&(self.body.end - self.start).to_be_bytes());
        patches.replace(self.start + 4, self.body.end, &head[..length])
    }
}
