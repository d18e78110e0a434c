//! The header boxes that state a video's duration and size.

use super::boxes::Span;
use crate::Refusal;
use crate::patch::Patches;
use crate::refusal::damaged;
use crate::source::Source;

/// Duration of the whole video, in its own unit of time.
#[derive(Clone, Copy)]
pub(super) struct Movie {
    units_per_second: u32,
    duration: Option<u64>,
}

impl Movie {
    pub(super) fn read(source: &mut Source, body: Span) -> Result<Self, Refusal> {
        let version = Version::read(source, body)?;
        source.skip(version.timestamps())?;
        let units_per_second = u32::from_be_bytes(source.array()?);
        if units_per_second == 0 {
            return damaged("the video states no unit of time");
        }
        let duration = version.duration(source)?;
        check_inside(source, body)?;
        Ok(Self { units_per_second, duration })
    }

    /// A fragmented video states zero here and its true duration, if at all, next to the fragments.
    pub(super) fn duration_ms(&self, fragments: Option<u64>) -> Option<u64> {
        let duration = self.duration.filter(|duration| *duration > 0).or(fragments)?;
        let milliseconds = u128::from(duration) * 1000 / u128::from(self.units_per_second);
        u64::try_from(milliseconds).ok()
    }
}

pub(super) fn fragments_duration(source: &mut Source, body: Span) -> Result<Option<u64>, Refusal> {
    let duration = Version::read(source, body)?.duration(source)?;
    check_inside(source, body)?;
    Ok(duration)
}

/// What a track is for (`vide`, `soun` and so on), and where the name for people stands.
pub(super) fn handler(source: &mut Source, body: Span) -> Result<([u8; 4], Span), Refusal> {
    source.seek(body.start)?;
    source.skip(8)?;
    let handler = source.array()?;
    source.skip(12)?;
    check_inside(source, body)?;
    Ok((handler, Span { start: source.position(), end: body.end }))
}

/// Whether a data reference means the very file it is in.
pub(super) fn is_self_contained(source: &mut Source, body: Span) -> Result<bool, Refusal> {
    source.seek(body.start)?;
    let [_, _, _, flags]: [u8; 4] = source.array()?;
    check_inside(source, body)?;
    Ok(flags & 1 == 1)
}

/// The size of a track as it is shown, that is, after its rotation.
pub(super) fn track_size(source: &mut Source, body: Span) -> Result<(u32, u32), Refusal> {
    let version = Version::read(source, body)?;
    source.skip(version.timestamps() + 8 + version.number_bytes() + 16)?;
    let mut matrix = [0; 9];
    for value in &mut matrix {
        *value = i32::from_be_bytes(source.array()?);
    }
    // Both sides are fixed-point numbers with sixteen binary places.
    let width = u32::from_be_bytes(source.array()?) >> 16;
    let height = u32::from_be_bytes(source.array()?) >> 16;
    check_inside(source, body)?;
    let [a, b, _, c, d, ..] = matrix;
    let lies_on_its_side = a == 0 && d == 0 && b != 0 && c != 0;
    Ok(if lies_on_its_side { (height, width) } else { (width, height) })
}

/// When something was recorded is private; zero stands for unknown.
pub(super) fn blank_timestamps(
    source: &mut Source,
    body: Span,
    patches: &mut Patches,
) -> Result<(), Refusal> {
    let version = Version::read(source, body)?;
    let start = source.position();
    let end = start + version.timestamps();
    source.seek(end)?;
    check_inside(source, body)?;
    patches.zero(start, end)
}

/// A header that is too short must not be completed with the bytes of its neighbour.
fn check_inside(source: &Source, body: Span) -> Result<(), Refusal> {
    if source.position() > body.end {
        return damaged("a header of the video is too short");
    }
    Ok(())
}

/// Version one of a header differs from version zero in the width of its times.
enum Version {
    Zero,
    One,
}

impl Version {
    fn read(source: &mut Source, body: Span) -> Result<Self, Refusal> {
        source.seek(body.start)?;
        let [version, ..]: [u8; 4] = source.array()?;
        match version {
            0 => Ok(Self::Zero),
            1 => Ok(Self::One),
            _ => damaged("a header of the video has an unknown version"),
        }
    }

    fn number_bytes(&self) -> u64 {
        match self {
            Self::Zero => 4,
            Self::One => 8,
        }
    }

    fn timestamps(&self) -> u64 {
        2 * self.number_bytes()
    }

    /// All bits set mean that the duration is not known.
    fn duration(&self, source: &mut Source) -> Result<Option<u64>, Refusal> {
        Ok(match self {
            Self::Zero => Some(u32::from_be_bytes(source.array()?))
                .filter(|duration| *duration != u32::MAX)
                .map(u64::from),
            Self::One => {
                Some(u64::from_be_bytes(source.array()?)).filter(|duration| *duration != u64::MAX)
            }
        })
    }
}
