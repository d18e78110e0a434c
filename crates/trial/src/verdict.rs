//! Holds what the service says against what the platforms wrote down.

mod late;

use std::collections::BTreeMap;

use campanile_model::time::{MINUTE, Millis};

pub(crate) use self::late::late;
use crate::{
    diary::Entry,
    doubles::Kind,
    ledger::{Event, Ledger, Record},
    settle::Shown,
    world::{Job, Target},
};

/// A promise that can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Promise {
    NeverLost,
    NeverDoubled,
    NeverStuck,
    CanceledIsTrue,
    PublishedIsTrue,
    FailedIsTrue,
    /// Where a platform can be read, the service finds out.
    NeverUnknown,
    NeverEarly,
    /// A service that is back at once takes up what it left at once, as far as the account is
    /// free. On PostgreSQL others have to wait for the end of a lease.
    NeverLate,
    /// What goes out is the newest wording that the service said it has.
    NeverStale,
    /// Nothing goes out that the service never said it would publish.
    NeverUnasked,
    /// Every request is answered in the end, and none with an error of the service's own.
    AlwaysAnswered,
}

impl Promise {
    pub(crate) const ALL: [(Self, &'static str); 12] = [
        (Self::NeverLost, "lost"),
        (Self::NeverDoubled, "duplicated"),
        (Self::NeverStuck, "stuck"),
        (Self::CanceledIsTrue, "false \"canceled\" or \"deleted\""),
        (Self::PublishedIsTrue, "false \"published\""),
        (Self::FailedIsTrue, "false \"failed\""),
        (Self::NeverUnknown, "unknown where it can be known"),
        (Self::NeverEarly, "before its time"),
        (Self::NeverLate, "more than a minute late"),
        (Self::NeverStale, "with words of before an edit"),
        (Self::NeverUnasked, "never asked for"),
        (Self::AlwaysAnswered, "requests that failed"),
    ];
}

/// What was found, and what came of all targets.
#[derive(Default)]
pub(crate) struct Verdict {
    pub(crate) broken: Vec<(Promise, String)>,
    /// Per kind of platform and outcome.
    pub(crate) outcomes: BTreeMap<(Kind, String), usize>,
}

impl Verdict {
    pub(crate) fn count(&self, promise: Promise) -> usize {
        self.broken.iter().filter(|(broken, _)| *broken == promise).count()
    }
}

/// Whether an account's posts may stay open for a day: it cannot be read at all.
fn may_stay_open(account: &str, target: &Target) -> bool {
    account == Kind::Unreadable.account(0) && target.stage == "reading"
}

/// Failures after which the pause before the next try is longer than anybody should wait for.
const MANY_FAILURES: usize = 3;
/// The service never waits longer than this before the next call.
const LONGEST_PAUSE: Millis = 150 * MINUTE;

/// Whether a target has to go on only later, because one try after the other failed or was cut
/// off by a kill: pauses grow, and what has a time that is still to come is not stuck.
fn waits_for_its_time(target: &Target, now: Millis) -> bool {
    let has_come = |at: Millis| at <= now || at > now + LONGEST_PAUSE;
    target.stage == "waiting"
        && target.failures >= MANY_FAILURES
        && target.next_attempt_at.is_some_and(|at| !has_come(at))
}

/// Whether some target that is open goes on before a moment.
pub(crate) fn goes_on_before(jobs: &[Job], last: Millis) -> bool {
    let Some(job) = jobs.first() else { return false };
    let open = job.targets.iter().filter(|target| target.outcome == "open");
    open.into_iter().any(|target| target.next_attempt_at.is_none_or(|at| at < last))
}

/// Statuses of an account that the service looks through for one that is missing.
const MOST_READ: usize = 400;
/// It looks back so far before the post's own time.
const LOOKS_BACK: Millis = 2 * MINUTE;

/// Whether so many posts followed on an account that its list is not read to its end any more.
fn is_out_of_sight(entry: &Entry, account: &str, ledger: &Ledger) -> bool {
    let is_listed =
        matches!(Kind::of(account), Some(Kind::Honoured | Kind::Forgetful | Kind::Ignoring));
    let since = entry.begun - LOOKS_BACK;
    let accepted = ledger.accepted_by(account).iter();
    is_listed && accepted.filter(|accepted| accepted.at >= since).count() >= MOST_READ
}

/// Whether nothing of the post is open that has to end.
pub(crate) fn is_settled(
    entry: &Entry,
    jobs: &[Job],
    connections: &BTreeMap<String, String>,
) -> bool {
    let Some(job) = jobs.first() else { return true };
    let is_open = |target: &&Target| target.outcome == "open";
    let stays = |target: &Target| {
        let is_its = |name: &&String| connections.get(*name) == target.connection_id.as_ref();
        entry.accounts.iter().find(is_its).is_some_and(|name| may_stay_open(name, target))
    };
    job.targets.iter().filter(is_open).all(stays)
}

/// Judges every post of a run.
pub(crate) fn judge(
    diary: &[Entry],
    ledger: &Ledger,
    shown: &Shown,
    connections: &BTreeMap<String, String>,
) -> Verdict {
    let mut verdict = Verdict::default();
    for entry in diary {
        for account in &entry.accounts {
            let records = ledger.of(entry.number, account);
            let target = target(shown.of(entry.number), connections.get(account));
            let is_out_of_sight = is_out_of_sight(entry, account, ledger);
            let case = Case { entry, account, records, target, is_out_of_sight, at: shown.at };
            if let (true, Some(kind)) = (entry.planned && !entry.deleted, Kind::of(account)) {
                *verdict.outcomes.entry((kind, case.column())).or_default() += 1;
            }
            for (promise, what) in case.judge() {
                verdict.broken.push((promise, format!("{what}: {case:?}")));
            }
        }
    }
    verdict
}

/// The promises about what went out that are broken already, while the run goes on.
pub(crate) fn judge_sent(diary: &[Entry], ledger: &Ledger) -> Vec<(Promise, String)> {
    let mut found = Vec::new();
    for entry in diary {
        for account in &entry.accounts {
            let records = ledger.of(entry.number, account);
            let case =
                Case { entry, account, records, target: None, is_out_of_sight: false, at: 0 };
            let broken = case.judge_records().into_iter();
            found.extend(broken.map(|(promise, what)| (promise, format!("{what}: {case:?}"))));
        }
    }
    found
}

/// What the newest job says of an account.
fn target<'j>(jobs: &'j [Job], connection: Option<&String>) -> Option<&'j Target> {
    jobs.first()?.targets.iter().find(|target| target.connection_id.as_ref() == connection)
}

/// One post on one account.
#[derive(Debug)]
struct Case<'a> {
    entry: &'a Entry,
    account: &'a str,
    records: &'a [Record],
    target: Option<&'a Target>,
    /// Whether too many posts followed for it to be found.
    is_out_of_sight: bool,
    /// When the service was asked.
    at: Millis,
}

type Broken = (Promise, &'static str);

impl Case<'_> {
    /// Where the report counts it.
    fn column(&self) -> String {
        match self.target {
            None => "none".to_owned(),
            Some(target) if waits_for_its_time(target, self.at) => "waiting".to_owned(),
            Some(target) => target.outcome.clone(),
        }
    }

    fn judge(&self) -> Vec<Broken> {
        let mut broken = self.judge_records();
        if self.entry.planned && !self.entry.deleted {
            broken.extend(self.judge_outcome());
        }
        broken
    }

    fn accepted(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| record.event == Event::Accepted)
    }

    /// What must hold of everything that went out.
    fn judge_records(&self) -> Vec<Broken> {
        let entry = self.entry;
        let mut broken = Vec::new();
        for part in 0..entry.parts {
            if self.accepted().filter(|record| record.words.part == part).count() > 1 {
                broken.push((Promise::NeverDoubled, "it went out twice"));
            }
        }
        for record in self.accepted() {
            if !entry.planned {
                broken.push((Promise::NeverUnasked, "nobody was told that it would go out"));
            }
            if record.at < entry.not_before {
                broken.push((Promise::NeverEarly, "it went out before its time"));
            }
            if !(entry.acknowledged..=entry.sent).contains(&record.words.wording) {
                broken.push((Promise::NeverStale, "it went out with other words"));
            }
            if entry.stopped_at.is_some_and(|stopped| record.at > stopped) {
                broken.push((Promise::CanceledIsTrue, "it went out after it was called off"));
            }
        }
        broken
    }

    /// What must hold of what the service says in the end.
    fn judge_outcome(&self) -> Option<Broken> {
        let Some(target) = self.target else {
            return Some((Promise::NeverLost, "there is no job for it"));
        };
        let receipts = || target.published.iter().map(|receipt| &receipt.remote_id);
        let untold = self.accepted().any(|record| !receipts().any(|id| *id == record.id));
        let untrue = receipts().any(|id| !self.accepted().any(|record| record.id == *id));
        let parts = usize::try_from(self.entry.parts).unwrap_or(usize::MAX);
        let refused = self.records.iter().any(|record| record.event == Event::Refused);
        match target.outcome.as_str() {
            _ if untrue => Some((Promise::PublishedIsTrue, "a receipt is for nothing")),
            "published" if receipts().count() != parts => {
                Some((Promise::PublishedIsTrue, "a part has no receipt"))
            }
            "published" => None,
            "open" if may_stay_open(self.account, target) => None,
            "open" if waits_for_its_time(target, self.at) => None,
            "open" => Some((Promise::NeverStuck, "it did not come to an end")),
            "unknown" if self.account.starts_with(Kind::Unreadable.name()) => None,
            "unknown" if self.is_out_of_sight => None,
            "unknown" => Some((Promise::NeverUnknown, "it could have been found out")),
            "rejected" if untold => Some((Promise::FailedIsTrue, "it failed and is out")),
            "rejected" if refused => None,
            "canceled" if untold => Some((Promise::CanceledIsTrue, "it is canceled and is out")),
            "canceled" if self.entry.may_be_canceled => None,
            _ => Some((Promise::NeverLost, "nobody wanted it to end like this")),
        }
    }
}

#[cfg(test)]
mod tests;
