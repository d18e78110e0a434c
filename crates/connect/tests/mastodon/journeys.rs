//! Whole journeys: the machine decides, the platform acts, and the server fails at every turn.

use campanile_connect::platforms::{Draft, Operation, Platform};
use campanile_machine::{Effect, Event, Flow, Moment, Rules, next};
use campanile_model::decode::{List, Text};
use campanile_model::publish::{Receipt, Stage};
use campanile_model::time::{HOUR, Millis};

use crate::double::{Fault, Keys};
use crate::world::{World, draft, now};

/// Runs a post to its end, as the engine does but without any waiting.
struct Journey<'a> {
    world: &'a World,
    draft: &'a Draft,
    due: Millis,
    receipts: Vec<Receipt>,
    frozen: Option<String>,
}

impl Journey<'_> {
    async fn run(mut self) -> (Stage, Vec<Receipt>) {
        let safety = self.world.platform.safety(&self.world.account);
        let rules = Rules { safety, late_window: HOUR };
        let mut flow = Flow::new(self.due, self.draft.parts());
        let mut clock = self.due;
        let mut event = Event::Claimed;
        for _ in 0..100 {
            let step = next(&flow, event, &rules, Moment { now: clock, chance: 500 });
            if step.flow.part != flow.part {
                self.frozen = None;
            }
            if let Some(campanile_machine::Ended::Published(receipt)) = &step.ended {
                self.receipts.push(receipt.clone());
            }
            flow = step.flow;
            event = match step.effect {
                Effect::Prepare => self.prepare(flow.part).await,
                Effect::Call => Event::Answered(self.world.call(self.frozen()).await),
                Effect::Read => Event::Saw(self.world.find(self.frozen()).await),
                Effect::Wait => {
                    clock = clock.max(flow.next_at);
                    Event::Claimed
                }
                Effect::Renew | Effect::Nothing => panic!("{flow:?}"),
                Effect::Finish => return (flow.stage, self.receipts),
            };
        }
        panic!("it never ends: {flow:?}");
    }

    fn frozen(&self) -> &str {
        self.frozen.as_deref().expect("prepared")
    }

    async fn prepare(&mut self, part: u32) -> Event {
        let key = format!("journey{}part{part}", self.due);
        let operation = Operation {
            key: &key,
            due: self.due,
            part,
            previous: &self.receipts,
            earlier: self.frozen.as_deref(),
        };
        let Self { world, draft, .. } = *self;
        if let Some(frozen) = world.platform.freeze(&world.account, draft, &operation) {
            self.frozen = Some(frozen);
            return Event::Prepared;
        }
        match world.prepare(draft, &operation).await {
            Ok(frozen) => {
                self.frozen = Some(frozen);
                Event::Prepared
            }
            Err(failure) => Event::PrepareFailed(failure),
        }
    }
}

async fn travel(world: &World, draft: &Draft) -> (Stage, Vec<Receipt>) {
    Journey { world, draft, due: now(), receipts: Vec::new(), frozen: None }.run().await
}

fn faults() -> [Fault; 6] {
    [
        Fault::LoseAnswer,
        Fault::Nonsense,
        Fault::AnswerAfter(502),
        Fault::Answer(503, Vec::new()),
        Fault::Answer(429, Vec::new()),
        Fault::Answer(500, Vec::new()),
    ]
}

#[tokio::test]
async fn two_faults_in_a_row_leave_exactly_one_post() {
    for (software, keys) in
        [("gotosocial", Keys::Ignored), ("pleroma", Keys::Replayed), ("mastodon", Keys::Honoured)]
    {
        for first in faults() {
            for second in faults() {
                let mut world = World::double().await;
                world.account.details["software"] = software.into();
                world.twin().state().keys = keys;
                world.twin().fail_next(first.clone());
                world.twin().fail_next(second);

                let (stage, receipts) = travel(&world, &draft("Doors open at nine.")).await;

                let state = world.twin().state();
                assert_eq!((stage, state.statuses.len()), (Stage::Published, 1));
                assert_eq!(state.statuses[0]["id"], *receipts[0].remote_id);
            }
        }
    }
}

#[tokio::test]
async fn the_same_words_twice_are_two_posts_whatever_fails() {
    for fault in faults() {
        let world = World::double().await;
        let (_, first) = travel(&world, &draft("Doors open at nine.")).await;
        world.twin().fail_next(fault);

        let (stage, second) = travel(&world, &draft("Doors open at nine.")).await;

        assert_eq!((stage, world.twin().state().statuses.len()), (Stage::Published, 2));
        assert_ne!(first[0].remote_id, second[0].remote_id);
    }
}

#[tokio::test]
async fn a_thread_comes_out_once_and_in_order_whatever_fails() {
    for fault in faults() {
        let world = World::double().await;
        let mut draft = draft("One");
        // Two parts with the same words differ by what they answer.
        let parts = ["Two", "Two"].map(|text| Text(text.to_owned()));
        draft.options.thread = Some(List(parts.into()));
        for _ in 0..3 {
            world.twin().fail_next(fault.clone());
        }

        let (stage, receipts) = travel(&world, &draft).await;

        let state = world.twin().state();
        let ids: Vec<&str> = receipts.iter().map(|receipt| receipt.remote_id.as_str()).collect();
        let kept: Vec<_> = state.statuses.iter().map(|status| status["id"].clone()).collect();
        assert_eq!((stage, kept.len()), (Stage::Published, 3));
        assert_eq!(kept, ids);
        assert_eq!(state.statuses[2]["in_reply_to_id"], ids[1]);
    }
}
