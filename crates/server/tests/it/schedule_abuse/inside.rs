//! API7: the server of an account is somebody's word. It leads nowhere inside.

use std::net::TcpListener;

use serde_json::{Value, json};

use super::hostile::connect;
use crate::{
    lab::{Engine, Lab, Reply},
    peer::Peer,
};

const FORMS: [&str; 2] = ["mastodon", "bluesky"];

fn public_lab() -> Lab {
    Lab::start_with(Engine::Sqlite, &[("CAMPANILE_ALLOW_PRIVATE_NETWORKS", "false")])
}

#[track_caller]
fn expect_refused(reply: Reply, what: &str) -> Value {
    assert_eq!(
        (reply.status, reply.code()),
        (422, "validation_failed"),
        "{what}: {}",
        reply.text()
    );
    assert_eq!(reply.json["errors"][0]["field"], "server", "{what}: {}", reply.text());
    let mut answer = reply.json;
    answer["request_id"] = Value::Null;
    answer
}

/// Names every server for both platforms, and makes sure that nobody inside was asked.
#[track_caller]
fn all_are_refused(hosts: &[&str]) {
    let lab = public_lab();
    let inside = Peer::start(|_, stream| crate::peer::give(stream, "application/json", b"{}"));
    let port = inside.port();
    for host in hosts {
        for server in [
            format!("https://{host}:{port}"),
            format!("http://{host}:{port}"),
            format!("{host}:{port}"),
            (*host).to_owned(),
        ] {
            for platform in FORMS {
                expect_refused(connect(&lab, platform, &server), &format!("{platform} {server}"));
            }
        }
    }
    assert_eq!(inside.connections(), 0);
    let found = lab.get("/connections").key(&lab.key).send().expect(200).json;
    assert_eq!(found["connections"], json!([]));
}

// 7.01
#[test]
fn the_server_of_an_account_is_no_address_of_this_machine() {
    all_are_refused(&[
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.0.0.1.",
        "0",
        "0.0.0.0",
        "１２７.０.０.１",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
    ]);
}

// 7.02
#[test]
fn the_server_of_an_account_is_no_address_in_the_newer_notation() {
    all_are_refused(&[
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[fd00::1]",
    ]);
}

// 7.03, 7.08
#[test]
fn the_server_of_an_account_is_no_private_network_and_no_cloud() {
    all_are_refused(&[
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "localhost",
        "a.localhost",
        "db.internal",
        "router.lan",
        "metadata.google.internal",
        "[fd00:ec2::254]",
    ]);
}

// 7.05, 7.06
#[test]
fn the_server_of_an_account_reads_one_way_only() {
    let lab = public_lab();
    let inside = Peer::start(|_, stream| crate::peer::give(stream, "application/json", b"{}"));
    let port = inside.port();
    for server in [
        "https://example.com@127.0.0.1:PORT",
        "https://127.0.0.1:PORT#@example.com",
        "https://127.0.0.1:PORT\\@example.com",
        "https://127.0.0.1:PORT?@example.com",
        "file:///etc/passwd",
        "gopher://127.0.0.1:PORT/x",
        "ftp://127.0.0.1:PORT/",
        "//127.0.0.1:PORT",
        "https://127.0.0.1%00.example.com:PORT",
        "https://exa mple.com",
        "https://example.com:22",
        "https://example.com:0",
        "https://example.com:65536",
        "https://",
    ] {
        let server = server.replace("PORT", &port.to_string());
        for platform in FORMS {
            let reply = connect(&lab, platform, &server);
            assert_eq!(reply.status, 422, "{platform} {server:?}: {}", reply.text());
        }
    }
    assert_eq!(inside.connections(), 0);
}

// 7.07
#[test]
fn the_service_is_no_server_of_an_account() {
    let lab = Lab::start(Engine::Sqlite);
    let port = lab.origin().rsplit(':').next().unwrap().to_owned();
    for host in ["127.0.0.1", "127.1", "0x7f.1", "2130706433", "127.0.0.1."] {
        for platform in FORMS {
            let server = format!("http://{host}:{port}");
            let reply = connect(&lab, platform, &server);
            expect_refused(reply, &server);
        }
    }
    lab.stop();
    // Whatever asks for a network's paths finds nothing here, which would be in the log.
    assert!(!lab.log().contains("\"status\":404"), "the service asked itself");
}

// 7.04
#[test]
fn a_server_that_sends_elsewhere_is_not_followed() {
    let lab = Lab::start(Engine::Sqlite);
    let inside = Peer::start(|_, stream| crate::peer::give(stream, "application/json", b"{}"));
    let target = inside.url("secret");
    let redirecting = Peer::start(move |_, stream| crate::peer::redirect(stream, 307, &target));
    for platform in FORMS {
        let reply = connect(&lab, platform, redirecting.url("").trim_end_matches('/'));
        assert!([422, 502].contains(&reply.status), "{platform}: {}", reply.text());
    }
    assert_eq!(inside.connections(), 0, "a token would have gone along");
}

// 7.11
#[test]
fn an_open_port_inside_and_a_closed_one_sound_the_same() {
    let lab = public_lab();
    let open = Peer::start(|_, stream| crate::peer::give(stream, "application/json", b"{}"));
    let closed = { TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port() };
    for platform in FORMS {
        let answer = |port: u16| {
            let server = format!("https://127.0.0.1:{port}");
            expect_refused(connect(&lab, platform, &server), &server)
        };
        assert_eq!(answer(open.port()), answer(closed));
    }
    assert_eq!(open.connections(), 0);
}
