//! Drives the machine through random schedules of crashes, races and lying platforms.
//!
//! A schedule is a function of its seed and nothing else: a failure is repeated by its number.
//! The world plays everything around the machine as it has to be built (a durable record with a
//! fencing token and a lease, runners that die at any point, requests at any time, a platform
//! with a ledger), and the laws are checked against the platform's ledger, never against what
//! the machine believes.

mod chance;
mod flaw;
mod habits;
mod laws;
mod peer;
mod plan;
mod record;
mod runner;
mod tally;
mod trace;
mod world;

pub use flaw::Flaw;
pub use tally::Tally;

use world::World;

/// A law that a schedule broke, and everything that led there.
#[derive(Debug)]
pub struct Broken {
    pub seed: u64,
    pub law: &'static str,
    pub story: Vec<String>,
    flaw: Option<Flaw>,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(out, "seed {}: {}", self.seed, self.law)?;
        for line in &self.story {
            writeln!(out, "  {line}")?;
        }
        let flaw = self.flaw.map(|flaw| format!(" --flaw {}", flaw.name())).unwrap_or_default();
        let command = "cargo run --release -p campanile-machine --bin simulate --";
        write!(out, "again: {command} --seed {}{flaw}", self.seed)
    }
}

/// Plays the schedule of one seed.
pub fn play(seed: u64, flaw: Option<Flaw>, tally: &mut Tally) -> Result<(), Broken> {
    let mut world = World::new(seed, flaw, false);
    match world.run() {
        Ok(()) => {
            tally.count(&world);
            Ok(())
        }
        Err(law) => Err(Broken { seed, law, story: tell(seed, flaw), flaw }),
    }
}

/// What happens in the schedule of one seed, line by line.
pub fn tell(seed: u64, flaw: Option<Flaw>) -> Vec<String> {
    let mut world = World::new(seed, flaw, true);
    let ending = world.run();
    let mut story = world.into_story();
    story.push(match ending {
        Ok(()) => "every law was kept".to_owned(),
        Err(law) => format!("BROKEN: {law}"),
    });
    story
}

/// The first broken law among so many seeds.
pub fn search(seeds: std::ops::Range<u64>, flaw: Option<Flaw>) -> Option<Broken> {
    let mut tally = Tally::default();
    seeds.into_iter().find_map(|seed| play(seed, flaw, &mut tally).err())
}
