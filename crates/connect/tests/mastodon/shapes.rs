//! Threads, polls, options and files on every server, and what can be done with posts later.

use campanile_connect::platforms::{Draft, Operation, Platform};
use campanile_model::decode::{List, Text, Whole};
use campanile_model::post::{Poll, TargetOptions, Visibility};
use campanile_model::publish::Receipt;
use serde_json::Value;

use crate::world::{World, assert_absent, draft, found, operation, published};

on_both![
    a_thread_hangs_together,
    a_poll_is_published_with_its_options,
    options_reach_the_server,
    a_file_is_published_with_its_alternative_text,
    a_post_can_be_deleted_twice,
    figures_are_read,
];

fn with(text: &str, options: TargetOptions) -> Draft {
    Draft { options, ..draft(text) }
}

async fn a_thread_hangs_together(world: World) {
    let thread = Some(List(vec![Text("Two".to_owned()), Text("Three".to_owned())]));
    let draft = with("One", TargetOptions { thread, ..TargetOptions::default() });
    let mut receipts: Vec<Receipt> = Vec::new();
    for (part, key) in ["a1", "a2", "a3"].into_iter().enumerate() {
        let operation = Operation { part: part as u32, previous: &receipts, ..operation(key) };
        let frozen = world.ready(&draft, &operation).await;
        assert_absent(&world.find(&frozen).await);
        let receipt = published(world.call(&frozen).await);
        assert_eq!(found(world.find(&frozen).await), receipt);
        receipts.push(receipt);
    }

    let mut statuses = world.statuses().await;
    statuses.reverse();

    let parents: Vec<&Value> = statuses.iter().map(|status| &status["in_reply_to_id"]).collect();
    assert_eq!(parents[0], &Value::Null);
    assert_eq!(*parents[1], *receipts[0].remote_id);
    assert_eq!(*parents[2], *receipts[1].remote_id);
    let visible: Vec<&Value> = statuses.iter().map(|status| &status["visibility"]).collect();
    assert_eq!(visible, ["public", "unlisted", "unlisted"]);
}

async fn a_poll_is_published_with_its_options(world: World) {
    let options = ["Nine", "Ten & a bit"].map(|text| Text(text.to_owned()));
    let poll = Some(Poll {
        options: List(options.into()),
        expires_in_seconds: Whole(3600),
        multiple: Some(true),
        hide_totals: None,
    });
    let draft = with("When?", TargetOptions { poll, ..TargetOptions::default() });
    assert_eq!(world.platform.check(&world.account, &draft), []);
    let frozen = world.ready(&draft, &operation("a1")).await;

    let receipt = published(world.call(&frozen).await);

    let status = world.status(&receipt.remote_id).await;
    assert_eq!(status["poll"]["options"][1]["title"], "Ten & a bit");
    assert_eq!(status["poll"]["multiple"], true);
    assert_eq!(found(world.find(&frozen).await), receipt);
}

async fn options_reach_the_server(world: World) {
    let options = TargetOptions {
        visibility: Some(Visibility::Private),
        content_warning: Some(Text("Food".to_owned())),
        languages: Some(List(vec![Text("de".to_owned())])),
        ..TargetOptions::default()
    };
    let frozen = world.ready(&with("Brot", options), &operation("a1")).await;

    let receipt = published(world.call(&frozen).await);

    let status = world.status(&receipt.remote_id).await;
    assert_eq!(status["spoiler_text"], "Food");
    assert_eq!(status["visibility"], "private");
    assert_eq!(status["language"], "de");
    assert_eq!(found(world.find(&frozen).await), receipt);
}

async fn a_file_is_published_with_its_alternative_text(world: World) {
    let mut asset = world.asset("picture", "image/png", b"\x89PNG not really").await;
    asset.alt_text = "Ein Turm – \"rot\"".to_owned();
    let draft = Draft { media: vec![asset], ..draft("Look") };
    assert_eq!(world.platform.freeze(&world.account, &draft, &operation("a1")), None);

    let frozen = world.prepare(&draft, &operation("a1")).await.expect("prepared");
    let receipt = published(world.call(&frozen).await);

    let status = world.status(&receipt.remote_id).await;
    assert_eq!(status["media_attachments"].as_array().map(Vec::len), Some(1));
    match &world.double {
        None => assert_eq!(status["media_attachments"][0]["description"], "Ein Turm – \"rot\""),
        Some(double) => {
            let body = double.state().media[0].body.clone();
            assert!(String::from_utf8_lossy(&body).contains("\r\n\r\nEin Turm – \"rot\"\r\n"));
        }
    }
    assert_eq!(found(world.find(&frozen).await), receipt);
}

async fn a_post_can_be_deleted_twice(world: World) {
    let receipt = world.publish(&draft("Soon gone"), "a1").await;
    let deleting = world.platform.deleting().expect("posts can be deleted");

    deleting.delete(&world.access(), &receipt).await.expect("deleted");
    deleting.delete(&world.access(), &receipt).await.expect("deleted before");

    assert!(world.statuses().await.is_empty());
}

async fn figures_are_read(world: World) {
    let mut ids = Vec::new();
    for index in 0..3 {
        ids.push(
            world.publish(&draft(&format!("Post {index}")), &format!("a{index}")).await.remote_id,
        );
    }
    ids.insert(1, "999999999999".to_owned());
    let figures = world.platform.figures().expect("there are figures");

    let posts = figures.of_posts(&world.access(), &ids).await.expect("figures");
    let profile = figures.of_profile(&world.access()).await.expect("figures");

    let there: Vec<bool> = posts.iter().map(Option::is_some).collect();
    assert_eq!(there, [true, false, true, true]);
    let likes = if world.double.is_some() { 2 } else { 0 };
    assert_eq!(posts[0].expect("there").likes, likes);
    assert_eq!(profile.posts, 3);
}
