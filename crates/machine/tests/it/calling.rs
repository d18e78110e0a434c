//! The call and its answers.

use campanile_machine::{Answer, Effect, Ended, Event, GIVE_UP_AFTER};
use campanile_model::{
    publish::{Class, Safety, Stage},
    time::{DAY, HOUR, SECOND},
};

use crate::{Story, absent, failure, out, refused};

#[test]
fn the_intent_is_part_of_the_state_before_the_call() {
    let mut story = Story::new(Safety::ReadBack);
    let step = story.call();
    assert_eq!((step.flow.stage, step.effect), (Stage::Calling, Effect::Call));
    assert_eq!((step.flow.attempt, step.flow.intent_at), (1, Some(story.now)));
}

#[test]
fn a_thread_is_published_with_its_last_part() {
    let mut story = Story::thread(Safety::ReadBack, 2);
    story.call();
    let step = story.tell(out());
    assert_eq!((step.flow.part, step.effect), (1, Effect::Prepare));
    story.tell(Event::Prepared);
    assert_eq!(story.tell(out()).flow.stage, Stage::Published);
}

#[test]
fn a_refused_later_part_leaves_the_earlier_ones_counted() {
    let mut story = Story::thread(Safety::ReadBack, 3);
    story.call();
    story.tell(out());
    story.tell(Event::Prepared);
    let step = story.tell(refused(Class::Rejected));
    assert_eq!((step.flow.stage, step.flow.part), (Stage::Rejected, 1));
}

#[test]
fn a_passing_refusal_is_tried_again_after_a_pause() {
    let mut story = Story::calling(Safety::Nothing);
    let step = story.tell(refused(Class::Transient));
    assert_eq!((step.flow.stage, step.effect), (Stage::Waiting, Effect::Wait));
    assert_eq!(step.flow.next_at, story.now + 5 * SECOND);
}

#[test]
fn the_platform_is_asked_again_when_it_said_so() {
    let mut story = Story::calling(Safety::ReadBack);
    let asked = story.now + 3 * HOUR;
    let limited = failure(Class::RateLimited).until(asked);
    let step = story.tell(Event::Answered(Answer::Refused(limited)));
    assert_eq!((step.flow.stage, step.flow.next_at), (Stage::Waiting, asked));
}

#[test]
fn a_platform_that_wants_more_than_a_day_is_given_up_at_once() {
    let mut story = Story::calling(Safety::ReadBack);
    let limited = failure(Class::RateLimited).until(story.now + GIVE_UP_AFTER + 1);
    let step = story.tell(Event::Answered(Answer::Refused(limited)));
    assert_eq!((step.flow.stage, step.effect), (Stage::Rejected, Effect::Finish));
}

#[test]
fn a_refused_credential_is_renewed_once() {
    let mut story = Story::calling(Safety::ReadBack);
    assert_eq!(story.tell(refused(Class::Auth)).effect, Effect::Renew);
    assert_eq!(story.tell(Event::Renewed).effect, Effect::Prepare);
    story.tell(Event::Prepared);
    assert_eq!(story.tell(refused(Class::Auth)).flow.stage, Stage::Rejected);
}

#[test]
fn a_renewal_that_nobody_lived_to_make_is_still_to_be_made() {
    let mut story = Story::calling(Safety::ReadBack);
    story.tell(refused(Class::Auth));
    story.call();
    assert_eq!(story.tell(refused(Class::Auth)).effect, Effect::Renew);
}

#[test]
fn a_renewal_that_fails_for_a_while_is_tried_again_and_one_that_fails_for_good_ends_it() {
    for (class, stage) in [(Class::Transient, Stage::Waiting), (Class::Auth, Stage::Rejected)] {
        let mut story = Story::calling(Safety::ReadBack);
        story.tell(refused(Class::Auth));
        assert_eq!(story.tell(Event::RenewFailed(failure(class))).flow.stage, stage);
    }
}

#[test]
fn a_refused_repeat_does_not_decide_what_the_first_call_did() {
    let mut story = Story::repeating(Safety::ChosenId);
    story.tell(Event::Prepared);
    let step = story.tell(refused(Class::Rejected));
    assert_eq!(step.flow.stage, Stage::Reading);
    assert!(matches!(step.ended, Some(Ended::Failed { repeat_is_safe: false, .. })));
    story.look_twice_in_vain();
    story.tell(Event::Prepared);
    assert_eq!(story.tell(refused(Class::Rejected)).flow.stage, Stage::Rejected);
}

#[test]
fn a_repeat_that_could_not_even_be_prepared_does_not_decide_it_either() {
    let mut story = Story::repeating(Safety::Container);
    let step = story.tell(Event::PrepareFailed(failure(Class::MissingContent)));
    assert_eq!(step.flow.stage, Stage::Reading);
}

#[test]
fn what_was_tried_for_a_day_is_read_once_more_before_it_is_given_up() {
    let mut story = Story::repeating(Safety::ChosenId);
    assert_eq!(story.wait(DAY + 1).claim().flow.stage, Stage::Reading);
    story.claim();
    story.tell(absent());
    story.wait(10 * SECOND).claim();
    assert_eq!(story.tell(absent()).flow.stage, Stage::Rejected);
}
