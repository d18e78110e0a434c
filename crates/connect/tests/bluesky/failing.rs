//! Calls that go wrong, and whether it is found out what they did.

use campanile_connect::platforms::{Platform, Sight};
use campanile_model::publish::Class;
use serde_json::{Value, json};

use crate::fake::Fake;
use crate::proxy::{Fate, Proxy};
use crate::world::{World, first, now, published, refused, text, unclear};

const CALL: &str = "com.atproto.repo.putRecord";

#[tokio::test]
async fn a_post_whose_answer_is_lost_is_found() {
    for fate in [Fate::LoseAnswer, Fate::AnswerBadGateway] {
        let world = World::new();
        let mut desk = world.desk().await;
        let proxy = Proxy::before(&world.pds, CALL, fate).await;
        desk.account.server = proxy.origin.clone();
        let frozen = desk.prepare(&text("lost"), &first("lost")).await.unwrap();

        assert_eq!(unclear(desk.publish(&frozen).await).class, Class::Ambiguous);

        let Sight::Found(found) = desk.find(&frozen).await else { panic!("not found") };
        assert_eq!(desk.record().await["text"], "lost");
        desk.account.server = world.pds.clone();
        assert_eq!(published(desk.publish(&frozen).await), found);
        assert_eq!(desk.records().await.len(), 1);
    }
}

#[tokio::test]
async fn a_post_that_never_arrived_is_absent() {
    let world = World::new();
    let mut desk = world.desk().await;
    let proxy = Proxy::before(&world.pds, CALL, Fate::LoseRequest).await;
    desk.account.server = proxy.origin.clone();
    let frozen = desk.prepare(&text("never"), &first("never")).await.unwrap();

    unclear(desk.publish(&frozen).await);

    assert!(matches!(desk.find(&frozen).await, Sight::Absent));
    assert!(desk.records().await.is_empty());
}

#[tokio::test]
async fn what_cannot_be_sent_is_certainly_not_published() {
    let world = World::new();
    let mut desk = world.desk().await;
    let frozen = desk.prepare(&text("x"), &first("away")).await.unwrap();
    desk.account.server = "http://127.0.0.1:1".to_owned();

    let failure = refused(desk.publish(&frozen).await);

    assert_eq!((failure.class, failure.code.as_str()), (Class::Transient, "connect_failed"));
    assert!(matches!(desk.find(&frozen).await, Sight::Unreadable(_)));
}

#[tokio::test]
async fn another_post_in_the_same_place_is_left_alone() {
    let world = World::new();
    let desk = world.desk().await;
    let ours = world.platform.freeze(&desk.account, &text("ours"), &first("place")).unwrap();
    let other = world.platform.freeze(&desk.account, &text("another"), &first("place")).unwrap();
    published(desk.publish(&other).await);

    assert_eq!(unclear(desk.publish(&ours).await).code, "InvalidSwap");

    match desk.find(&ours).await {
        Sight::Unknowable(failure) => assert_eq!(failure.code, "another_record"),
        other => panic!("{other:?}"),
    }
    assert_eq!(desk.record().await["text"], "another");
}

#[tokio::test]
async fn the_server_says_what_is_wrong_with_a_post() {
    let world = World::new();
    let desk = world.desk().await;
    let frozen =
        world.platform.freeze(&desk.account, &text(&"x".repeat(301)), &first("long")).unwrap();

    let failure = refused(desk.publish(&frozen).await);

    assert_eq!((failure.class, failure.code.as_str()), (Class::Rejected, "InvalidRequest"));
    assert!(failure.message.contains("grapheme"), "{}", failure.message);
    assert!(desk.records().await.is_empty());
}

#[tokio::test]
async fn a_server_with_too_much_to_do_says_when_to_come_back() {
    let world = World::new();
    let mut desk = world.desk().await;
    let frozen = desk.prepare(&text("x"), &first("busy")).await.unwrap();
    let reset = now() / 1000 + 90;
    let busy = Fake::start(move |_| {
        let head =
            format!("429 Too Many Requests\r\nratelimit-reset: {reset}\r\nratelimit-remaining: 0");
        let body = json!({ "error": "RateLimitExceeded", "message": "Rate Limit Exceeded" });
        Box::pin(async move { (head, body.to_string()) })
    })
    .await;
    desk.account.server = busy.origin.clone();

    let failure = refused(desk.publish(&frozen).await);

    assert_eq!((failure.class, failure.retry_at), (Class::RateLimited, Some(reset * 1000)));
    match desk.find(&frozen).await {
        Sight::Unreadable(failure) => assert_eq!(failure.retry_at, Some(reset * 1000)),
        other => panic!("{other:?}"),
    }
    let asked = busy.asked();
    assert_eq!(asked.len(), 2);
    let sent: Value = serde_json::from_slice(&asked[0].body).unwrap();
    assert_eq!(sent.get("swapRecord"), Some(&Value::Null));
    assert_eq!(sent["validate"], true);
}
