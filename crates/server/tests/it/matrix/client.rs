//! A client that keeps its connection, since the matrix is large.

use serde_json::Value;

use crate::lab::{Lab, Reply, Socket};

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
    socket: Option<Socket>,
}

impl<'lab> Client<'lab> {
    pub(super) fn new(lab: &'lab Lab) -> Self {
        Self { lab, socket: None }
    }

    pub(super) fn call(&mut self, request: &Request) -> Reply {
        let bytes = request.written();
        let kept = self.socket.take();
        let reused = kept.is_some();
        let mut socket = kept.unwrap_or_else(|| self.lab.socket());
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
