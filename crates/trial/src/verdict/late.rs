//! Jobs that began late although nothing was in their way.
//!
//! An account takes one post after the other, and a platform may keep a call waiting for half a
//! minute; so a post can be late because of others. The service is to blame when the account was
//! idle meanwhile, or when a post that was due much later went first. On a machine with too much
//! to do it may not even start between two kills: only time in which posts go out counts.

use std::collections::HashMap;

use campanile_model::time::{Millis, SECOND};

use crate::{diary::Entry, ledger::Ledger, settle::Shown, world::Job};

/// Longer than two calls in a row that a platform keeps waiting.
const IDLE: Millis = 90 * SECOND;
/// When nothing at all goes out for longer than this, the service is not given a chance.
const BREATH: Millis = SECOND;
/// Entries due at about the same time may go in any order.
const ORDER: Millis = 30 * SECOND;
/// A platform may accept a call so long after it came.
const SLOW: Millis = 10 * SECOND;

/// How many jobs were late without a failure, and those of them that the service is to blame for.
pub(crate) fn late(diary: &[Entry], ledger: &Ledger, shown: &Shown) -> (usize, Vec<String>) {
    let dues = diary.iter().map(|entry| (entry.number, due(entry))).collect();
    let clock = Clock::of(ledger);
    let is_late = |entry: &&Entry| shown.of(entry.number).first().is_some_and(late_unfailed);
    let late: Vec<&Entry> = diary.iter().filter(is_late).collect();
    let is_to_blame = |entry: &&&Entry| {
        let mut accounts = entry.accounts.iter();
        accounts.any(|account| was_neglected(entry, account, ledger, &dues, &clock))
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
    clock: &Clock,
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
        longest = longest.max(clock.read(at) - clock.read(before));
        before = at;
    }
    overtaken || longest > IDLE
}

/// Time as far as posts went out, to whichever account.
struct Clock {
    /// Moments at which one did, and what the clock showed then.
    marks: Vec<(Millis, Millis)>,
}

impl Clock {
    fn of(ledger: &Ledger) -> Self {
        let mut marks: Vec<(Millis, Millis)> = Vec::new();
        for at in ledger.moments() {
            let shown = marks.last().map_or(0, |(last, shown)| shown + (at - last).min(BREATH));
            marks.push((at, shown));
        }
        Self { marks }
    }

    fn read(&self, at: Millis) -> Millis {
        let after = self.marks.partition_point(|(mark, _)| *mark <= at);
        let last = after.checked_sub(1).map(|index| self.marks[index]);
        last.map_or(0, |(mark, shown)| shown + (at - mark).min(BREATH))
    }
}
