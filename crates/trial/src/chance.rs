//! Chance that a seed repeats.

#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// Chance of its own for whatever the name stands for.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(seed ^ hash)
    }

    /// The generator known as SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 on, and below the end, which must not be 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// True so many times in a hundred.
    pub(crate) fn percent(&mut self, odds: u64) -> bool {
        self.below(100) < odds
    }

    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_name_repeat_themselves_and_nothing_else() {
        let rolls = |seed, name| {
            let mut chance = Chance::new(seed, name);
            [chance.below(1000), chance.below(1000), chance.below(1000)]
        };

        assert_eq!(rolls(1, "a"), rolls(1, "a"));
        assert_ne!(rolls(1, "a"), rolls(2, "a"));
        assert_ne!(rolls(1, "a"), rolls(1, "b"));
    }

    #[test]
    fn odds_are_about_what_they_say() {
        let mut chance = Chance::new(7, "odds");
        let hits = (0..10_000).filter(|_| chance.percent(30)).count();
        assert!((2_800..3_200).contains(&hits), "{hits}");
    }
}
