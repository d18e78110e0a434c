//! Names whose answers lead inside, at once or by and by.

use std::sync::Arc;

use bytes::Bytes;
use campanile_connect::address::is_public;
use campanile_connect::{AnswerLimits, FetchError, Http, Policy, Refused};
use http::Request;

use crate::peer::{Peer, ok};
use crate::wiring::{Names, PUBLIC, Switchboard, client, failure, fetch, strict, strict_but_http};

const PRIVATE_ANSWERS: &[&[&str]] = &[
    &["127.0.0.1"],
    &["::1"],
    &[PUBLIC, "10.0.0.1"],
    &["10.0.0.1", PUBLIC],
    &[PUBLIC, "2606:4700::1111", "fe80::1"],
    &["::ffff:169.254.169.254"],
    &["64:ff9b::a00:1"],
    &["0.0.0.0"],
];

#[tokio::test]
async fn one_private_answer_spoils_all() {
    for answer in PRIVATE_ANSWERS {
        let names = Arc::new(Names::default().with("cdn.example.com", &[answer]));
        let board = Arc::new(Switchboard::default());
        let http = client(strict(), &names, &board);

        assert_eq!(failure(&http, "https://cdn.example.com/").await, "url_not_allowed");
        assert!(board.called().is_empty(), "{answer:?}");
    }
}

#[tokio::test]
async fn rebinding_never_gets_past_the_lookup_that_was_checked() {
    let peer = Peer::start(|_| ok("secret")).await;
    let names = Names::default().with("rebind.example.com", &[&[PUBLIC], &["127.0.0.1"]]);
    let (names, board) = (Arc::new(names), Arc::new(Switchboard::default()));
    let http = client(strict(), &names, &board);
    let url = format!("https://rebind.example.com:{}/", peer.address.port());

    for round in 0..1000 {
        let expected = if round % 2 == 0 { "connect_failed" } else { "url_not_allowed" };
        let request = Request::post(&url).body(Bytes::new()).expect("a request");
        let error = http.request(request, &AnswerLimits::default()).await.expect_err("blocked");
        assert_eq!((error.code(), error.surely_not_sent()), (expected, true), "{round}");
    }

    let called = board.called();
    assert_eq!((names.lookups(), called.len(), peer.connections()), (1000, 500, 0));
    assert!(called.iter().all(|address| is_public(address.ip())));
}

#[tokio::test]
async fn a_blocked_address_looks_the_same_whether_a_port_is_open_or_closed() {
    let peer = Peer::start(|_| ok("secret")).await;
    let open = peer.address.port();
    let closed = if open == 65535 { open - 1 } else { open + 1 };
    let names = Arc::new(Names::default().with("inside.example.com", &[&["127.0.0.1"]]));
    let board = Arc::new(Switchboard::to(peer.address));
    let http = client(strict(), &names, &board);
    let mut outcomes = Vec::new();

    for port in [open, closed] {
        let error = fetch(&http, &format!("https://inside.example.com:{port}/")).await.0;
        outcomes.push(format!("{:?}", error.expect_err("refused")));
    }

    assert_eq!(outcomes[0], outcomes[1]);
    assert!(!outcomes[0].contains("127"), "{}", outcomes[0]);
    assert!(board.called().is_empty());
}

#[tokio::test]
async fn an_own_public_address_is_closed() {
    let names = Arc::new(Names::default().with("other.example.com", &[&[PUBLIC]]));
    let board = Arc::new(Switchboard::default());
    let own_addresses = vec![PUBLIC.parse().expect("an address")];
    let http = client(Policy { own_addresses, ..strict() }, &names, &board);

    let error = fetch(&http, "https://other.example.com/").await.0.expect_err("refused");

    assert!(matches!(error, FetchError::Refused(Refused::PrivateNetwork)), "{error:?}");
    assert!(board.called().is_empty());
}

#[tokio::test]
async fn every_answer_is_tried_and_no_more_than_a_few() {
    let answer: Vec<String> = (1..=40).map(|last| format!("93.184.216.{last}")).collect();
    let answer: Vec<&str> = answer.iter().map(String::as_str).collect();
    let names = Names::default()
        .with("two.example.com", &[&[PUBLIC, "2606:4700::1111"]])
        .with("many.example.com", &[&answer]);
    let (names, board) = (Arc::new(names), Arc::new(Switchboard::default()));
    let http = client(strict(), &names, &board);

    assert_eq!(failure(&http, "https://two.example.com/").await, "connect_failed");
    assert_eq!(board.called().len(), 2);
    assert_eq!(failure(&http, "https://many.example.com/").await, "connect_failed");
    assert_eq!(board.called().len(), 2 + 6);
}

#[tokio::test]
async fn a_public_name_is_connected_to_at_its_checked_address() {
    let peer = Peer::start(|_| ok("picture")).await;
    let names = Arc::new(Names::default().with("cdn.example.com", &[&[PUBLIC]]));
    let board = Arc::new(Switchboard::to(peer.address));
    let http = client(strict_but_http(), &names, &board);

    let (outcome, content) = fetch(&http, "http://cdn.example.com./a.png?x#y").await;

    assert_eq!(outcome.expect("downloaded").final_url, "http://cdn.example.com/a.png?x");
    assert_eq!(content, b"picture");
    assert_eq!(board.called(), [format!("{PUBLIC}:80").parse().expect("an address")]);
    assert!(peer.requests()[0].contains("host: cdn.example.com\r\n"), "{:?}", peer.requests());
}

#[tokio::test]
async fn an_unknown_name_is_not_found() {
    let names = Names::default().with("empty.example.com", &[&[]]);
    let http = client(strict(), &Arc::new(names), &Arc::new(Switchboard::default()));

    assert_eq!(failure(&http, "https://unknown.example.com/").await, "dns_failed");
    assert_eq!(failure(&http, "https://empty.example.com/").await, "dns_failed");
}

#[tokio::test]
async fn the_real_network_is_guarded_too() {
    let http = Http::new(strict());

    assert_eq!(failure(&http, "https://127.0.0.1/").await, "url_not_allowed");
    assert_eq!(failure(&http, "https://localhost/").await, "url_not_allowed");
}
