//! A client that repeats what it asked until it is answered, as a careful program does.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use campanile_connect::{AnswerLimits, Http, Policy};
use http::Request;
use serde_json::Value;

const BASE: &str = "/api/external/v1";
/// A service that does not come back within this time is a finding of its own.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(25);

pub(crate) struct Api {
    http: Http,
    origin: String,
    key: String,
    requests: AtomicU64,
    repeated: AtomicU64,
    troubles: Mutex<Vec<String>>,
}

pub(crate) struct Reply {
    /// Nought when nobody answered for a long time.
    pub(crate) status: u16,
    pub(crate) json: Value,
    /// Whether an earlier answer was lost.
    pub(crate) repeated: bool,
}

impl Reply {
    pub(crate) fn code(&self) -> &str {
        self.json["code"].as_str().unwrap_or_default()
    }
}

impl Api {
    pub(crate) fn new(origin: &str, key: &str) -> Self {
        Self {
            http: Http::new(Policy { allow_private: true, ..Policy::default() }),
            origin: origin.to_owned(),
            key: key.to_owned(),
            requests: AtomicU64::new(0),
            repeated: AtomicU64::new(0),
            troubles: Mutex::default(),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, None).await
    }

    /// Asks until there is an answer. Every repetition says exactly the same.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let name = format!("request-{number}");
        let (started, mut repeated) = (Instant::now(), false);
        while started.elapsed() < PATIENCE {
            match self.try_once(method, path, &name, body).await {
                // The first one is still being worked on.
                Some((409, json)) if json["code"] == "idempotency_in_progress" => {}
                Some((status, json)) => {
                    if status >= 500 {
                        self.complain(format!("{method} {path} answered {status}: {json}"));
                    }
                    return Reply { status, json, repeated };
                }
                None => {}
            }
            if !repeated {
                self.repeated.fetch_add(1, Ordering::Relaxed);
            }
            repeated = true;
            tokio::time::sleep(PAUSE).await;
        }
        self.complain(format!("{method} {path} was not answered for {PATIENCE:?}"));
        Reply { status: 0, json: Value::Null, repeated }
    }

    /// `None` when no whole answer came.
    async fn try_once(
        &self,
        method: &str,
        path: &str,
        name: &str,
        body: Option<&Value>,
    ) -> Option<(u16, Value)> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{BASE}{path}", self.origin))
            .header("authorization", format!("Bearer {}", self.key));
        if method == "POST" {
            request = request.header("idempotency-key", name);
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let body = body.map_or(Bytes::new(), |body| body.to_string().into());
        let limits = AnswerLimits { max_bytes: 8 << 20, ..AnswerLimits::default() };
        let answer = self.http.request(request.body(body).ok()?, &limits).await.ok()?;
        let json = serde_json::from_slice(answer.body()).unwrap_or_default();
        Some((answer.status().as_u16(), json))
    }

    /// Keeps what nobody expected for the report.
    pub(crate) fn complain(&self, trouble: String) {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner).push(trouble);
    }

    pub(crate) fn troubles(&self) -> Vec<String> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many requests there were, and how many of them lost an answer.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.requests.load(Ordering::Relaxed), self.repeated.load(Ordering::Relaxed))
    }
}
