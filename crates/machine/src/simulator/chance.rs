//! The one source of chance: a small generator (splitmix64) that a seed decides.

use campanile_model::time::Millis;

pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        // Neighbouring seeds start far apart.
        Self(seed.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to but not including `end`.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        (((self.draw() >> 32) * u64::from(end)) >> 32) as u32
    }

    /// A time from `first` to `last`, both included.
    pub(super) fn between(&mut self, first: Millis, last: Millis) -> Millis {
        let span = u64::try_from(last - first).unwrap_or(0) + 1;
        first + (self.draw() % span) as Millis
    }

    /// True in so many of a thousand cases.
    pub(super) fn happens(&mut self, of_a_thousand: u32) -> bool {
        self.below(1000) < of_a_thousand
    }

    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u32) as usize]
    }
}
