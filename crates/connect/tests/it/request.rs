//! Single requests with small answers.

use std::time::Duration;

use bytes::Bytes;
use campanile_connect::{AnswerLimits, FetchError, Http, Overflow, Phase};
use http::{Request, Response};

use crate::peer::{Peer, Step, ok, redirect, say};
use crate::wiring::private;

async fn post(peer: &Peer, limits: &AnswerLimits) -> Result<Response<Bytes>, FetchError> {
    let request = Request::post(peer.url("/hook?a=b"))
        .header("host", "elsewhere.example.com")
        .header("connection", "upgrade")
        .header("content-length", "99")
        .header("transfer-encoding", "chunked")
        .header("x-signature", "v1,abc")
        .body(Bytes::from_static(b"{}"));
    Http::new(private()).request(request.expect("a request"), limits).await
}

#[tokio::test]
async fn the_request_arrives_whole_and_the_answer_is_given_back() {
    let peer =
        Peer::start(|_| say("HTTP/1.1 202 OK\r\nx-a: b\r\ncontent-length: 2\r\n\r\nhi")).await;

    let answer = post(&peer, &AnswerLimits::default()).await.expect("an answer");

    assert_eq!((answer.status().as_u16(), answer.body().as_ref()), (202, b"hi".as_slice()));
    assert_eq!(answer.headers()["x-a"], "b");
    let request = peer.requests().remove(0);
    assert!(request.starts_with("post /hook?a=b http/1.1\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n{}"), "{request}");
    let own = format!("host: {}\r\n", peer.address);
    for header in
        [&own, "content-length: 2\r\n", "connection: close\r\n", "x-signature: v1,abc\r\n"]
    {
        assert_eq!(request.matches(header).count(), 1, "{header} in {request}");
    }
    for header in ["elsewhere", "transfer-encoding", "upgrade", "length: 99"] {
        assert!(!request.contains(header), "{header} in {request}");
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer_like_any_other() {
    let peer = Peer::start(|_| redirect(302, "http://127.0.0.1/")).await;

    let answer = post(&peer, &AnswerLimits::default()).await.expect("an answer");

    assert_eq!((answer.status().as_u16(), peer.connections()), (302, 1));
}

#[tokio::test]
async fn a_long_answer_is_cut_or_refused() {
    let peer = Peer::start(|_| {
        let head = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        vec![Step::Send(head), Step::Drip(vec![b'x'; 10_000], Duration::ZERO)]
    })
    .await;
    let cut = AnswerLimits { overflow: Overflow::Cut, ..AnswerLimits::default() };

    let answer = post(&peer, &cut).await.expect("an answer");
    assert_eq!(answer.body().len(), 64 * 1024);

    let error = post(&peer, &AnswerLimits::default()).await.expect_err("too much");
    assert!(matches!(error, FetchError::TooLarge { limit: 65_536 }), "{error:?}");
    assert!(!error.surely_not_sent());
}

#[tokio::test]
async fn the_deadline_includes_the_body() {
    let peer = Peer::start(|_| {
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\n".to_vec();
        vec![Step::Send(head), Step::Drip(b"x".to_vec(), Duration::from_millis(10))]
    })
    .await;
    let limits = AnswerLimits { total: Duration::from_millis(300), ..AnswerLimits::default() };

    let error = post(&peer, &limits).await.expect_err("too slow");

    assert!(matches!(error, FetchError::Timeout { phase: Phase::Body }), "{error:?}");
    assert!(!error.surely_not_sent());
}

#[tokio::test]
async fn a_lost_answer_is_not_taken_for_an_unsent_request() {
    let peer = Peer::start(|_| Vec::new()).await;

    let error = post(&peer, &AnswerLimits::default()).await.expect_err("no answer");

    assert_eq!((error.code(), error.surely_not_sent()), ("truncated", false));
    assert_eq!(peer.connections(), 1, "nothing is sent twice");
}

#[tokio::test]
async fn tunnels_and_relative_addresses_are_refused() {
    let peer = Peer::start(|_| ok("")).await;
    let tunnel = Request::connect(peer.url("/")).body(Bytes::new()).expect("a request");
    let relative = Request::get("/hook").body(Bytes::new()).expect("a request");
    let http = Http::new(private());

    for request in [tunnel, relative] {
        let error = http.request(request, &AnswerLimits::default()).await.expect_err("refused");
        assert_eq!((error.code(), error.surely_not_sent()), ("url_not_allowed", true));
    }

    assert_eq!(peer.connections(), 0);
}

#[tokio::test]
async fn an_empty_post_says_that_it_is_empty() {
    let peer = Peer::start(|_| ok("")).await;
    let request = Request::post(peer.url("/")).body(Bytes::new()).expect("a request");

    Http::new(private()).request(request, &AnswerLimits::default()).await.expect("an answer");

    assert!(peer.requests()[0].contains("content-length: 0\r\n"), "{:?}", peer.requests());
}
