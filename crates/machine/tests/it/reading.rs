//! What is read when nobody knows what the call did.

use campanile_machine::{Effect, Event, GIVE_UP_AFTER, SETTLING, Sight};
use campanile_model::{
    publish::{Class, Safety, Stage},
    time::{DAY, HOUR, MINUTE, SECOND},
};

use crate::{HOUR_KEY, Story, absent, failure, found, no_answer, unreadable};

#[test]
fn where_nothing_can_be_read_the_outcome_is_unknown_at_once() {
    let story = Story::unanswered(Safety::Nothing);
    assert_eq!(story.flow.stage, Stage::Unknown);
}

#[test]
fn a_call_whose_runner_died_is_like_one_without_an_answer() {
    let mut story = Story::calling(Safety::ReadBack);
    assert_eq!(story.claim().flow.stage, Stage::Reading);
    let mut story = Story::calling(Safety::Nothing);
    assert_eq!(story.claim().flow.stage, Stage::Unknown);
}

#[test]
fn a_post_that_is_found_is_published() {
    let mut story = Story::unanswered(Safety::ReadBack);
    story.wait(SETTLING).claim();
    assert_eq!(story.tell(found()).flow.stage, Stage::Published);
}

#[test]
fn only_two_settled_looks_in_vain_allow_another_call() {
    for safety in [Safety::ReadBack, Safety::DuplicateRefused] {
        let mut story = Story::unanswered(safety);
        assert_eq!(story.claim().effect, Effect::Wait);
        assert_eq!(story.wait(SETTLING).claim().effect, Effect::Read);
        assert_eq!(story.tell(absent()).effect, Effect::Wait);
        assert_eq!(story.wait(SETTLING - 1).claim().effect, Effect::Wait);
        assert_eq!(story.wait(1).claim().effect, Effect::Read);
        assert_eq!(story.tell(absent()).effect, Effect::Prepare);
    }
}

#[test]
fn one_look_told_twice_counts_once() {
    let mut story = Story::unanswered(Safety::ReadBack);
    story.wait(SETTLING).claim();
    story.tell(absent());
    assert_eq!(story.tell(absent()).flow.absences, 1);
}

#[test]
fn one_look_is_enough_where_a_repeat_is_harmless() {
    for safety in [Safety::ChosenId, Safety::Container] {
        let mut story = Story::calling(safety);
        assert_eq!(story.tell(no_answer()).effect, Effect::Read);
        assert_eq!(story.tell(absent()).effect, Effect::Prepare);
    }
}

#[test]
fn a_key_alone_does_not_make_a_repeat_harmless() {
    let mut story = Story::calling(HOUR_KEY);
    assert_eq!(story.tell(no_answer()).effect, Effect::Wait);
    story.wait(SETTLING).claim();
    assert_eq!(story.tell(absent()).effect, Effect::Wait);
    story.wait(SETTLING).claim();
    assert_eq!(story.tell(absent()).effect, Effect::Prepare);
}

#[test]
fn the_second_call_without_an_answer_is_followed_by_a_pause() {
    let mut story = Story::repeating(Safety::ChosenId);
    story.tell(Event::Prepared);
    story.tell(no_answer());
    let step = story.tell(absent());
    assert_eq!((step.flow.stage, step.flow.next_at), (Stage::Waiting, story.now + 5 * SECOND));
}

#[test]
fn looks_that_fail_do_not_make_the_pause_before_the_next_call_longer() {
    let mut story = Story::unanswered(Safety::ReadBack);
    for _ in 0..5 {
        story.wait(HOUR).claim();
        story.tell(unreadable(Class::Transient));
    }
    story.wait(HOUR);
    assert_eq!(story.look_twice_in_vain().effect, Effect::Prepare);
}

#[test]
fn a_credential_refused_while_reading_is_renewed_once_for_each_look() {
    let mut story = Story::unanswered(Safety::ReadBack);
    for _ in 0..2 {
        assert_eq!(story.wait(HOUR).claim().effect, Effect::Read);
        assert_eq!(story.tell(unreadable(Class::Auth)).effect, Effect::Renew);
        assert_eq!(story.tell(Event::Renewed).effect, Effect::Read);
        assert_eq!(story.tell(unreadable(Class::Auth)).effect, Effect::Wait);
    }
}

#[test]
fn a_renewal_that_fails_while_reading_leaves_time_to_connect_the_account_again() {
    let mut story = Story::unanswered(Safety::ReadBack);
    story.wait(SETTLING).claim();
    story.tell(unreadable(Class::Auth));
    let step = story.tell(Event::RenewFailed(failure(Class::Auth)));
    assert_eq!((step.flow.stage, step.effect), (Stage::Reading, Effect::Wait));
}

#[test]
fn the_platform_is_read_for_a_day_and_once_more_at_its_end() {
    let mut story = Story::unanswered(Safety::ReadBack);
    let end = story.now + GIVE_UP_AFTER;
    story.wait(DAY - MINUTE).claim();
    assert_eq!(story.tell(unreadable(Class::Transient)).flow.next_at, end);
    story.wait(MINUTE).claim();
    assert_eq!(story.tell(unreadable(Class::Transient)).flow.stage, Stage::Unknown);
}

#[test]
fn an_outage_of_days_after_the_call_leaves_a_day_to_read() {
    let mut story = Story::calling(Safety::ReadBack);
    story.wait(3 * DAY).claim();
    story.wait(SETTLING).claim();
    assert_eq!(story.tell(unreadable(Class::Transient)).flow.stage, Stage::Reading);
}

#[test]
fn a_platform_that_must_not_be_read_for_more_than_a_day_leaves_it_unknown() {
    let mut story = Story::unanswered(Safety::ReadBack);
    let limited = failure(Class::RateLimited).until(story.now + GIVE_UP_AFTER + 1);
    story.wait(SETTLING).claim();
    let step = story.tell(Event::Saw(Sight::Unreadable(limited)));
    assert_eq!((step.flow.stage, step.effect), (Stage::Unknown, Effect::Finish));
}

#[test]
fn what_cannot_be_found_out_any_more_is_unknown() {
    let mut story = Story::unanswered(Safety::Container);
    let step = story.tell(Event::Saw(Sight::Unknowable(failure(Class::Ambiguous))));
    assert_eq!(step.flow.stage, Stage::Unknown);
}

#[test]
fn what_is_certainly_not_out_after_a_day_is_given_up() {
    let mut story = Story::unanswered(Safety::ReadBack);
    story.wait(DAY);
    assert_eq!(story.look_twice_in_vain().flow.stage, Stage::Rejected);
}
