//! What is found in texts, and what is not.

use super::*;

/// The spans of a text, as kind, start, end and value.
fn found(text: &str) -> Vec<(char, usize, usize, String)> {
    let spans = find(text).into_iter();
    spans
        .map(|span| {
            let (kind, value) = match span.feature {
                Feature::Mention(value) => ('@', value),
                Feature::Link(value) => ('l', value),
                Feature::Tag(value) => ('#', value),
            };
            assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end));
            (kind, span.start, span.end, value)
        })
        .collect()
}

/// The values found in a text, each with its kind before it.
fn values(text: &str) -> Vec<String> {
    found(text).into_iter().map(|(kind, _, _, value)| format!("{kind}{value}")).collect()
}

#[test]
fn places_are_counted_in_bytes() {
    let text = "✨ example mentioning @atproto.com to share the URL 👨‍❤️‍👨 https://en.wikipedia.org/wiki/CBOR.";
    assert_eq!(
        found(text),
        [
            ('@', 23, 35, "atproto.com".to_owned()),
            ('l', 74, 108, "https://en.wikipedia.org/wiki/CBOR".to_owned()),
        ]
    );
    let text = "Grüße 🎉 an @bob.example.com: #Überblick https://example.com/ä";
    assert_eq!(
        found(text),
        [
            ('@', 16, 32, "bob.example.com".to_owned()),
            ('#', 34, 45, "Überblick".to_owned()),
            ('l', 46, 68, "https://example.com/ä".to_owned()),
        ]
    );
}

#[test]
fn mentions_stand_at_the_start_of_a_word() {
    assert_eq!(
        values("@a.com (@B.Example.com) \n@c-d.com..."),
        ["@a.com", "@b.example.com", "@c-d.com"]
    );
    for none in ["x@a.com", "@a", "@a.com_b", "@@a.com", "@.com", "@-a.com", "@a.1", "@", "a@"] {
        assert!(values(none).is_empty(), "{none}");
    }
    assert_eq!(mentions("@a.com @b.com @A.com"), ["a.com", "b.com"]);
}

#[test]
fn links_end_before_the_sentence_does() {
    for (text, uri) in [
        ("https://a.com", "https://a.com"),
        ("see HTTP://a.com/x?y=1#z!", "HTTP://a.com/x?y=1#z"),
        ("(https://a.com/b).", "https://a.com/b"),
        ("https://a.com/b_(c)", "https://a.com/b_(c)"),
        ("(a.com)", "https://a.com"),
        ("my-site.co.uk/path, and", "https://my-site.co.uk/path"),
        ("a.com:8080/x", "https://a.com:8080/x"),
    ] {
        assert_eq!(values(text), [format!("l{uri}")], "{text}");
    }
}

#[test]
fn not_everything_with_a_dot_is_a_link() {
    for none in [
        "e.g. this",
        "i.e.",
        "1.5",
        "node.js",
        "the end.So we",
        "ada.me@example.com",
        "https://",
        "http:///a.com",
        "ftp://a.com",
        "a..com",
        "-a.com",
        "a.com,b",
        "x:https://a.com",
        "v1.2.3",
    ] {
        assert!(values(none).is_empty(), "{none}: {:?}", values(none));
    }
}

#[test]
fn tags_are_words() {
    assert_eq!(
        values("#a ＃b #c_d! #2026a #日本語。 #a#b"),
        ["#a", "#b", "#c_d", "#2026a", "#日本語", "#a#b"]
    );
    assert_eq!(found("x ＃b")[0].2, 6);
    for none in ["#", "# a", "#1", "#1.5", "a#b", "#!?", "#\u{fe0f}\u{20e3}", "(#a)"] {
        assert!(values(none).is_empty(), "{none}");
    }
    let longest = format!("#{}", "e\u{301}".repeat(64));
    assert_eq!(values(&longest).len(), 1);
    assert!(values(&format!("{longest}e")).is_empty());
}

#[test]
fn shares_are_tags_in_capitals() {
    assert_eq!(values("$abc, ($A1B2C) $x"), ["#$ABC", "#$A1B2C", "#$X"]);
    for none in ["$1", "$", "$abcdef", "a$b", "$ab-c", "US$ab"] {
        assert!(values(none).is_empty(), "{none}");
    }
}

#[test]
fn nothing_overlaps_whatever_the_text() {
    let pieces =
        ["@a.com", "#x", "https://b.org/(", "(", ")", " ", "é", "👨‍👩‍👧", "$AB", ".", "\u{200b}", "\n"];
    let mut state: u64 = 7;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..8 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
        }
        let mut end = 0;
        for (_, start, next, _) in found(&text) {
            assert!(start >= end && next > start && next <= text.len(), "{text}");
            end = next;
        }
    }
}
