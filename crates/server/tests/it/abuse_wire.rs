//! API4 and API8 below HTTP: what no client library would send.

use std::{
    io::Write,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    lab::{BASE_PATH, Engine, Lab, Reply},
    media::import,
    media_upload::sign,
    peer::{Peer, fixture},
    steps::{list, text},
};

/// A whole request that shows by its answer that it was understood as one.
fn whoami(lab: &Lab) -> String {
    format!(
        "GET {BASE_PATH}/whoami HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n",
        lab.key
    )
}

fn post(lab: &Lab, framing: &str, body: &str) -> String {
    format!(
        "POST {BASE_PATH}/posts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\n{framing}\r\n\r\n{body}",
        lab.key
    )
}

/// Everything the service says to these bytes until it closes the connection.
fn converse(lab: &Lab, bytes: &str) -> String {
    let mut socket = lab.socket().patience(Duration::from_secs(20));
    let _ = socket.say(bytes);
    let heard = socket.hear_out().unwrap_or_else(|error| panic!("{bytes:?}: {error}"));
    String::from_utf8_lossy(&heard).into_owned()
}

fn answers(heard: &str) -> usize {
    heard.matches("HTTP/1.1 ").count()
}

fn posts(lab: &Lab) -> usize {
    list(&lab.get("/posts").key(&lab.key).send().expect(200).json["posts"]).len()
}

// 4.02
#[test]
fn a_request_that_can_be_framed_in_two_ways_ends_the_connection() {
    let lab = Lab::start(Engine::Sqlite);
    let next = whoami(&lab);
    let chunks = "2\r\n{}\r\n0\r\n\r\n";
    let mut accepted = Vec::new();

    for (framing, body) in [
        ("content-length: 5\r\ntransfer-encoding: chunked", "0\r\n\r\n"),
        ("transfer-encoding: chunked\r\ncontent-length: 5", "0\r\n\r\n"),
        ("content-length: 2\r\ncontent-length: 3", "{}"),
        ("content-length: 2, 3", "{}"),
        ("content-length: -2", "{}"),
        ("content-length: +2", "{}"),
        ("content-length: 0x2", "{}"),
        ("content-length: 2 2", "{}"),
        ("content-length: \"2\"", "{}"),
        ("content-length: 18446744073709551618", "{}"),
        ("content-length : 2", "{}"),
        ("transfer-encoding: xchunked", chunks),
        ("transfer-encoding: chunked, identity", chunks),
        ("transfer-encoding: identity", "{}"),
        ("transfer-encoding: gzip", "{}"),
        ("transfer-encoding : chunked", chunks),
        ("transfer-encoding: chunked\r\ntransfer-encoding: identity", chunks),
        ("transfer-encoding:\r\n chunked", chunks),
        ("transfer-encoding: chunked", "0x2\r\n{}\r\n0\r\n\r\n"),
        ("transfer-encoding: chunked", "-2\r\n{}\r\n0\r\n\r\n"),
        ("transfer-encoding: chunked", "10000000000000002\r\n{}\r\n0\r\n\r\n"),
        ("transfer-encoding: chunked", "2\n{}\n0\n\n"),
        ("transfer-encoding: chunked", "2\r\n{}0\r\n\r\n"),
    ] {
        let heard = converse(&lab, &format!("{}{next}", post(&lab, framing, body)));

        assert!(!heard.contains(&lab.email), "{framing:?} {body:?}: {heard}");
        let taken = posts(&lab);
        if taken > accepted.len() || heard.contains("HTTP/1.1 2") || answers(&heard) > 1 {
            accepted.push(format!("{framing:?} {body:?}: {heard:?}"));
        }
    }

    assert!(accepted.is_empty(), "{accepted:#?}");
}

// 4.02: the HTTP layer drops the length before we see it, takes the transfer encoding, as RFC 9112
// says, and closes: what follows is never taken for a request.
#[test]
fn a_length_beside_a_transfer_encoding_smuggles_nothing() {
    let lab = Lab::start(Engine::Sqlite);
    let next = "GET /api/external/v1/whoami HTTP/1.1\r\nhost: x\r\n\r\n";
    let framing = "content-length: 12\r\ntransfer-encoding: chunked";
    let first = post(&lab, framing, "2\r\n{}\r\n0\r\n\r\n");

    let heard = converse(&lab, &format!("{first}{next}"));

    assert_eq!(answers(&heard), 1, "{heard}");
    assert!(heard.contains("connection: close"), "{heard}");
}

// 4.02
#[test]
fn a_body_shorter_or_longer_than_declared_is_an_error() {
    let lab = Lab::start(Engine::Sqlite);

    let heard = converse(&lab, &post(&lab, "content-length: 5", r#"{"content":"x"}"#));
    assert!(heard.starts_with("HTTP/1.1 400 "), "the declared part alone is no JSON: {heard:?}");
    let mut socket = lab.socket();
    socket.say(post(&lab, "content-length: 50", r#"{"content":"x"}"#)).unwrap();
    socket.finish();
    let heard = socket.hear_out().unwrap();
    let heard = String::from_utf8_lossy(&heard);
    assert!(heard.is_empty() || heard.starts_with("HTTP/1.1 400 "), "{heard}");
    let mut socket = lab.socket();
    socket.say(post(&lab, "transfer-encoding: chunked", "2\r\n{}\r\n")).unwrap();
    socket.finish();
    let heard = socket.hear_out().unwrap();
    assert!(!heard.starts_with(b"HTTP/1.1 2"), "{}", heard.escape_ascii());
    assert_eq!(posts(&lab), 0);
}

#[test]
fn requests_in_a_row_on_one_connection_are_answered_in_a_row() {
    let lab = Lab::start(Engine::Sqlite);
    let mut socket = lab.socket();

    let framed = post(&lab, "content-length: 2", "{}");
    let chunked = post(&lab, "transfer-encoding: chunked", "2\r\n{}\r\n0\r\n\r\n");
    socket
        .say([&framed, &whoami(&lab), &chunked, &whoami(&lab)].map(String::as_str).concat())
        .unwrap();

    for status in [201, 200, 201, 200] {
        socket.hear().unwrap().expect(status);
    }
    assert_eq!(posts(&lab), 2);
}

#[test]
fn an_answer_does_not_wait_for_the_next_request() {
    let lab = Lab::start(Engine::Sqlite);

    // Old clients end a body with a line more than its length says.
    for more in ["\r\n", "G", "GET /x HTTP/1.1\r\nhost: x\r\n"] {
        let mut socket = lab.socket().patience(Duration::from_secs(30));
        let begun = Instant::now();
        socket.say(format!("{}{more}", post(&lab, "content-length: 2", "{}"))).unwrap();
        let reply = socket.hear().unwrap_or_else(|error| panic!("followed by {more:?}: {error}"));
        reply.expect(201);
        assert!(begun.elapsed() < Duration::from_secs(5), "{more:?}: {:?}", begun.elapsed());
    }
}

// 8.08
#[test]
fn a_refusal_below_the_service_is_a_problem_as_well() {
    let lab = Lab::start(Engine::Sqlite);
    let many: String = (0..300).map(|number| format!("x-{number}: y\r\n")).collect();

    let mut faults = Vec::new();
    for (name, status, bytes) in [
        ("no such method form", 400, "GE<T> /x HTTP/1.1\r\nhost: x\r\n\r\n".to_owned()),
        ("no request line", 400, "hello\r\n\r\n".to_owned()),
        ("no such version", 400, "GET /x HTTP/9.9\r\nhost: x\r\n\r\n".to_owned()),
        (
            "a control character in the path",
            400,
            "GET /\u{1}x HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
        ),
        ("a space before the colon", 400, "GET /x HTTP/1.1\r\nhost : x\r\n\r\n".to_owned()),
        ("a NUL in a header", 400, "GET /x HTTP/1.1\r\nhost: x\r\nx: a\0b\r\n\r\n".to_owned()),
        ("a folded header", 400, "GET /x HTTP/1.1\r\nhost: x\r\nx: a\r\n b\r\n\r\n".to_owned()),
        ("a path of 9 KB", 414, format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "x".repeat(9_000))),
        (
            "a path of 70 KB",
            414,
            format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "x".repeat(70_000)),
        ),
        (
            "a header of 20 KB",
            431,
            format!("GET /x HTTP/1.1\r\nhost: {}\r\n\r\n", "x".repeat(20_000)),
        ),
        (
            "a header of 200 KB",
            431,
            format!("GET /x HTTP/1.1\r\nhost: {}\r\n\r\n", "x".repeat(200_000)),
        ),
        ("300 headers", 431, format!("GET /x HTTP/1.1\r\nhost: x\r\n{many}\r\n")),
    ] {
        let mut socket = lab.socket().patience(Duration::from_secs(20));
        let _ = socket.say(&bytes);
        match socket.hear() {
            Ok(reply) if reply.status == status && is_problem(&reply) => {}
            Ok(reply) => faults.push(format!("{name}: {} {}", reply.status, reply.text())),
            Err(error) => faults.push(format!("{name}: {error}")),
        }
    }

    assert!(faults.is_empty(), "{faults:#?}");
}

fn is_problem(reply: &Reply) -> bool {
    reply.header("content-type") == Some("application/problem+json")
        && reply.json["request_id"].is_string()
        && !reply.code().is_empty()
}

// 4.04
#[test]
fn slow_heads_hurt_nobody_else_and_are_cut_off() {
    let lab = Lab::start(Engine::Sqlite);
    // One address may hold 256 connections; whoever wants more is turned away at once.
    let mut slow: Vec<_> = (0..300).map(|_| lab.socket()).collect();
    let begun = Instant::now();
    let mut times = Vec::new();
    for socket in &mut slow {
        let _ = socket.say("GET / HTTP/1.1\r\nhost: x\r\nx: ");
    }
    while begun.elapsed() < Duration::from_secs(9) {
        for socket in &mut slow {
            let _ = socket.say("x");
        }
        for _ in 0..5 {
            let mut normal = lab.socket_from([127, 0, 0, 2]);
            let asked = Instant::now();
            normal.say(whoami(&lab)).unwrap();
            normal.hear().unwrap().expect(200);
            times.push(asked.elapsed());
        }
        thread::sleep(Duration::from_millis(500));
    }

    for socket in slow {
        let heard = socket.patience(Duration::from_secs(5)).hear_out().expect("closed by now");
        let heard = String::from_utf8_lossy(&heard);
        assert!(heard.is_empty() || heard.starts_with("HTTP/1.1 408 "), "{heard}");
        assert!(begun.elapsed() < Duration::from_secs(15), "closed within some ten seconds");
    }
    times.sort();
    let (usual, slowest) = (times[times.len() / 2], times[times.len() - 1]);
    assert!(usual < Duration::from_millis(100), "{usual:?}");
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    lab.get("/health").send().expect(200);
}

// 4.04
#[test]
fn a_connection_that_says_nothing_is_closed() {
    let lab = Lab::start(Engine::Sqlite);
    let begun = Instant::now();
    let silent = lab.socket();
    let mut kept = lab.socket();
    kept.say(whoami(&lab)).unwrap();
    kept.hear().unwrap().expect(200);

    for socket in [silent, kept] {
        assert_eq!(socket.hear_out().expect("closed at last"), b"");
        assert!(begun.elapsed() < Duration::from_secs(65));
    }
}

// 4.05
#[test]
fn whoever_sends_or_reads_too_slowly_is_cut_off() {
    let lab = Lab::start(Engine::Sqlite);
    let large =
        import(&lab, &lab.key, &Peer::of(crate::media_storage::noisy_gif(24 << 20)).url("a"));
    let upload = sign(&lab, &lab.key, "image/png", fixture("photo.png").len());

    let faults: Vec<&str> = thread::scope(|scope| {
        let body = scope.spawn(|| {
            let mut socket = lab.socket();
            socket.say(post(&lab, "content-length: 1000", "{")).unwrap();
            dribble(socket)
        });
        let upload = scope.spawn(|| {
            let path = text(&upload["url"]).strip_prefix(&lab.origin()).unwrap();
            let size = text(&upload["headers"]["content-length"]);
            let head = format!(
                "PUT {path} HTTP/1.1\r\nhost: x\r\ncontent-type: image/png\r\n\
                 content-length: {size}\r\n\r\n"
            );
            let mut socket = lab.socket();
            socket.say(head).unwrap();
            dribble(socket)
        });
        let reader = scope.spawn(|| {
            let path = text(&large["url"]).strip_prefix(&lab.origin()).unwrap();
            let mut socket = lab.socket();
            socket
                .say(format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"))
                .unwrap();
            thread::sleep(Duration::from_secs(45));
            let heard = socket.hear_out().map_or(0, |heard| heard.len());
            heard < 24 << 20
        });
        [
            ("a body of a byte a second", body.join().unwrap()),
            ("an upload of a byte a second", upload.join().unwrap()),
            ("a reader who does not read", reader.join().unwrap()),
        ]
        .into_iter()
        .filter_map(|(name, cut)| (!cut).then_some(name))
        .collect()
    });

    assert!(faults.is_empty(), "not cut off after 45 seconds: {faults:?}");
}

/// Says one byte a second; true when the service has had enough of it within 45 seconds.
fn dribble(mut socket: crate::lab::Socket) -> bool {
    for _ in 0..45 {
        thread::sleep(Duration::from_secs(1));
        if socket.say(" ").is_err() {
            return true;
        }
    }
    let heard = socket.patience(Duration::from_millis(200)).hear_out();
    heard.is_ok_and(|heard| heard.is_empty() || heard.starts_with(b"HTTP/1.1 408 "))
}

#[test]
fn a_header_in_no_known_writing_does_no_harm() {
    let lab = Lab::start(Engine::Sqlite);

    for name in [
        "user-agent",
        "x-request-id",
        "cookie",
        "accept",
        "if-match",
        "if-none-match",
        "idempotency-key",
        "origin",
        "range",
        "x-app-brand-id",
        "content-type",
        "authorization",
    ] {
        for value in [&b"\xff\xfe\x80"[..], b"\xc3\xa9", b"\xed\xa0\x80"] {
            let mut head = format!("POST {BASE_PATH}/posts HTTP/1.1\r\nhost: x\r\n").into_bytes();
            if name != "authorization" {
                write!(head, "authorization: Bearer {}\r\n", lab.key).unwrap();
            }
            if name != "content-type" {
                head.extend(b"content-type: application/json\r\n");
            }
            head.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
            head.extend(b"connection: close\r\ncontent-length: 2\r\n\r\n{}");
            let reply = lab.raw(&head).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(reply.status < 500, "{name}: {}", reply.text());
            let id = reply.header("x-request-id").unwrap();
            assert!(id.starts_with("req_"), "{name}: {id}");
        }
    }
    lab.post("/posts").key(&lab.key).json(json!({})).send().expect(201);
}
