//! How long to wait before the next try.

use campanile_model::time::{DAY, HOUR, MINUTE, Millis, SECOND};

/// What could not be published within a day of its time is not published any more.
pub const GIVE_UP_AFTER: Millis = DAY;

const PAUSES: [Millis; 7] =
    [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR];

/// The pause after so many failures in a row, a fifth longer or shorter by `chance` (0 to 999),
/// so that many flows that failed together do not come back together.
pub fn backoff(failures: u32, chance: u32) -> Millis {
    let index = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
    vary(PAUSES[index.min(PAUSES.len() - 1)], chance)
}

/// The pause before the platform is read again, which could not be read for so long: each is as
/// long as all before it. Looks are not counted, because a platform that cannot be read says
/// nothing about how long to wait before the next call.
pub(crate) fn look_again(unread_for: Millis, chance: u32) -> Millis {
    vary(unread_for.clamp(5 * SECOND, 30 * MINUTE), chance)
}

fn vary(pause: Millis, chance: u32) -> Millis {
    pause * (800 + 400 * i64::from(chance.min(999)) / 999) / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_vary_by_a_fifth() {
        assert_eq!((backoff(1, 0), backoff(1, 999)), (4 * SECOND, 6 * SECOND));
        assert_eq!((backoff(3, 0), backoff(3, 999)), (96 * SECOND, 144 * SECOND));
        assert_eq!(backoff(7, 500), backoff(70, 500));
    }

    #[test]
    fn looks_come_less_and_less_often_but_at_least_every_half_hour_or_so() {
        assert_eq!((look_again(0, 0), look_again(0, 999)), (4 * SECOND, 6 * SECOND));
        assert_eq!(look_again(10 * MINUTE, 0), 8 * MINUTE);
        assert_eq!(look_again(DAY, 999), 36 * MINUTE);
    }
}
