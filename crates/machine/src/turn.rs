//! One turn of the machine: from the claim to the call and its answer.

use campanile_model::{
    publish::{Class, Failure, Receipt, Stage},
    time::Millis,
};

use crate::{Answer, Effect, Ended, Flow, GIVE_UP_AFTER, LATE_AFTER, Moment, Rules, Step, backoff};

pub(crate) struct Turn<'a> {
    pub(crate) flow: Flow,
    pub(crate) rules: &'a Rules,
    pub(crate) moment: Moment,
}

impl Turn<'_> {
    pub(crate) fn claimed(mut self) -> Step {
        let now = self.moment.now;
        match self.flow.stage {
            Stage::Waiting if now < self.flow.next_at => self.go(Stage::Waiting, Effect::Wait),
            // A runner that died while preparing did nothing that counts: it starts again, and
            // the time it was away counts like any other.
            Stage::Waiting | Stage::Preparing => self.start(),
            // Its runner died near the call.
            Stage::Calling => {
                let died = "the service stopped before the answer came";
                self.uncertain(Failure::new(Class::Ambiguous, "interrupted", died))
            }
            Stage::Reading if now < self.flow.next_at => self.go(Stage::Reading, Effect::Wait),
            Stage::Reading => {
                self.flow.renewed = false;
                self.go(Stage::Reading, Effect::Read)
            }
            _ => self.stay(),
        }
    }

    fn start(mut self) -> Step {
        if self.is_missed() {
            let message = "its time passed while it could not be published";
            let failure = Failure::new(Class::Transient, "missed", message);
            return self.conclude(Stage::Missed, failure);
        }
        let late = self.moment.now - self.flow.due > LATE_AFTER;
        self.flow.late |= self.flow.attempt == 0 && late;
        // A renewal may have been meant but not made, or it has worn off in the meantime.
        self.flow.renewed = false;
        self.go(Stage::Preparing, Effect::Prepare)
    }

    /// What was begun in time is brought to its end, but not for longer than it is tried for.
    fn is_missed(&self) -> bool {
        let now = self.moment.now;
        let begun = self.flow.attempt > 0;
        now > self.give_up_at() || !begun && now - self.flow.due > self.rules.late_window
    }

    pub(crate) fn give_up_at(&self) -> Millis {
        let begun = self.flow.due.max(self.flow.intent_at.unwrap_or(self.flow.due));
        // Whoever allows a later start allows tries until then.
        (begun + GIVE_UP_AFTER).max(self.flow.due + self.rules.late_window)
    }

    pub(crate) fn prepared(mut self) -> Step {
        if self.flow.cancel {
            return self.cancel();
        }
        // The key that made a repeat harmless may have run out while this one was waiting.
        if self.flow.undecided_since.is_some() && !self.repeat_is_harmless() {
            return self.settle();
        }
        self.flow.attempt += 1;
        self.flow.absences = 0;
        self.flow.intent_at.get_or_insert(self.moment.now);
        self.go(Stage::Calling, Effect::Call)
    }

    pub(crate) fn answered(self, answer: Answer) -> Step {
        match answer {
            Answer::Published(receipt) => self.published(receipt),
            Answer::Refused(failure) => self.refused(failure),
            Answer::Unclear(failure) => self.uncertain(failure),
        }
    }

    /// One part is out; the flow ends with the last one.
    pub(crate) fn published(mut self, receipt: Receipt) -> Step {
        self.flow.part += 1;
        self.flow.failures = 0;
        self.flow.absences = 0;
        self.flow.renewed = false;
        self.flow.undecided_since = None;
        // Half a thread is worse than a late one: the next part has a day of its own.
        self.flow.intent_at = Some(self.moment.now);
        let step = if self.flow.part >= self.flow.parts {
            self.go(Stage::Published, Effect::Finish)
        } else if self.flow.cancel {
            self.go(Stage::Canceled, Effect::Finish)
        } else {
            self.go(Stage::Preparing, Effect::Prepare)
        };
        step.ending(Ended::Published(receipt))
    }

    /// This try published nothing, and that is certain. An earlier one may have all the same.
    pub(crate) fn refused(mut self, failure: Failure) -> Step {
        if self.flow.cancel {
            return self.conclude(Stage::Canceled, failure);
        }
        match failure.class {
            Class::Auth if !self.flow.renewed => {
                self.flow.renewed = true;
                let retry_at = Some(self.moment.now);
                let ended = Ended::Failed { failure, repeat_is_safe: true, retry_at };
                self.go(Stage::Preparing, Effect::Renew).ending(ended)
            }
            Class::Transient | Class::RateLimited | Class::Quota | Class::Ambiguous => {
                self.try_again(failure)
            }
            Class::Auth | Class::Rejected | Class::MissingContent => {
                self.conclude(Stage::Rejected, failure)
            }
        }
    }

    pub(crate) fn renew_failed(self, failure: Failure) -> Step {
        match failure.class {
            Class::Auth | Class::Rejected => self.conclude(Stage::Rejected, failure),
            _ => self.try_again(failure),
        }
    }

    fn try_again(mut self, failure: Failure) -> Step {
        self.flow.failures += 1;
        let pause = backoff(self.flow.failures, self.moment.chance);
        let asked = failure.retry_at.unwrap_or(0);
        let at = (self.moment.now + pause).max(asked);
        if at > self.give_up_at() {
            return self.conclude(Stage::Rejected, failure);
        }
        self.flow.next_at = at;
        let ended = Ended::Failed { failure, repeat_is_safe: true, retry_at: Some(at) };
        self.go(Stage::Waiting, Effect::Wait).ending(ended)
    }

    pub(crate) fn cancel_asked(mut self) -> Step {
        match self.flow.stage {
            Stage::Waiting | Stage::Preparing => {
                self.flow.cancel = true;
                self.cancel()
            }
            // Its runner goes on, and finds the wish when it next says something.
            Stage::Calling | Stage::Reading => {
                self.flow.cancel = true;
                self.stay()
            }
            _ => self.stay(),
        }
    }

    /// Nothing is being called. That is the end of it, unless an earlier call may have worked.
    fn cancel(self) -> Step {
        if self.flow.undecided_since.is_some() {
            return self.settle();
        }
        self.go(Stage::Canceled, Effect::Finish)
    }

    /// Ends the flow as not published, which has to be certain first: while an earlier call is
    /// undecided the platform is read, and what is then still true comes up again.
    pub(crate) fn conclude(self, stage: Stage, failure: Failure) -> Step {
        if self.flow.undecided_since.is_none() {
            return self.end(stage, failure, true);
        }
        let step = self.settle();
        let retry_at = Some(step.flow.next_at);
        step.ending(Ended::Failed { failure, repeat_is_safe: false, retry_at })
    }

    pub(crate) fn end(self, stage: Stage, failure: Failure, repeat_is_safe: bool) -> Step {
        let ended = Ended::Failed { failure, repeat_is_safe, retry_at: None };
        self.go(stage, Effect::Finish).ending(ended)
    }

    pub(crate) fn go(mut self, stage: Stage, effect: Effect) -> Step {
        self.flow.stage = stage;
        Step { flow: self.flow, effect, ended: None }
    }

    pub(crate) fn stay(self) -> Step {
        Step { flow: self.flow, effect: Effect::Nothing, ended: None }
    }
}
