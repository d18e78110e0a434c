//! What a run says at its end.

use std::collections::BTreeMap;

use crate::{
    doubles::Kind,
    ledger::Ledger,
    verdict::{Promise, Verdict},
};

/// More examples of one broken promise than this say nothing new.
const MOST_EXAMPLES: usize = 5;

pub(crate) fn deaths(deaths: &BTreeMap<&'static str, u32>) {
    println!("\nkills");
    for (name, count) in deaths {
        println!("  {name:<36}{count:>8}");
    }
    println!("  {:<36}{:>8}", "all", deaths.values().sum::<u32>());
}

pub(crate) fn outcomes(verdict: &Verdict, ledger: &Ledger) {
    const COLUMNS: [&str; 5] = ["published", "rejected", "canceled", "unknown", "open"];
    println!("\nposts by platform");
    print!("  {:<14}{:>10}", "", "accepted");
    COLUMNS.iter().for_each(|column| print!("{column:>11}"));
    println!();
    for kind in Kind::ALL {
        let own = ledger.accepted.iter().filter(|(account, _)| Kind::of(account) == Some(kind));
        print!("  {:<14}{:>10}", kind.name(), own.map(|(_, count)| count).sum::<usize>());
        for column in COLUMNS {
            let count = verdict.outcomes.get(&(kind, column.to_owned())).copied().unwrap_or(0);
            print!("{count:>11}");
        }
        println!();
    }
}

/// Prints how often each promise was broken.
pub(crate) fn promises(verdict: &Verdict) {
    println!("\nbroken promises");
    for (promise, name) in Promise::ALL {
        println!("  {name:<36}{:>8}", verdict.count(promise));
    }
}

pub(crate) fn examples(verdict: &Verdict) {
    for (promise, name) in Promise::ALL {
        let broken = verdict.broken.iter().filter(|(broken, _)| *broken == promise);
        for (_, example) in broken.take(MOST_EXAMPLES) {
            println!("\n{name}: {example}");
        }
    }
}
