//! People on the networks, and what the networks themselves say about them.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant, UNIX_EPOCH},
};

use serde_json::{Value, json};

use crate::{
    lab::{Engine, Lab},
    publishing::job_of,
    steps::{list, text},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    Bluesky,
    Mastodon,
}

pub(super) const NETWORKS: [Network; 2] = [Network::Bluesky, Network::Mastodon];

impl Network {
    pub(super) fn id(self) -> &'static str {
        match self {
            Self::Bluesky => "bluesky",
            Self::Mastodon => "mastodon",
        }
    }

    pub(super) fn path(self) -> String {
        format!("/connections/{}", self.id())
    }

    /// Where its server answers.
    pub(super) fn origin(self) -> String {
        peer(match self {
            Self::Bluesky => "CAMPANILE_TEST_PDS",
            Self::Mastodon => "CAMPANILE_TEST_MASTODON",
        })
    }

    /// How the request that publishes begins.
    pub(super) fn call(self) -> &'static str {
        match self {
            Self::Bluesky => "POST /xrpc/com.atproto.repo.putRecord ",
            Self::Mastodon => "POST /api/v1/statuses ",
        }
    }
}

fn peer(variable: &str) -> String {
    #[expect(clippy::disallowed_methods, reason = "not a setting of the service")]
    let address = std::env::var(variable);
    address.unwrap_or_else(|_| {
        panic!(
            "{variable} is not set; run `set -a; eval \"$(scripts/peers.sh start)\"; set +a` first"
        )
    })
}

/// A service that finds Bluesky's accounts on the server under test.
pub(super) fn lab(engine: Engine) -> Lab {
    lab_with(engine, &[])
}

pub(super) fn lab_with(engine: Engine, more: &[(&str, &str)]) -> Lab {
    let (pds, plc) = (Network::Bluesky.origin(), peer("CAMPANILE_TEST_PLC"));
    let mut settings = vec![("CAMPANILE_BLUESKY_URL", &*pds), ("CAMPANILE_PLC_URL", &*plc)];
    settings.extend(more);
    Lab::start_with(engine, &settings)
}

/// Connects an account that is not connected yet, and returns its id.
#[track_caller]
pub(super) fn connect(lab: &Lab, network: Network, form: Value) -> String {
    let made = lab.post(&network.path()).key(&lab.key).json(form).send().expect(201).json;
    text(&made["connection"]["id"]).to_owned()
}

/// Somebody with an account on a network.
pub(super) struct Person {
    pub(super) network: Network,
    /// What the network calls them.
    pub(super) id: String,
    pub(super) name: String,
    /// An app password or a token.
    pub(super) secret: String,
}

impl Person {
    pub(super) fn new(network: Network) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let moment = UNIX_EPOCH.elapsed().expect("after 1970").as_millis() % 0x10_0000_0000;
        // Bluesky allows 18 characters.
        let name = format!("n{moment:x}p{:x}n{number:x}", std::process::id() & 0xfff);
        match network {
            Network::Bluesky => Self::on_bluesky(name + ".test"),
            Network::Mastodon => {
                let user = call(
                    "POST",
                    network,
                    "/api/v1/_mock/dev_user",
                    "",
                    &json!({ "username": name }),
                );
                let (id, secret) =
                    (text(&user["id"]).to_owned(), text(&user["access_token"]).to_owned());
                Self { network, id, name, secret }
            }
        }
    }

    fn on_bluesky(name: String) -> Self {
        let network = Network::Bluesky;
        let form = json!({
            "handle": name, "email": format!("{name}@example.com"), "password": "the main password",
        });
        let path = "/xrpc/com.atproto.server.createAccount";
        let account = call("POST", network, path, "", &form);
        let path = "/xrpc/com.atproto.server.createAppPassword";
        let token = text(&account["accessJwt"]);
        let made = call("POST", network, path, token, &json!({ "name": "campanile" }));
        let (id, secret) = (text(&account["did"]).to_owned(), text(&made["password"]).to_owned());
        Self { network, id, name, secret }
    }

    /// What connects the account.
    pub(super) fn form(&self) -> Value {
        self.form_at(&self.network.origin())
    }

    pub(super) fn form_at(&self, server: &str) -> Value {
        match self.network {
            Network::Bluesky => json!({ "handle": self.name, "app_password": self.secret }),
            Network::Mastodon => json!({ "server": server, "access_token": self.secret }),
        }
    }

    /// Everything that they have posted, newest first, in the network's own words.
    pub(super) fn posts(&self) -> Vec<Value> {
        let id = &self.id;
        let (path, name) = match self.network {
            Network::Bluesky => {
                let place = format!("repo={id}&collection=app.bsky.feed.post&limit=100");
                (format!("/xrpc/com.atproto.repo.listRecords?{place}"), "/records")
            }
            Network::Mastodon => (format!("/api/v1/accounts/{id}/statuses?limit=40"), ""),
        };
        let token = if self.network == Network::Mastodon { &*self.secret } else { "" };
        let answer = call("GET", self.network, &path, token, &Value::Null);
        list(answer.pointer(name).unwrap_or(&answer)).clone()
    }

    /// The words of a post, without the marks that the network puts around them.
    pub(super) fn words(&self, post: &Value) -> String {
        match self.network {
            Network::Bluesky => text(&post["value"]["text"]).to_owned(),
            Network::Mastodon => {
                let pieces = text(&post["content"]).split('<');
                pieces.map(|piece| piece.split_once('>').map_or(piece, |(_, rest)| rest)).collect()
            }
        }
    }

    pub(super) fn all_words(&self) -> Vec<String> {
        self.posts().iter().map(|post| self.words(post)).collect()
    }

    /// What the network calls a post.
    pub(super) fn post_id<'p>(&self, post: &'p Value) -> &'p str {
        text(&post[if self.network == Network::Bluesky { "uri" } else { "id" }])
    }

    /// The network does not accept the account's credential any more.
    pub(super) fn shut_out(&self) {
        match self.network {
            Network::Bluesky => {
                let subject = json!({ "$type": "com.atproto.admin.defs#repoRef", "did": self.id });
                let order = json!({ "subject": subject, "takedown": { "applied": true } });
                let path = "/xrpc/com.atproto.admin.updateSubjectStatus";
                // "admin:admin of the test server", as scripts/peers/bluesky.mjs has it.
                let admin = "Basic YWRtaW46YWRtaW4gb2YgdGhlIHRlc3Qgc2VydmVy";
                let kind = "application/json";
                send("POST", self.network, path, admin, kind, &order.to_string());
            }
            Network::Mastodon => {
                let form = format!("token={}", self.secret);
                let kind = "application/x-www-form-urlencoded";
                send("POST", self.network, "/oauth/revoke", "", kind, &form);
            }
        }
    }
}

#[track_caller]
fn call(method: &str, network: Network, path: &str, token: &str, body: &Value) -> Value {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let bearer = if token.is_empty() { String::new() } else { format!("Bearer {token}") };
    send(method, network, path, &bearer, "application/json", &body)
}

/// One request outside of what is tested. HTTP/1.0 has no pieces and no connection to keep.
#[track_caller]
fn send(
    method: &str,
    network: Network,
    path: &str,
    credential: &str,
    kind: &str,
    body: &str,
) -> Value {
    let origin = network.origin();
    let address = origin.trim_start_matches("http://");
    let mut request = format!("{method} {path} HTTP/1.0\r\nhost: {address}\r\n");
    if !credential.is_empty() {
        request += &format!("authorization: {credential}\r\n");
    }
    if !body.is_empty() {
        request += &format!("content-type: {kind}\r\ncontent-length: {}\r\n", body.len());
    }
    let mut stream = TcpStream::connect(address).expect("a peer; see scripts/peers.sh");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout can be set");
    stream.write_all(format!("{request}\r\n{body}").as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert_eq!(head.split(' ').nth(1), Some("200"), "{method} {path}: {answer}");
    serde_json::from_str(body).unwrap_or_default()
}

/// Waits until a job is over. A network that may lag is read with pauses, so this may take a while.
#[track_caller]
pub(super) fn settled(lab: &Lab, post: &Value) -> Value {
    let started = Instant::now();
    loop {
        let job = job_of(lab, post);
        if !["queued", "running"].contains(&text(&job["state"])) {
            return job;
        }
        assert!(started.elapsed() < Duration::from_secs(120), "not over in two minutes: {job}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
