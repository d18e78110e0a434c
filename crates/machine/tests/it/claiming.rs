//! When a flow may start, and when it is too late.

use campanile_machine::{Effect, GIVE_UP_AFTER};
use campanile_model::{
    publish::{Class, Safety, Stage},
    time::{DAY, HOUR, MINUTE, SECOND},
};

use crate::{Story, out, refused};

#[test]
fn nothing_starts_before_its_time() {
    let mut story = Story::new(Safety::ReadBack);
    assert_eq!(story.wait(-1).claim().effect, Effect::Wait);
    assert_eq!(story.wait(1).claim().effect, Effect::Prepare);
}

#[test]
fn a_start_more_than_a_minute_late_is_called_late() {
    let mut story = Story::new(Safety::ReadBack);
    assert!(!story.wait(MINUTE).claim().flow.late);
    let mut story = Story::new(Safety::ReadBack);
    assert!(story.wait(MINUTE + 1).claim().flow.late);
}

#[test]
fn a_late_repeat_of_what_began_in_time_is_not_called_late() {
    let mut story = Story::calling(Safety::ReadBack);
    story.tell(refused(Class::Transient));
    assert!(!story.wait(HOUR).claim().flow.late);
}

#[test]
fn what_its_runner_left_while_preparing_may_have_become_late_or_missed() {
    let mut story = Story::new(Safety::ReadBack);
    story.claim();
    assert!(story.wait(HOUR).claim().flow.late);
    assert_eq!(story.wait(DAY).claim().flow.stage, Stage::Missed);
}

#[test]
fn a_start_outside_the_window_is_missed() {
    let mut story = Story::new(Safety::ReadBack);
    story.rules.late_window = HOUR;
    let step = story.wait(HOUR + 1).claim();
    assert_eq!((step.flow.stage, step.effect), (Stage::Missed, Effect::Finish));
}

#[test]
fn what_began_in_time_may_go_on_outside_the_window_but_not_for_more_than_a_day() {
    let mut story = Story::calling(Safety::ReadBack);
    story.rules.late_window = MINUTE;
    story.tell(refused(Class::Transient));
    assert_eq!(story.wait(HOUR).claim().flow.stage, Stage::Preparing);
    assert_eq!(story.wait(GIVE_UP_AFTER).claim().flow.stage, Stage::Missed);
}

#[test]
fn a_window_longer_than_a_day_allows_tries_as_long() {
    let mut story = Story::new(Safety::ReadBack);
    story.rules.late_window = 3 * DAY;
    story.wait(2 * DAY).call();
    assert_eq!(story.tell(refused(Class::Transient)).flow.stage, Stage::Waiting);
}

#[test]
fn the_next_part_of_a_thread_has_a_day_of_its_own() {
    let mut story = Story::thread(Safety::ReadBack, 2);
    story.wait(DAY - SECOND).call();
    assert_eq!(story.tell(out()).flow.stage, Stage::Preparing);
    story.wait(HOUR).call();
    assert_eq!(story.tell(refused(Class::Transient)).flow.stage, Stage::Waiting);
    assert_eq!(story.wait(DAY).claim().flow.stage, Stage::Missed);
}

#[test]
fn an_ended_flow_is_left_alone() {
    let mut story = Story::calling(Safety::ReadBack);
    story.tell(out());
    let before = story.flow.clone();
    let step = story.wait(HOUR).claim();
    assert_eq!((step.flow, step.effect), (before, Effect::Nothing));
}
