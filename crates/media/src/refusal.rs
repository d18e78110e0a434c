//! Why a file was not accepted, in words for the person who sent it.

/// The reason a file was refused. The text says what was wrong and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("{advice}")]
    UnknownType { advice: &'static str },
    #[error("The file cannot be published because {what}.")]
    Unsupported { what: &'static str },
    #[error("The file has {bytes} bytes but at most {limit} are allowed; send a smaller one.")]
    TooLarge { bytes: u64, limit: u64 },
    #[error(
        "It is {width} by {height}, more than the {limit} pixels allowed in all; scale it down."
    )]
    TooManyPixels { width: u32, height: u32, limit: u64 },
    #[error("It is {width} by {height} but a side may have at most {limit} pixels; scale it down.")]
    SideTooLong { width: u32, height: u32, limit: u32 },
    #[error("The animation has more than {limit} frames; shorten it or send it as a video.")]
    TooManyFrames { limit: u32 },
    #[error(
        "The video is {} seconds long but at most {} are allowed; shorten it.",
        duration_ms.div_ceil(1000),
        limit_ms / 1000
    )]
    TooLong { duration_ms: u64, limit_ms: u64 },
    #[error("The file is damaged: {what}. Export it again from the program that made it.")]
    Damaged { what: &'static str },
    #[error("The file could not be read or stored: {0}")]
    Io(#[from] std::io::Error),
}

impl Refusal {
    /// A stable name for programs; the sentence may change, this does not.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::UnknownType { .. } | Refusal::Unsupported { .. } => "unsupported_media_type",
            Refusal::TooLarge { .. } => "media_too_large",
            Refusal::TooManyPixels { .. } | Refusal::SideTooLong { .. } => {
                "media_dimensions_exceeded"
            }
            Refusal::TooManyFrames { .. } | Refusal::TooLong { .. } => "media_too_long",
            Refusal::Damaged { .. } => "media_damaged",
            Refusal::Io(_) => "io",
        }
    }
}

pub(crate) fn damaged<T>(what: &'static str) -> Result<T, Refusal> {
    Err(Refusal::Damaged { what })
}

pub(crate) fn unsupported<T>(what: &'static str) -> Result<T, Refusal> {
    Err(Refusal::Unsupported { what })
}
