//! What becomes of a wish to cancel.

use campanile_machine::{Effect, Event, SETTLING};
use campanile_model::publish::{Class, Safety, Stage};

use crate::{Story, absent, found, no_answer, out, refused};

#[test]
fn what_has_not_been_called_is_canceled_at_once() {
    let mut story = Story::new(Safety::ReadBack);
    assert_eq!(story.tell(Event::CancelAsked).flow.stage, Stage::Canceled);
    let mut story = Story::new(Safety::ReadBack);
    story.claim();
    let step = story.tell(Event::CancelAsked);
    assert_eq!((step.flow.stage, step.effect), (Stage::Canceled, Effect::Finish));
    assert_eq!(story.tell(Event::Prepared).effect, Effect::Nothing);
}

#[test]
fn a_refused_call_can_be_canceled_at_once() {
    let mut story = Story::calling(Safety::Nothing);
    story.tell(refused(Class::Transient));
    assert_eq!(story.tell(Event::CancelAsked).flow.stage, Stage::Canceled);
}

#[test]
fn a_call_that_is_being_made_is_not_disturbed() {
    let mut story = Story::calling(Safety::ReadBack);
    let step = story.tell(Event::CancelAsked);
    assert_eq!((step.flow.stage, step.effect), (Stage::Calling, Effect::Nothing));
    assert_eq!(story.tell(out()).flow.stage, Stage::Published);
}

#[test]
fn a_call_that_is_refused_after_the_wish_ends_canceled() {
    let mut story = Story::calling(Safety::ReadBack);
    story.tell(Event::CancelAsked);
    assert_eq!(story.tell(refused(Class::Transient)).flow.stage, Stage::Canceled);
}

#[test]
fn the_rest_of_a_thread_is_canceled_after_the_part_that_was_under_way() {
    let mut story = Story::thread(Safety::ReadBack, 2);
    story.call();
    story.tell(Event::CancelAsked);
    let step = story.tell(out());
    assert_eq!((step.flow.stage, step.flow.part), (Stage::Canceled, 1));
}

#[test]
fn nothing_is_canceled_before_it_is_certain_that_it_is_not_out() {
    for safety in [Safety::ChosenId, Safety::Container, Safety::ReadBack] {
        let mut story = Story::calling(safety);
        story.tell(Event::CancelAsked);
        assert_eq!(story.tell(no_answer()).effect, Effect::Wait);
        assert_eq!(story.look_twice_in_vain().flow.stage, Stage::Canceled);
    }
}

#[test]
fn a_repeat_that_waits_is_read_for_and_not_canceled_at_once() {
    let mut story = Story::repeating(Safety::ChosenId);
    let step = story.tell(Event::CancelAsked);
    assert_eq!((step.flow.stage, step.effect), (Stage::Reading, Effect::Wait));
    story.wait(SETTLING).claim();
    assert_eq!(story.tell(found()).flow.stage, Stage::Published);
}

#[test]
fn a_wish_during_the_first_look_makes_one_look_too_few() {
    let mut story = Story::unanswered(Safety::ChosenId);
    story.tell(Event::CancelAsked);
    let step = story.tell(absent());
    assert_eq!((step.flow.stage, step.flow.absences), (Stage::Reading, 0));
}
