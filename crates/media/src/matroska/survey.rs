//! Walks the elements of a WebM file, gathers facts and notes what to overwrite.
//!
//! Each level has a method of its own, so the depth is set by this code and never by the file.

use super::ebml::{Element, HEADER_ID};
use crate::Refusal;
use crate::patch::Patches;
use crate::refusal::{damaged, unsupported};
use crate::source::Source;

const SEGMENT: u32 = 0x1853_8067;
const SEEK_HEAD: u32 = 0x114D_9B74;
const INFO: u32 = 0x1549_A966;
const TRACKS: u32 = 0x1654_AE6B;
const CLUSTER: u32 = 0x1F43_B675;
const CUES: u32 = 0x1C53_BB6B;
const CHAPTERS: u32 = 0x1043_A770;
const TAGS: u32 = 0x1254_C367;
const ATTACHMENTS: u32 = 0x1941_A469;
const VOID: u32 = 0xEC;
/// A checksum over its parent, which is no longer true once something in it is blanked.
const CHECKSUM: u32 = 0xBF;

const TIME_SCALE: u32 = 0x2A_D7B1;
const DURATION: u32 = 0x4489;
const MUXING_APPLICATION: u32 = 0x4D80;
const WRITING_APPLICATION: u32 = 0x5741;

const TRACK_ENTRY: u32 = 0xAE;
const TRACK_TYPE: u32 = 0x83;
const TRACK_NAME: u32 = 0x536E;
const VIDEO: u32 = 0xE0;
const PIXEL_WIDTH: u32 = 0xB0;
const PIXEL_HEIGHT: u32 = 0xBA;
const TYPE_VIDEO: u64 = 1;
const TYPE_AUDIO: u64 = 2;

type Visit<'a, 's> = fn(&mut Survey<'a, 's>, Element) -> Result<(), Refusal>;

pub(super) struct Survey<'a, 's> {
    pub(super) source: &'a mut Source<'s>,
    pub(super) patches: Patches,
    pub(super) has_media: bool,
    /// Size of the first video track.
    pub(super) video: Option<(u32, u32)>,
    nanoseconds_per_unit: u64,
    duration: Option<f64>,
    track: Track,
}

#[derive(Default)]
struct Track {
    kind: u64,
    width: u64,
    height: u64,
}

impl<'a, 's> Survey<'a, 's> {
    pub(super) fn new(source: &'a mut Source<'s>) -> Self {
        Self {
            source,
            patches: Patches::default(),
            has_media: false,
            video: None,
            nanoseconds_per_unit: 1_000_000,
            duration: None,
            track: Track::default(),
        }
    }

    pub(super) fn duration_ms(&self) -> Option<u64> {
        let milliseconds = self.duration? * self.nanoseconds_per_unit as f64 / 1e6;
        (milliseconds.is_finite() && milliseconds > 0.0).then_some(milliseconds.round() as u64)
    }

    pub(super) fn file(&mut self) -> Result<(), Refusal> {
        let length = self.source.length();
        let header = Element::read(self.source, 0, length)?.end()?;
        let segment = Element::read(self.source, header, length)?;
        if segment.id != SEGMENT {
            return damaged("the video does not begin with its content");
        }
        self.segment(segment.body, segment.end_or(length))?;
        self.children(segment.end_or(length), length, Self::blank)
    }

    fn segment(&mut self, mut position: u64, end: u64) -> Result<(), Refusal> {
        while position < end {
            let child = Element::read(self.source, position, end)?;
            position = match child.id {
                CLUSTER => {
                    self.has_media = true;
                    self.cluster(&child, end)?
                }
                _ => {
                    self.in_segment(child)?;
                    child.end()?
                }
            };
        }
        Ok(())
    }

    fn in_segment(&mut self, child: Element) -> Result<(), Refusal> {
        match child.id {
            INFO => self.children(child.body, child.end()?, Self::in_info),
            TRACKS => self.children(child.body, child.end()?, Self::in_tracks),
            SEEK_HEAD | CUES => Ok(()),
            _ => self.blank(child),
        }
    }

    /// Returns the end of a cluster; in a live recording that is where its next sibling begins.
    fn cluster(&mut self, cluster: &Element, limit: u64) -> Result<u64, Refusal> {
        if let Some(end) = cluster.known_end() {
            return Ok(end);
        }
        let mut position = cluster.body;
        while position < limit {
            let child = Element::read(self.source, position, limit)?;
            match child.id {
                CLUSTER | CUES | TAGS | INFO | TRACKS | SEEK_HEAD | CHAPTERS | ATTACHMENTS
                | HEADER_ID | SEGMENT => return Ok(position),
                VOID => self.blank(child)?,
                _ => {}
            }
            position = child.end()?;
        }
        Ok(position)
    }

    fn children(
        &mut self,
        mut position: u64,
        end: u64,
        visit: Visit<'a, 's>,
    ) -> Result<(), Refusal> {
        while position < end {
            let child = Element::read(self.source, position, end)?;
            visit(self, child)?;
            position = child.end()?;
        }
        Ok(())
    }

    /// Title, date, file names and whatever else is not needed to play the video go.
    fn in_info(&mut self, child: Element) -> Result<(), Refusal> {
        match child.id {
            TIME_SCALE => self.nanoseconds_per_unit = child.unsigned(self.source)?,
            DURATION => self.duration = Some(child.float(self.source)?),
            MUXING_APPLICATION | WRITING_APPLICATION => {}
            _ => self.blank(child)?,
        }
        Ok(())
    }

    fn in_tracks(&mut self, child: Element) -> Result<(), Refusal> {
        if child.id != TRACK_ENTRY {
            return self.blank(child);
        }
        self.track = Track::default();
        self.children(child.body, child.end()?, Self::in_track)?;
        match self.track.kind {
            TYPE_VIDEO => {
                let side = |side: u64| u32::try_from(side).unwrap_or(u32::MAX);
                let size = (side(self.track.width), side(self.track.height));
                self.video.get_or_insert(size);
                Ok(())
            }
            TYPE_AUDIO => Ok(()),
            // Telemetry can hide in text, whose blocks lie between those of picture and sound.
            _ => unsupported("it has tracks other than picture and sound; export it without them"),
        }
    }

    fn in_track(&mut self, child: Element) -> Result<(), Refusal> {
        match child.id {
            TRACK_TYPE => self.track.kind = child.unsigned(self.source)?,
            VIDEO => self.children(child.body, child.end()?, Self::in_video)?,
            TRACK_NAME | CHECKSUM | VOID => self.blank(child)?,
            _ => {}
        }
        Ok(())
    }

    fn in_video(&mut self, child: Element) -> Result<(), Refusal> {
        match child.id {
            PIXEL_WIDTH => self.track.width = child.unsigned(self.source)?,
            PIXEL_HEIGHT => self.track.height = child.unsigned(self.source)?,
            _ => {}
        }
        Ok(())
    }

    fn blank(&mut self, child: Element) -> Result<(), Refusal> {
        child.blank(&mut self.patches)
    }
}
