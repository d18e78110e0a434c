//! A server with Mastodon's interface that shares nothing with the others.

use std::{
    io::Write,
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
};

use serde_json::{Value, json};

use super::proxy::read_request;

/// Ends with the tests: whoever connects later is served as well.
pub(super) struct Double {
    address: SocketAddr,
}

impl Double {
    /// With an account of this name, which it calls number 1 like every server its first one.
    pub(super) fn of(account: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("the address of a listener");
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                thread::spawn(move || attend(client, account));
            }
        });
        Self { address }
    }

    pub(super) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What connects its account.
    pub(super) fn form(&self) -> Value {
        json!({ "server": self.origin(), "access_token": "any" })
    }
}

fn attend(mut client: TcpStream, account: &str) -> Option<()> {
    let request = read_request(&mut client)?;
    let request = String::from_utf8_lossy(&request);
    let mut line = request.split(' ');
    let (method, path) = (line.next()?, line.next()?);
    let (status, body) = answer(account, method, path);
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n",
        body.len()
    );
    client.write_all((head + &body).as_bytes()).ok()
}

fn answer(account: &str, method: &str, path: &str) -> (u16, Value) {
    let path = path.split('?').next().unwrap_or_default();
    match (method, path) {
        ("GET", "/api/v2/instance") => (200, json!({ "version": "4.7.0" })),
        ("GET", "/api/v1/accounts/verify_credentials") => {
            (200, json!({ "id": "1", "acct": account }))
        }
        _ => (404, json!({ "error": "Not Found" })),
    }
}
