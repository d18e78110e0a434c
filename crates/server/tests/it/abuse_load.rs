//! API4: no request costs more than it should.

use std::{
    io::Write,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    lab::{BASE_PATH, Engine, Lab, both},
    media::try_import,
    peer::{self, Peer, fixture},
    steps::{encoded, expect_faults, list, new_post, text},
};

const LARGEST_BODY: usize = 1 << 20;

fn head(lab: &Lab, more: &str) -> String {
    format!(
        "POST {BASE_PATH}/posts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\n{more}\r\n\r\n",
        lab.key
    )
}

// 4.01
#[test]
fn a_body_ends_at_the_limit() {
    let lab = Lab::start(Engine::Sqlite);
    // Spaces around a value are JSON too.
    let padded = |size: usize| format!("{{}}{}", " ".repeat(size - 2));
    let send = |size: usize| {
        let request = lab.post("/posts").key(&lab.key).header("content-type", "application/json");
        request.body(padded(size)).send()
    };

    send(LARGEST_BODY).expect(201);
    send(LARGEST_BODY + 1).expect_problem(413, "payload_too_large");
    for declared in ["1048577", "10737418240", "9223372036854775807"] {
        let mut socket = lab.socket();
        socket.say(head(&lab, &format!("content-length: {declared}"))).unwrap();
        let begun = Instant::now();
        socket.hear().unwrap().expect_problem(413, "payload_too_large");
        assert!(begun.elapsed() < Duration::from_secs(5), "refused before the body comes");
    }
    for path in ["/api/auth/sign-in", "/keys", "/media-library"] {
        let request = lab.post(path).key(&lab.key).header("content-type", "application/json");
        let refused = request.body(padded(LARGEST_BODY + 1)).send();
        assert!([403, 413].contains(&refused.status), "{path}: {}", refused.text());
    }
    let named = lab.post("/posts").key(&lab.key).header("content-type", "application/json");
    let named = named.header("idempotency-key", "large").body(padded(LARGEST_BODY + 1));
    named.send().expect_problem(413, "payload_too_large");
}

// 4.01
#[test]
fn a_body_without_an_end_is_cut_at_the_limit() {
    let lab = Lab::start(Engine::Sqlite);
    new_post(&lab, json!({}));
    let before = lab.memory("VmRSS");
    lab.forget_peak_memory();

    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut socket = lab.socket();
                socket.say(head(&lab, "transfer-encoding: chunked")).unwrap();
                let chunk = format!("4000\r\n{}\r\n", " ".repeat(0x4000));
                let sent = (0..10_000).take_while(|_| socket.say(&chunk).is_ok()).count() * 0x4000;
                assert!(sent < 32 * LARGEST_BODY, "took {sent} bytes");
                let heard = socket.hear_out().unwrap_or_default();
                // The answer may be lost when the connection is cut while we still talk.
                if !heard.is_empty() {
                    assert!(heard.starts_with(b"HTTP/1.1 413 "), "{}", heard.escape_ascii());
                }
            });
        }
    });

    let grown = lab.memory("VmHWM").saturating_sub(before);
    assert!(grown < 8 * (2 * LARGEST_BODY as u64 + (1 << 20)), "grew by {grown} bytes");
    lab.get("/health").send().expect(200);
}

// 4.03
#[test]
fn a_compressed_body_is_not_unpacked() {
    let lab = Lab::start(Engine::Sqlite);

    for encoding in ["gzip", "deflate", "br", "zstd", "identity, gzip", "x-gzip"] {
        let request = lab.post("/posts").key(&lab.key).header("content-encoding", encoding);
        let request = request.header("content-type", "application/json").body(b"\x1f\x8b\x08\0");
        request.send().expect_problem(415, "unsupported_media_type");
    }
}

// 4.07
#[test]
fn json_that_is_meant_to_hurt_does_not() {
    let lab = Lab::start(Engine::Sqlite);
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let objects = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));

    for (name, body) in [
        ("33 lists", nested(33)),
        ("33 objects", objects(33)),
        ("128 lists", nested(128)),
        ("129 lists", nested(129)),
        ("100,000 lists", nested(100_000)),
        ("100,000 objects", objects(100_000)),
        ("100,000 openings", "[".repeat(100_000)),
        ("many numbers", format!("[{}1]", "1,".repeat(500_000))),
        ("many numbers in a field", format!(r#"{{"tags":[{}1]}}"#, "1,".repeat(500_000))),
        ("many objects", format!(r#"{{"media":[{}{{}}]}}"#, "{},".repeat(300_000))),
        (
            "many names",
            format!(
                "{{{}\"z\":1}}",
                (0..60_000).map(|n| format!("\"{n}\":1,")).collect::<String>()
            ),
        ),
        ("a long number", format!(r#"{{"content":{}}}"#, "9".repeat(1_000_000))),
        ("a long fraction", format!(r#"{{"content":0.{}}}"#, "9".repeat(1_000_000))),
        ("a long exponent", format!(r#"{{"content":1e{}}}"#, "9".repeat(1_000_000))),
        ("a long name", format!(r#"{{"{}":1}}"#, "k".repeat(1_000_000))),
        ("a long text", format!(r#"{{"content":"{}"}}"#, "t".repeat(1_000_000))),
        ("many escapes", format!(r#"{{"tags":["{}"]}}"#, "\\u0041".repeat(170_000))),
    ] {
        let begun = Instant::now();
        let request = lab.post("/posts").key(&lab.key).header("content-type", "application/json");
        let refused = request.body(body).send();
        assert!([400, 422].contains(&refused.status), "{name}: {}", refused.status);
        assert!(
            refused.body.len() < 64 * 1024,
            "{name}: an answer of {} bytes",
            refused.body.len()
        );
        assert!(begun.elapsed() < Duration::from_secs(2), "{name} took {:?}", begun.elapsed());
    }
    let shallow = lab.post("/posts").key(&lab.key).header("content-type", "application/json");
    let shallow = shallow.body(format!(r#"{{"x":{}}}"#, nested(31))).send();
    shallow.expect_problem(422, "validation_failed");
}

both! {
    // 4.08, X.15
    fn a_filter_is_a_text_and_not_a_pattern(lab: Lab) {
        let odd = [
            "100%",
            "a_b",
            "[a-z]",
            "a*b",
            "it's",
            "\"quoted\"",
            "a\\b",
            "--",
            "; DROP TABLE posts",
            "' OR '1'='1",
            "%' OR 1=1 --",
            "(a|b)+$",
            "a AND b",
            "NEAR(x)",
            "${7*7}",
            "{{7*7}}",
            "?",
            "$1",
            ":id",
        ];
        for tag in odd {
            new_post(&lab, json!({ "content": format!("text {tag} text"), "tags": [tag] }));
        }
        new_post(&lab, json!({ "content": "plain", "tags": ["aXb", "100 percent"] }));
        let count = |query: &str| {
            let page =
                lab.get(&format!("/posts?limit=200&{query}")).key(&lab.key).send().expect(200);
            list(&page.json["posts"]).len()
        };

        for tag in odd {
            assert_eq!(count(&format!("tag={}", encoded(tag))), 1, "tag {tag}");
            let whole = format!("text {tag} text");
            assert_eq!(count(&format!("text={}", encoded(&whole))), 1, "text {tag}");
        }
        for nothing in ["%25", "_", "%", "a%25b", "A_B%25"] {
            assert_eq!(count(&format!("tag={nothing}")), 0, "tag {nothing}");
        }
        assert_eq!(count("folder=%25"), 0);
        assert_eq!(count("text=_______"), 0);
        assert_eq!(count("text=t%25t"), 0);
        for filter in ["action", "resource", "resource_id"] {
            let page =
                lab.get(&format!("/audit-logs?{filter}=%25")).key(&lab.key).send().expect(200);
            assert_eq!(page.json["audit_logs"], json!([]), "{filter}");
        }
        for filter in ["text", "tag", "folder"] {
            for long in ["a".repeat(7000), "%25".repeat(2000), "(a%2B)%2B".repeat(500)] {
                let begun = Instant::now();
                let reply = lab.get(&format!("/posts?{filter}={long}")).key(&lab.key).send();
                assert_eq!(reply.status, 422, "{filter}");
                assert!(begun.elapsed() < Duration::from_secs(1));
            }
        }
    }
}

// 4.09
#[test]
fn a_page_has_a_size_within_reason() {
    let lab = Lab::start(Engine::Sqlite);
    new_post(&lab, json!({}));

    for path in ["/posts", "/media-library", "/keys", "/audit-logs"] {
        let ask = |limit: &str| lab.get(&format!("{path}?limit={limit}")).key(&lab.key).send();
        for good in ["1", "200"] {
            ask(good).expect(200);
        }
        for wrong in [
            "-1",
            "0",
            "201",
            "1e9",
            "1000000000",
            "9223372036854775808",
            "-9223372036854775809",
            "%2210%22",
            "10.0",
            "0x10",
            "%2B10",
            "010",
            "",
            "%20",
            "10%20",
            "ten",
            "NaN",
            "%D9%A1",
            "null",
        ] {
            let refused = ask(wrong).expect_problem(422, "validation_failed");
            assert_eq!(refused.json["errors"][0]["field"], "limit", "{wrong}: {}", refused.text());
        }
        let twice = ask("1&limit=2");
        expect_faults(twice, &[("limit", "duplicate_parameter")]);
        for wrong in ["x", "%00", "", "bnVsbA", "..", &"A".repeat(5000)] {
            let refused = lab.get(&format!("{path}?cursor={wrong}")).key(&lab.key).send();
            assert!([400, 422].contains(&refused.status), "{path} {wrong}: {}", refused.text());
        }
    }
}

// 4.11
#[test]
fn a_tree_has_ten_thousand_folders_and_no_more() {
    let lab = Lab::start(Engine::Sqlite);
    let branch = |number: usize| {
        let deep: Vec<_> = (1..16).map(|level| format!("{number}-{level}")).collect();
        format!("{number}/{}", deep.join("/"))
    };
    let create = |path: &str| {
        let body = json!({ "scope": "posts", "folder_path": path });
        lab.post("/content-folders").key(&lab.key).json(body).send()
    };

    for number in 0..10_000 / 16 {
        create(&branch(number)).expect(201);
    }

    create("one more").expect_problem(409, "limit_reached");
    let media = json!({ "scope": "media", "folder_path": "another tree" });
    lab.post("/content-folders").key(&lab.key).json(media).send().expect(201);
    let post = json!({ "content": "x", "folder_path": "by the back door" });
    let through_a_post = lab.post("/posts").key(&lab.key).json(post).send();
    through_a_post.expect_problem(409, "limit_reached");
    let moved = json!({ "scope": "posts", "folder_path": branch(0), "new_path": "a/b/c" });
    let through_a_move = lab.patch("/content-folders").key(&lab.key).json(moved).send();
    through_a_move.expect_problem(409, "limit_reached");
}

// 4.12
#[test]
fn slow_imports_of_one_tenant_do_not_stop_another() {
    let lab = Lab::start(Engine::Sqlite);
    let other = lab.tenant("b");
    let slow = Peer::start(|_, stream| {
        peer::begin(stream)?;
        stream.write_all(&fixture("photo.png")[..100])?;
        thread::sleep(Duration::from_secs(12));
        Ok(())
    });
    let quick = Peer::files();

    thread::scope(|scope| {
        let busy: Vec<_> = (0..40)
            .map(|_| scope.spawn(|| try_import(&lab, &lab.key, &slow.url("a.png")).status))
            .collect();
        crate::lab::wait_until("imports run", || slow.connections() >= 4);
        thread::sleep(Duration::from_millis(500));

        let reply = try_import(&lab, &other.key, &quick.url("photo.jpg"));

        assert_eq!(reply.status, 201, "{}", reply.text());
        let refused = busy.into_iter().map(|one| one.join().unwrap());
        let statuses: Vec<_> = refused.collect();
        assert!(
            statuses.iter().all(|status| [429, 502, 503, 504].contains(status)),
            "{statuses:?}"
        );
        assert!(slow.connections() < 40, "not everything at once");
    });
    let items: Value = lab.get("/media-library").key(&other.key).send().expect(200).json;
    assert_eq!(text(&items["items"][0]["media_type"]), "image/jpeg");
}
