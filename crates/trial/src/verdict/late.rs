//! Jobs that began late although nothing was in their way.
//!
//! An account takes one post after the other, and a platform may keep a call waiting for half a
//! minute; so a post can be late because of others. The service is to blame when the account was
//! idle meanwhile, or when a post that was due much later went first.

use std::collections::HashMap;

use campanile_model::time::{Millis, SECOND};

use crate::{diary::Entry, ledger::Ledger, settle::Shown, world::Job};

/// Longer than a platform keeps any call waiting, with room for a kill or two.
const IDLE: Millis = 60 * SECOND;
/// Entries due at about the same time may go in any order.
const ORDER: Millis = 30 * SECOND;
/// A platform may accept a call so long after it came.
const SLOW: Millis = 10 * SECOND;

/// How many jobs were late without a failure, and those of them that the service is to blame for.
pub(crate) fn late(diary: &[Entry], ledger: &Ledger, shown: &Shown) -> (usize, Vec<String>) {
    let due: HashMap<u64, Millis> = diary.iter().map(|entry| (entry.number, due(entry))).collect();
    let is_late = |entry: &&Entry| shown.of(entry.number).first().is_some_and(late_unfailed);
    let late: Vec<&Entry> = diary.iter().filter(is_late).collect();
    let is_to_blame = |entry: &&&Entry| {
        let mut accounts = entry.accounts.iter();
        accounts.any(|account| was_neglected(entry, account, ledger, &due))
    };
    let to_blame = late.iter().filter(is_to_blame);
    let described = to_blame.map(|entry| format!("{entry:?}: {:?}", shown.of(entry.number)));
    (late.len(), described.collect())
}

/// What failed at first has a reason to be late.
fn late_unfailed(job: &Job) -> bool {
    job.late && job.attempts.iter().all(crate::world::Attempt::succeeded)
}

fn due(entry: &Entry) -> Millis {
    entry.not_before.max(entry.begun)
}

fn was_neglected(
    entry: &Entry,
    account: &str,
    ledger: &Ledger,
    dues: &HashMap<u64, Millis>,
) -> bool {
    let accepted = ledger.accepted_by(account);
    let own = accepted.iter().find(|accepted| accepted.post == entry.number);
    let Some(own) = own.map(|own| own.at) else { return false };
    let due = due(entry);
    let overtaken = accepted.iter().any(|other| {
        let other_due = dues.get(&other.post).copied().unwrap_or(0);
        other_due >= due + ORDER && other.at + SLOW < own
    });
    let meanwhile = accepted.iter().map(|other| other.at).filter(|at| (due..=own).contains(at));
    let (mut longest, mut before) = (0, due);
    for at in meanwhile {
        longest = longest.max(at - before);
        before = at;
    }
    overtaken || longest > IDLE
}
