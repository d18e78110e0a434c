//! Plays schedules until one breaks a law: `simulate [--seed N] [--runs N] [--seconds N]`.
//!
//! A seed alone is played once, and told line by line. `--flaw NAME` plants a mistake.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use campanile_machine::simulator::{Flaw, Tally, play, tell};

/// Looking at the clock costs more than a schedule.
const AT_ONCE: u64 = 1000;

#[derive(Default)]
struct Wish {
    seed: Option<u64>,
    runs: Option<u64>,
    seconds: Option<u64>,
    flaw: Option<Flaw>,
}

fn main() -> ExitCode {
    let wish = match read(std::env::args().skip(1)) {
        Ok(wish) => wish,
        Err(problem) => {
            eprintln!(
                "{problem}\nusage: simulate [--seed N] [--runs N] [--seconds N] [--flaw NAME]"
            );
            return ExitCode::from(2);
        }
    };
    match wish {
        Wish { seed: Some(seed), runs: None, seconds: None, flaw } => tell_one(seed, flaw),
        wish => play_many(&wish),
    }
}

fn read(mut words: impl Iterator<Item = String>) -> Result<Wish, String> {
    let mut wish = Wish::default();
    while let Some(option) = words.next() {
        let value = words.next().ok_or_else(|| format!("{option} needs a value"))?;
        let number = value.parse().map_err(|_| format!("{option} needs a number, not {value}"));
        match option.as_str() {
            "--seed" => wish.seed = Some(number?),
            "--runs" => wish.runs = Some(number?),
            "--seconds" => wish.seconds = Some(number?),
            "--flaw" => {
                let flaw =
                    Flaw::named(&value).ok_or_else(|| format!("no flaw is called {value}"))?;
                wish.flaw = Some(flaw);
            }
            _ => return Err(format!("{option} is not known")),
        }
    }
    Ok(wish)
}

fn tell_one(seed: u64, flaw: Option<Flaw>) -> ExitCode {
    println!("{}", tell(seed, flaw).join("\n"));
    match play(seed, flaw, &mut Tally::default()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn play_many(wish: &Wish) -> ExitCode {
    let begun = Instant::now();
    let first = wish.seed.unwrap_or(0);
    let end = wish.runs.map_or(u64::MAX, |runs| first.saturating_add(runs));
    let without_limit = if wish.runs.is_some() { u64::MAX } else { 10 };
    let limit = Duration::from_secs(wish.seconds.unwrap_or(without_limit));
    let mut tally = Tally::default();
    for seed in first..end {
        if let Err(broken) = play(seed, wish.flaw, &mut tally) {
            println!("{broken}");
            return ExitCode::FAILURE;
        }
        if seed % AT_ONCE == 0 && begun.elapsed() > limit {
            break;
        }
    }
    report(&tally, begun.elapsed());
    ExitCode::SUCCESS
}

fn report(tally: &Tally, took: Duration) {
    let rate = tally.schedules as f64 / took.as_secs_f64();
    println!("{} schedules, {rate:.0} a second, every law kept", tally.schedules);
    println!("{} calls, {} crashes, {} fenced off", tally.calls, tally.crashes, tally.fenced);
    for (ending, count) in tally.endings() {
        println!("{count:>12} {ending}");
    }
}
