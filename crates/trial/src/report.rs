//! What a run says at its end.

use std::collections::BTreeMap;

use campanile_engine::crash::POINTS;

use crate::{
    doubles::Kind,
    ledger::{Ledger, Trouble},
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
    const COLUMNS: [&str; 6] = ["published", "rejected", "canceled", "unknown", "waiting", "open"];
    println!("\nposts by platform");
    print!("  {:<14}{:>10}", "", "accepted");
    COLUMNS.iter().for_each(|column| print!("{column:>11}"));
    println!();
    for kind in Kind::ALL {
        print!("  {:<14}{:>10}", kind.name(), ledger.count(kind, None));
        for column in COLUMNS {
            let count = verdict.outcomes.get(&(kind, column.to_owned())).copied().unwrap_or(0);
            print!("{count:>11}");
        }
        println!();
    }
}

/// Prints how often the platforms accepted a post and made it hard to know that.
pub(crate) fn troubles(ledger: &Ledger) {
    println!("\naccepted, and answered in a way that does not say so");
    print!("  {:<14}", "");
    Trouble::ALL.iter().for_each(|(_, name)| print!("{name:>10}"));
    println!();
    for kind in Kind::ALL {
        print!("  {:<14}", kind.name());
        for (trouble, _) in Trouble::ALL {
            print!("{:>10}", ledger.count(kind, Some(trouble)));
        }
        println!();
    }
}

/// What never happened in a run, though the run is there to show that it does no harm. Not every
/// trouble has to come from every platform: a short run may miss one by chance.
pub(crate) fn never_happened(deaths: &BTreeMap<&'static str, u32>, ledger: &Ledger) -> Vec<String> {
    let met = |kind, trouble| ledger.count(kind, Some(trouble)) > 0;
    let points = POINTS.iter().filter(|point| !deaths.contains_key(*point));
    let troubles = Trouble::ALL.into_iter();
    let troubles =
        troubles.filter(|(trouble, _)| !Kind::ALL.iter().any(|kind| met(*kind, *trouble)));
    let kinds = Kind::ALL.into_iter();
    let kinds = kinds.filter(|kind| !Trouble::ALL.iter().any(|(trouble, _)| met(*kind, *trouble)));
    let points = points.map(|point| format!("no death at {point}"));
    let troubles = troubles.map(|(_, name)| format!("no {name} after accepting"));
    let kinds = kinds.map(|kind| format!("no trouble with {}", kind.name()));
    points.chain(troubles).chain(kinds).collect()
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
