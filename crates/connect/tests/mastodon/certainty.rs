//! What is certain after a call, and what is not.

use std::time::Duration;

use campanile_connect::platforms::mastodon::{Mastodon, Pace};
use campanile_connect::platforms::{Operation, Platform, Sight};
use campanile_model::publish::{Class, Safety};
use campanile_model::time::{self, SECOND};
use serde_json::json;

use crate::double::Fault;
use crate::world::{
    FAULTS, World, assert_absent, call, draft, found, now, operation, published, refused, unclear,
};

/// Makes the mock answer the next call that publishes like this.
async fn fault(world: &World, effect: serde_json::Value) {
    let rule = json!({
        "match": { "methods": ["POST"], "path": "/api/v1/statuses" },
        "effect": effect, "count": 1,
    });
    call("POST", &format!("{}/api/v1/_mock/faults", world.origin), "-", Some(rule)).await;
}

#[tokio::test]
async fn mastodon_publishes_a_key_once() {
    let _nobody_sets_faults = FAULTS.read().await;
    let world = World::mock().await;
    assert_eq!(world.platform.safety(&world.account), Safety::KeyWindow { millis: 3_600_000 });
    let frozen = world.ready(&draft("Once"), &operation("a1")).await;

    let first = published(world.call(&frozen).await);
    let earlier = Operation { earlier: Some(&frozen), ..operation("a1") };
    let again = world.ready(&draft("Once"), &earlier).await;
    let second = published(world.call(&again).await);

    assert_eq!(first, second);
    assert_eq!(world.statuses().await.len(), 1);
}

#[tokio::test]
async fn a_rate_limit_of_mastodon_says_when_to_come_back() {
    let _alone = FAULTS.write().await;
    let world = World::mock().await;
    let frozen = world.ready(&draft("Once"), &operation("a1")).await;
    fault(&world, json!({ "type": "ratelimit" })).await;

    let failure = refused(world.call(&frozen).await);

    assert_eq!(failure.class, Class::RateLimited);
    let pause = failure.retry_at.expect("a time") - now();
    assert!((280 * SECOND..=310 * SECOND).contains(&pause), "{pause}");
    published(world.call(&frozen).await);
}

#[tokio::test]
async fn a_failing_mastodon_may_have_published() {
    let _alone = FAULTS.write().await;
    let world = World::mock().await;
    let frozen = world.ready(&draft("Once"), &operation("a1")).await;
    fault(&world, json!({ "type": "status", "status": 503 })).await;

    let failure = unclear(world.call(&frozen).await);

    assert_eq!((failure.class, failure.code.as_str()), (Class::Ambiguous, "http_503"));
    assert_absent(&world.find(&frozen).await);
    published(world.call(&frozen).await);
    assert_eq!(world.statuses().await.len(), 1);
}

#[tokio::test]
async fn the_time_of_a_reset_is_honoured() {
    let world = World::double().await;
    let frozen = world.ready(&draft("Once"), &operation("a1")).await;
    let reset = now() + 90 * SECOND;
    let headers = vec![("x-ratelimit-reset", time::format(reset).replace('Z', "000Z"))];
    world.twin().fail_next(Fault::Answer(429, headers));

    let failure = refused(world.call(&frozen).await);

    assert_eq!((failure.class, failure.retry_at), (Class::RateLimited, Some(reset)));
}

#[tokio::test]
async fn whatever_happens_to_the_answer_the_post_is_found() {
    for fault in [
        Fault::LoseAnswer,
        Fault::AnswerAfter(500),
        Fault::AnswerAfter(502),
        Fault::AnswerAfter(504),
        Fault::AnswerAfter(409),
        Fault::Nonsense,
    ] {
        let world = World::double().await;
        let frozen = world.ready(&draft("Doors open"), &operation("a1")).await;
        world.twin().fail_next(fault);

        assert_eq!(unclear(world.call(&frozen).await).class, Class::Ambiguous);

        let receipt = found(world.find(&frozen).await);
        assert_eq!(world.twin().state().statuses[0]["id"], *receipt.remote_id);
    }
}

#[tokio::test]
async fn an_answer_that_comes_too_late_is_not_waited_for() {
    let mut world = World::double().await;
    let answer = Duration::from_millis(500);
    world.platform = Mastodon::at(Pace { answer, ..Pace::default() });
    let frozen = world.ready(&draft("Doors open"), &operation("a1")).await;
    world.twin().fail_next(Fault::Late(Duration::from_secs(60)));

    let failure = unclear(world.call(&frozen).await);

    assert_eq!((failure.class, failure.code.as_str()), (Class::Ambiguous, "timeout"));
    found(world.find(&frozen).await);
}

#[tokio::test]
async fn refusals_are_certain() {
    for (status, class) in [
        (301, Class::Rejected),
        (400, Class::Rejected),
        (401, Class::Auth),
        (403, Class::Rejected),
        (404, Class::Rejected),
        (413, Class::Rejected),
        (422, Class::Rejected),
        (429, Class::RateLimited),
    ] {
        let world = World::double().await;
        let frozen = world.ready(&draft("Doors open"), &operation("a1")).await;
        world.twin().fail_next(Fault::Answer(status, Vec::new()));

        assert_eq!(refused(world.call(&frozen).await).class, class, "{status}");
        assert_eq!(world.twin().asked("POST /api/v1/statuses"), 1);
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_not_absent() {
    let world = World::double().await;
    let frozen = world.ready(&draft("Doors open"), &operation("a1")).await;
    for (status, class) in [
        (500, Class::Transient),
        (429, Class::RateLimited),
        (401, Class::Auth),
        (403, Class::Rejected),
    ] {
        world.twin().state().unreadable = Some(status);
        match world.find(&frozen).await {
            Sight::Unreadable(failure) => assert_eq!(failure.class, class),
            other => panic!("{status}: {other:?}"),
        }
        let prepared = world.prepare(&draft("Doors open"), &operation("a1")).await;
        assert_eq!(prepared.expect_err("nothing is sent blindly").class, class);
    }
}

#[tokio::test]
async fn a_try_after_a_try_says_the_same_and_remembers_what_was_there() {
    let world = World::double().await;
    let words = draft("The same words");
    world.publish(&words, "a1").await;
    let frozen = world.ready(&words, &operation("a2")).await;
    let second = published(world.call(&frozen).await);

    let earlier = Operation { earlier: Some(&frozen), ..operation("a2") };
    let again = world.ready(&words, &earlier).await;

    assert_eq!(again, frozen);
    assert_eq!(found(world.find(&again).await), second);
}
