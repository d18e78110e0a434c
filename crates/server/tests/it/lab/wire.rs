//! HTTP/1.1 as bytes: one connection for one request.
//!
//! A client library would refuse to send half of what the tests have to say.

use std::{
    io::{Error, ErrorKind, Read, Result, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);

/// What the service answered.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// In the order of arrival, names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// The body, or null when it is not JSON.
    pub(crate) json: Value,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The `code` of a problem.
    pub(crate) fn code(&self) -> &str {
        self.json["code"].as_str().unwrap_or_default()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Fails the test, and shows the answer, unless it has this status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }

    /// The same for a problem with this code.
    #[track_caller]
    pub(crate) fn expect_problem(self, status: u16, code: &str) -> Self {
        assert_eq!((self.status, self.code()), (status, code), "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        self
    }
}

/// The smallest request.
pub(super) fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n").into_bytes()
}

/// Sends one request and reads until the service closes the connection.
pub(super) fn exchange(port: u16, request: &[u8]) -> Result<Reply> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // The service may refuse before it has read everything; its answer counts, not our failure.
    let sent = stream.write_all(request);
    let mut bytes = Vec::new();
    let received = stream.read_to_end(&mut bytes);
    match parse(&bytes, request.starts_with(b"HEAD ")) {
        Some(reply) => Ok(reply),
        None => sent
            .and(received)
            .and_then(|_| Err(Error::new(ErrorKind::UnexpectedEof, "no whole answer"))),
    }
}

/// The first answer of a connection that stays open, and how many bytes it takes. Its length
/// must be declared.
pub(super) fn first(bytes: &[u8]) -> Option<(Reply, usize)> {
    let end = find(bytes, b"\r\n\r\n")? + 4;
    let reply = parse(bytes, false)?;
    let length = end + reply.body.len();
    Some((reply, length))
}

/// `None` unless the answer is whole.
fn parse(bytes: &[u8], to_head: bool) -> Option<Reply> {
    let end = find(bytes, b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = head.split("\r\n");
    let status: u16 = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let rest = &bytes[end + 4..];
    let value =
        |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);

    let body = if to_head || matches!(status, 204 | 304) {
        Vec::new()
    } else if value("transfer-encoding").is_some() {
        unchunk(rest)?
    } else {
        let length = value("content-length").map_or(Some(rest.len()), |text| text.parse().ok())?;
        rest.get(..length)?.to_vec()
    };
    let json = serde_json::from_slice(&body).unwrap_or_default();
    Some(Reply { status, headers, body, json })
}

fn unchunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = find(rest, b"\r\n")?;
        let length = usize::from_str_radix(str::from_utf8(&rest[..end]).ok()?, 16).ok()?;
        if length == 0 {
            return Some(body);
        }
        let start = end + 2;
        body.extend_from_slice(rest.get(start..start + length)?);
        rest = rest.get(start + length + 2..)?;
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
