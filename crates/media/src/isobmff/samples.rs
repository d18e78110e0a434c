//! Finds the samples of a dropped track, so that its content goes as well as its description.

use super::boxes::{MediaBox, Span};
use crate::Refusal;
use crate::patch::Patches;
use crate::refusal::{damaged, unsupported};
use crate::source::Source;

/// Entries of a table held in memory; a telemetry track has a few for each second.
const MOST_ENTRIES: u32 = 1 << 18;

/// Where a track's sample tables are.
#[derive(Default)]
pub(super) struct Tables {
    chunk_offsets: Option<MediaBox>,
    samples_per_chunk: Option<MediaBox>,
    sample_sizes: Option<MediaBox>,
}

impl Tables {
    pub(super) fn note(&mut self, table: &MediaBox) {
        match &table.kind {
            b"stco" | b"co64" => self.chunk_offsets = Some(*table),
            b"stsc" => self.samples_per_chunk = Some(*table),
            b"stsz" | b"stz2" => self.sample_sizes = Some(*table),
            _ => {}
        }
    }
}

/// Notes every chunk of the track for overwriting.
pub(super) fn blank(
    tables: &Tables,
    source: &mut Source,
    media_data: &[Span],
    patches: &mut Patches,
) -> Result<(), Refusal> {
    let (Some(offsets), Some(runs), Some(sizes)) =
        (tables.chunk_offsets, tables.samples_per_chunk, tables.sample_sizes)
    else {
        // Without all three no player finds a sample either.
        return Ok(());
    };
    let offsets = chunk_offsets(source, &offsets)?;
    let runs = chunk_runs(source, &runs)?;
    let mut sizes = Sizes::open(source, &sizes)?;
    let mut run = 0;
    for (chunk, start) in (1_u32..).zip(offsets) {
        while runs.get(run + 1).is_some_and(|next: &Run| next.first_chunk <= chunk) {
            run += 1;
        }
        let samples = runs.get(run).map_or(0, |run| run.samples);
        let bytes = sizes.sum(samples)?;
        if bytes > 0 {
            let chunk = Span { start, end: start.saturating_add(bytes) };
            blank_inside(chunk, media_data, patches)?;
        }
    }
    Ok(())
}

/// Overwriting anything but media data could destroy the file, or be made to.
fn blank_inside(chunk: Span, media_data: &[Span], patches: &mut Patches) -> Result<(), Refusal> {
    let after = media_data.partition_point(|data| data.start <= chunk.start);
    match media_data[..after].last() {
        Some(data) if chunk.end <= data.end => patches.zero(chunk.start, chunk.end),
        _ => damaged("a track points outside the media data"),
    }
}

fn chunk_offsets(source: &mut Source, table: &MediaBox) -> Result<Vec<u64>, Refusal> {
    let is_wide = &table.kind == b"co64";
    let count = open(source, table, if is_wide { 8 } else { 4 })?;
    (0..count)
        .map(|_| {
            Ok(if is_wide {
                u64::from_be_bytes(source.array()?)
            } else {
                u64::from(u32::from_be_bytes(source.array()?))
            })
        })
        .collect()
}

/// From this chunk on, and until the next run, each chunk has this many samples.
struct Run {
    first_chunk: u32,
    samples: u32,
}

fn chunk_runs(source: &mut Source, table: &MediaBox) -> Result<Vec<Run>, Refusal> {
    let count = open(source, table, 12)?;
    (0..count)
        .map(|_| {
            let first_chunk = u32::from_be_bytes(source.array()?);
            let samples = u32::from_be_bytes(source.array()?);
            let _description: [u8; 4] = source.array()?;
            Ok(Run { first_chunk, samples })
        })
        .collect()
}

/// Goes to the first entry of a table and returns the number of entries.
fn open(source: &mut Source, table: &MediaBox, entry_bytes: u64) -> Result<u32, Refusal> {
    source.seek(table.body.start)?;
    source.skip(4)?;
    let count = u32::from_be_bytes(source.array()?);
    if u64::from(count) * entry_bytes > table.body.end.saturating_sub(source.position()) {
        return damaged("a table of the video is longer than its box");
    }
    if count > MOST_ENTRIES {
        return unsupported("its metadata is in too many places to remove; convert it anew");
    }
    Ok(count)
}

/// Sample sizes, read one after the other because there can be millions.
enum Sizes<'a, 's> {
    Same(u32),
    Each { source: &'a mut Source<'s>, left: u32 },
}

impl<'a, 's> Sizes<'a, 's> {
    fn open(source: &'a mut Source<'s>, table: &MediaBox) -> Result<Self, Refusal> {
        if &table.kind == b"stz2" {
            return unsupported("one of its tracks has an unusual layout; convert it to plain MP4");
        }
        source.seek(table.body.start)?;
        source.skip(4)?;
        let same = u32::from_be_bytes(source.array()?);
        let count = u32::from_be_bytes(source.array()?);
        if same > 0 {
            return Ok(Self::Same(same));
        }
        if u64::from(count) * 4 > table.body.end.saturating_sub(source.position()) {
            return damaged("a table of the video is longer than its box");
        }
        Ok(Self::Each { source, left: count })
    }

    fn sum(&mut self, samples: u32) -> Result<u64, Refusal> {
        match self {
            Self::Same(size) => Ok(u64::from(*size) * u64::from(samples)),
            Self::Each { source, left } => {
                let samples = samples.min(*left);
                *left -= samples;
                let mut sum = 0;
                for _ in 0..samples {
                    sum += u64::from(u32::from_be_bytes(source.array()?));
                }
                Ok(sum)
            }
        }
    }
}
