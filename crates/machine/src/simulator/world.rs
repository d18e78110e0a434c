//! One schedule: time goes from one happening to the next until the flow has ended.

use campanile_model::{
    publish::Stage,
    time::{Millis, SECOND},
};

use super::{
    chance::Chance,
    flaw::Flaw,
    laws::{Law, Witness},
    peer::Peer,
    plan::{DUE, Happening, Plan},
    record::Record,
    runner::{Phase, Runner},
    tally::Tally,
    trace::Trace,
};
use crate::{Effect, Event, Flow, Moment, SETTLING, Step, next};

/// How long a claim holds when it is not renewed.
pub(super) const LEASE: Millis = 90 * SECOND;

/// No schedule needs as many steps as this.
const TOO_MANY_STEPS: u32 = 5_000;

pub(super) struct World {
    pub(super) now: Millis,
    pub(super) plan: Plan,
    pub(super) chance: Chance,
    pub(super) flaw: Option<Flaw>,
    pub(super) peer: Peer,
    pub(super) record: Record,
    pub(super) runners: Vec<Runner>,
    pub(super) witness: Witness,
    pub(super) tally: Tally,
    trace: Trace,
}

#[derive(Clone, Copy)]
enum Actor {
    Runner(usize),
    Happening,
}

impl World {
    pub(super) fn new(seed: u64, flaw: Option<Flaw>, told: bool) -> Self {
        let mut chance = Chance::new(seed);
        let (plan, habits) = Plan::roll(&mut chance);
        let runners = (0..plan.runners).map(|_| Runner::new(plan.created)).collect();
        let mut world = Self {
            now: plan.created,
            record: Record::new(Flow::new(DUE, plan.parts)),
            plan,
            chance,
            flaw,
            peer: Peer::new(habits),
            runners,
            witness: Witness::default(),
            tally: Tally::default(),
            trace: Trace::new(told, DUE),
        };
        if told {
            let about = format!("{:?} {:?}", world.plan, world.peer.habits);
            world.note(|| about);
        }
        world
    }

    pub(super) fn run(&mut self) -> Law {
        let mut steps = 0;
        while let Some((at, actor)) = self.soonest() {
            steps += 1;
            self.now = self.now.max(at);
            if steps > TOO_MANY_STEPS || self.now > self.plan.patience {
                return Err("nothing is stuck: every flow ends in bounded time");
            }
            self.peer.advance(self.now, &mut self.chance);
            self.check_ledger()?;
            match actor {
                Actor::Runner(index) => self.run_runner(index)?,
                Actor::Happening => self.happen()?,
            }
        }
        self.peer.advance(Millis::MAX, &mut self.chance);
        self.check_end()
    }

    /// Whoever acts next. Once the flow has ended only those who are in the middle of something.
    fn soonest(&self) -> Option<(Millis, Actor)> {
        let ended = self.record.flow.stage.is_final();
        let runners = self.runners.iter().enumerate();
        let runners = runners.filter(|(_, runner)| !ended || !runner.is_idle());
        let runners = runners.map(|(index, runner)| {
            let at = match runner.phase {
                Phase::Idle(from) => from.max(self.record.claimable_at(index, runner.life)),
                Phase::Act { at, .. } | Phase::Tell { at, .. } => at,
            };
            (at, Actor::Runner(index))
        });
        let happening = self.plan.happenings.last().filter(|_| !ended || self.has_late_cancel());
        let happening = happening.map(|(at, _)| (*at, Actor::Happening));
        runners.chain(happening).min_by_key(|(at, _)| *at)
    }

    fn has_late_cancel(&self) -> bool {
        matches!(self.plan.happenings.last(), Some((_, Happening::LateCancel)))
    }

    fn happen(&mut self) -> Law {
        match self.plan.happenings.pop().map(|(_, happening)| happening) {
            Some(Happening::Cancel) => self.cancel(),
            Some(Happening::Move(due)) => {
                self.move_to(due);
                Ok(())
            }
            Some(Happening::Outage(length)) => {
                self.outage(length);
                Ok(())
            }
            Some(Happening::LateCancel) => self.apply(&Event::CancelAsked).map(|_| ()),
            None => Ok(()),
        }
    }

    fn cancel(&mut self) -> Law {
        if self.flaw == Some(Flaw::CancelWithoutFencing) {
            let step = self.consider(&Event::CancelAsked);
            self.witness.cancel_answered(&self.record.flow, &step.flow);
            let later = self.now + self.chance.between(0, 500);
            self.plan.happenings.push((later, Happening::LateCancel));
            return Ok(());
        }
        let before = self.record.flow.clone();
        let step = self.apply(&Event::CancelAsked)?;
        self.note(|| format!("cancel asked: {:?}", step.flow.stage));
        self.witness.cancel_answered(&before, &step.flow);
        if step.effect != Effect::Nothing {
            self.record.fence();
        }
        Ok(())
    }

    /// A post is moved by canceling it at once and publishing it anew; what cannot be canceled
    /// at once, or is partly out, stays as it is.
    fn move_to(&mut self, due: Millis) {
        let canceled = self.consider(&Event::CancelAsked).flow;
        if canceled.stage != Stage::Canceled || canceled.part > 0 {
            return self.note(|| "moving it is refused".to_owned());
        }
        self.note(|| format!("moved to {} ms after its first time", due - DUE));
        self.record.fence();
        self.record.generation += 1;
        self.record.flow = Flow::new(due, self.plan.parts);
        self.witness = Witness::default();
    }

    fn outage(&mut self, length: Millis) {
        self.note(|| format!("everything is down for {length} ms"));
        for index in 0..self.runners.len() {
            self.kill(index, self.now + length);
        }
    }

    /// What the machine would say, without storing it.
    fn consider(&mut self, event: &Event) -> Step {
        let moment = Moment { now: self.now, chance: self.chance.below(1000) };
        next(&self.record.flow, event.clone(), &self.plan.rules, moment)
    }

    /// Stores what the machine says to an event.
    pub(super) fn apply(&mut self, event: &Event) -> Result<Step, &'static str> {
        let mut step = self.consider(event);
        if self.flaw == Some(Flaw::OneAbsence) {
            self.settle_too_soon(&mut step.flow);
        }
        self.witness.stored(event, &self.record.flow, &step.flow, self.now);
        if step.effect == Effect::Call {
            self.witness.intended(self.record.claimed_at, self.now);
        }
        self.record.flow = step.flow.clone();
        self.check_stored(event)?;
        Ok(step)
    }

    fn settle_too_soon(&self, flow: &mut Flow) {
        let fresh = flow.stage == Stage::Reading && flow.absences == 0;
        if fresh && flow.next_at > self.now && flow.undecided_since == Some(self.now) {
            flow.absences = 1;
            flow.next_at = self.now;
            flow.undecided_since = Some(self.now - SETTLING);
        }
    }

    pub(super) fn note(&mut self, line: impl FnOnce() -> String) {
        self.trace.note(self.now, line);
    }

    pub(super) fn note_step(&mut self, index: usize, did: &str, step: &Step) {
        let Step { flow, effect, .. } = step;
        self.note(|| {
            let Flow { stage, part, attempt, failures, .. } = flow;
            let counts = format!("part {part}, attempt {attempt}, failures {failures}");
            format!("runner {index} {did}: {stage:?} ({counts}), then {effect:?}")
        });
    }

    pub(super) fn into_story(self) -> Vec<String> {
        self.trace.into_lines()
    }
}
