//! Texts that are meant to be misread.

use serde_json::{Value, json};

use crate::{
    lab::{Engine, Lab, both},
    steps::{each, encoded, faults, from_now, list, new_picture, new_post, post_path},
};

/// Every way to replace one text in the value, however deep, by another.
fn with_each_text_replaced(value: &Value, other: &str) -> Vec<Value> {
    match value {
        Value::String(_) => vec![json!(other)],
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, field)| {
                with_each_text_replaced(field, other).into_iter().map(move |field| {
                    let mut changed = value.clone();
                    changed[name] = field;
                    changed
                })
            })
            .collect(),
        Value::Array(items) => (0..items.len())
            .flat_map(|at| {
                with_each_text_replaced(&items[at], other).into_iter().map(move |item| {
                    let mut changed = value.clone();
                    changed[at] = item;
                    changed
                })
            })
            .collect(),
        _ => Vec::new(),
    }
}

both! {
    // X.01
    fn a_nul_is_refused_wherever_it_stands(lab: Lab) {
        let session = lab.sign_in(&lab.email, &lab.password);
        let picture = new_picture(&lab);
        let post = post_path(&new_post(&lab, json!({})));
        let draft = json!({
            "content": "c", "tags": ["t"], "folder_path": "f", "media_url": picture,
            "media": [{ "storage_path": picture, "alt_text": "a" }],
            "scheduled_at": from_now(&lab, 60_000),
            "targets": [{ "connection_id": "conn_01hf7yat00000000000000000a", "content": "o" }],
            "videohost": {
                "title": "t", "description": "d", "tags": ["x"], "category_id": "1",
                "privacy": "public", "publish_at": from_now(&lab, 60_000), "playlist_id": "p",
                "thumbnail": picture,
            },
        });
        let media = "media_01hf7yat00000000000000000a";
        let mut tried = 0;

        for (method, path, body) in [
            ("POST", "/posts", draft.clone()),
            ("POST", "/posts?validate_only=true", draft.clone()),
            ("PATCH", &post, draft),
            (
                "POST",
                "/content-folders",
                json!({ "scope": "posts", "name": "n", "parent_path": "p" }),
            ),
            ("POST", "/content-folders", json!({ "scope": "posts", "folder_path": "p" })),
            (
                "PATCH",
                "/content-folders",
                json!({ "scope": "posts", "folder_path": "p", "new_path": "q" }),
            ),
            ("DELETE", "/content-folders", json!({ "scope": "posts", "folder_path": "p" })),
            (
                "POST",
                "/media-library",
                json!({
                    "source_url": "https://127.0.0.1/", "name": "n", "tags": ["t"],
                    "folder_path": "f",
                }),
            ),
            ("POST", "/media-library", json!({ "storage_path": picture })),
            ("PATCH", "/media-library", json!({ "id": media, "tags": ["t"], "folder_path": "f" })),
            ("PATCH", "/media-library", json!({ "ids": [media], "tags": ["t"] })),
            ("DELETE", "/media-library", json!({ "ids": [media] })),
            ("POST", "/uploads/posts/sign", json!({ "content_type": "image/png", "size": 1 })),
            (
                "PUT",
                "/settings",
                json!({
                    "profile": { "name": "n", "time_zone": "UTC" },
                    "schedule": {
                        "time_zone": "UTC", "slots": [{ "weekday": "monday", "time": "09:00" }],
                    },
                }),
            ),
            (
                "PUT",
                "/settings/password",
                json!({ "current_password": "p", "new_password": "a long password" }),
            ),
            (
                "POST",
                "/keys",
                json!({ "name": "n", "scopes": ["*"], "expires_at": from_now(&lab, 60_000) }),
            ),
            ("POST", "/api/internal/brands", json!({ "name": "n" })),
            ("POST", "/api/auth/sign-in", json!({ "email": "a@example.test", "password": "p" })),
        ] {
            let in_session =
                ["/keys", "/settings/password"].contains(&path) || path.starts_with("/api/");
            let credential = if in_session { &session } else { &lab.key };
            for body in with_each_text_replaced(&body, "a\u{0}b") {
                let reply = lab.request(method, path).key(credential).json(body.clone()).send();
                assert_eq!(
                    (reply.status, reply.code()),
                    (422, "validation_failed"),
                    "{method} {path} {body}"
                );
                tried += 1;
            }
        }
        assert!(tried > 60, "{tried}");
        for query in [
            "/posts?folder=a%00",
            "/posts?tag=%00a",
            "/posts?text=a%00b",
            "/posts?status=Draft%00",
            "/posts?created_from=%00",
            "/posts?cursor=%00",
            "/posts?limit=1%00",
            "/posts?a%00=b",
            "/media-library?folder=%00",
            "/media-library?tag=%00",
            "/content-folders?scope=posts%00",
            "/audit-logs?action=%00",
            "/audit-logs?resource=%00",
            "/audit-logs?resource_id=%00",
            "/audit-logs?user_id=%00",
        ] {
            let reply = lab.get(query).key(&lab.key).send();
            assert_eq!((reply.status, reply.code()), (422, "validation_failed"), "{query}");
        }
        for path in ["/posts/%00", "/posts/post_01hf7yat0000000000000000%00"] {
            lab.get(path).key(&lab.key).send().expect_problem(404, "not_found");
        }
        lab.get("/posts?brand_id=%00").key(&lab.key).send().expect_problem(404, "brand_not_found");
    }

    // X.03
    fn a_tag_typed_in_two_ways_is_one_tag(lab: Lab) {
        let (composed, decomposed) = ("Caf\u{e9}", "Cafe\u{301}");
        let post = new_post(&lab, json!({ "tags": [composed, decomposed, " Caf\u{e9} "] }));
        assert_eq!(post["tags"], json!([composed]));
        let folder = |path: &str| {
            let body = json!({ "scope": "posts", "folder_path": path });
            lab.post("/content-folders").key(&lab.key).json(body).send()
        };

        for spelling in [composed, decomposed] {
            let found = lab
                .get(&format!("/posts?tag={}", encoded(spelling)))
                .key(&lab.key)
                .send()
                .expect(200);
            assert_eq!(list(&found.json["posts"]).len(), 1, "{spelling}");
        }
        folder(composed).expect(201);
        folder(decomposed).expect_problem(409, "already_exists");
    }

    // X.05
    fn a_search_folds_case_the_same_way_as_the_store(lab: Lab) {
        for content in [
            "İstanbul",
            "ISTANBUL",
            "ıstanbul",
            "Straße",
            "STRASSE",
            "STRAẞE",
            "ΟΔΟΣ",
            "ﬁne",
            "ＦＵＬＬ",
        ] {
            new_post(&lab, json!({ "content": content }));

            let found = lab
                .get(&format!("/posts?text={}", encoded(content)))
                .key(&lab.key)
                .send()
                .expect(200);

            let found = each(&found.json["posts"], "content").contains(&content);
            assert!(found, "a text finds itself: {content}");
        }
        for (query, content) in
            [("strasse", "STRASSE"), ("straße", "STRAẞE"), ("istanbul", "ISTANBUL")]
        {
            let found = lab
                .get(&format!("/posts?text={}", encoded(query)))
                .key(&lab.key)
                .send()
                .expect(200);
            assert!(
                each(&found.json["posts"], "content").contains(&content),
                "{query} finds {content}"
            );
        }
    }
}

// X.02
#[test]
fn what_is_not_unicode_is_not_json() {
    let lab = Lab::start(Engine::Sqlite);

    for bytes in [
        &br#"{"content":"\ud800"}"#[..],
        br#"{"content":"\udc00\ud800"}"#,
        br#"{"content":"\ud83d"}"#,
        br#"{"\ud800":1}"#,
        b"{\"content\":\"\xc0\xaf\"}",
        b"{\"content\":\"\xe0\x80\xaf\"}",
        b"{\"content\":\"\xed\xa0\x80\"}",
        b"{\"content\":\"\xf4\x90\x80\x80\"}",
        b"{\"content\":\"\xff\"}",
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{\0}\0",
        b"{\0}\0",
        br#"{"content":"\x41"}"#,
        b"{\"content\":\"a\nb\"}",
        b"{'content':'a'}",
        b"{content:1}",
        b"{\"content\":\"a\",}",
        b"{} {}",
        b"{}x",
        b"// c\n{}",
        b"NaN",
        b"{\"content\":Infinity}",
    ] {
        let request = lab.post("/posts").key(&lab.key).header("content-type", "application/json");
        let refused = request.body(bytes).send();
        assert_eq!(
            (refused.status, refused.code()),
            (400, "malformed_json"),
            "{}",
            bytes.escape_ascii()
        );
    }
    let emoji = lab.post("/posts").key(&lab.key).header("content-type", "application/json");
    let emoji = emoji.body(r#"{"content":"\ud83d\ude00"}"#).send().expect(201);
    assert_eq!(emoji.json["post"]["content"], "😀");
}

// X.04
#[test]
fn a_tag_shows_all_that_it_holds() {
    let lab = Lab::start(Engine::Sqlite);
    let create = |tag: &str| lab.post("/posts").key(&lab.key).json(json!({ "tags": [tag] })).send();

    for hidden in [
        "\u{200b}",
        "\u{200c}",
        "\u{200e}",
        "\u{200f}",
        "\u{202a}",
        "\u{202e}",
        "\u{2060}",
        "\u{2066}",
        "\u{2069}",
        "\u{feff}",
        "\u{00ad}",
        "\u{034f}",
        "\u{061c}",
        "\u{180e}",
        "\u{3164}",
        "\u{e0041}",
        "\u{e0101}",
        "\u{fff9}",
        "\u{7f}",
        "\u{85}",
    ] {
        for tag in [format!("pay{hidden}pal"), hidden.to_owned()] {
            assert!(!faults(create(&tag)).is_empty(), "{}", tag.escape_unicode());
        }
    }
    for (one, other) in [("paypal", "p\u{430}ypal"), ("Bells", "bells"), ("ﬁ", "fi")] {
        create(one).expect(201);
        create(other).expect(201);
        let found =
            lab.get(&format!("/posts?tag={}", encoded(one))).key(&lab.key).send().expect(200);
        assert_eq!(list(&found.json["posts"]).len(), 1, "{one} and {other} are two tags");
    }
    for seen in ["👩‍👩‍👧", "❤️", "שלום", "日本語", "naïve café", "50%", "#tag", "👍🏽"]
    {
        assert_eq!(create(seen).expect(201).json["post"]["tags"], json!([seen]));
    }
}

// X.04
#[test]
fn a_joiner_between_letters_makes_no_second_tag_that_looks_the_same() {
    let lab = Lab::start(Engine::Sqlite);

    for hidden in ["\u{200d}", "\u{fe00}", "\u{fe0f}"] {
        let tag = format!("pay{hidden}pal");
        let refused = lab.post("/posts").key(&lab.key).json(json!({ "tags": [tag] })).send();
        assert_eq!(refused.status, 422, "{}", tag.escape_unicode());
    }
}
