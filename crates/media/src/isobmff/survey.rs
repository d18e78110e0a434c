//! Walks the boxes of a video, gathers facts and notes what to overwrite.
//!
//! Each level has a method of its own, so the depth is set by this code and never by the file.

use super::boxes::{MediaBox, Span};
use super::headers::{self, Movie};
use super::samples::Tables;
use crate::Refusal;
use crate::patch::Patches;
use crate::refusal::{damaged, unsupported};
use crate::source::Source;

/// A four-hour recording in half-second fragments has about a third of this.
const MOST_BOXES: u32 = 1_000_000;
const MOST_TRACKS: usize = 64;

type Visit<'a, 's> = fn(&mut Survey<'a, 's>, MediaBox) -> Result<(), Refusal>;

pub(super) struct Survey<'a, 's> {
    pub(super) source: &'a mut Source<'s>,
    pub(super) patches: Patches,
    pub(super) movie: Option<Movie>,
    /// Shown size of the first video track.
    pub(super) video: Option<(u32, u32)>,
    pub(super) is_fragmented: bool,
    pub(super) fragments: Option<u64>,
    /// Where the content of the media data boxes lies, in file order.
    pub(super) media_data: Vec<Span>,
    /// Sample tables of the tracks that are neither picture nor sound.
    pub(super) dropped: Vec<Tables>,
    has_contents: bool,
    boxes: u32,
    track: Track,
}

#[derive(Default)]
struct Track {
    handler: Option<[u8; 4]>,
    size: Option<(u32, u32)>,
    tables: Tables,
}

impl<'a, 's> Survey<'a, 's> {
    pub(super) fn new(source: &'a mut Source<'s>) -> Self {
        Self {
            source,
            patches: Patches::default(),
            movie: None,
            video: None,
            is_fragmented: false,
            fragments: None,
            media_data: Vec::new(),
            dropped: Vec::new(),
            has_contents: false,
            boxes: 0,
            track: Track::default(),
        }
    }

    pub(super) fn file(&mut self) -> Result<(), Refusal> {
        let whole = Span { start: 0, end: self.source.length() };
        self.children(whole, Self::top_level)
    }

    fn children(&mut self, mut rest: Span, visit: Visit<'a, 's>) -> Result<(), Refusal> {
        while rest.start < rest.end {
            self.boxes += 1;
            if self.boxes > MOST_BOXES {
                return damaged("the video is divided into too many parts");
            }
            let child = MediaBox::read(self.source, rest)?;
            visit(self, child)?;
            rest.start = child.body.end;
        }
        Ok(())
    }

    /// Cameras put locations into boxes of their own making, so what is not known is blanked.
    fn top_level(&mut self, child: MediaBox) -> Result<(), Refusal> {
        match &child.kind {
            b"moov" if self.has_contents => damaged("the video has two tables of contents"),
            b"moov" => {
                self.has_contents = true;
                self.children(child.body, Self::in_contents)
            }
            b"moof" => {
                self.is_fragmented = true;
                self.children(child.body, Self::in_fragment)
            }
            b"mdat" => {
                self.media_data.push(child.body);
                Ok(())
            }
            b"ftyp" | b"styp" | b"sidx" | b"ssix" | b"mfra" | b"pdin" | b"wide" => Ok(()),
            _ => child.blank(&mut self.patches),
        }
    }

    fn in_fragment(&mut self, child: MediaBox) -> Result<(), Refusal> {
        match &child.kind {
            b"traf" => self.children(child.body, Self::known_private),
            _ => self.known_private(child),
        }
    }

    fn in_contents(&mut self, child: MediaBox) -> Result<(), Refusal> {
        match &child.kind {
            b"mvhd" => {
                self.movie = Some(Movie::read(self.source, child.body)?);
                headers::blank_timestamps(self.source, child.body, &mut self.patches)
            }
            b"trak" => self.in_contents_track(child),
            b"mvex" => {
                self.is_fragmented = true;
                self.children(child.body, Self::in_extends)
            }
            b"iods" | b"pssh" => Ok(()),
            _ => child.blank(&mut self.patches),
        }
    }

    fn in_extends(&mut self, child: MediaBox) -> Result<(), Refusal> {
        if &child.kind == b"mehd" {
            self.fragments = headers::fragments_duration(self.source, child.body)?;
        }
        self.known_private(child)
    }

    /// Telemetry hides in tracks of metadata, text and time codes: only picture and sound stay.
    fn in_contents_track(&mut self, track: MediaBox) -> Result<(), Refusal> {
        let patches_before = self.patches.len();
        self.track = Track::default();
        self.children(track.body, Self::in_track)?;
        let Track { handler, size, tables } = std::mem::take(&mut self.track);
        match handler.as_ref() {
            Some(b"vide") => {
                let Some(size) = size else {
                    return damaged("a video track has no header");
                };
                self.video.get_or_insert(size);
                Ok(())
            }
            Some(b"soun" | b"clcp") => Ok(()),
            _ if self.dropped.len() == MOST_TRACKS => damaged("the video has too many tracks"),
            _ => {
                self.patches.truncate(patches_before);
                self.dropped.push(tables);
                track.blank(&mut self.patches)
            }
        }
    }

    fn in_track(&mut self, child: MediaBox) -> Result<(), Refusal> {
        match &child.kind {
            b"tkhd" => {
                self.track.size = Some(headers::track_size(self.source, child.body)?);
                headers::blank_timestamps(self.source, child.body, &mut self.patches)
            }
            b"mdia" => self.children(child.body, Self::in_media),
            b"edts" | b"tref" | b"tapt" | b"load" | b"clip" | b"matt" => Ok(()),
            _ => child.blank(&mut self.patches),
        }
    }

    fn in_media(&mut self, child: MediaBox) -> Result<(), Refusal> {
        match &child.kind {
            b"mdhd" => headers::blank_timestamps(self.source, child.body, &mut self.patches),
            b"hdlr" => {
                let (handler, name) = headers::handler(self.source, child.body)?;
                self.track.handler = Some(handler);
                // The name often gives away the make of the camera.
                self.patches.zero(name.start, name.end)
            }
            b"minf" => self.children(child.body, Self::in_media_information),
            b"elng" => Ok(()),
            _ => child.blank(&mut self.patches),
        }
    }

    fn in_media_information(&mut self, child: MediaBox) -> Result<(), Refusal> {
        match &child.kind {
            b"dinf" => self.children(child.body, Self::in_data_information),
            b"stbl" => self.children(child.body, Self::in_sample_tables),
            _ => self.known_private(child),
        }
    }

    fn in_sample_tables(&mut self, child: MediaBox) -> Result<(), Refusal> {
        self.track.tables.note(&child);
        self.known_private(child)
    }

    fn in_data_information(&mut self, child: MediaBox) -> Result<(), Refusal> {
        if &child.kind != b"dref" {
            return self.known_private(child);
        }
        // A version, flags and a count come before the references, which are boxes themselves.
        let Span { start, end } = child.body;
        self.children(Span { start: end.min(start + 8), end }, Self::data_reference)
    }

    fn data_reference(&mut self, reference: MediaBox) -> Result<(), Refusal> {
        let Span { start, end } = reference.body;
        if !headers::is_self_contained(self.source, reference.body)? {
            return unsupported("it refers to another file; export it as one self-contained file");
        }
        // QuickTime stores the path on its maker's disk even when it does not use it.
        if end > start + 4 { self.patches.zero(start + 4, end) } else { Ok(()) }
    }

    fn known_private(&mut self, child: MediaBox) -> Result<(), Refusal> {
        match &child.kind {
            b"udta" | b"meta" | b"uuid" | b"free" | b"skip" => child.blank(&mut self.patches),
            _ => Ok(()),
        }
    }
}
