//! What a seed decides before anything happens: the post, the runners, and what will befall them.

use campanile_model::{
    publish::Safety,
    time::{DAY, HOUR, MINUTE, Millis, SECOND},
};

use super::{chance::Chance, habits::Habits};
use crate::Rules;

/// When the post is to be published. The number means nothing.
pub(super) const DUE: Millis = 1_000 * DAY;

#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    Cancel,
    /// Somebody moves the post to another time.
    Move(Millis),
    /// Everything is down for so long.
    Outage(Millis),
    /// The late write of a cancel that was answered before; only a planted mistake does that.
    LateCancel,
}

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) rules: Rules,
    pub(super) parts: u32,
    pub(super) created: Millis,
    pub(super) runners: usize,
    /// Of a thousand occasions to crash, how many are taken.
    pub(super) crashing: u32,
    /// Of a thousand things a runner does, how many take so long that its lease runs out.
    pub(super) stalling: u32,
    /// Latest first, so that the next one is at the end.
    pub(super) happenings: Vec<(Millis, Happening)>,
    /// How long everything may take at most.
    pub(super) patience: Millis,
}

impl Plan {
    pub(super) fn roll(chance: &mut Chance) -> (Self, Habits) {
        let habits = Habits::roll(chance, DUE);
        let created = DUE - chance.pick(&[0, 10 * SECOND, HOUR]);
        let parts = chance.pick(&[1, 1, 1, 2, 3]);
        let late_window = chance.pick(&[2 * MINUTE, HOUR, DAY, DAY, 2 * DAY]);
        let happenings = roll_happenings(chance, habits.safety);
        let plan = Self {
            rules: Rules { safety: habits.safety, late_window },
            parts,
            created,
            runners: 1 + chance.below(3) as usize,
            crashing: chance.pick(&[0, 10, 50, 200]),
            stalling: chance.pick(&[0, 10, 100]),
            patience: DUE + late_window + Millis::from(parts) * 3 * DAY + total(&happenings),
            happenings,
        };
        (plan, habits)
    }
}

/// How much longer it may take for what happens on the way.
fn total(happenings: &[(Millis, Happening)]) -> Millis {
    let longer = |(_, happening): &(Millis, Happening)| match happening {
        Happening::Outage(length) => *length,
        Happening::Move(due) => due - DUE + 3 * DAY,
        Happening::Cancel | Happening::LateCancel => 0,
    };
    happenings.iter().map(longer).sum::<Millis>() + DAY
}

fn roll_happenings(chance: &mut Chance, safety: Safety) -> Vec<(Millis, Happening)> {
    let mut happenings = Vec::new();
    while happenings.len() < 6 && chance.happens(350) {
        let at = roll_time(chance, safety);
        let happening = match chance.below(4) {
            0 => Happening::Outage(chance.pick(&[MINUTE, HOUR, 2 * HOUR, 30 * HOUR, 3 * DAY])),
            1 => Happening::Move(at + chance.between(0, 2 * MINUTE)),
            _ => Happening::Cancel,
        };
        happenings.push((at, happening));
    }
    happenings.sort_by_key(|(at, _)| -at);
    happenings
}

/// Mostly where it hurts: in the first seconds after the time of the post.
fn roll_time(chance: &mut Chance, safety: Safety) -> Millis {
    let wide = if safety == Safety::Nothing { MINUTE } else { 3 * MINUTE };
    match chance.below(8) {
        0 => DUE - chance.between(0, MINUTE),
        1 | 2 => DUE + chance.between(0, wide),
        3 => DUE + chance.between(0, 3 * HOUR),
        _ => DUE + chance.between(0, 5 * SECOND),
    }
}
