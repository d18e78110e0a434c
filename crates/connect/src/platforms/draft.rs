//! What is handed to a platform.

use campanile_model::post::TargetOptions;
use serde::{Deserialize, Serialize};

/// A post as one account gets it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    pub text: String,
    pub media: Vec<Asset>,
    pub options: TargetOptions,
}

impl Draft {
    /// How many calls it takes: one, and one for each further part of a thread.
    pub fn parts(&self) -> u32 {
        let more = self.options.thread.as_ref().map_or(0, |thread| thread.0.len());
        1 + u32::try_from(more).unwrap_or(u32::MAX - 1)
    }

    /// The files that the post shows, by their place among the media: all but the picture of its
    /// link, which travels with them.
    pub fn files(&self) -> Vec<(usize, &Asset)> {
        let thumbnail = self.thumbnail();
        let shown = |(_, asset): &(usize, &Asset)| Some(*asset) != thumbnail;
        self.media.iter().enumerate().filter(shown).collect()
    }

    /// The picture of the link.
    pub fn thumbnail(&self) -> Option<&Asset> {
        let path = self.options.link.as_ref()?.thumbnail.as_ref()?;
        self.media.iter().find(|asset| asset.storage_path == path.as_str())
    }

    /// The text of a part; the first is the post's own.
    pub fn text_of(&self, part: u32) -> &str {
        let further = |number: u32| {
            let thread = self.options.thread.as_ref()?;
            thread.0.get(usize::try_from(number).ok()?)
        };
        match part.checked_sub(1) {
            None => &self.text,
            Some(number) => further(number).map_or("", |text| &text.0),
        }
    }
}

/// One file of a draft, as the media library knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asset {
    pub storage_path: String,
    /// Its name among the blobs.
    pub blob: String,
    pub media_type: String,
    pub bytes: u64,
    pub width: Option<u32>,
    pub height: Option<u32>,
    pub duration_ms: Option<u64>,
    pub alt_text: String,
}

impl Asset {
    pub fn is_video(&self) -> bool {
        self.media_type.starts_with("video/")
    }

    pub fn is_image(&self) -> bool {
        self.media_type.starts_with("image/")
    }
}

/// One thing that an account would refuse about a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// Below the target: `content`, `media[2]`, `options.poll`.
    pub field: String,
    pub code: &'static str,
    pub message: String,
}

impl Breach {
    pub fn new(field: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self { field: field.into(), code, message: message.into() }
    }
}
