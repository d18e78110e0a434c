//! An account on a server, and everything that is needed to publish to it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use campanile_connect::platforms::mastodon::{Mastodon, Pace};
use campanile_connect::platforms::{
    Access, Account, Answer, Asset, Connected, Draft, Form, Operation, Platform, Refusal, Secret,
    Sight,
};
use campanile_connect::{AnswerLimits, Blobs, Http, Policy};
use campanile_model::publish::{Failure, Receipt};
use campanile_model::time::Millis;
use http::Request;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::RwLock;
use zeroize::Zeroizing;

use crate::double::{Double, TOKEN};

pub(crate) use crate::verdict::{published, refused, unclear};

/// Faults of the mock hit whoever comes next: tests that set one hold this alone.
pub(crate) static FAULTS: RwLock<()> = RwLock::const_new(());

pub(crate) fn now() -> Millis {
    UNIX_EPOCH.elapsed().expect("after 1970").as_millis() as Millis
}

/// The address of the mock.
pub(crate) fn mock() -> String {
    #[expect(clippy::disallowed_methods, reason = "tests are configured by their environment")]
    let address = std::env::var("CAMPANILE_TEST_MASTODON");
    address.expect(
        "these tests need the Mastodon mock: \
         run them as `env $(scripts/peers.sh start) cargo test -p campanile-connect`",
    )
}

pub(crate) fn http() -> Http {
    Http::new(Policy { allow_private: true, ..Policy::default() })
}

pub(crate) fn quick() -> Mastodon {
    Mastodon::at(Pace {
        answer: Duration::from_secs(5),
        upload: Duration::from_secs(20),
        processing: Duration::from_millis(500),
        first_pause: Duration::from_millis(1),
        longest_pause: Duration::from_millis(5),
    })
}

pub(crate) fn form(server: &str, token: &str) -> Form {
    let value = |text: &str| Zeroizing::new(text.to_owned());
    Form::from([("server", value(server)), ("access_token", value(token))])
}

pub(crate) async fn connect(server: &str, token: &str) -> Result<Connected, Refusal> {
    let platform = quick();
    let manual = platform.manual().expect("connected by hand");
    manual.connect(&http(), &form(server, token), now()).await
}

/// One request outside of what is tested.
pub(crate) async fn call(method: &str, url: &str, token: &str, body: Option<Value>) -> Value {
    let request = Request::builder()
        .method(method)
        .uri(url)
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json");
    let body = body.map_or(Bytes::new(), |body| body.to_string().into());
    let limits = AnswerLimits { max_bytes: 4 << 20, ..AnswerLimits::default() };
    let answer = http().request(request.body(body).expect("a request"), &limits).await;
    serde_json::from_slice(answer.expect("an answer").body()).expect("JSON")
}

pub(crate) struct World {
    pub(crate) platform: Mastodon,
    pub(crate) http: Http,
    pub(crate) blobs: Blobs,
    pub(crate) account: Account,
    pub(crate) secret: Secret,
    pub(crate) token: String,
    /// Where the server itself answers, whatever stands in front of it.
    pub(crate) origin: String,
    pub(crate) double: Option<Double>,
    pub(crate) directory: TempDir,
}

impl World {
    /// A new account on the mock.
    pub(crate) async fn mock() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let username = format!("u{}_{}_{number}", now(), std::process::id());
        let origin = mock();
        let url = format!("{origin}/api/v1/_mock/dev_user");
        let user = call("POST", &url, "-", Some(json!({ "username": username }))).await;
        let token = user["access_token"].as_str().expect("a token").to_owned();
        Self::at(origin, token, None).await
    }

    /// The account of a double.
    pub(crate) async fn double() -> Self {
        let double = Double::start().await;
        Self::at(double.origin(), TOKEN.to_owned(), Some(double)).await
    }

    async fn at(origin: String, token: String, double: Option<Double>) -> Self {
        let connected = connect(&origin, &token).await.expect("connected");
        let directory = TempDir::new().expect("a directory");
        let blobs = Blobs::open("file:media", directory.path()).expect("a storage");
        Self {
            platform: quick(),
            http: http(),
            blobs,
            account: connected.account,
            secret: connected.secret,
            token,
            origin,
            double,
            directory,
        }
    }

    pub(crate) fn twin(&self) -> &Double {
        self.double.as_ref().expect("a double")
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.origin.trim_start_matches("http://").parse().expect("an address")
    }

    pub(crate) fn access(&self) -> Access<'_> {
        let Self { http, blobs, account, secret, .. } = self;
        Access { http, blobs, account, secret, now: now() }
    }

    pub(crate) async fn prepare(
        &self,
        draft: &Draft,
        operation: &Operation<'_>,
    ) -> Result<String, Failure> {
        self.platform.prepare(&self.access(), draft, operation).await
    }

    /// What the engine does before the first call.
    pub(crate) async fn ready(&self, draft: &Draft, operation: &Operation<'_>) -> String {
        match self.platform.freeze(&self.account, draft, operation) {
            Some(frozen) => frozen,
            None => self.prepare(draft, operation).await.expect("prepared"),
        }
    }

    pub(crate) async fn call(&self, frozen: &str) -> Answer {
        self.platform.publish(&self.access(), frozen).await
    }

    pub(crate) async fn find(&self, frozen: &str) -> Sight {
        self.find_beside(&[], frozen).await
    }

    /// The same, where other posts are known to be somebody else's.
    pub(crate) async fn find_beside(&self, taken: &[String], frozen: &str) -> Sight {
        self.platform.find(&self.access(), frozen, taken).await
    }

    /// Publishes a draft of one part, as it works on a good day.
    pub(crate) async fn publish(&self, draft: &Draft, key: &str) -> Receipt {
        let frozen = self.ready(draft, &operation(key)).await;
        published(self.call(&frozen).await)
    }

    /// The statuses of the account, newest first, as the server itself shows them.
    pub(crate) async fn statuses(&self) -> Vec<Value> {
        let id = &self.account.remote_id;
        let url = format!("{}/api/v1/accounts/{id}/statuses?limit=40", self.origin);
        let statuses = call("GET", &url, &self.token, None).await;
        statuses.as_array().expect("a list").clone()
    }

    pub(crate) async fn status(&self, id: &str) -> Value {
        let url = format!("{}/api/v1/statuses/{id}", self.origin);
        call("GET", &url, &self.token, None).await
    }

    /// A file in the media library.
    pub(crate) async fn asset(&self, name: &str, media_type: &str, content: &[u8]) -> Asset {
        let path = self.directory.path().join(name);
        std::fs::write(&path, content).expect("a file");
        self.blobs.put_file(name, &path).await.expect("stored");
        Asset {
            storage_path: name.to_owned(),
            blob: name.to_owned(),
            media_type: media_type.to_owned(),
            bytes: content.len() as u64,
            width: None,
            height: None,
            duration_ms: None,
            alt_text: String::new(),
        }
    }
}

pub(crate) fn operation(key: &str) -> Operation<'_> {
    Operation { key, due: now(), part: 0, previous: &[], earlier: None }
}

pub(crate) fn draft(text: &str) -> Draft {
    Draft { text: text.to_owned(), ..Draft::default() }
}

pub(crate) fn found(sight: Sight) -> Receipt {
    match sight {
        Sight::Found(receipt) => receipt,
        other => panic!("not found: {other:?}"),
    }
}

pub(crate) fn unknowable(sight: Sight) -> Failure {
    match sight {
        Sight::Unknowable(failure) => failure,
        other => panic!("known: {other:?}"),
    }
}

pub(crate) fn assert_absent(sight: &Sight) {
    assert!(matches!(sight, Sight::Absent), "{sight:?}");
}
