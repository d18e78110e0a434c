//! How the platform of one schedule behaves: each lies in its own way.

use campanile_model::{
    publish::Safety,
    time::{DAY, HOUR, MINUTE, Millis, SECOND},
};

use super::chance::Chance;
use crate::SETTLING;

/// A time that never comes.
pub(super) const NEVER: Millis = Millis::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Renewal {
    Works,
    /// The account has to be connected again.
    Broken,
}

#[derive(Debug)]
pub(super) struct Habits {
    pub(super) safety: Safety,
    /// Of a thousand calls, how many are refused for a passing reason.
    pub(super) refusing: u32,
    /// Of a thousand calls that are not refused, how many get no clear answer.
    pub(super) muddled: u32,
    /// How long the server may go on with a call whose connection broke.
    pub(super) slow: Millis,
    /// How long a listing may lag behind.
    pub(super) lag: Millis,
    /// Keys and duplicates are sometimes forgotten at once; such a platform lists promptly.
    pub(super) forgetful: bool,
    /// How long the same text is refused, where it is.
    pub(super) duplicates_for: Millis,
    /// It cannot be read between these.
    pub(super) unreadable: (Millis, Millis),
    /// Of a thousand looks, how many fail at other times.
    pub(super) blinking: u32,
    pub(super) unknowable: bool,
    /// The part that it does not want, ever.
    pub(super) rejects: Option<u32>,
    /// Between these everything is refused for going too fast.
    pub(super) limited: (Millis, Millis),
    pub(super) tells_retry_at: bool,
    pub(super) token_until: Millis,
    pub(super) renewal: Renewal,
}

impl Habits {
    pub(super) fn roll(chance: &mut Chance, due: Millis) -> Self {
        let safety = roll_safety(chance);
        let forgetful = matches!(safety, Safety::KeyWindow { .. }) && chance.happens(150);
        let prompt = chance.happens(200);
        Self {
            safety,
            refusing: chance.pick(&[0, 0, 100, 300, 600]),
            muddled: chance.pick(&[0, 100, 400, 800, 1000]),
            slow: if prompt { 0 } else { chance.between(0, SETTLING - SECOND) },
            lag: if prompt { 0 } else { chance.between(0, SETTLING - 100) },
            forgetful,
            duplicates_for: chance.pick(&[0, MINUTE, DAY]),
            unreadable: roll_unreadable(chance, due),
            blinking: chance.pick(&[0, 0, 100, 500]),
            unknowable: chance.happens(20),
            rejects: chance.happens(60).then(|| chance.below(4)),
            limited: roll_limited(chance, due),
            tells_retry_at: chance.happens(500),
            token_until: if chance.happens(150) {
                due + chance.between(-HOUR, 2 * HOUR)
            } else {
                NEVER
            },
            renewal: if chance.happens(150) { Renewal::Broken } else { Renewal::Works },
        }
    }
}

fn roll_safety(chance: &mut Chance) -> Safety {
    match chance.below(6) {
        0 => Safety::ChosenId,
        1 => Safety::Container,
        2 => Safety::KeyWindow { millis: chance.pick(&[3 * MINUTE, 10 * MINUTE, HOUR]) },
        3 => Safety::ReadBack,
        4 => Safety::DuplicateRefused,
        _ => Safety::Nothing,
    }
}

fn roll_unreadable(chance: &mut Chance, due: Millis) -> (Millis, Millis) {
    if chance.happens(700) {
        return (NEVER, NEVER);
    }
    let from = due + chance.between(-MINUTE, 10 * MINUTE);
    let until = match chance.below(4) {
        0 => NEVER,
        1 => from + chance.between(0, 30 * HOUR),
        _ => from + chance.between(0, 10 * MINUTE),
    };
    (from, until)
}

fn roll_limited(chance: &mut Chance, due: Millis) -> (Millis, Millis) {
    if chance.happens(800) {
        return (NEVER, NEVER);
    }
    let from = due + chance.between(-MINUTE, 10 * MINUTE);
    let length = chance.pick(&[MINUTE, 20 * MINUTE, 3 * HOUR, 2 * DAY]);
    (from, from + chance.between(0, length))
}
