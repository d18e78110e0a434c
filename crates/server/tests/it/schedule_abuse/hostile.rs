//! API8, API10: what somebody types, and what a server says, is not believed.

use std::{io::Write, net::TcpStream};

use serde_json::json;

use crate::{
    lab::{Engine, Lab, Reply, both},
    peer::{self, Peer},
    steps::text,
};

/// Names a server for an account that is nobody's.
pub(super) fn connect(lab: &Lab, platform: &str, server: &str) -> Reply {
    let form = match platform {
        "mastodon" => json!({ "server": server, "access_token": "token-of-a-test" }),
        _ => json!({
            "server": server, "handle": "somebody.example.com", "app_password": "abcd-efgh-ijkl-mnop",
        }),
    };
    lab.post(&format!("/connections/{platform}")).key(&lab.key).json(form).send()
}

/// Says it is JSON of any length, and goes on until the other side has had enough.
fn endless(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n[",
    )?;
    loop {
        stream.write_all(&[b' '; 64 * 1024])?;
    }
}

// 10.01
#[test]
fn a_server_that_talks_nonsense_is_no_trouble() {
    let lab = Lab::start(Engine::Sqlite);
    let deep = "[".repeat(100_000);
    let nonsense: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"<html><script>alert(1)</script>".to_vec(),
        br#"{"domain": "a", "version": "4.3.0", "configuration": {"statuses":"#.to_vec(),
        br#"{"domain": 7, "version": [], "configuration": null}"#.to_vec(),
        br#"{"did": "did:plc:abc", "handle": 7, "accessJwt": {}, "refreshJwt": null}"#.to_vec(),
        b"\xff\xfe\x00 not text".to_vec(),
        deep.into_bytes(),
        b"null".to_vec(),
    ];
    for body in nonsense {
        let sent = body.clone();
        let server = Peer::start(move |_, stream| peer::give(stream, "application/json", &sent));
        for platform in ["mastodon", "bluesky"] {
            let reply = connect(&lab, platform, server.url("").trim_end_matches('/'));
            let said = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
            assert!([422, 502].contains(&reply.status), "{platform} {said}: {}", reply.text());
            assert!(!reply.text().contains("<script>"), "{}", reply.text());
        }
    }
    let before = lab.memory("VmRSS");
    let server = Peer::start(|_, stream| endless(stream));
    for platform in ["mastodon", "bluesky"] {
        let reply = connect(&lab, platform, server.url("").trim_end_matches('/'));
        assert!([422, 502, 504].contains(&reply.status), "{platform}: {}", reply.text());
    }
    let grown = lab.memory("VmHWM").saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes for an answer without an end");
    let found = lab.get("/connections").key(&lab.key).send().expect(200).json;
    assert_eq!(found["connections"], json!([]));
}

// 10.04
#[test]
fn a_server_that_answers_for_another_account_is_not_believed() {
    let lab = Lab::start(Engine::Sqlite);
    // Its name for the account is not the one that was typed.
    let session = br#"{"did": "did:plc:somebodyelse", "handle": "else.example.com",
        "accessJwt": "a.b.c", "refreshJwt": "d.e.f"}"#;
    let server = Peer::start(move |_, stream| peer::give(stream, "application/json", session));
    let form = json!({
        "server": server.url("").trim_end_matches('/'), "handle": "did:plc:theoneitis",
        "app_password": "abcd-efgh-ijkl-mnop",
    });
    let refused = lab.post("/connections/bluesky").key(&lab.key).json(form).send();
    crate::steps::expect_faults(refused, &[("handle", "wrong_account")]);
}

both! {
    // 8.01, X.01, X.02
    fn control_characters_reach_no_server(lab: Lab) {
        let server = Peer::start(|_, stream| peer::give(stream, "application/json", b"{}"));
        let origin = server.url("").trim_end_matches('/').to_owned();
        for bad in ["\u{0}", "\r\nx: y", "a\nb", "a\tb", "\u{7f}x", "a b"] {
            let token = format!("token{bad}end");
            let form = json!({ "server": origin, "access_token": token });
            let reply = lab.post("/connections/mastodon").key(&lab.key).json(form).send();
            let reply = reply.expect_problem(422, "validation_failed");
            assert_eq!(text(&reply.json["errors"][0]["field"]), "access_token", "{bad:?}");
        }
        assert_eq!(server.connections(), 0);
        for handle in ["\u{0}", "a\r\nb", "a\tb", "\u{7f}"] {
            let form = json!({ "handle": handle });
            let reply = lab.post("/connections/sandbox").key(&lab.key).json(form).send();
            reply.expect_problem(422, "validation_failed");
        }
        for body in [r#"{"handle":"\ud800"}"#, r#"{"handle":"a","handle":"b"}"#, "[]", "{"] {
            let request = lab.post("/connections/sandbox").key(&lab.key);
            let reply = request.header("content-type", "application/json").body(body).send();
            assert!([400, 422].contains(&reply.status), "{body}: {}", reply.text());
        }
        let found = lab.get("/connections").key(&lab.key).send().expect(200).json;
        assert_eq!(found["connections"], json!([]));
    }
}
