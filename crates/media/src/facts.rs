//! What is known about a file once it has been cleaned.

use crate::Kind;

/// Facts read from a file's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub kind: Kind,
    /// Width as a viewer shows it, that is, after the stored rotation.
    pub width: u32,
    /// Height as a viewer shows it, that is, after the stored rotation.
    pub height: u32,
    /// Playing time of a video, or of one run of an animated picture; absent when not stated.
    pub duration_ms: Option<u64>,
    /// Number of frames of a picture that has more than one.
    pub frames: Option<u32>,
}

impl Facts {
    pub(crate) fn still(kind: Kind, (width, height): (u32, u32)) -> Self {
        Self { kind, width, height, duration_ms: None, frames: None }
    }

    /// A picture of one frame stands still, whatever delay that frame states.
    pub(crate) fn animated(kind: Kind, size: (u32, u32), frames: u32, duration_ms: u64) -> Self {
        if frames < 2 {
            return Self::still(kind, size);
        }
        Self { duration_ms: Some(duration_ms), frames: Some(frames), ..Self::still(kind, size) }
    }
}
