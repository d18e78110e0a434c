//! A way to the server that goes wrong at one call.

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What becomes of the call that the proxy is set against.
#[derive(Clone, Copy)]
pub(crate) enum Fate {
    /// The server gets it and answers; the answer is lost.
    LoseAnswer,
    /// The server gets it and answers; something on the way answers in its place.
    AnswerBadGateway,
    /// It never gets there.
    LoseRequest,
}

pub(crate) struct Proxy {
    pub(crate) origin: String,
    listening: JoinHandle<()>,
}

impl Proxy {
    /// Stands before `server` and spoils every call of `method`.
    pub(crate) async fn before(server: &str, method: &'static str, fate: Fate) -> Self {
        let server = server.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let origin = format!("http://{}", listener.local_addr().expect("bound"));
        let listening = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = server.clone();
                tokio::spawn(async move { carry(client, &server, method, fate).await });
            }
        });
        Self { origin, listening }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn carry(mut client: TcpStream, server: &str, method: &str, fate: Fate) {
    let mut head = vec![0; 64 * 1024];
    let length = client.read(&mut head).await.expect("a request");
    head.truncate(length);
    let is_spoiled = String::from_utf8_lossy(&head).contains(method);
    if is_spoiled && matches!(fate, Fate::LoseRequest) {
        return;
    }
    let mut server = TcpStream::connect(server).await.expect("the server listens");
    server.write_all(&head).await.expect("sent on");
    if !is_spoiled {
        drop(copy_bidirectional(&mut client, &mut server).await);
        return;
    }
    // The rest of the request goes on while the answer is read to its end.
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let mut answer = Vec::new();
    tokio::select! {
        _ = tokio::io::copy(&mut from_client, &mut to_server) => panic!("the client went away"),
        read = from_server.read_to_end(&mut answer) => { read.expect("an answer"); }
    }
    assert!(answer.starts_with(b"HTTP/1.1 200"), "the server did not do it");
    if matches!(fate, Fate::AnswerBadGateway) {
        let page =
            b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 5\r\nconnection: close\r\n\r\n<html";
        to_client.write_all(page).await.expect("sent back");
    }
}
