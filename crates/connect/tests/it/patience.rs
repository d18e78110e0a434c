//! Hosts that keep us waiting before anything is sent.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use campanile_connect::http::{Dialer, Resolver};
use campanile_connect::{AnswerLimits, FetchError, Http, Network, Phase};
use futures_util::future::{BoxFuture, pending};
use http::Request;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

use crate::peer::{Peer, Step, ok};
use crate::wiring::{Names, PUBLIC, Switchboard, private, strict, strict_but_http};

const OTHER: &str = "2606:4700::1111";

/// Never answers.
struct Silence;

impl Resolver for Silence {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(pending())
    }
}

/// Swallows what is sent to [`PUBLIC`]; every other address is the peer's.
struct HalfSilence(SocketAddr);

impl Dialer for HalfSilence {
    fn dial(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        if address.ip().to_string() == PUBLIC {
            return Box::pin(pending());
        }
        Box::pin(TcpStream::connect(self.0))
    }
}

fn names(answer: &[&str]) -> Arc<Names> {
    Arc::new(Names::default().with("cdn.example.com", &[answer]))
}

async fn failure(http: &Http) -> FetchError {
    let limits = AnswerLimits { connect: Duration::from_millis(100), ..AnswerLimits::default() };
    let request = Request::post("https://cdn.example.com/").body(Bytes::new());
    http.request(request.expect("a request"), &limits).await.expect_err("no answer")
}

#[tokio::test]
async fn each_step_before_sending_has_its_own_limit() {
    let mute = Peer::start(|_| vec![Step::Hang]).await;
    let system = Network::system();
    let (board, silence) = (Arc::new(Switchboard::to(mute.address)), Arc::new(Silence));
    let half = Arc::new(HalfSilence(mute.address));
    let networks = [
        (Phase::Lookup, Network { resolver: silence, dialer: board.clone(), ..system.clone() }),
        (Phase::Connect, Network { resolver: names(&[PUBLIC]), dialer: half, ..system.clone() }),
        (Phase::Handshake, Network { resolver: names(&[OTHER]), dialer: board, ..system }),
    ];

    for (phase, network) in networks {
        let error = failure(&Http::over(strict(), network)).await;
        assert!(matches!(error, FetchError::Timeout { phase: got } if got == phase), "{error:?}");
        assert!(error.surely_not_sent());
    }
}

#[tokio::test]
async fn a_silent_address_leaves_time_for_the_next() {
    let peer = Peer::start(|_| ok("here")).await;
    let dialer = Arc::new(HalfSilence(peer.address));
    let network = Network { resolver: names(&[PUBLIC, OTHER]), dialer, ..Network::system() };
    let limits = AnswerLimits { connect: Duration::from_millis(400), ..AnswerLimits::default() };
    let request = Request::get("http://cdn.example.com/").body(Bytes::new()).expect("a request");

    let answer = Http::over(strict_but_http(), network).request(request, &limits).await;

    assert_eq!(answer.expect("an answer").body().as_ref(), b"here");
}

#[tokio::test]
async fn a_request_nobody_waits_for_is_hung_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("bound"));
    let request = Request::get(url).body(Bytes::new()).expect("a request");
    let waiting = tokio::spawn(async move {
        Http::new(private()).request(request, &AnswerLimits::default()).await.map(|_| ())
    });
    let (mut stream, _) = listener.accept().await.expect("a connection");
    stream.read_u8().await.expect("the request begins");

    waiting.abort();

    // The end of the stream comes only once the client has closed its side.
    stream.read_to_end(&mut Vec::new()).await.expect("the request ends");
}
