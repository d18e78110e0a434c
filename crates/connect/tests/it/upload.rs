//! Bodies that are read while they are sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use campanile_connect::{AnswerLimits, Blob, BlobError, FetchError, Http, Phase, Upload};
use futures_util::stream::{self, StreamExt};
use http::{Request, Response};

use crate::peer::{Peer, Step, ok};
use crate::wiring::{private, strict};

const CHUNK: u64 = 64 * 1024;

/// A blob of any size that takes no room, and the number of bytes that were asked of it.
fn endless(size: u64) -> (Blob, Arc<AtomicU64>) {
    let asked = Arc::new(AtomicU64::new(0));
    let count = asked.clone();
    let chunks = stream::iter((0..size.div_ceil(CHUNK)).map(move |index| {
        let length = CHUNK.min(size - index * CHUNK);
        count.fetch_add(length, Ordering::SeqCst);
        Ok(Bytes::from(vec![b'x'; length as usize]))
    }));
    (Blob { size, range: 0..size, chunks: chunks.boxed() }, asked)
}

fn broken(error: BlobError) -> Blob {
    let chunks = stream::iter([Ok(Bytes::from_static(b"half")), Err(error)]);
    Blob { size: 8, range: 0..8, chunks: chunks.boxed() }
}

async fn send(peer: &Peer, body: Upload) -> Result<Response<Bytes>, FetchError> {
    let request = Request::post(peer.url("/media")).header("content-length", "7").body(());
    let limits = AnswerLimits { total: Duration::from_secs(2), ..AnswerLimits::default() };
    Http::new(private()).upload(request.expect("a request"), body, &limits).await
}

#[tokio::test]
async fn pieces_arrive_in_order_under_one_length() {
    let peer = Peer::start(|_| ok("{}")).await;
    let (blob, _) = endless(3 * CHUNK + 5);
    let body = Upload::new().bytes("<<").bytes("").blob(blob, 3 * CHUNK + 5).bytes(">>");
    assert_eq!(body.length(), 3 * CHUNK + 9);

    let answer = send(&peer, body).await.expect("an answer");

    assert_eq!(answer.body().as_ref(), b"{}");
    let request = peer.requests().remove(0);
    let (head, body) = request.split_once("\r\n\r\n").expect("a whole request");
    assert_eq!(head.matches("content-length").count(), 1, "{head}");
    assert!(head.contains(&format!("content-length: {}", 3 * CHUNK + 9)), "{head}");
    assert!(!head.contains("transfer-encoding"), "{head}");
    assert_eq!(body, format!("<<{}>>", "x".repeat(3 * CHUNK as usize + 5)));
}

#[tokio::test]
async fn a_body_of_nothing_is_a_body() {
    let peer = Peer::start(|_| ok("")).await;
    let (blob, _) = endless(0);

    send(&peer, Upload::new().blob(blob, 0)).await.expect("an answer");

    assert!(peer.requests()[0].contains("content-length: 0\r\n"), "{:?}", peer.requests());
}

#[tokio::test]
async fn what_the_server_does_not_take_stays_in_the_storage() {
    // Reads the head of the request, and no more.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let waiting = tokio::spawn(async move {
        let stream = listener.accept().await.expect("a connection");
        std::future::pending::<()>().await;
        drop(stream);
    });
    let size = 4 * 1024 * 1024 * 1024;
    let (blob, asked) = endless(size);
    let request = Request::post(format!("http://{address}/media")).body(()).expect("a request");
    let limits = AnswerLimits { total: Duration::from_millis(800), ..AnswerLimits::default() };

    let body = Upload::new().blob(blob, size);
    let error = Http::new(private()).upload(request, body, &limits).await.expect_err("no answer");

    assert!(matches!(error, FetchError::Timeout { phase: Phase::Answer }), "{error:?}");
    let asked = asked.load(Ordering::SeqCst);
    assert!(asked < 32 * 1024 * 1024, "{asked} bytes were read ahead");
    waiting.abort();
}

#[tokio::test]
async fn a_blob_that_fails_or_has_another_length_breaks_the_request_off() {
    let peer = Peer::start(|_| ok("{}")).await;
    let missing = || BlobError::Missing { name: "a".to_owned() };
    let bodies = [
        Upload::new().blob(broken(missing()), 8).bytes("end"),
        Upload::new().blob(endless(10).0, 11).bytes("end"),
        Upload::new().blob(endless(12).0, 11).bytes("end"),
    ];

    for body in bodies {
        let error = send(&peer, body).await.expect_err("broken");
        assert_eq!(error.code(), "storage_failed", "{error:?}");
        assert!(!error.surely_not_sent());
    }
}

#[tokio::test]
async fn the_guards_hold_for_uploads_too() {
    let peer = Peer::start(|_| vec![Step::Hang]).await;
    let request = Request::post(peer.url("/")).body(()).expect("a request");

    let body = Upload::new().bytes("secret");
    let outcome = Http::new(strict()).upload(request, body, &AnswerLimits::default()).await;

    assert_eq!(outcome.expect_err("refused").code(), "url_not_allowed");
    assert_eq!(peer.connections(), 0);
}
