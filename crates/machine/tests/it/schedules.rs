//! The short form of the simulator: `cargo run --release --bin simulate` is the long one.

use campanile_machine::simulator::{Flaw, search, tell};

const SCHEDULES: u64 = 100_000;

#[test]
fn every_law_is_kept_in_many_schedules() {
    if let Some(broken) = search(0..SCHEDULES, None) {
        panic!("{broken}");
    }
}

#[test]
fn every_planted_flaw_is_found() {
    for flaw in Flaw::ALL {
        assert!(search(0..SCHEDULES, Some(flaw)).is_some(), "{} was not found", flaw.name());
    }
}

#[test]
fn a_seed_always_tells_the_same_story() {
    for seed in 0..100 {
        assert_eq!(tell(seed, None), tell(seed, None));
    }
}

#[test]
fn a_broken_law_comes_with_its_story_and_the_command_that_repeats_it() {
    let broken = search(0..SCHEDULES, Some(Flaw::NoFencing)).expect("a law is broken");
    let text = broken.to_string();
    let command = format!("--bin simulate -- --seed {} --flaw no-fencing", broken.seed);
    assert!(text.contains(broken.law) && text.contains("claims") && text.contains(&command));
}
