//! Numbers of posts and profiles, from a reading service that answers as the real one does.

use campanile_connect::platforms::{Access, Platform, PostFigures, ProfileFigures};
use serde_json::json;

use crate::fake::Fake;
use crate::world::{World, now};

#[tokio::test]
async fn posts_are_asked_for_in_groups_and_matched_by_name() {
    let service = Fake::start(|asked| {
        let path = asked.head.lines().next().unwrap_or_default().to_owned();
        Box::pin(async move {
            let last = json!({ "uri": "at://did:plc:a/app.bsky.feed.post/29", "likeCount": 4, "replyCount": 3,
                "repostCount": 2, "quoteCount": 1, "record": {} });
            let first = json!({ "uri": "at://did:plc:a/app.bsky.feed.post/0", "likeCount": 9 });
            let posts = if path.contains("post%2F29") { json!([last]) } else { json!([first]) };
            ("200 OK".to_owned(), json!({ "posts": posts }).to_string())
        })
    })
    .await;
    let world = World::with(|endpoints| service.origin.clone_into(&mut endpoints.bluesky_appview));
    let desk = world.desk().await;
    let access = Access {
        http: &world.http,
        blobs: &world.blobs,
        account: &desk.account,
        secret: &desk.secret,
        now: now(),
    };
    let ids: Vec<_> = (0..30).map(|n| format!("at://did:plc:a/app.bsky.feed.post/{n}")).collect();

    let figures = world.platform.figures().unwrap().of_posts(&access, &ids).await.unwrap();

    assert_eq!(figures.len(), 30);
    assert_eq!(figures[0], Some(PostFigures { likes: 9, ..PostFigures::default() }));
    assert_eq!(figures[29], Some(PostFigures { likes: 4, replies: 3, reposts: 2, quotes: 1 }));
    assert!(figures[1..29].iter().all(Option::is_none));
    let asked = service.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].head.matches("uris=").count(), 25);
}

#[tokio::test]
async fn a_profile_has_followers() {
    let service = Fake::start(|_| {
        let profile =
            json!({ "did": "x", "followersCount": 5, "followsCount": 6, "postsCount": 7 });
        Box::pin(async move { ("200 OK".to_owned(), profile.to_string()) })
    })
    .await;
    let world = World::with(|endpoints| service.origin.clone_into(&mut endpoints.bluesky_appview));
    let desk = world.desk().await;
    let access = Access {
        http: &world.http,
        blobs: &world.blobs,
        account: &desk.account,
        secret: &desk.secret,
        now: now(),
    };

    let figures = world.platform.figures().unwrap().of_profile(&access).await.unwrap();

    assert_eq!(figures, ProfileFigures { followers: 5, following: 6, posts: 7 });
    assert!(service.asked()[0].head.contains("actor=did%3Aplc%3A"));
}
