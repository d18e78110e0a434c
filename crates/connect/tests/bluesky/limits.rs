//! The limits that drafts are checked against are those of the server.

use campanile_connect::platforms::Platform;

use crate::world::{World, first, published, refused, text};

#[tokio::test]
async fn server_and_check_count_alike() {
    let world = World::new();
    let desk = world.desk().await;
    // Marks, flags, families, skin tones, Hangul, Devanagari and line ends: ten to see.
    let ten = "e\u{301}🇩🇪👨‍👩‍👧👍🏽각नि\r\na1️⃣ü";
    let fits =
        |text: &str| world.platform.check(&desk.account, &crate::world::text(text)).is_empty();
    for (number, (content, expected)) in [
        ("x".repeat(300), true),
        ("x".repeat(301), false),
        (ten.repeat(30), true),
        (format!("{}x", ten.repeat(30)), false),
        ("€".repeat(300), true),
        ("👨‍👩‍👧".repeat(166), true),
        ("👨‍👩‍👧".repeat(167), false),
    ]
    .into_iter()
    .enumerate()
    {
        let key = format!("limit{number}");
        let frozen = world.platform.freeze(&desk.account, &text(&content), &first(&key)).unwrap();

        let answer = desk.publish(&frozen).await;

        assert_eq!(fits(&content), expected, "{content}");
        if expected {
            published(answer);
        } else {
            refused(answer);
        }
    }
}
