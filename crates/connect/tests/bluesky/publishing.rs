//! Posts of every kind, as the server then has them.

use campanile_connect::platforms::Sight;
use campanile_connect::platforms::{Draft, Operation, Platform};
use campanile_model::decode::{List, Text};
use campanile_model::label::StoragePath;
use campanile_model::post::LinkCard;
use image::{DynamicImage, ImageFormat, RgbImage};
use serde_json::{Value, json};

use crate::world::{World, first, published, text};

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut state: u32 = 1;
    let image = RgbImage::from_fn(width, height, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        image::Rgb([(state >> 24) as u8, (state >> 16) as u8, (state >> 8) as u8])
    });
    let mut content = std::io::Cursor::new(Vec::new());
    DynamicImage::ImageRgb8(image).write_to(&mut content, ImageFormat::Png).expect("encoded");
    content.into_inner()
}

#[tokio::test]
async fn a_text_is_published_once_however_often_it_is_sent() {
    let world = World::new();
    let desk = world.desk().await;
    let frozen = world.platform.freeze(&desk.account, &text("Guten Tag"), &first("once")).unwrap();
    assert!(matches!(desk.find(&frozen).await, Sight::Absent));

    let receipt = published(desk.publish(&frozen).await);
    let again = published(desk.publish(&frozen).await);

    assert_eq!(receipt, again);
    let value = desk.record().await;
    assert_eq!(value["text"], "Guten Tag");
    assert_eq!(value["createdAt"], "2026-11-01T00:00:00.000Z");
    let rkey = receipt.remote_id.rsplit('/').next().unwrap();
    let did = &desk.account.remote_id;
    assert_eq!(receipt.remote_id, format!("at://{did}/app.bsky.feed.post/{rkey}"));
    assert_eq!(receipt.url, Some(format!("https://bsky.app/profile/{did}/post/{rkey}")));
    match desk.find(&frozen).await {
        Sight::Found(found) => assert_eq!(found, receipt),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn mentions_links_and_tags_are_marked() {
    let world = World::new();
    let (desk, other) = (world.desk().await, world.person().await);
    let content =
        format!("Grüße 🎉 @{} @nobody.test #Überblick https://example.com/ä ($CASH)", other.handle);
    let mut draft = text(&content);
    draft.options.languages = Some(List(vec![Text("de".to_owned())]));
    draft.options.labels = Some(List(vec![Text("nudity".to_owned()), Text("our own".to_owned())]));
    assert_eq!(world.platform.freeze(&desk.account, &draft, &first("facets")), None);

    desk.post(&draft, &first("facets")).await;

    let value = desk.record().await;
    let facets = value["facets"].as_array().unwrap();
    let marked: Vec<_> = facets
        .iter()
        .map(|facet| {
            let at = |name: &str| usize::try_from(facet["index"][name].as_u64().unwrap()).unwrap();
            (&content[at("byteStart")..at("byteEnd")], facet["features"][0].clone())
        })
        .collect();
    let feature = |kind: &str, name: &str, value: &str| json!({ "$type": format!("app.bsky.richtext.facet#{kind}"), name: value });
    assert_eq!(
        marked,
        [
            (format!("@{}", other.handle).as_str(), feature("mention", "did", &other.did)),
            ("#Überblick", feature("tag", "tag", "Überblick")),
            ("https://example.com/ä", feature("link", "uri", "https://example.com/ä")),
            ("$CASH", feature("tag", "tag", "$CASH")),
        ]
    );
    assert_eq!(value["langs"], json!(["de"]));
    assert_eq!(value["labels"]["values"], json!([{ "val": "nudity" }, { "val": "our own" }]));
}

#[tokio::test]
async fn pictures_are_uploaded_and_made_to_fit() {
    let world = World::new();
    let desk = world.desk().await;
    let small = world.asset("small", "image/png", &png(8, 4)).await;
    let large = world.asset("large", "image/png", &png(900, 450)).await;
    assert!(large.bytes > 999_000);
    let draft = Draft { media: vec![small, large], ..text("two pictures") };
    assert_eq!(world.platform.freeze(&desk.account, &draft, &first("pictures")), None);

    desk.post(&draft, &first("pictures")).await;

    let value = desk.record().await;
    let images = value["embed"]["images"].as_array().unwrap();
    assert_eq!(images[0]["alt"], "shows small");
    assert_eq!(images[0]["aspectRatio"], json!({ "width": 8, "height": 4 }));
    assert_eq!(images[0]["image"]["mimeType"], "image/png");
    assert_eq!(images[0]["image"]["size"], draft.media[0].bytes);
    assert_eq!(images[1]["image"]["mimeType"], "image/jpeg");
    assert!(images[1]["image"]["size"].as_u64().unwrap() < 1_000_000);
}

#[tokio::test]
async fn a_second_try_keeps_the_post_and_uploads_again() {
    let world = World::new();
    let desk = world.desk().await;
    let draft =
        Draft { media: vec![world.asset("one", "image/png", &png(8, 4)).await], ..text("x") };
    let frozen = desk.prepare(&draft, &first("again")).await.unwrap();
    let mut earlier: Value = serde_json::from_str(&frozen).unwrap();
    let lost = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku";
    earlier["record"]["embed"]["images"][0]["image"]["ref"]["$link"] = json!(lost);
    let failure = crate::world::refused(desk.publish(&earlier.to_string()).await);
    assert_eq!((failure.class.as_str(), failure.code.as_str()), ("transient", "BlobNotFound"));

    let earlier = earlier.to_string();
    // The draft, the time and the key do not count any more.
    let changed = Draft { text: "y".to_owned(), ..draft.clone() };
    let operation = Operation { earlier: Some(&earlier), due: 5, key: "other", ..first("") };
    let second = desk.prepare(&changed, &operation).await.unwrap();

    assert_eq!(second, frozen);
    published(desk.publish(&second).await);
}

#[tokio::test]
async fn a_link_has_a_card_with_a_picture() {
    let world = World::new();
    let desk = world.desk().await;
    let thumbnail = world.asset("thumb", "image/png", &png(40, 20)).await;
    let path = StoragePath::parse(&thumbnail.storage_path).unwrap();
    let mut draft = Draft { media: vec![thumbnail], ..text("read this") };
    draft.options.link = Some(LinkCard {
        url: Text("https://example.com/a?b=c".to_owned()),
        title: Text("A title".to_owned()),
        description: None,
        thumbnail: Some(path),
    });

    desk.post(&draft, &first("link")).await;

    let external = &desk.record().await["embed"]["external"];
    assert_eq!(external["uri"], "https://example.com/a?b=c");
    assert_eq!((&external["title"], &external["description"]), (&json!("A title"), &json!("")));
    assert_eq!(external["thumb"]["mimeType"], "image/png");
}

#[tokio::test]
async fn a_thread_hangs_together() {
    let world = World::new();
    let desk = world.desk().await;
    let mut draft = text("one");
    draft.options.thread = Some(List(["two", "three"].map(|part| Text(part.to_owned())).into()));

    let mut receipts = Vec::new();
    for part in 0..draft.parts() {
        let key = format!("thread{part}");
        let operation = Operation { part, previous: &receipts, ..first(&key) };
        let receipt = desk.post(&draft, &operation).await;
        receipts.push(receipt);
    }

    let records = desk.records().await;
    let texts: Vec<_> = records.iter().map(|record| record["value"]["text"].clone()).collect();
    assert_eq!(texts, ["three", "two", "one"]);
    let reference = |index: usize| {
        serde_json::from_str::<Value>(receipts[index].reference.as_ref().unwrap()).unwrap()
    };
    let reply = &records[0]["value"]["reply"];
    assert_eq!((&reply["root"], &reply["parent"]), (&reference(0), &reference(1)));
    assert_eq!(records[2]["cid"], reference(0)["cid"]);
}

#[tokio::test]
async fn a_post_can_be_deleted_twice() {
    let world = World::new();
    let desk = world.desk().await;
    let frozen = desk.prepare(&text("short-lived"), &first("gone")).await.unwrap();
    let receipt = published(desk.publish(&frozen).await);

    desk.delete(&receipt).await.unwrap();
    desk.delete(&receipt).await.unwrap();

    assert!(desk.records().await.is_empty());
    assert!(matches!(desk.find(&frozen).await, Sight::Absent));
    let foreign = campanile_model::publish::Receipt {
        remote_id: "at://did:plc:other/app.bsky.feed.post/3k".to_owned(),
        ..receipt
    };
    assert_eq!(desk.delete(&foreign).await.unwrap_err().code, "not_own_post");
}
