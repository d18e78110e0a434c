//! A client that keeps its connection, since the matrix is large.

use std::sync::atomic::{AtomicU16, Ordering};

use serde_json::Value;

use crate::lab::{Lab, Reply, Socket};

/// Fewer than the service takes before it refuses an address for a minute.
const GUESSES_PER_ADDRESS: u32 = 40;

#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    pub(super) fn new(method: &str, target: &str) -> Self {
        Self { method: method.to_owned(), target: target.to_owned(), ..Self::default() }
    }

    pub(super) fn key(self, key: &str) -> Self {
        self.header("authorization", format!("Bearer {key}"))
    }

    pub(super) fn header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(super) fn json(self, value: &Value) -> Self {
        self.bytes("application/json", value.to_string().into_bytes())
    }

    pub(super) fn bytes(mut self, kind: &str, body: Vec<u8>) -> Self {
        self.body = body;
        self.header("content-type", kind.to_owned())
    }

    fn written(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\nhost: test\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !self.body.is_empty() {
            head.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        head.push_str("\r\n");
        [head.as_bytes(), &self.body].concat()
    }
}

pub(super) struct Client<'lab> {
    lab: &'lab Lab,
    address: [u8; 4],
    socket: Option<Socket>,
    guesses: u32,
}

impl<'lab> Client<'lab> {
    pub(super) fn new(lab: &'lab Lab) -> Self {
        Self { lab, address: [127, 0, 0, 1], socket: None, guesses: 0 }
    }

    /// Moves to an address that has guessed nothing yet, in time.
    pub(super) fn from_elsewhere_now_and_then(&mut self) -> &mut Self {
        static NEXT: AtomicU16 = AtomicU16::new(1);
        if self.guesses % GUESSES_PER_ADDRESS == 0 {
            let [high, low] = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
            self.address = [127, 1, high, low];
            self.socket = None;
        }
        self.guesses += 1;
        self
    }

    pub(super) fn call(&mut self, request: &Request) -> Reply {
        let bytes = request.written();
        let kept = self.socket.take();
        let reused = kept.is_some();
        let mut socket = kept.unwrap_or_else(|| self.lab.socket_from(self.address));
        let heard = socket.say(&bytes).and_then(|()| socket.hear());
        let reply = match heard {
            Ok(reply) => reply,
            // The service may close a connection between two requests.
            Err(_) if reused => return self.call(request),
            Err(error) => panic!("{request:?}: {error}"),
        };
        if reply.header("connection") != Some("close") {
            self.socket = Some(socket);
        }
        reply
    }
}
