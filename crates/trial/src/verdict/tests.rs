//! Every promise can be seen to be broken.

use std::collections::HashMap;

use campanile_model::time::DAY;

use super::*;
use crate::{diary::Words, ledger::Line, world::Receipt};

const ACCOUNT: &str = "ignoring0";
/// When the service was asked.
const NOW: Millis = 1_000_000;

struct Story {
    entry: Entry,
    ledger: Ledger,
    target: Target,
}

/// A post that was planned for 100, went out at 110 and says so.
fn good() -> Story {
    let mut entry = Entry::new(7, vec![ACCOUNT.to_owned()], 1, 90);
    (entry.planned, entry.not_before) = (true, 100);
    let target = Target {
        connection_id: Some("c".to_owned()),
        outcome: "published".to_owned(),
        stage: "published".to_owned(),
        published: vec![Receipt { remote_id: "x1".to_owned() }],
        failures: 0,
        next_attempt_at: None,
    };
    let mut story = Story { entry, ledger: Ledger::default(), target };
    story.accept("x1", 110);
    story
}

impl Story {
    fn accept(&mut self, id: &str, at: i64) {
        self.write(Event::Accepted, id, at);
    }

    fn write(&mut self, event: Event, id: &str, at: i64) {
        self.add(7, event, id, at);
    }

    /// A post of somebody else on the account.
    fn write_other(&mut self, post: u64, at: i64) {
        self.add(post, Event::Accepted, "y", at);
    }

    fn add(&mut self, post: u64, event: Event, id: &str, at: i64) {
        self.add_to(ACCOUNT, post, event, id, at);
    }

    fn add_to(&mut self, account: &str, post: u64, event: Event, id: &str, at: i64) {
        let text = Words { post, part: 0, wording: 0 }.text();
        let (account, id) = (account.to_owned(), id.to_owned());
        self.ledger.add(Line { event, trouble: None, account, text, id, at }).unwrap();
    }

    fn ends(mut self, outcome: &str) -> Self {
        self.target.outcome = outcome.to_owned();
        self.target.published.clear();
        self
    }

    fn nowhere(mut self) -> Self {
        self.ledger = Ledger::default();
        self
    }

    fn broken(self) -> Vec<Promise> {
        let connections = BTreeMap::from([(ACCOUNT.to_owned(), "c".to_owned())]);
        let shown = Shown { jobs: HashMap::from([(7, vec![job(self.target)])]), at: NOW };
        let verdict = judge(&[self.entry], &self.ledger, &shown, &connections);
        verdict.broken.into_iter().map(|(promise, _)| promise).collect()
    }
}

fn job(target: Target) -> Job {
    Job { id: "j".to_owned(), late: false, targets: vec![target], attempts: vec![] }
}

#[test]
fn a_good_run_is_clean() {
    assert_eq!(good().broken(), []);
    let mut refused = good().nowhere().ends("rejected");
    refused.write(Event::Refused, "", 110);
    assert_eq!(refused.broken(), []);
}

#[test]
fn what_went_out_twice_is_noticed() {
    let mut story = good();
    story.accept("x2", 120);
    assert_eq!(story.broken(), [Promise::NeverDoubled]);
}

#[test]
fn an_outcome_has_to_be_true() {
    assert_eq!(good().nowhere().broken(), [Promise::PublishedIsTrue]);
    assert_eq!(good().ends("rejected").broken(), [Promise::FailedIsTrue]);
    assert_eq!(good().ends("canceled").broken(), [Promise::CanceledIsTrue]);
    assert_eq!(good().ends("published").broken(), [Promise::PublishedIsTrue]);
}

#[test]
fn a_post_that_nobody_called_off_has_to_go_out() {
    for outcome in ["rejected", "canceled", "missed"] {
        assert_eq!(good().nowhere().ends(outcome).broken(), [Promise::NeverLost], "{outcome}");
    }
    assert_eq!(good().ends("open").broken(), [Promise::NeverStuck]);
    assert_eq!(good().ends("unknown").broken(), [Promise::NeverUnknown]);
}

#[test]
fn moments_and_words_are_compared() {
    let mut early = good();
    early.entry.not_before = 111;
    assert_eq!(early.broken(), [Promise::NeverEarly]);
    let mut stale = good();
    (stale.entry.sent, stale.entry.acknowledged) = (2, 1);
    assert_eq!(stale.broken(), [Promise::NeverStale]);
    let mut stopped = good();
    (stopped.entry.stopped_at, stopped.entry.deleted) = (Some(105), true);
    assert_eq!(stopped.broken(), [Promise::CanceledIsTrue]);
    let mut unasked = good();
    unasked.entry.planned = false;
    assert_eq!(unasked.broken(), [Promise::NeverUnasked]);
}

#[test]
fn only_what_has_a_time_to_come_after_many_failures_may_wait() {
    let waiting = |failures, next_attempt_at| {
        let mut story = good().nowhere().ends("open");
        (story.target.stage, story.target.failures) = ("waiting".to_owned(), failures);
        story.target.next_attempt_at = next_attempt_at;
        story.broken()
    };
    assert_eq!(waiting(3, Some(NOW + 1)), []);
    for (failures, next) in [(2, Some(NOW + 1)), (3, Some(NOW)), (3, Some(NOW + DAY)), (3, None)] {
        assert_eq!(waiting(failures, next), [Promise::NeverStuck], "{failures} {next:?}");
    }
    let mut reading = good().nowhere().ends("open");
    (reading.target.stage, reading.target.failures) = ("reading".to_owned(), 3);
    reading.target.next_attempt_at = Some(NOW + 1);
    assert_eq!(reading.broken(), [Promise::NeverStuck]);
}

#[test]
fn unknown_is_no_answer_while_the_list_shows_the_post() {
    let crowded = |posts| {
        let mut story = good().ends("unknown");
        for post in 0..posts {
            story.write_other(1_000 + post, 120);
        }
        story.broken()
    };
    assert_eq!(crowded(300), [Promise::NeverUnknown]);
    assert_eq!(crowded(400), []);
}

#[test]
fn a_late_post_is_forgiven_while_its_account_is_busy_with_earlier_ones() {
    const SECONDS: Millis = 1_000;
    let blamed = |others: &[(Millis, Millis)], busy_elsewhere: bool| {
        let mut story = good().nowhere();
        // Somewhere else a post goes out every second.
        for second in (0..200).filter(|_| busy_elsewhere) {
            story.add_to("honoured0", 5_000, Event::Accepted, "z", 100 + second * SECONDS);
        }
        let mut diary = vec![story.entry.clone()];
        for (number, (due, at)) in (1_000..).zip(others) {
            let mut other = Entry::new(number, vec![ACCOUNT.to_owned()], 1, 0);
            other.not_before = 100 + due * SECONDS;
            diary.push(other);
            story.write_other(number, 100 + at * SECONDS);
        }
        story.accept("x1", 100 + 100 * SECONDS);
        let job = Job { late: true, ..job(story.target) };
        let shown = Shown { jobs: HashMap::from([(7, vec![job])]), at: NOW };
        late(&diary, &story.ledger, &shown).1.len()
    };
    assert_eq!(blamed(&[], true), 1, "the account was idle");
    assert_eq!(blamed(&[], false), 0, "nothing went out anywhere");
    assert_eq!(blamed(&[(0, 30), (0, 60)], true), 0, "others were due before it");
    assert_eq!(blamed(&[(0, 30), (40, 60)], true), 1, "one that was due later went first");
}
