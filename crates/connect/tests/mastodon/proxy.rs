//! A proxy that can swallow the answer to a call which its server has carried out.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub(crate) struct Proxy {
    pub(crate) origin: String,
    lost: Arc<AtomicUsize>,
    listening: JoinHandle<()>,
}

impl Proxy {
    /// Loses the answers to the first `losses` calls that publish.
    pub(crate) async fn start(server: SocketAddr, losses: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let origin = format!("http://{}", listener.local_addr().expect("bound"));
        let lost = Arc::new(AtomicUsize::new(0));
        let count = lost.clone();
        let listening = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, server, losses, count.clone()));
            }
        });
        Self { origin, lost, listening }
    }

    pub(crate) fn lost(&self) -> usize {
        self.lost.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn pass(mut client: TcpStream, server: SocketAddr, losses: usize, lost: Arc<AtomicUsize>) {
    let request = read_request(&mut client).await;
    let mut upstream = TcpStream::connect(server).await.expect("a server");
    upstream.write_all(&request).await.expect("sent");
    let mut answer = Vec::new();
    // The client asks the server to close the connection after its answer.
    upstream.read_to_end(&mut answer).await.expect("an answer");
    let publishes = request.starts_with(b"POST /api/v1/statuses ");
    if publishes && lost.load(Ordering::SeqCst) < losses {
        assert!(answer.starts_with(b"HTTP/1.1 200"), "only what worked is worth losing");
        lost.fetch_add(1, Ordering::SeqCst);
        return;
    }
    client.write_all(&answer).await.expect("passed on");
}

async fn read_request(client: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().expect("a number"));
            if bytes.len() >= head.len() + 4 + length {
                return bytes;
            }
        }
        let mut piece = [0; 4096];
        match client.read(&mut piece).await {
            Ok(count) if count > 0 => bytes.extend_from_slice(&piece[..count]),
            _ => return bytes,
        }
    }
}
