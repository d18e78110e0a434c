//! What holds on every server about one post.

use campanile_connect::platforms::{Operation, Platform, Secret};
use campanile_model::publish::Class;
use zeroize::Zeroizing;

use crate::proxy::Proxy;
use crate::world::{
    World, assert_absent, draft, found, now, operation, published, refused, unclear,
};

on_both![
    a_post_is_published_and_found,
    a_post_that_was_not_sent_is_absent,
    a_lost_answer_is_found_again,
    odd_texts_are_recognised,
    an_older_twin_is_not_taken_for_the_post,
    what_is_too_long_is_rejected,
    a_revoked_token_is_an_authorisation_problem,
    a_server_that_is_gone_has_published_nothing,
];

async fn a_post_is_published_and_found(world: World) {
    let frozen = world.ready(&draft("Doors open at nine."), &operation("a1")).await;

    let receipt = published(world.call(&frozen).await);

    assert_eq!(receipt.reference.as_deref(), Some(receipt.remote_id.as_str()));
    assert!(receipt.url.as_deref().is_some_and(|url| url.starts_with("http")), "{receipt:?}");
    let statuses = world.statuses().await;
    assert_eq!(statuses.len(), 1);
    assert_eq!(statuses[0]["id"], *receipt.remote_id);
    assert_eq!(statuses[0]["visibility"], "public");
    assert_eq!(found(world.find(&frozen).await), receipt);
}

async fn a_post_that_was_not_sent_is_absent(world: World) {
    world.publish(&draft("Something else"), "a0").await;
    let frozen = world.ready(&draft("Doors open at nine."), &operation("a1")).await;

    assert_absent(&world.find(&frozen).await);
}

async fn a_lost_answer_is_found_again(mut world: World) {
    let proxy = Proxy::start(world.address(), 1).await;
    world.account.server = proxy.origin.clone();
    let frozen = world.ready(&draft("Doors open at nine."), &operation("a1")).await;

    let failure = unclear(world.call(&frozen).await);

    assert_eq!(failure.class, Class::Ambiguous);
    assert_eq!(proxy.lost(), 1);
    let receipt = found(world.find(&frozen).await);
    let statuses = world.statuses().await;
    assert_eq!(statuses.len(), 1);
    assert_eq!(statuses[0]["id"], *receipt.remote_id);
}

async fn odd_texts_are_recognised(world: World) {
    for (index, text) in [
        "a < b && c > d \"quoted\" 'single' <script>alert(1)</script> &amp; &lt;",
        "  spaces   around\n\n\nand\tinside  ",
        "https://example.com/a?b=c&d=e#f (https://example.org/x_(y)) #Tag @somebody@example.net",
        "cafe\u{301} 👨‍👩‍👧‍👦 مرحبا 日本語 \u{a0}nbsp",
        "1. *stars* _lines_ `code` ~tilde~ [link](https://example.com)",
    ]
    .into_iter()
    .enumerate()
    {
        let key = format!("a{index}");
        let frozen = world.ready(&draft(text), &operation(&key)).await;
        let receipt = published(world.call(&frozen).await);
        assert_eq!(found(world.find(&frozen).await), receipt, "{text}");
    }
}

async fn an_older_twin_is_not_taken_for_the_post(world: World) {
    let words = draft("The same words");
    let first = world.publish(&words, "a1").await;
    let frozen = world.prepare(&words, &operation("a2")).await.expect("prepared");

    assert_absent(&world.find(&frozen).await);

    let second = published(world.call(&frozen).await);
    assert_ne!(second.remote_id, first.remote_id);
    assert_eq!(found(world.find(&frozen).await), second);
    // A third time, on Mastodon without a look before: then the time tells them apart.
    let later = Operation { due: now() + 10_000, ..operation("a3") };
    let third = world.ready(&words, &later).await;
    assert_absent(&world.find(&third).await);
}

async fn what_is_too_long_is_rejected(world: World) {
    let long = draft(&"x".repeat(501));
    assert_eq!(world.platform.check(&world.account, &long)[0].code, "too_long");
    let frozen = world.ready(&long, &operation("a1")).await;

    let failure = refused(world.call(&frozen).await);

    assert_eq!((failure.class, failure.code.as_str()), (Class::Rejected, "http_422"));
    assert!(failure.message.contains("too long"), "{failure:?}");
    assert_absent(&world.find(&frozen).await);
}

async fn a_revoked_token_is_an_authorisation_problem(mut world: World) {
    let frozen = world.ready(&draft("a"), &operation("a1")).await;
    world.secret = Secret(Zeroizing::new(r#"{"access_token":"revoked"}"#.to_owned()));

    assert_eq!(refused(world.call(&frozen).await).class, Class::Auth);
}

async fn a_server_that_is_gone_has_published_nothing(mut world: World) {
    let frozen = world.ready(&draft("a"), &operation("a1")).await;
    world.account.server = "http://127.0.0.1:1".to_owned();

    let failure = refused(world.call(&frozen).await);

    assert_eq!((failure.class, failure.code.as_str()), (Class::Transient, "connect_failed"));
}
