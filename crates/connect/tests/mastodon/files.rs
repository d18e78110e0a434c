//! Files that a server takes its time with.

use campanile_connect::platforms::{Draft, Operation};
use campanile_model::publish::Class;
use serde_json::Value;

use crate::world::{World, draft, operation, published, refused};

async fn with_film(world: &World, content: &[u8]) -> Draft {
    let media = vec![world.asset("film", "video/mp4", content).await];
    Draft { media, ..draft("Look") }
}

#[tokio::test]
async fn a_large_file_arrives_whole() {
    let world = World::double().await;
    let content: Vec<u8> = (0..9_000_001_usize).map(|index| (index % 251) as u8).collect();
    let draft = with_film(&world, &content).await;

    world.prepare(&draft, &operation("a1")).await.expect("prepared");

    let state = world.twin().state();
    let media = &state.media[0];
    let boundary = media.content_type.strip_prefix("multipart/form-data; boundary=").expect("one");
    let head = "content-disposition: form-data; name=\"file\"; filename=\"file.mp4\"\r\n\
                content-type: video/mp4\r\n\r\n";
    let head = format!("--{boundary}\r\n{head}");
    let tail = format!("\r\n--{boundary}--\r\n");
    assert!(media.body.starts_with(head.as_bytes()));
    assert!(media.body.ends_with(tail.as_bytes()));
    assert!(media.body[head.len()..media.body.len() - tail.len()] == content);
}

#[tokio::test]
async fn a_file_that_is_worked_on_is_waited_for() {
    let world = World::double().await;
    world.twin().state().processing = 3;
    let draft = with_film(&world, b"film").await;

    let frozen = world.prepare(&draft, &operation("a1")).await.expect("prepared");

    assert_eq!(world.twin().asked("GET /api/v1/media/"), 4);
    published(world.call(&frozen).await);
}

#[tokio::test]
async fn a_file_that_is_never_ready_is_tried_again_later() {
    let world = World::double().await;
    world.twin().state().processing = usize::MAX;
    let draft = with_film(&world, b"film").await;

    let failure = world.prepare(&draft, &operation("a1")).await.expect_err("never ready");

    assert_eq!((failure.class, failure.code.as_str()), (Class::Transient, "media_processing"));
}

#[tokio::test]
async fn a_refusal_because_of_files_passes() {
    let world = World::double().await;
    let draft = with_film(&world, b"film").await;
    let frozen = world.prepare(&draft, &operation("a1")).await.expect("prepared");

    world.twin().state().media[0].left = 2;
    let failure = refused(world.call(&frozen).await);
    assert_eq!((failure.class, failure.code.as_str()), (Class::Transient, "media_processing"));

    world.twin().state().media[0].gone = true;
    let failure = refused(world.call(&frozen).await);
    assert_eq!((failure.class, failure.code.as_str()), (Class::Transient, "media_gone"));
}

#[tokio::test]
async fn files_are_uploaded_again_only_when_they_are_gone() {
    let world = World::double().await;
    let draft = with_film(&world, b"film").await;
    let first = world.prepare(&draft, &operation("a1")).await.expect("prepared");

    let earlier = Operation { earlier: Some(&first), ..operation("a1") };
    let second = world.prepare(&draft, &earlier).await.expect("prepared");
    assert_eq!(first, second);
    assert_eq!(world.twin().asked("POST /api/v2/media"), 1);

    world.twin().state().media[0].gone = true;
    let third = world.prepare(&draft, &earlier).await.expect("prepared");
    assert_eq!(world.twin().asked("POST /api/v2/media"), 2);
    let parse = |json: &str| serde_json::from_str::<Value>(json).expect("JSON");
    let (first, third) = (parse(&first), parse(&third));
    assert_eq!(first["key"], third["key"]);
    assert_eq!(first["status"]["status"], third["status"]["status"]);
    assert_ne!(first["status"]["media_ids"], third["status"]["media_ids"]);
}

#[tokio::test]
async fn a_file_that_is_missing_is_named() {
    let world = World::double().await;
    let draft = with_film(&world, b"film").await;
    world.blobs.delete("film").await.expect("deleted");

    let failure = world.prepare(&draft, &operation("a1")).await.expect_err("missing");

    assert_eq!((failure.class, failure.code.as_str()), (Class::MissingContent, "media_missing"));
    assert!(failure.message.contains("film"), "{failure:?}");
}
