//! Cleans MP4 and QuickTime files without moving a byte, so that sample offsets stay valid.

mod boxes;
mod headers;
mod samples;
mod survey;

use std::io::Write;

use crate::refusal::{damaged, unsupported};
use crate::source::Source;
use crate::{Facts, Kind, Limits, Refusal};
use survey::Survey;

pub(crate) fn clean(
    kind: Kind,
    source: &mut Source,
    target: &mut dyn Write,
    limits: &Limits,
) -> Result<Facts, Refusal> {
    let mut survey = Survey::new(source);
    survey.file()?;
    let Some(movie) = survey.movie else {
        return damaged("the video has no table of contents");
    };
    if survey.media_data.is_empty() {
        return damaged("the video contains no media data");
    }
    let Some((width, height)) = survey.video else {
        return unsupported("it contains no video track; send a picture or a video");
    };
    let facts = Facts {
        kind,
        width,
        height,
        duration_ms: movie.duration_ms(survey.fragments),
        frames: None,
    };
    limits.check_size(width, height)?;
    limits.check_duration(facts.duration_ms)?;

    if survey.is_fragmented && !survey.dropped.is_empty() {
        return unsupported(
            "it is fragmented and has tracks other than picture and sound; convert it to plain MP4",
        );
    }
    for tables in &survey.dropped {
        samples::blank(tables, survey.source, &survey.media_data, &mut survey.patches)?;
    }
    survey.patches.copy(survey.source, target)?;
    Ok(facts)
}
