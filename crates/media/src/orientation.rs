//! The one Exif fact that survives cleaning: which way up a picture is shown.

const ORIENTATION_TAG: u16 = 0x0112;
const TYPE_SHORT: u16 = 3;
const UPRIGHT: u16 = 1;

/// An Exif block that holds an orientation and nothing else.
pub(crate) type MinimalExif = [u8; 26];

/// Follows a file's Exif blocks; the first valid orientation decides, as it does in viewers.
#[derive(Default)]
pub(crate) struct Orientation {
    decided: Option<u16>,
}

impl Orientation {
    /// Takes in one TIFF structure and says what to write in its place, if anything.
    pub(crate) fn replace(&mut self, tiff: &[u8]) -> Option<MinimalExif> {
        if self.decided.is_some() {
            return None;
        }
        self.decided = read(tiff);
        self.decided.filter(|value| *value != UPRIGHT).map(minimal)
    }

    /// The size a viewer shows; values from 5 on lie the picture on its side.
    pub(crate) fn shown(&self, (width, height): (u32, u32)) -> (u32, u32) {
        match self.decided {
            Some(5..) => (height, width),
            _ => (width, height),
        }
    }
}

fn read(tiff: &[u8]) -> Option<u16> {
    let is_little_endian = match tiff.get(..4)? {
        b"II*\0" => true,
        b"MM\0*" => false,
        _ => return None,
    };
    let short = |bytes| match is_little_endian {
        true => u16::from_le_bytes(bytes),
        false => u16::from_be_bytes(bytes),
    };
    let directory = *tiff.get(4..)?.first_chunk()?;
    let directory = match is_little_endian {
        true => u32::from_le_bytes(directory),
        false => u32::from_be_bytes(directory),
    };
    let (count, entries) = tiff.get(directory as usize..)?.split_first_chunk()?;
    // Chunks of what is there, not the stated count, bound the work.
    entries.chunks_exact(12).take(usize::from(short(*count))).find_map(|entry| {
        let tag = short([entry[0], entry[1]]);
        let kind = short([entry[2], entry[3]]);
        let value = short([entry[8], entry[9]]);
        let valid = tag == ORIENTATION_TAG && kind == TYPE_SHORT && (1..=8).contains(&value);
        valid.then_some(value)
    })
}

fn minimal(value: u16) -> MinimalExif {
    let mut exif = *b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0\0\0\0\0";
    exif[18..20].copy_from_slice(&value.to_be_bytes());
    exif
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for value in 2..=8 {
            assert_eq!(read(&minimal(value)), Some(value));
        }
    }

    #[test]
    fn values_outside_the_standard_are_no_orientation() {
        assert_eq!(read(&minimal(0)), None);
        assert_eq!(read(&minimal(9)), None);
    }

    #[test]
    fn the_first_valid_orientation_decides() {
        let mut orientation = Orientation::default();
        assert_eq!(orientation.replace(b"not a tiff"), None);
        assert_eq!(orientation.replace(&minimal(6)), Some(minimal(6)));
        assert_eq!(orientation.replace(&minimal(3)), None);
        assert_eq!(orientation.shown((4, 3)), (3, 4));
    }

    #[test]
    fn a_directory_at_the_end_of_the_address_space_is_ignored() {
        assert_eq!(read(b"II*\0\xff\xff\xff\xff"), None);
    }
}
