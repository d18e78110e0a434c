//! Downloads from servers good and bad.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use campanile_connect::http::MinimumPace;
use campanile_connect::{DownloadLimits, FetchError, Http, Phase};
use tokio::io::AsyncWrite;

use crate::peer::{Peer, Step, ok, say};
use crate::wiring::{failure, fetch, private};

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/// Limits under which slowness shows within a second.
fn hasty() -> DownloadLimits {
    DownloadLimits {
        answer: Duration::from_millis(200),
        total: Duration::from_secs(5),
        pace: MinimumPace { bytes_per_second: 1000, window: Duration::from_millis(200) },
        ..DownloadLimits::up_to(1024 * 1024)
    }
}

async fn hasty_failure(peer: &Peer, limits: &DownloadLimits) -> FetchError {
    let http = Http::new(private());
    http.download(&peer.url("/"), limits, &mut Vec::new()).await.expect_err("a bad server")
}

#[tokio::test]
async fn a_file_comes_as_it_is() {
    let peer = Peer::start(|_| ok("picture")).await;

    let (outcome, content) = fetch(&Http::new(private()), &peer.url("/a.png")).await;

    let downloaded = outcome.expect("downloaded");
    assert_eq!((downloaded.bytes, content.as_slice()), (7, b"picture".as_slice()));
    assert_eq!(downloaded.content_type.as_deref(), Some("image/png"));
    assert_eq!(downloaded.final_url, peer.url("/a.png"));
    let request = peer.requests().remove(0);
    assert!(request.starts_with("get /a.png http/1.1\r\n"), "{request}");
    for header in ["user-agent: campanile/", "accept-encoding: identity\r\n", "host: 127.0.0.1:"] {
        assert!(request.contains(header), "{request}");
    }
    assert!(!request.contains("cookie") && !request.contains("authorization"), "{request}");
}

#[tokio::test]
async fn a_file_of_exactly_the_limit_comes_and_one_byte_more_does_not() {
    for (size, code) in [(1024, None), (1025, Some("too_large"))] {
        let declared = Peer::start(move |_| ok(&"x".repeat(size))).await;
        let until_close =
            Peer::start(move |_| say(format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(size)))).await;
        for peer in [declared, until_close] {
            let outcome = fetch(&Http::new(private()), &peer.url("/")).await.0;
            assert_eq!(outcome.err().map(|error| error.code()), code);
        }
    }
}

#[tokio::test]
async fn a_declared_size_over_the_limit_is_refused_before_the_body() {
    let peer = Peer::start(|_| {
        vec![
            Step::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n".to_vec()),
            Step::Hang,
        ]
    })
    .await;

    assert_eq!(failure(&Http::new(private()), &peer.url("/")).await, "too_large");
}

#[tokio::test]
async fn an_endless_body_is_stopped_at_the_limit() {
    let peer = Peer::start(|_| {
        let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000)).into_bytes();
        vec![Step::Send(CHUNKED.to_vec()), Step::Drip(chunk, Duration::ZERO)]
    })
    .await;
    let limits = DownloadLimits::up_to(100_000);
    let mut sink = Vec::new();

    let error = Http::new(private()).download(&peer.url("/"), &limits, &mut sink).await;

    assert!(matches!(error, Err(FetchError::TooLarge { limit: 100_000 })), "{error:?}");
    assert!(sink.len() <= 100_000);
}

#[tokio::test]
async fn a_slow_body_is_given_up() {
    let peer = Peer::start(|_| {
        let drip = Step::Drip(b"1\r\nx\r\n".to_vec(), Duration::from_millis(20));
        vec![Step::Send(CHUNKED.to_vec()), drip]
    })
    .await;

    assert_eq!(hasty_failure(&peer, &hasty()).await.code(), "too_slow");
}

#[tokio::test]
async fn a_fast_start_does_not_pay_for_a_stall() {
    let peer = Peer::start(|_| {
        let start = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(500_000)).into_bytes();
        vec![Step::Send(start), Step::Hang]
    })
    .await;

    assert_eq!(hasty_failure(&peer, &hasty()).await.code(), "too_slow");
}

#[tokio::test]
async fn a_steady_body_is_cut_off_at_the_deadline() {
    let peer = Peer::start(|_| {
        let drip = Step::Drip(vec![b'x'; 200], Duration::from_millis(20));
        vec![Step::Send(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()), drip]
    })
    .await;
    let limits = DownloadLimits { total: Duration::from_millis(700), ..hasty() };

    let error = hasty_failure(&peer, &limits).await;

    assert!(matches!(error, FetchError::Timeout { phase: Phase::Body }), "{error:?}");
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let silent = Peer::start(|_| vec![Step::Hang]).await;
    let dripping = Peer::start(|_| {
        let drip = Step::Drip(b"x-a: b\r\n".to_vec(), Duration::from_millis(20));
        vec![Step::Send(b"HTTP/1.1 200 OK\r\n".to_vec()), drip]
    })
    .await;
    let hesitant = Peer::start(|_| {
        let interim = b"HTTP/1.1 100 Continue\r\n\r\n".to_vec();
        vec![Step::Drip(interim, Duration::ZERO)]
    })
    .await;

    for peer in [silent, dripping, hesitant] {
        let error = hasty_failure(&peer, &hasty()).await;
        assert!(matches!(error, FetchError::Timeout { phase: Phase::Answer }), "{error:?}");
        assert!(!error.surely_not_sent());
    }
}

#[tokio::test]
async fn a_part_of_a_file_is_no_file() {
    let answers = [
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\nhalf",
        "HTTP/1.1 200 OK\r\nserver: gone",
        "",
    ];
    for answer in answers {
        let peer = Peer::start(move |_| say(answer)).await;
        assert_eq!(failure(&Http::new(private()), &peer.url("/")).await, "truncated", "{answer}");
    }
}

#[tokio::test]
async fn only_a_whole_file_is_a_success() {
    for status in [201, 204, 206, 304, 400, 401, 403, 404, 410, 429, 500, 503] {
        let peer =
            Peer::start(move |_| say(format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n")))
                .await;

        let outcome = fetch(&Http::new(private()), &peer.url("/")).await.0;

        assert!(matches!(outcome, Err(FetchError::Status(got)) if got == status), "{outcome:?}");
    }
}

#[tokio::test]
async fn nonsense_is_a_protocol_error() {
    let long = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(70_000));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(101));
    let squeezed = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 0\r\n\r\n";
    let answers = ["SSH-2.0-OpenSSH_9.9\r\n\r\n", "hello\r\n\r\n", &long, &many, squeezed];
    for answer in answers.map(ToOwned::to_owned) {
        let start: String = answer.chars().take(60).collect();
        let peer = Peer::start(move |_| say(answer.clone())).await;
        assert_eq!(
            failure(&Http::new(private()), &peer.url("/")).await,
            "protocol_error",
            "{start}"
        );
    }
}

#[tokio::test]
async fn a_closed_port_is_a_failed_connection() {
    // Port 1 is never handed out to another test.
    assert_eq!(failure(&Http::new(private()), "http://127.0.0.1:1/").await, "connect_failed");
}

/// A disk without room.
struct FullDisk;

impl AsyncWrite for FullDisk {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Err(io::ErrorKind::StorageFull.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn a_full_disk_is_told_apart_from_a_bad_server() {
    let peer = Peer::start(|_| ok("picture")).await;
    let http = Http::new(private());

    let error = http.download(&peer.url("/"), &hasty(), &mut FullDisk).await.expect_err("full");

    assert_eq!(error.code(), "storage_failed");
}
