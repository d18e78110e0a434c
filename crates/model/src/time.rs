//! Time: milliseconds since 1970 in UTC inside, RFC 3339 outside.

/// Milliseconds since 1970-01-01 UTC.
pub type Millis = i64;

pub const SECOND: Millis = 1000;
pub const MINUTE: Millis = 60 * SECOND;
pub const HOUR: Millis = 60 * MINUTE;
pub const DAY: Millis = 24 * HOUR;

/// Tells the time. Nothing else in the service may.
pub trait Clock: Send + Sync {
    fn now(&self) -> Millis;
}

/// `2026-11-15T09:30:00.000Z`.
pub fn format(at: Millis) -> String {
    let mut text = String::with_capacity(24);
    write(&mut text, at);
    text
}

/// Appends what [`format`] returns. Lists of posts call this thousands of times a second, so
/// the calendar is computed and the digits are set here rather than by a formatter.
pub fn write(out: &mut String, at: Millis) {
    let (days, rest) = (at.div_euclid(DAY), at.rem_euclid(DAY));
    let (year, month, day) = civil(days);
    let mut text = *b"0000-00-00T00:00:00.000Z";
    set(&mut text[0..4], year);
    set(&mut text[5..7], month);
    set(&mut text[8..10], day);
    set(&mut text[11..13], rest / HOUR);
    set(&mut text[14..16], rest / MINUTE % 60);
    set(&mut text[17..19], rest / SECOND % 60);
    set(&mut text[20..23], rest % SECOND);
    out.extend(text.map(char::from));
}

/// Writes a number into as many digits as there is room for.
fn set(digits: &mut [u8], number: i64) {
    let mut left = number.unsigned_abs();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (left % 10) as u8;
        left /= 10;
    }
}

/// The date of a day counted from 1970, in the Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // Years that begin in March put the leap day last; eras of 400 years are all alike.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// Reads an RFC 3339 time with an offset. A time without one is nobody's time.
pub fn parse(text: &str) -> Option<Millis> {
    let bytes = text.as_bytes();
    // jiff takes more than RFC 3339 allows: week dates, annotations, a 61st second.
    let plain = text.is_ascii()
        && (20..=40).contains(&bytes.len())
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && matches!(bytes[10], b'T' | b't')
        && bytes[13] == b':'
        && bytes[16] == b':'
        && &bytes[17..19] != b"60"
        && !bytes.contains(&b'[')
        && offset_exists(text);
    if !plain {
        return None;
    }
    let at = text.parse::<jiff::Timestamp>().ok()?.as_millisecond();
    // An offset can push a year out of the four digits that we would write it with.
    (YEAR_NOUGHT..=YEAR_9999).contains(&at).then_some(at)
}

const YEAR_NOUGHT: Millis = -62_167_219_200_000;
const YEAR_9999: Millis = 253_402_300_799_999;

/// No clock on earth is a day or more away from UTC.
fn offset_exists(text: &str) -> bool {
    let offset = text[19..].trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    matches!(offset, "Z" | "z") || offset.get(1..3).is_some_and(|hours| hours < "24")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_like_a_second_library_does() {
        for at in (-62_000_000_000_000..250_000_000_000_000).step_by(7_654_321_987) {
            let other = jiff::Timestamp::from_millisecond(at).unwrap();
            assert_eq!(format(at), format!("{other:.3}"));
        }
    }

    #[test]
    fn a_time_needs_an_offset_and_a_calendar() {
        assert_eq!(parse("2026-11-15T09:30:00Z"), Some(1_794_735_000_000));
        assert_eq!(parse("2026-11-15T10:30:00.000+01:00"), Some(1_794_735_000_000));
        for wrong in [
            "2026-11-15T09:30:00",
            "2026-11-15",
            "1794735000",
            "9999-12-31T23:59:60Z",
            "10000-01-01T00:00:00Z",
            "2026-02-30T00:00:00Z",
            "2026-11-15T09:30:00+25:00",
            "0000-01-01T00:30:00+01:00",
            "9999-12-31T23:30:00-01:00",
            "2026-11-15 09:30:00Z",
            "2026-11-15T09:30:0é+01:00",
            "2026-11-15T09:30:00Z[Europe/Berlin]",
            "NaN",
            "",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
