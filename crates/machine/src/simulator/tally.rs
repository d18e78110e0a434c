//! Counts over many schedules, to see that they reach what they are meant to reach.

use campanile_model::publish::Stage;

use super::world::World;

#[derive(Default)]
pub struct Tally {
    pub schedules: u64,
    pub calls: u64,
    pub crashes: u64,
    pub fenced: u64,
    endings: [u64; 5],
}

const ENDINGS: [(Stage, &str); 5] = [
    (Stage::Published, "published"),
    (Stage::Rejected, "rejected"),
    (Stage::Unknown, "unknown"),
    (Stage::Missed, "missed"),
    (Stage::Canceled, "canceled"),
];

impl Tally {
    pub(super) fn count(&mut self, world: &World) {
        self.schedules += 1;
        self.calls += world.tally.calls;
        self.crashes += world.tally.crashes;
        self.fenced += world.tally.fenced;
        let stage = world.record.flow.stage;
        if let Some(index) = ENDINGS.iter().position(|(ending, _)| *ending == stage) {
            self.endings[index] += 1;
        }
    }

    /// How many schedules ended so.
    pub fn endings(&self) -> impl Iterator<Item = (&'static str, u64)> {
        ENDINGS.iter().map(|(_, name)| *name).zip(self.endings)
    }
}
