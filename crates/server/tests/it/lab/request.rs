//! A request in the making.

use serde_json::Value;

use super::{
    BASE_PATH, Lab,
    wire::{self, Reply},
};

/// Built up and sent once; nothing is checked, so that tests can say what clients should not.
#[must_use = "a request does nothing until it is sent"]
pub(crate) struct Request<'lab> {
    lab: &'lab Lab,
    method: String,
    target: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Option<Vec<u8>>,
}

impl<'lab> Request<'lab> {
    pub(super) fn new(lab: &'lab Lab, method: &str, path: &str) -> Self {
        let (method, target) = (method.to_owned(), target(&lab.origin(), path));
        Self { lab, method, target, headers: Vec::new(), body: None }
    }

    /// Sends an API key.
    pub(crate) fn key(self, key: &str) -> Self {
        self.header("authorization", format!("Bearer {key}"))
    }

    /// Sends the token of a session.
    pub(crate) fn session(self, token: &str) -> Self {
        self.header("authorization", format!("Bearer {token}"))
    }

    pub(crate) fn brand(self, id: &str) -> Self {
        self.header("x-app-brand-id", id)
    }

    /// Adds a header, even one that is there already.
    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers write json!({…}) in place")]
    pub(crate) fn json(self, value: Value) -> Self {
        self.header("content-type", "application/json").body(value.to_string())
    }

    /// Sends these bytes and says nothing about their type.
    pub(crate) fn body(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.body = Some(bytes.into());
        self
    }

    /// Sends it and fails the test when there is no answer.
    pub(crate) fn send(self) -> Reply {
        let line = format!("{} {:.200}", self.method, self.target);
        self.try_send().unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    pub(crate) fn try_send(self) -> std::io::Result<Reply> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        let mut header = |name: &str, value: &[u8]| {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        };
        let named =
            |wanted: &str| self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        if !named("host") {
            header("host", format!("127.0.0.1:{}", self.lab.port).as_bytes());
        }
        if let Some(body) = self.body.as_ref().filter(|_| !named("content-length")) {
            header("content-length", body.len().to_string().as_bytes());
        }
        header("connection", b"close");
        for (name, value) in &self.headers {
            header(name, value);
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend(self.body.unwrap_or_default());
        wire::exchange(self.lab.port, &bytes)
    }
}

/// A path below the base path, unless it names its place itself.
fn target(origin: &str, path: &str) -> String {
    if let Some(path) = path.strip_prefix(origin) {
        return path.to_owned();
    }
    let at_root = ["/api/", "/openapi.json", "/docs", "http:", "https:"];
    let whole = at_root.iter().any(|start| path.starts_with(start));
    if whole || !path.starts_with('/') { path.to_owned() } else { format!("{BASE_PATH}{path}") }
}
