//! A server on this machine that says exactly what a test tells it to.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// What the peer does after it has read a request; at the end it closes the connection.
#[derive(Clone)]
pub(crate) enum Step {
    Send(Vec<u8>),
    /// Sends the piece again and again, with a rest after each, until the client leaves.
    Drip(Vec<u8>, Duration),
    /// Keeps the connection open and silent.
    Hang,
}

type Script = Arc<dyn Fn(&str) -> Vec<Step> + Send + Sync>;

pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
    listening: JoinHandle<()>,
}

impl Peer {
    /// A peer that follows `script`, which sees the path of each request.
    pub(crate) async fn start(script: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::listen(Arc::new(script), None).await
    }

    pub(crate) async fn start_tls(acceptor: TlsAcceptor, answer: Vec<Step>) -> Self {
        Self::listen(Arc::new(move |_| answer.clone()), Some(acceptor)).await
    }

    async fn listen(script: Script, acceptor: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let connections = Arc::new(AtomicUsize::new(0));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (count, log) = (connections.clone(), requests.clone());
        let listening = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let (script, log, acceptor) = (script.clone(), log.clone(), acceptor.clone());
                tokio::spawn(async move {
                    match acceptor {
                        None => serve(stream, &script, &log).await,
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                serve(stream, &script, &log).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, connections, requests, listening }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The requests as they came, in lower case.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("no test has failed inside").clone()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    script: &Script,
    log: &Mutex<Vec<String>>,
) {
    let request = read_request(&mut stream).await;
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    log.lock().expect("no test has failed inside").push(request);
    for step in script(&path) {
        match step {
            Step::Send(bytes) => drop(stream.write_all(&bytes).await),
            Step::Drip(piece, rest) => {
                while stream.write_all(&piece).await.is_ok() {
                    tokio::time::sleep(rest).await;
                }
            }
            Step::Hang => std::future::pending().await,
        }
    }
    drop(stream.shutdown().await);
}

async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        // The first byte of a TLS handshake: more will not come without an answer.
        if text.starts_with('\x16') {
            return text;
        }
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().expect("a number")) {
                return text;
            }
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await {
            Ok(count) if count > 0 => bytes.extend_from_slice(&piece[..count]),
            _ => return text,
        }
    }
}

/// One step that sends this text.
pub(crate) fn say(text: impl Into<String>) -> Vec<Step> {
    vec![Step::Send(text.into().into_bytes())]
}

/// An ordinary answer with this body.
pub(crate) fn ok(body: &str) -> Vec<Step> {
    let length = body.len();
    say(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: {length}\r\n\r\n{body}"
    ))
}

/// A redirect with this status and location.
pub(crate) fn redirect(status: u16, location: &str) -> Vec<Step> {
    say(format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"))
}
