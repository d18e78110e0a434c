//! A server that answers as a test tells it to.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Method, path and headers.
    pub(crate) head: String,
    pub(crate) body: Bytes,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let line =
            |line: &'_ str| line.split_once(": ").map(|(key, _)| key.eq_ignore_ascii_case(name));
        let found = self.head.lines().find(|text| line(text) == Some(true))?;
        found.split_once(": ").map(|(_, value)| value)
    }
}

/// Status line and headers, then the body.
pub(crate) type Reply = (String, String);
type Replying = Pin<Box<dyn Future<Output = Reply> + Send>>;

pub(crate) struct Fake {
    pub(crate) origin: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    listening: JoinHandle<()>,
}

impl Fake {
    pub(crate) async fn start(reply: impl Fn(Asked) -> Replying + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let origin = format!("http://{}", listener.local_addr().expect("bound"));
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (log, reply) = (asked.clone(), Arc::new(reply));
        let listening = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (log, reply) = (log.clone(), reply.clone());
                tokio::spawn(async move {
                    let request = read(&mut stream).await;
                    log.lock().expect("no test failed here").push(request.clone());
                    let (head, body) = reply(request).await;
                    let length = body.len();
                    let answer = format!(
                        "HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                    );
                    drop(stream.write_all(answer.as_bytes()).await);
                });
            }
        });
        Self { origin, asked, listening }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no test failed here").clone()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn read(stream: &mut TcpStream) -> Asked {
    let mut all = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let end = all.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&all[..end]).into_owned();
            let asked = Asked { head, body: Bytes::copy_from_slice(&all[end + 4..]) };
            let length =
                asked.header("content-length").map_or(0, |text| text.parse().expect("a number"));
            if asked.body.len() >= length {
                return asked;
            }
        }
        let count = stream.read(&mut chunk).await.expect("a request");
        assert!(count > 0, "the request ended early");
        all.extend_from_slice(&chunk[..count]);
    }
}
