//! Servers that are not Mastodon.

use campanile_connect::platforms::Platform;
use campanile_model::post::{TargetOptions, Visibility};
use campanile_model::publish::{Class, Safety};

use crate::double::{Fault, Keys, Older};
use crate::world::{
    World, assert_absent, draft, found, operation, published, refused, unclear, unknowable,
};

#[tokio::test]
async fn other_servers_publish_twice_so_they_are_read_back() {
    let world = World::double().await;
    assert_eq!(world.platform.safety(&world.account), Safety::ReadBack);
    assert_eq!(world.platform.freeze(&world.account, &draft("a"), &operation("a1")), None);
    let frozen = world.ready(&draft("Once"), &operation("a1")).await;

    published(world.call(&frozen).await);
    published(world.call(&frozen).await);

    assert_eq!(world.statuses().await.len(), 2);
    assert_eq!(unknowable(world.find(&frozen).await).class, Class::Ambiguous);
}

#[tokio::test]
async fn a_twin_that_is_out_is_not_taken_for_the_one_that_is_not() {
    let world = World::double().await;
    let lost = world.ready(&draft("Said twice"), &operation("a1")).await;
    let twin = world.ready(&draft("Said twice"), &operation("a2")).await;
    let receipt = published(world.call(&twin).await);
    assert_eq!(found(world.find(&lost).await), receipt, "nothing but the words to go by");

    let taken = [receipt.remote_id];
    assert_absent(&world.find_beside(&taken, &lost).await);

    let own = published(world.call(&lost).await);
    assert_eq!(found(world.find_beside(&taken, &lost).await), own);
}

#[tokio::test]
async fn a_key_that_a_failure_used_up_on_pleroma_is_followed_by_another() {
    let world = World::double().await;
    world.twin().state().keys = Keys::Replayed;
    let frozen = world.ready(&draft("Doors open"), &operation("a1")).await;
    world.twin().fail_next(Fault::Answer(429, Vec::new()));
    world.twin().fail_next(Fault::Answer(403, Vec::new()));

    assert_eq!(refused(world.call(&frozen).await).class, Class::RateLimited);
    assert_eq!(refused(world.call(&frozen).await).class, Class::Rejected);
    let first = published(world.call(&frozen).await);
    let second = published(world.call(&frozen).await);

    assert_eq!(first, second);
    assert_eq!(world.statuses().await.len(), 1);
}

#[tokio::test]
async fn a_key_that_pixelfed_knows_does_not_say_what_became_of_it() {
    let world = World::double().await;
    world.twin().state().keys = Keys::RefusedTwice;
    let frozen = world.ready(&draft("Doors open"), &operation("a1")).await;
    world.twin().fail_next(Fault::LoseAnswer);

    unclear(world.call(&frozen).await);
    unclear(world.call(&frozen).await);

    found(world.find(&frozen).await);
    assert_eq!(world.statuses().await.len(), 1);
}

#[tokio::test]
async fn a_post_is_found_behind_many_others() {
    let world = World::double().await;
    world.twin().state().page = 7;
    let frozen = world.ready(&draft("Doors open"), &operation("a1")).await;
    let receipt = published(world.call(&frozen).await);
    for index in 0..30 {
        let key = format!("b{index}");
        let frozen = world.ready(&draft(&format!("Chatter {index}")), &operation(&key)).await;
        published(world.call(&frozen).await);
    }

    assert_eq!(found(world.find(&frozen).await), receipt);

    world.twin().state().page = 2;
    let other = world.prepare(&draft("Nowhere"), &operation("c1")).await.expect("prepared");
    unknowable(world.find(&other).await);
}

#[tokio::test]
async fn a_text_that_is_shown_otherwise_is_recognised_by_its_source() {
    let world = World::double().await;
    world.twin().state().markdown = true;
    let frozen = world.ready(&draft("Doors *open* at nine"), &operation("a1")).await;

    let receipt = published(world.call(&frozen).await);

    assert_eq!(found(world.find(&frozen).await), receipt);
    assert_eq!(world.twin().asked("GET /api/v1/statuses/"), 1);
}

#[tokio::test]
async fn a_message_that_a_server_may_not_list_is_not_called_absent() {
    let world = World::double().await;
    let mut direct = draft("@friend hello");
    let visibility = Some(Visibility::Direct);
    direct.options = TargetOptions { visibility, ..TargetOptions::default() };
    let frozen = world.ready(&direct, &operation("a1")).await;

    unknowable(world.find(&frozen).await);

    let receipt = published(world.call(&frozen).await);
    assert_eq!(found(world.find(&frozen).await), receipt);
}

#[tokio::test]
async fn pages_that_overlap_or_do_not_exist_are_no_trouble() {
    for (older, page) in [(Older::Including, 3), (Older::Never, 40)] {
        let world = World::double().await;
        (world.twin().state().older, world.twin().state().page) = (older, page);
        for index in 0..8 {
            let text = draft(&format!("Doors open {index}"));
            let frozen = world.ready(&text, &operation(&format!("a{index}"))).await;
            assert_absent(&world.find(&frozen).await);
            let receipt = published(world.call(&frozen).await);
            assert_eq!(found(world.find(&frozen).await), receipt);
        }
    }
}
