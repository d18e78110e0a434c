//! The platform of one schedule. Its ledger is the truth that the laws are checked against.

use campanile_model::{
    publish::{Class, Failure, Receipt, Safety},
    time::{HOUR, Millis, SECOND},
};

use super::{
    chance::Chance,
    habits::{Habits, NEVER, Renewal},
};
use crate::{Answer, Sight};

/// A caller gives up on an answer after this.
pub(super) const CALL_TIMEOUT: Millis = 60 * SECOND;

/// One part of one publish; a post that was moved to another time is another publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) generation: u32,
    pub(super) part: u32,
}

/// A line of the ledger.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) slot: Slot,
    listed_at: Millis,
    remembered_until: Millis,
}

/// A call the server is still working on.
struct Pending {
    slot: Slot,
    runner: usize,
    at: Millis,
}

pub(super) struct Peer {
    pub(super) habits: Habits,
    pub(super) ledger: Vec<Accepted>,
    pending: Vec<Pending>,
}

impl Peer {
    pub(super) fn new(habits: Habits) -> Self {
        Self { habits, ledger: Vec::new(), pending: Vec::new() }
    }

    pub(super) fn has(&self, part: u32) -> bool {
        self.ledger.iter().any(|line| line.slot.part == part)
    }

    pub(super) fn doubled(&self) -> bool {
        let parts = self.ledger.iter().map(|line| line.slot.part);
        parts.enumerate().any(|(index, part)| {
            self.ledger[..index].iter().any(|earlier| earlier.slot.part == part)
        })
    }

    /// Whether a call for this part worked, or may still.
    pub(super) fn may_have(&self, part: u32) -> bool {
        self.has(part) || self.pending.iter().any(|pending| pending.slot.part == part)
    }

    /// Finishes what the server was to finish until `now`.
    pub(super) fn advance(&mut self, now: Millis, chance: &mut Chance) {
        while let Some(index) = self.earliest_pending(now) {
            let pending = self.pending.swap_remove(index);
            self.accept(pending.slot, pending.at, chance);
        }
    }

    fn earliest_pending(&self, now: Millis) -> Option<usize> {
        let due = self.pending.iter().enumerate().filter(|(_, pending)| pending.at <= now);
        due.min_by_key(|(_, pending)| pending.at).map(|(index, _)| index)
    }

    /// The connection of this runner's call broke: the server goes on for a little while only.
    pub(super) fn cut(&mut self, runner: usize, now: Millis) {
        for pending in self.pending.iter_mut().filter(|pending| pending.runner == runner) {
            pending.at = pending.at.min(now + self.habits.slow);
        }
    }

    /// The call that cannot be taken back: its answer, and when that comes.
    pub(super) fn call(
        &mut self,
        slot: Slot,
        runner: usize,
        now: Millis,
        chance: &mut Chance,
    ) -> (Answer, Millis) {
        let soon = now + chance.between(1, 2 * SECOND);
        if let Some(failure) = self.refusal(slot.part, now, chance) {
            return (Answer::Refused(failure), soon);
        }
        if !chance.happens(self.habits.muddled) {
            return (self.accept_and_answer(slot, now, chance), soon);
        }
        let broken = now + chance.between(0, CALL_TIMEOUT);
        let lost = Answer::Unclear(failure(Class::Ambiguous, "timeout"));
        match chance.below(5) {
            0 => {
                self.accept(slot, now, chance);
                (Answer::Unclear(failure(Class::Ambiguous, "status_500")), soon)
            }
            1 => {
                self.accept(slot, now, chance);
                (lost, broken)
            }
            2 | 3 => {
                let at = broken + chance.between(0, self.habits.slow);
                self.pending.push(Pending { slot, runner, at });
                (lost, broken)
            }
            _ => (lost, broken),
        }
    }

    fn accept_and_answer(&mut self, slot: Slot, now: Millis, chance: &mut Chance) -> Answer {
        let new = self.accept(slot, now, chance);
        let says_same = matches!(self.habits.safety, Safety::ChosenId | Safety::KeyWindow { .. });
        if new || says_same {
            return Answer::Published(receipt());
        }
        // "Already there" may be ours or somebody else's: only reading tells.
        Answer::Unclear(failure(Class::Ambiguous, "duplicate"))
    }

    /// Whether it is a new post, and not one the platform knows already.
    fn accept(&mut self, slot: Slot, at: Millis, chance: &mut Chance) -> bool {
        let known = |line: &Accepted| line.slot == slot && at < line.remembered_until;
        if self.ledger.iter().any(known) {
            return false;
        }
        let listed_at = at + chance.between(0, self.habits.lag);
        let remembered_until = self.remembers_until(at, chance);
        self.ledger.push(Accepted { slot, listed_at, remembered_until });
        true
    }

    fn remembers_until(&self, at: Millis, chance: &mut Chance) -> Millis {
        match self.habits.safety {
            Safety::ChosenId | Safety::Container => NEVER,
            Safety::KeyWindow { .. } if self.habits.forgetful && chance.happens(300) => at,
            Safety::KeyWindow { millis } => at + millis,
            Safety::DuplicateRefused => at + self.habits.duplicates_for,
            Safety::ReadBack | Safety::Nothing => at,
        }
    }

    /// Why it does not even look at what it is sent, if so.
    pub(super) fn refusal(&self, part: u32, now: Millis, chance: &mut Chance) -> Option<Failure> {
        if now >= self.habits.token_until {
            return Some(failure(Class::Auth, "token_expired"));
        }
        if let Some(failure) = self.limit(now) {
            return Some(failure);
        }
        if self.habits.rejects == Some(part) {
            return Some(failure(Class::Rejected, "not_wanted"));
        }
        if !chance.happens(self.habits.refusing) {
            return None;
        }
        let passing = failure(Class::Transient, "unavailable");
        Some(match chance.below(40) {
            0 => failure(Class::Quota, "quota").until(now + chance.between(0, 40 * HOUR)),
            1 => failure(Class::MissingContent, "media_gone"),
            2..10 => passing.until(now + chance.between(0, HOUR)),
            _ => passing,
        })
    }

    fn limit(&self, now: Millis) -> Option<Failure> {
        let (from, until) = self.habits.limited;
        let limited = failure(Class::RateLimited, "too_fast");
        (from <= now && now < until)
            .then(|| if self.habits.tells_retry_at { limited.until(until) } else { limited })
    }

    pub(super) fn read(&self, slot: Slot, now: Millis, chance: &mut Chance) -> Sight {
        let (from, until) = self.habits.unreadable;
        if (from <= now && now < until) || chance.happens(self.habits.blinking) {
            return Sight::Unreadable(failure(Class::Transient, "unreadable"));
        }
        if now >= self.habits.token_until {
            return Sight::Unreadable(failure(Class::Auth, "token_expired"));
        }
        if let Some(failure) = self.limit(now) {
            return Sight::Unreadable(failure);
        }
        if self.habits.unknowable {
            return Sight::Unknowable(failure(Class::Ambiguous, "listing_too_short"));
        }
        let shown = |line: &Accepted| line.slot == slot && line.listed_at <= now;
        if self.ledger.iter().any(shown) { Sight::Found(receipt()) } else { Sight::Absent }
    }

    pub(super) fn renew(&mut self, now: Millis, chance: &mut Chance) -> Result<(), Failure> {
        if self.habits.renewal == Renewal::Broken {
            return Err(failure(Class::Auth, "connect_again"));
        }
        if chance.happens(self.habits.refusing) {
            return Err(failure(Class::Transient, "unavailable"));
        }
        self.habits.token_until = now + 3 * HOUR;
        Ok(())
    }
}

fn failure(class: Class, code: &'static str) -> Failure {
    Failure::new(class, code, "")
}

fn receipt() -> Receipt {
    Receipt { remote_id: String::new(), url: None, reference: None }
}
