//! The server under test with one new account, and what every test does with it.

use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use campanile_connect::platforms::bluesky::Bluesky;
use campanile_connect::platforms::{
    Access, Account, Answer, Asset, Connected, Draft, Endpoints, Form, Operation, Platform,
    Refusal, Secret, Sight,
};
use campanile_connect::{AnswerLimits, Blobs, Http, Policy};
use campanile_model::publish::{Failure, Receipt};
use http::Request;
use serde_json::{Value, json};
use tempfile::TempDir;
use zeroize::Zeroizing;

pub(crate) use crate::verdict::{published, refused, unclear};

/// The password that every account has besides its app password.
const MAIN_PASSWORD: &str = "main password of a test";

pub(crate) struct World {
    pub(crate) http: Http,
    pub(crate) blobs: Blobs,
    pub(crate) pds: String,
    pub(crate) platform: Bluesky,
    pub(crate) folder: TempDir,
}

pub(crate) struct Person {
    pub(crate) handle: String,
    pub(crate) did: String,
    pub(crate) app_password: String,
}

/// A connected account, and what was said to publish with it.
pub(crate) struct Desk<'a> {
    pub(crate) world: &'a World,
    pub(crate) account: Account,
    pub(crate) secret: Secret,
}

#[expect(clippy::disallowed_methods, reason = "tests have no configuration but this")]
fn peer(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: run `set -a; eval \"$(scripts/peers.sh start)\"` first")
    })
}

#[expect(clippy::disallowed_methods, reason = "the server compares with its own clock")]
pub(crate) fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(now.expect("after 1970").as_millis()).expect("before the year 292 million")
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(adapt: impl FnOnce(&mut Endpoints)) -> Self {
        let pds = peer("CAMPANILE_TEST_PDS");
        let mut endpoints = Endpoints {
            plc: peer("CAMPANILE_TEST_PLC"),
            bluesky: pds.clone(),
            // Nobody listens there.
            bluesky_appview: "http://127.0.0.1:1".to_owned(),
            bluesky_video: "http://127.0.0.1:1".to_owned(),
        };
        adapt(&mut endpoints);
        let folder = tempfile::tempdir().expect("a folder");
        World {
            http: Http::new(Policy { allow_private: true, ..Policy::default() }),
            blobs: Blobs::open("file:blobs", folder.path()).expect("a storage"),
            pds,
            platform: Bluesky::new(&endpoints),
            folder,
        }
    }

    /// Calls the server without the code under test.
    pub(crate) async fn call(&self, method: &str, token: &str, content: Option<Value>) -> Value {
        let address = format!("{}/xrpc/{method}", self.pds);
        let mut request = match &content {
            Some(_) => Request::post(address).header("content-type", "application/json"),
            None => Request::get(address),
        };
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let body = content.map_or(Bytes::new(), |content| content.to_string().into());
        let limits = AnswerLimits { max_bytes: 1 << 20, ..AnswerLimits::default() };
        let answer = self.http.request(request.body(body).expect("fine"), &limits).await;
        let answer = answer.expect("the server answers");
        assert!(answer.status().is_success(), "{method}: {answer:?}");
        serde_json::from_slice(answer.body()).expect("JSON")
    }

    /// An account of its own for each test.
    pub(crate) async fn person(&self) -> Person {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        let handle = format!("a{:x}-{number}.test", now() % 0x10_0000_0000);
        let email = format!("{handle}@example.com");
        let content = json!({ "handle": handle, "email": email, "password": MAIN_PASSWORD });
        let account = self.call("com.atproto.server.createAccount", "", Some(content)).await;
        let token = account["accessJwt"].as_str().expect("a token");
        let content = json!({ "name": "campanile" });
        let made = self.call("com.atproto.server.createAppPassword", token, Some(content)).await;
        Person {
            did: account["did"].as_str().expect("an identity").to_owned(),
            app_password: made["password"].as_str().expect("a password").to_owned(),
            handle,
        }
    }

    pub(crate) async fn connect(
        &self,
        fields: &[(&'static str, &str)],
    ) -> Result<Connected, Refusal> {
        let form: Form = fields
            .iter()
            .map(|(name, value)| (*name, Zeroizing::new((*value).to_owned())))
            .collect();
        self.platform.manual().expect("by hand").connect(&self.http, &form, now()).await
    }

    pub(crate) async fn desk(&self) -> Desk<'_> {
        let person = self.person().await;
        let fields = [("handle", person.handle.as_str()), ("app_password", &person.app_password)];
        let connected = self.connect(&fields).await.expect("the right password");
        Desk { world: self, account: connected.account, secret: connected.secret }
    }

    /// Puts a file where posts take their media from.
    pub(crate) async fn asset(&self, name: &str, media_type: &str, content: &[u8]) -> Asset {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).expect("written");
        self.blobs.put_file(name, &path).await.expect("stored");
        Asset {
            storage_path: format!("library/user_01hf7yat00000000000000000a/{name}.bin"),
            blob: name.to_owned(),
            media_type: media_type.to_owned(),
            bytes: content.len() as u64,
            width: None,
            height: None,
            duration_ms: None,
            alt_text: format!("shows {name}"),
        }
    }
}

pub(crate) fn text(text: &str) -> Draft {
    Draft { text: text.to_owned(), ..Draft::default() }
}

pub(crate) fn first(key: &str) -> Operation<'_> {
    Operation { key, due: 1_793_491_200_000, part: 0, previous: &[], earlier: None }
}

impl Desk<'_> {
    fn access(&self) -> Access<'_> {
        Access {
            http: &self.world.http,
            blobs: &self.world.blobs,
            account: &self.account,
            secret: &self.secret,
            now: now(),
        }
    }

    pub(crate) async fn prepare(
        &self,
        draft: &Draft,
        operation: &Operation<'_>,
    ) -> Result<String, Failure> {
        self.world.platform.prepare(&self.access(), draft, operation).await
    }

    pub(crate) async fn publish(&self, frozen: &str) -> Answer {
        self.world.platform.publish(&self.access(), frozen).await
    }

    pub(crate) async fn find(&self, frozen: &str) -> Sight {
        self.world.platform.find(&self.access(), frozen, &[]).await
    }

    pub(crate) async fn delete(&self, receipt: &Receipt) -> Result<(), Failure> {
        let deleting = self.world.platform.deleting().expect("posts can be deleted");
        deleting.delete(&self.access(), receipt).await
    }

    pub(crate) async fn renew(&self) -> Result<Secret, Failure> {
        self.world.platform.renew(&self.world.http, &self.account, &self.secret, now()).await
    }

    /// Prepares and publishes what must work.
    pub(crate) async fn post(&self, draft: &Draft, operation: &Operation<'_>) -> Receipt {
        let breaches = self.world.platform.check(&self.account, draft);
        assert!(breaches.is_empty(), "{breaches:?}");
        let frozen = self.prepare(draft, operation).await.expect("prepared");
        published(self.publish(&frozen).await)
    }

    /// All posts of the account as the server has them, newest first.
    pub(crate) async fn records(&self) -> Vec<Value> {
        let repo = &self.account.remote_id;
        let query = format!(
            "com.atproto.repo.listRecords?repo={repo}&collection=app.bsky.feed.post&limit=100"
        );
        let answer = self.world.call(&query, "", None).await;
        answer["records"].as_array().expect("a list").clone()
    }

    /// The only post of the account.
    pub(crate) async fn record(&self) -> Value {
        let records = self.records().await;
        assert_eq!(records.len(), 1, "{records:?}");
        records[0]["value"].clone()
    }
}
