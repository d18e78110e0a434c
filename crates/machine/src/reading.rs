//! When nobody knows what the call did: the platform is read until it is certain.

use campanile_model::{
    publish::{Class, Failure, Safety, Stage},
    time::{Millis, SECOND},
};

use crate::{Effect, Ended, GIVE_UP_AFTER, Sight, Step, backoff, retry::look_again, turn::Turn};

/// Two looks that do not find a post count only when they are so far apart, and so long after
/// the call: a listing may lag, and a slow server may still be working on what it was sent.
pub const SETTLING: Millis = 10 * SECOND;

/// How many settled looks without finding the post make it certain that it is not out.
const CERTAIN: u32 = 2;

impl Turn<'_> {
    /// The call may have worked. Only reading decides, where there is something to read.
    pub(crate) fn uncertain(mut self, failure: Failure) -> Step {
        if self.rules.safety == Safety::Nothing {
            return self.end(Stage::Unknown, failure, false);
        }
        self.flow.failures += 1;
        self.flow.undecided_since = Some(self.moment.now);
        let step = if self.one_look_is_enough() { self.look_now() } else { self.settle() };
        let retry_at = Some(step.flow.next_at);
        step.ending(Ended::Failed { failure, repeat_is_safe: false, retry_at })
    }

    fn look_now(mut self) -> Step {
        self.flow.absences = 0;
        self.flow.next_at = self.moment.now;
        self.go(Stage::Reading, Effect::Read)
    }

    /// Reads, from scratch, until it is certain what the calls did.
    pub(crate) fn settle(mut self) -> Step {
        let now = self.moment.now;
        self.flow.undecided_since.get_or_insert(now);
        self.flow.absences = 0;
        self.flow.next_at = now.max(self.settled_at());
        self.go(Stage::Reading, Effect::Wait)
    }

    fn settled_at(&self) -> Millis {
        self.flow.undecided_since.unwrap_or(self.moment.now) + SETTLING
    }

    /// Whether sending it again changes nothing if it is out already. A key is kept by a cache
    /// that may forget it early, so it helps where reading was wrong and is never all there is.
    pub(crate) fn repeat_is_harmless(&self) -> bool {
        matches!(self.rules.safety, Safety::ChosenId | Safety::Container)
    }

    /// Enough to send it again soon after the call, never to say that it is not out. Later there
    /// is time for certainty, which also ends what would else be sent and refused for ever.
    fn one_look_is_enough(&self) -> bool {
        !self.flow.cancel && self.moment.now < self.settled_at() && self.repeat_is_harmless()
    }

    pub(crate) fn saw(mut self, sight: Sight) -> Step {
        match sight {
            Sight::Found(receipt) => self.published(receipt),
            Sight::Unknowable(failure) => self.end(Stage::Unknown, failure, false),
            Sight::Unreadable(failure) if failure.class == Class::Auth && !self.flow.renewed => {
                self.flow.renewed = true;
                self.go(Stage::Reading, Effect::Renew)
            }
            Sight::Unreadable(failure) => self.read_later(failure),
            Sight::Absent => self.absent(),
        }
    }

    fn absent(mut self) -> Step {
        let now = self.moment.now;
        // Told twice of one look: it counts once.
        if now < self.flow.next_at {
            return self.go(Stage::Reading, Effect::Wait);
        }
        if self.one_look_is_enough() {
            return self.send_again();
        }
        if now < self.settled_at() {
            return self.settle();
        }
        self.flow.absences += 1;
        if self.flow.absences < CERTAIN {
            self.flow.next_at = now + SETTLING;
            return self.go(Stage::Reading, Effect::Wait);
        }
        self.flow.undecided_since = None;
        if self.flow.cancel {
            return self.go(Stage::Canceled, Effect::Finish);
        }
        self.send_again()
    }

    fn send_again(mut self) -> Step {
        let now = self.moment.now;
        if now > self.give_up_at() {
            let message = "it was tried for a day without success";
            let failure = Failure::new(Class::Transient, "given_up", message);
            return self.conclude(Stage::Rejected, failure);
        }
        // The first time may have been bad luck; after that it is the platform that has trouble.
        if self.flow.failures > 1 {
            self.flow.next_at = now + backoff(self.flow.failures - 1, self.moment.chance);
            return self.go(Stage::Waiting, Effect::Wait);
        }
        self.flow.next_at = now;
        self.flow.renewed = false;
        self.go(Stage::Preparing, Effect::Prepare)
    }

    /// Looks once more when the time is up, unless the platform does not want that.
    pub(crate) fn read_later(mut self, failure: Failure) -> Step {
        let now = self.moment.now;
        let since = self.flow.undecided_since.unwrap_or(self.flow.due);
        let last = since + GIVE_UP_AFTER;
        let asked = failure.retry_at.unwrap_or(0);
        if now >= last || asked > last {
            return self.end(Stage::Unknown, failure, false);
        }
        let pause = look_again(now - since, self.moment.chance);
        self.flow.next_at = (now + pause).min(last).max(asked);
        self.go(Stage::Reading, Effect::Wait)
    }
}
