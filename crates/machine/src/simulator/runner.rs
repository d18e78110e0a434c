//! A process that claims the flow and carries out what the machine says.

use campanile_model::{
    publish::Class,
    time::{MINUTE, Millis, SECOND},
};

use super::{
    flaw::Flaw,
    laws::Law,
    peer::CALL_TIMEOUT,
    world::{LEASE, World},
};
use crate::{Answer, Effect, Event, Step};

/// A call is begun only with this much of the lease left beyond its timeout.
const LEASE_MARGIN: Millis = 5 * SECOND;

pub(super) struct Runner {
    /// Grows with each restart; what an earlier life held is free at once.
    pub(super) life: u32,
    pub(super) phase: Phase,
}

pub(super) enum Phase {
    /// Looks for work from this time on.
    Idle(Millis),
    /// The new state is stored; the effect comes next.
    Act { at: Millis, token: u64, effect: Effect },
    /// The effect is over; what came of it is to be stored.
    Tell { at: Millis, token: u64, event: Event },
}

impl Runner {
    pub(super) fn new(ready: Millis) -> Self {
        Self { life: 0, phase: Phase::Idle(ready) }
    }

    pub(super) fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle(_))
    }
}

impl World {
    /// The next thing this runner does.
    pub(super) fn run_runner(&mut self, index: usize) -> Law {
        let now = self.now;
        match std::mem::replace(&mut self.runners[index].phase, Phase::Idle(now)) {
            Phase::Idle(_) => self.claim(index),
            Phase::Act { token, effect, .. } => self.act(index, token, effect),
            Phase::Tell { token, event, .. } => self.tell(index, token, &event),
        }
    }

    fn claim(&mut self, index: usize) -> Law {
        if self.crashes(index, "before it claimed") {
            return Ok(());
        }
        let token = self.record.hand_to(index, self.runners[index].life, self.now);
        let step = self.apply(&Event::Claimed)?;
        self.note_step(index, "claims", &step);
        self.stored(index, token, &step);
        Ok(())
    }

    /// The step is durable: goes on with its effect, or lets go.
    fn stored(&mut self, index: usize, token: u64, step: &Step) {
        match step.effect {
            Effect::Wait | Effect::Finish | Effect::Nothing => self.record.release(token),
            effect => {
                if !self.crashes(index, "after the store, before the effect") {
                    let at = self.now + self.pause(20);
                    self.runners[index].phase = Phase::Act { at, token, effect };
                }
            }
        }
    }

    fn act(&mut self, index: usize, token: u64, effect: Effect) -> Law {
        if effect == Effect::Call && !self.may_call(token) {
            self.note(|| format!("runner {index} has too little lease left to call"));
            return Ok(());
        }
        let (event, at) = match effect {
            Effect::Call => self.call(index, token)?,
            Effect::Read => {
                let sight = self.peer.read(self.record.slot(), self.now, &mut self.chance);
                (Event::Saw(sight), self.now + self.pause(3_000))
            }
            Effect::Renew => match self.peer.renew(self.now, &mut self.chance) {
                Ok(()) => (Event::Renewed, self.now + self.pause(1_000)),
                Err(failure) => (Event::RenewFailed(failure), self.now + self.pause(1_000)),
            },
            _ => self.prepare(),
        };
        self.note(|| format!("runner {index} did {effect:?}: {event:?}"));
        self.busy(index, token, event, at);
        Ok(())
    }

    fn may_call(&self, token: u64) -> bool {
        let held = self.record.token == token || self.flaw == Some(Flaw::NoFencing);
        held && self.record.lease_left(self.now) >= CALL_TIMEOUT + LEASE_MARGIN
    }

    fn prepare(&mut self) -> (Event, Millis) {
        let at = self.now + self.pause(5_000);
        // Preparing meets the same platform, but mostly in a better mood.
        let meets = self.chance.happens(400);
        let part = self.record.flow.part;
        let refusal = meets.then(|| self.peer.refusal(part, self.now, &mut self.chance)).flatten();
        (refusal.map_or(Event::Prepared, Event::PrepareFailed), at)
    }

    fn call(&mut self, index: usize, token: u64) -> Result<(Event, Millis), &'static str> {
        self.check_call(token)?;
        let slot = self.record.slot();
        let (answer, at) = self.peer.call(slot, index, self.now, &mut self.chance);
        self.witness.called(self.now);
        self.tally.calls += 1;
        let answer = match answer {
            Answer::Unclear(mut failure) if self.flaw == Some(Flaw::RetryWithoutReading) => {
                failure.class = Class::Transient;
                Answer::Refused(failure)
            }
            answer => answer,
        };
        Ok((Event::Answered(answer), at))
    }

    /// Waits for what came of an effect, with a lease that is renewed unless it stalls.
    fn busy(&mut self, index: usize, token: u64, event: Event, at: Millis) {
        if self.crashes(index, "after the effect, before it was told") {
            return;
        }
        let stalls = self.chance.happens(self.plan.stalling);
        let at = if stalls { at + self.chance.between(0, 5 * MINUTE) } else { at };
        if !stalls {
            self.record.renew(token, at + LEASE);
        }
        self.runners[index].phase = Phase::Tell { at, token, event };
    }

    fn tell(&mut self, index: usize, token: u64, event: &Event) -> Law {
        if self.crashes(index, "before it could tell") {
            return Ok(());
        }
        if self.record.token != token && self.flaw != Some(Flaw::NoFencing) {
            self.note(|| format!("runner {index} is fenced off: {event:?}"));
            self.tally.fenced += 1;
            return Ok(());
        }
        if self.flaw == Some(Flaw::IntentAfterCall) && matches!(event, Event::Prepared) {
            return self.call_before_intent(index, token);
        }
        let step = self.apply(event)?;
        self.note_step(index, "stores", &step);
        self.stored(index, token, &step);
        Ok(())
    }

    fn call_before_intent(&mut self, index: usize, token: u64) -> Law {
        let (answer, at) = self.call(index, token)?;
        if self.crashes(index, "after the call, before its intent") {
            return Ok(());
        }
        let step = self.apply(&Event::Prepared)?;
        self.note_step(index, "stores, after it called", &step);
        if step.effect == Effect::Call {
            self.busy(index, token, answer, at);
        }
        Ok(())
    }

    /// Whether it dies here; it comes back after a while.
    fn crashes(&mut self, index: usize, when: &str) -> bool {
        let crashes = self.chance.happens(self.plan.crashing);
        if crashes {
            let away = self.chance.pick(&[100, SECOND, 20 * SECOND, 20 * MINUTE]);
            let back = self.now + self.chance.between(0, away);
            self.note(|| format!("runner {index} dies {when}"));
            self.kill(index, back);
        }
        crashes
    }

    pub(super) fn kill(&mut self, index: usize, back: Millis) {
        self.tally.crashes += 1;
        let runner = &mut self.runners[index];
        runner.life += 1;
        runner.phase = Phase::Idle(back);
        self.peer.cut(index, self.now);
        self.record.shorten_lease(index, self.now + LEASE);
    }

    /// Some milliseconds, and now and then far more than the lease lasts.
    fn pause(&mut self, most: Millis) -> Millis {
        if self.chance.happens(self.plan.stalling / 4) {
            return self.chance.between(0, 5 * MINUTE);
        }
        self.chance.between(0, most)
    }
}
