//! RULES. What happens next to a post on its way to one account.
//!
//! Pure: events go in, the state to store and one effect come out. There is no clock, no
//! randomness and no I/O here, so a simulator can drive it through millions of crashes.
//!
//! One promise carries everything: **whoever runs the machine stores [`Step::flow`] durably
//! before it carries out [`Step::effect`]**. A crash then leaves a state that says what may have
//! happened: in `Preparing` nothing that counts, in `Calling` perhaps the call.
//!
//! A second one keeps it: an event is applied once, to the flow as it is stored, and a store
//! shows the fencing token of its claim. A runner that works on a copy must not overwrite what a
//! cancel wrote; one that does not learn whether its store worked lets go, and the flow is claimed
//! again.

mod event;
mod flow;
mod reading;
mod retry;
pub mod simulator;
mod turn;

use campanile_model::publish::Stage;

pub use event::{Answer, Effect, Ended, Event, Sight, Step};
pub use flow::{Flow, LATE_AFTER, Moment, Rules};
pub use reading::SETTLING;
pub use retry::{GIVE_UP_AFTER, backoff};
use turn::Turn;

/// The next step of a flow.
pub fn next(flow: &Flow, event: Event, rules: &Rules, moment: Moment) -> Step {
    let turn = Turn { flow: flow.clone(), rules, moment };
    match (flow.stage, event) {
        (_, Event::Claimed) => turn.claimed(),
        (_, Event::CancelAsked) => turn.cancel_asked(),
        (Stage::Preparing, Event::Prepared) => turn.prepared(),
        (Stage::Preparing, Event::PrepareFailed(failure)) => turn.refused(failure),
        (Stage::Preparing, Event::Renewed) => turn.go(Stage::Preparing, Effect::Prepare),
        (Stage::Preparing, Event::RenewFailed(failure)) => turn.renew_failed(failure),
        (Stage::Calling, Event::Answered(answer)) => turn.answered(answer),
        (Stage::Reading, Event::Saw(sight)) => turn.saw(sight),
        (Stage::Reading, Event::Renewed) => turn.go(Stage::Reading, Effect::Read),
        (Stage::Reading, Event::RenewFailed(failure)) => turn.read_later(failure),
        _ => turn.stay(),
    }
}
