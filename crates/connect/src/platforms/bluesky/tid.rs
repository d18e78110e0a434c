//! Record keys that follow from what is published, so that a second try names the same post.

use campanile_model::time::Millis;
use sha2::{Digest, Sha256};

const ALPHABET: &[u8; 32] = b"234567abcdefghijklmnopqrstuvwxyz";
const CHARACTERS: u32 = 13;
const MICROSECOND_BITS: u32 = 53;
const CLOCK_BITS: u32 = 10;

/// The key of the record that an operation makes, whenever and however often it runs.
///
/// Readers sort by it, so it carries the time at which the post was declared to be written;
/// the hash tells apart the posts that one account has in the same millisecond.
pub(super) fn of_operation(operation_key: &str, created_at: Millis) -> String {
    let hash = Sha256::digest(operation_key.as_bytes());
    let part = |from: usize| u64::from(u32::from_be_bytes([0, 0, hash[from], hash[from + 1]]));
    let millis = u64::try_from(created_at).unwrap_or(0);
    let micros = millis.saturating_mul(1000).saturating_add(part(0) % 1000);
    encode(micros, part(2))
}

/// A timestamp identifier: 53 bits of microseconds and 10 bits that say whose clock it was.
fn encode(micros: u64, clock: u64) -> String {
    let micros = micros & ((1 << MICROSECOND_BITS) - 1);
    let number = (micros << CLOCK_BITS) | (clock & ((1 << CLOCK_BITS) - 1));
    let digit = |place: u32| ALPHABET[(number >> (5 * place)) as usize & 31];
    (0..CHARACTERS).rev().map(|place| char::from(digit(place))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers_have_known_spellings() {
        assert_eq!(encode(0, 0), "2222222222222");
        assert_eq!(encode(1_793_491_200_000_000, 0), "3mz7iuy6k2222");
        assert_eq!(encode(1_793_491_200_000_000, 1023), "3mz7iuy6k22zz");
        assert_eq!(encode(1_793_491_200_000_001, 5), "3mz7iuy6k2327");
    }

    #[test]
    fn the_key_of_an_operation_never_changes() {
        let first = of_operation("abc1", 1_793_491_200_000);

        assert_eq!(first, of_operation("abc1", 1_793_491_200_000));
        assert_ne!(first, of_operation("abc2", 1_793_491_200_000));
        assert_eq!(first[..9], of_operation("abc2", 1_793_491_200_000)[..9]);
    }

    #[test]
    fn later_parts_have_later_keys() {
        let due = 1_793_491_200_000;
        let keys: Vec<_> =
            (0..26).map(|part| of_operation(&format!("k{part}"), due + part)).collect();

        assert!(keys.is_sorted());
    }

    #[test]
    fn times_out_of_range_still_give_keys_of_the_right_form() {
        for due in [Millis::MIN, -1, 0, 253_402_300_799_999, Millis::MAX] {
            let key = of_operation("k", due);

            assert_eq!(key.len(), 13, "{due}");
            assert!(key.bytes().all(|byte| ALPHABET.contains(&byte)), "{key}");
            assert!(key.as_bytes()[0] <= b'j', "{key}");
        }
    }
}
