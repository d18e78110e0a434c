//! Videos, with the service that prepares them and without.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use campanile_connect::platforms::{Asset, Draft};
use campanile_connect::{AnswerLimits, Http, Policy};
use campanile_model::publish::Class;
use http::Request;
use serde_json::{Value, json};

use crate::fake::{Asked, Fake};
use crate::world::{World, first, text};

/// Enough of a file for a server that does not look inside.
fn mp4() -> Vec<u8> {
    let mut content = b"\x00\x00\x00\x20ftypisom\x00\x00\x02\x00isomiso2avc1mp41".to_vec();
    content.extend((0..200_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8));
    content
}

async fn video(world: &World) -> Asset {
    Asset {
        width: Some(16),
        height: Some(9),
        duration_ms: Some(2000),
        ..world.asset("clip", "video/mp4", &mp4()).await
    }
}

#[tokio::test]
async fn without_the_service_a_video_goes_straight_to_the_server() {
    let world = World::new();
    let desk = world.desk().await;
    let draft = Draft { media: vec![video(&world).await], ..text("a film") };

    desk.post(&draft, &first("film")).await;

    let embed = &desk.record().await["embed"];
    assert_eq!(embed["$type"], "app.bsky.embed.video");
    assert_eq!(embed["video"]["mimeType"], "video/mp4");
    assert_eq!(embed["video"]["size"], draft.media[0].bytes);
    assert_eq!(embed["aspectRatio"], json!({ "width": 16, "height": 9 }));
    assert_eq!(embed["alt"], "shows clip");
}

/// Does what the service does with a video: puts it on the account's server with the token that
/// came along, and returns what that server says.
async fn store(asked: &Asked, server: &str) -> Value {
    let http = Http::new(Policy { allow_private: true, ..Policy::default() });
    let request = Request::post(format!("{server}/xrpc/com.atproto.repo.uploadBlob"))
        .header("authorization", asked.header("authorization").expect("a token"))
        .header("content-type", "video/mp4")
        .body(asked.body.clone())
        .expect("fine");
    let answer = http.request(request, &AnswerLimits::default()).await.expect("an answer");
    assert!(answer.status().is_success(), "{answer:?}");
    serde_json::from_slice::<Value>(answer.body()).expect("JSON")["blob"].clone()
}

#[tokio::test]
async fn the_service_may_put_the_video_on_the_server_of_the_account() {
    let server = World::new().pds;
    let (polls, blob) = (AtomicU32::new(0), Arc::new(std::sync::Mutex::new(Value::Null)));
    let service = Fake::start(move |asked| {
        let (server, blob, poll) = (server.clone(), blob.clone(), polls.fetch_add(1, Ordering::SeqCst));
        Box::pin(async move {
            if asked.head.starts_with("POST /xrpc/app.bsky.video.uploadVideo?did=did%3Aplc%3A") {
                let stored = store(&asked, &server).await;
                *blob.lock().unwrap() = stored;
                let job = json!({ "jobId": "j1", "state": "JOB_STATE_CREATED" });
                return ("200 OK".to_owned(), job.to_string());
            }
            assert!(asked.head.contains("getJobStatus?jobId=j1"), "{}", asked.head);
            let job = match poll {
                1 => json!({ "jobId": "j1", "state": "JOB_STATE_ENCODING", "progress": 50 }),
                _ => json!({ "jobId": "j1", "state": "JOB_STATE_COMPLETED", "blob": *blob.lock().unwrap() }),
            };
            ("200 OK".to_owned(), json!({ "jobStatus": job }).to_string())
        })
    })
    .await;
    let world = World::with(|endpoints| service.origin.clone_into(&mut endpoints.bluesky_video));
    let desk = world.desk().await;
    let draft = Draft { media: vec![video(&world).await], ..text("a film") };

    desk.post(&draft, &first("served")).await;

    assert_eq!(desk.record().await["embed"]["video"]["size"], draft.media[0].bytes);
    assert_eq!(service.asked().len(), 3);
    assert_eq!(service.asked()[0].body, Bytes::from(mp4()));
}

#[tokio::test]
async fn a_video_that_the_service_has_already_is_not_waited_for() {
    let blob =
        json!({ "$type": "blob", "ref": { "$link": "bafk" }, "mimeType": "video/mp4", "size": 1 });
    let service = Fake::start(move |_| {
        let job = json!({
            "jobId": "j1", "state": "JOB_STATE_COMPLETED", "error": "already_exists", "blob": blob,
        });
        Box::pin(async move { ("409 Conflict".to_owned(), job.to_string()) })
    })
    .await;
    let world = World::with(|endpoints| service.origin.clone_into(&mut endpoints.bluesky_video));
    let desk = world.desk().await;
    let draft = Draft { media: vec![video(&world).await], ..text("a film") };

    let frozen = desk.prepare(&draft, &first("known")).await.unwrap();

    let frozen: Value = serde_json::from_str(&frozen).unwrap();
    assert_eq!(frozen["record"]["embed"]["video"]["ref"]["$link"], "bafk");
}

#[tokio::test]
async fn a_video_that_the_service_cannot_use_is_refused() {
    let service = Fake::start(|_| {
        let error = json!({ "error": "VideoTooLong", "message": "Video is too long" });
        Box::pin(async move { ("400 Bad Request".to_owned(), error.to_string()) })
    })
    .await;
    let world = World::with(|endpoints| service.origin.clone_into(&mut endpoints.bluesky_video));
    let desk = world.desk().await;
    let draft = Draft { media: vec![video(&world).await], ..text("a film") };

    let failure = desk.prepare(&draft, &first("long")).await.unwrap_err();

    assert_eq!((failure.class, failure.code.as_str()), (Class::Rejected, "VideoTooLong"));
}
