//! A server with Mastodon's interface that has the habits of other software, and can fail.

mod routes;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(crate) const TOKEN: &str = "double-token";

/// What it does with the header `Idempotency-Key`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// As GoToSocial, Takahe and snac do.
    Ignored,
    /// As Mastodon does: what was published comes again, failures are forgotten.
    Honoured,
    /// As Pleroma does: every answer is kept and repeated, failures too.
    Replayed,
    /// As Pixelfed does: the second use is an error.
    RefusedTwice,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Older {
    Below,
    /// The named one comes again.
    Including,
    /// There is but one page.
    Never,
}

/// What happens to the next call that publishes.
#[derive(Clone)]
pub(crate) enum Fault {
    /// It is published, and the connection breaks.
    LoseAnswer,
    /// It is published, and the answer comes too late.
    Late(Duration),
    /// It is published, and the answer is a failure.
    AnswerAfter(u16),
    /// It is not published.
    Answer(u16, Vec<(&'static str, String)>),
    /// It is published, and the answer makes no sense.
    Nonsense,
}

pub(crate) struct State {
    pub(crate) software: Option<&'static str>,
    pub(crate) has_v2: bool,
    pub(crate) scopes: Option<Vec<&'static str>>,
    pub(crate) keys: Keys,
    /// Whether texts are shown as formatted ones.
    pub(crate) markdown: bool,
    pub(crate) page: usize,
    /// What it makes of the question for older statuses.
    pub(crate) older: Older,
    /// How often a file is still being worked on when somebody asks.
    pub(crate) processing: usize,
    pub(crate) faults: Vec<Fault>,
    /// What reading the statuses answers, if not the statuses.
    pub(crate) unreadable: Option<u16>,
    /// Everything that was published, in order, with the text as it came.
    pub(crate) statuses: Vec<Value>,
    pub(crate) media: Vec<Media>,
    pub(crate) answers: HashMap<String, (u16, Value)>,
    pub(crate) requests: Vec<String>,
    pub(crate) next_id: u64,
}

pub(crate) struct Media {
    pub(crate) id: String,
    pub(crate) body: Bytes,
    pub(crate) content_type: String,
    pub(crate) left: usize,
    pub(crate) gone: bool,
}

impl Default for State {
    fn default() -> Self {
        Self {
            software: Some("gotosocial"),
            has_v2: true,
            scopes: Some(vec!["read", "write"]),
            keys: Keys::Ignored,
            markdown: false,
            page: 40,
            older: Older::Below,
            processing: 0,
            faults: Vec::new(),
            unreadable: None,
            statuses: Vec::new(),
            media: Vec::new(),
            answers: HashMap::new(),
            requests: Vec::new(),
            next_id: 100,
        }
    }
}

pub(crate) struct Double {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
    listening: JoinHandle<()>,
}

impl Double {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        let listening = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = shared.clone();
                let service = service_fn(move |request| serve(state.clone(), address, request));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { address, state, listening }
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test has failed inside")
    }

    pub(crate) fn fail_next(&self, fault: Fault) {
        self.state().faults.push(fault);
    }

    /// How often something was asked for.
    pub(crate) fn asked(&self, beginning: &str) -> usize {
        self.state().requests.iter().filter(|line| line.starts_with(beginning)).count()
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn serve(
    state: Arc<Mutex<State>>,
    address: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, std::io::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
    let answer = {
        let mut state = state.lock().expect("no test has failed inside");
        state.requests.push(format!("{} {}", head.method, head.uri));
        routes::answer(&mut state, address, &head, &body)
    };
    if answer.status == 0 {
        // Ends the connection without a word.
        return Err(std::io::ErrorKind::ConnectionReset.into());
    }
    tokio::time::sleep(answer.after).await;
    let mut response = Response::builder().status(answer.status);
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    Ok(response.body(Full::new(answer.body.into())).expect("an answer"))
}
