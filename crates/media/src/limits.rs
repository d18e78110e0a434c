//! How large, wide and long a file may be.

use crate::{Kind, Refusal};

/// Upper bounds; a file exactly at a bound is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub image_bytes: u64,
    pub video_bytes: u64,
    /// Width times height of a picture, and of a video frame.
    pub image_pixels: u64,
    /// Width or height of a picture, and of a video frame.
    pub image_side: u32,
    /// Frames of an animated GIF, WebP or PNG.
    pub gif_frames: u32,
    /// Playing time of a video; one that does not state its duration passes.
    pub video_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            image_bytes: 32 << 20,
            video_bytes: 1 << 30,
            image_pixels: 64_000_000,
            image_side: 16_384,
            gif_frames: 36_000,
            video_ms: 4 * 60 * 60 * 1000,
        }
    }
}

impl Limits {
    /// Refuses what no type may reach, before a single byte is read.
    pub(crate) fn check_any_bytes(&self, bytes: u64) -> Result<(), Refusal> {
        at_most(bytes, self.image_bytes.max(self.video_bytes))
    }

    pub(crate) fn check_bytes(&self, kind: Kind, bytes: u64) -> Result<(), Refusal> {
        at_most(bytes, if kind.is_image() { self.image_bytes } else { self.video_bytes })
    }

    pub(crate) fn check_size(&self, width: u32, height: u32) -> Result<(), Refusal> {
        if width == 0 || height == 0 {
            return Err(Refusal::Damaged { what: "its width or height is zero" });
        }
        if width.max(height) > self.image_side {
            return Err(Refusal::SideTooLong { width, height, limit: self.image_side });
        }
        if u64::from(width) * u64::from(height) > self.image_pixels {
            return Err(Refusal::TooManyPixels { width, height, limit: self.image_pixels });
        }
        Ok(())
    }

    pub(crate) fn check_frames(&self, frames: u32) -> Result<(), Refusal> {
        if frames > self.gif_frames {
            return Err(Refusal::TooManyFrames { limit: self.gif_frames });
        }
        Ok(())
    }

    pub(crate) fn check_duration(&self, duration_ms: Option<u64>) -> Result<(), Refusal> {
        match duration_ms {
            Some(duration_ms) if duration_ms > self.video_ms => {
                Err(Refusal::TooLong { duration_ms, limit_ms: self.video_ms })
            }
            _ => Ok(()),
        }
    }
}

fn at_most(bytes: u64, limit: u64) -> Result<(), Refusal> {
    if bytes > limit { Err(Refusal::TooLarge { bytes, limit }) } else { Ok(()) }
}
