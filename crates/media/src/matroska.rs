//! Cleans WebM files without moving a byte, so that the positions in their index stay valid.

pub(crate) mod ebml;
mod survey;

use std::io::Write;

use crate::refusal::{damaged, unsupported};
use crate::source::Source;
use crate::{Facts, Kind, Limits, Refusal};
use survey::Survey;

pub(crate) fn clean(
    source: &mut Source,
    target: &mut dyn Write,
    limits: &Limits,
) -> Result<Facts, Refusal> {
    let mut survey = Survey::new(source);
    survey.file()?;
    if !survey.has_media {
        return damaged("the video contains no media data");
    }
    let Some((width, height)) = survey.video else {
        return unsupported("it contains no video track; send a picture or a video");
    };
    let duration_ms = survey.duration_ms();
    limits.check_size(width, height)?;
    limits.check_duration(duration_ms)?;
    survey.patches.copy(survey.source, target)?;
    Ok(Facts { kind: Kind::Webm, width, height, duration_ms, frames: None })
}
