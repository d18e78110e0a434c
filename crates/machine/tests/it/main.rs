//! The rules of publishing, one test for each, and the short form of the simulator.

mod calling;
mod canceling;
mod claiming;
mod reading;
mod schedules;

use campanile_machine::{Answer, Event, Flow, Moment, Rules, SETTLING, Sight, Step, next};
use campanile_model::{
    publish::{Class, Failure, Receipt, Safety, Stage},
    time::{DAY, HOUR, Millis},
};

const DUE: Millis = 1_000 * DAY;

const HOUR_KEY: Safety = Safety::KeyWindow { millis: HOUR };

/// A flow on its way, with the time that goes with it.
struct Story {
    flow: Flow,
    rules: Rules,
    now: Millis,
}

impl Story {
    fn new(safety: Safety) -> Self {
        Self::thread(safety, 1)
    }

    fn thread(safety: Safety, parts: u32) -> Self {
        let rules = Rules { safety, late_window: DAY };
        Self { flow: Flow::new(DUE, parts), rules, now: DUE }
    }

    /// A flow whose call is being made.
    fn calling(safety: Safety) -> Self {
        let mut story = Self::new(safety);
        story.call();
        story
    }

    /// A flow whose call got no answer.
    fn unanswered(safety: Safety) -> Self {
        let mut story = Self::calling(safety);
        story.tell(no_answer());
        story
    }

    /// A flow whose call got no answer, was not seen at once, and is to be made again.
    fn repeating(safety: Safety) -> Self {
        let mut story = Self::unanswered(safety);
        story.tell(absent());
        assert_eq!(story.flow.stage, Stage::Preparing);
        story
    }

    fn tell(&mut self, event: Event) -> Step {
        let moment = Moment { now: self.now, chance: 500 };
        let step = next(&self.flow, event, &self.rules, moment);
        self.flow = step.flow.clone();
        step
    }

    fn claim(&mut self) -> Step {
        self.tell(Event::Claimed)
    }

    /// From the claim to the call.
    fn call(&mut self) -> Step {
        self.claim();
        self.tell(Event::Prepared)
    }

    fn wait(&mut self, time: Millis) -> &mut Self {
        self.now += time;
        self
    }

    /// Two good looks without finding anything.
    fn look_twice_in_vain(&mut self) -> Step {
        self.wait(SETTLING).claim();
        self.tell(absent());
        self.wait(SETTLING).claim();
        self.tell(absent())
    }
}

fn failure(class: Class) -> Failure {
    Failure::new(class, "code", "message")
}

fn refused(class: Class) -> Event {
    Event::Answered(Answer::Refused(failure(class)))
}

fn no_answer() -> Event {
    Event::Answered(Answer::Unclear(failure(Class::Ambiguous)))
}

fn out() -> Event {
    Event::Answered(Answer::Published(receipt()))
}

fn absent() -> Event {
    Event::Saw(Sight::Absent)
}

fn found() -> Event {
    Event::Saw(Sight::Found(receipt()))
}

fn unreadable(class: Class) -> Event {
    Event::Saw(Sight::Unreadable(failure(class)))
}

fn receipt() -> Receipt {
    Receipt { remote_id: "1".to_owned(), url: None, reference: None }
}
