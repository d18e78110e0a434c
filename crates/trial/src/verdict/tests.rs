//! Every promise can be seen to be broken.

use super::*;
use crate::{diary::Words, ledger::Line, world::Receipt};

const ACCOUNT: &str = "ignoring0";

struct Story {
    entry: Entry,
    ledger: Ledger,
    target: Target,
}

/// A post that was planned for 100, went out at 110 and says so.
fn good() -> Story {
    let mut entry = Entry::new(7, vec![ACCOUNT.to_owned()], 1);
    (entry.planned, entry.not_before) = (true, 100);
    let target = Target {
        connection_id: Some("c".to_owned()),
        outcome: "published".to_owned(),
        stage: "published".to_owned(),
        published: vec![Receipt { remote_id: "x1".to_owned() }],
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
        let text = Words { post: 7, part: 0, wording: 0 }.text();
        let (account, id) = (ACCOUNT.to_owned(), id.to_owned());
        self.ledger.add(Line { event, account, text, id, at }).unwrap();
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
        let job =
            Job { id: "j".to_owned(), late: false, targets: vec![self.target], attempts: vec![] };
        let shown = HashMap::from([(7, vec![job])]);
        let verdict = judge(&[self.entry], &self.ledger, &shown, &connections);
        verdict.broken.into_iter().map(|(promise, _)| promise).collect()
    }
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
