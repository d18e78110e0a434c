//! What has to hold in every schedule, judged by the platform's ledger.

use campanile_model::{
    publish::{Class, Failure, Safety, Stage},
    time::Millis,
};

use super::{habits::Renewal, world::World};
use crate::{Answer, Event, Flow, GIVE_UP_AFTER, LATE_AFTER, Sight};

/// Says which law was broken.
pub(super) type Law = Result<(), &'static str>;

/// What the laws remember of what happened.
#[derive(Default)]
pub(super) struct Witness {
    /// A call was made, and nothing has been learned about it since.
    open_call: bool,
    /// When the last call was made that was not refused for certain, and the one before it.
    unclear_call_at: Millis,
    earlier_unclear_call_at: Millis,
    /// When it was claimed for what became its first call.
    started_at: Option<Millis>,
    /// Since when the present part has been under way.
    part_since: Option<Millis>,
    /// The part for which somebody was told at once that it is canceled.
    told_canceled: Option<u32>,
}

impl Witness {
    pub(super) fn called(&mut self, now: Millis) {
        self.open_call = true;
        self.earlier_unclear_call_at = self.unclear_call_at;
        self.unclear_call_at = now;
    }

    /// A call is to be made; it counts as begun even if its runner dies first.
    pub(super) fn intended(&mut self, claimed_at: Millis, now: Millis) {
        self.started_at.get_or_insert(claimed_at);
        self.part_since.get_or_insert(now);
    }

    pub(super) fn stored(&mut self, event: &Event, before: &Flow, after: &Flow, now: Millis) {
        if after.part != before.part {
            self.part_since = Some(now);
        }
        let learned = matches!(
            event,
            Event::Answered(Answer::Published(_) | Answer::Refused(_)) | Event::Saw(_)
        );
        if learned && before.stage != after.stage {
            self.open_call = false;
        }
        if matches!(event, Event::Answered(Answer::Refused(_))) {
            self.unclear_call_at = self.earlier_unclear_call_at;
        }
    }

    pub(super) fn cancel_answered(&mut self, before: &Flow, after: &Flow) {
        if !before.stage.is_final() && after.stage == Stage::Canceled {
            self.told_canceled = Some(before.part);
        }
    }
}

impl World {
    /// Before the call that cannot be taken back.
    pub(super) fn check_call(&self, token: u64) -> Law {
        let flow = &self.record.flow;
        if self.now < flow.due {
            return Err("nothing is called before its time");
        }
        if flow.stage != Stage::Calling || self.record.token != token {
            return Err("nothing is called before its intent is durable");
        }
        if self.witness.open_call {
            return Err("nothing is called again before something was learned of the last call");
        }
        if !self.repeat_may_be_harmless() && self.peer.may_have(flow.part) {
            return Err("nothing is called again while an earlier call is undecided");
        }
        if self.witness.told_canceled.is_some() {
            return Err("nothing is called after it was said to be canceled");
        }
        self.check_lateness()
    }

    fn repeat_may_be_harmless(&self) -> bool {
        matches!(self.plan.rules.safety, Safety::ChosenId | Safety::Container)
    }

    fn check_lateness(&self) -> Law {
        let flow = &self.record.flow;
        let (claimed, window) = (self.record.claimed_at, self.plan.rules.late_window);
        if flow.attempt == 1 && claimed > flow.due + window {
            return Err("nothing starts later than it may");
        }
        let started = self.witness.started_at.unwrap_or(claimed);
        if flow.late != (started > flow.due + LATE_AFTER) {
            return Err("late is what started late");
        }
        let since = flow.due.max(self.witness.part_since.unwrap_or(flow.due));
        if claimed > (since + GIVE_UP_AFTER).max(flow.due + window) {
            return Err("nothing is tried for longer than a day");
        }
        Ok(())
    }

    pub(super) fn check_ledger(&self) -> Law {
        if self.peer.doubled() {
            return Err("no part is published twice");
        }
        Ok(())
    }

    /// After each store.
    pub(super) fn check_stored(&self, event: &Event) -> Law {
        self.check_claims()?;
        match self.record.flow.stage {
            Stage::Unknown => self.check_unknown(event),
            Stage::Rejected => self.check_rejected(event),
            _ => Ok(()),
        }
    }

    /// What the stage says of the ledger.
    fn check_claims(&self) -> Law {
        let flow = &self.record.flow;
        match flow.stage {
            Stage::Published if !(0..flow.parts).all(|part| self.peer.has(part)) => {
                Err("published is only what is out with every part")
            }
            Stage::Rejected | Stage::Canceled | Stage::Missed if self.peer.has(flow.part) => {
                Err("rejected, canceled and missed is only what is not out")
            }
            _ if !(0..flow.part).all(|part| self.peer.has(part)) => {
                Err("the parts before the present one are out")
            }
            _ => Ok(()),
        }
    }

    fn check_unknown(&self, event: &Event) -> Law {
        let last = self.witness.unclear_call_at + GIVE_UP_AFTER;
        let tried_to_the_end = |failure: &Failure| {
            let long = self.now >= last || failure.retry_at.is_some_and(|at| at > last);
            long && (failure.class != Class::Auth || !self.renewable())
        };
        let allowed = self.plan.rules.safety == Safety::Nothing
            || match event {
                Event::Saw(Sight::Unknowable(_)) => true,
                Event::Saw(Sight::Unreadable(failure)) | Event::RenewFailed(failure) => {
                    tried_to_the_end(failure)
                }
                _ => false,
            };
        if allowed { Ok(()) } else { Err("unknown is only what could not be found out") }
    }

    fn check_rejected(&self, event: &Event) -> Law {
        let for_good = match event {
            Event::Answered(Answer::Refused(failure))
            | Event::PrepareFailed(failure)
            | Event::RenewFailed(failure) => failure.class != Class::Auth || !self.renewable(),
            _ => true,
        };
        if for_good { Ok(()) } else { Err("a credential that can be renewed rejects nothing") }
    }

    fn renewable(&self) -> bool {
        self.peer.habits.renewal == Renewal::Works
    }

    /// When nothing can happen any more, on either side.
    pub(super) fn check_end(&self) -> Law {
        self.check_ledger()?;
        self.check_claims()?;
        if !self.record.flow.stage.is_final() {
            return Err("nothing is stuck: every flow ends");
        }
        if self.witness.told_canceled.is_some_and(|part| self.peer.has(part)) {
            return Err("what was said to be canceled never comes out");
        }
        let present = self.record.generation;
        if self.peer.ledger.iter().any(|line| line.slot.generation != present) {
            return Err("what was moved never comes out at its old time");
        }
        Ok(())
    }
}
