//! The requests, in the words of Threads' interface, and what its answers mean.

use std::time::Duration;

use bytes::Bytes;
use campanile_model::{
    publish::{Class, Failure, Receipt},
    time::{MINUTE, Millis, SECOND},
};
use http::{HeaderValue, Method, Request, Response, header::AUTHORIZATION};
use serde::{Deserialize, de::DeserializeOwned};
use url::form_urlencoded::Serializer;

use super::frozen::Frozen;
use crate::platforms::{Access, expect_json, from_fetch, from_status};
use crate::{AnswerLimits, FetchError, Http, Refused};

/// More pages of posts than this since one was due are not a feed.
const MOST_PAGES: usize = 10;
/// The clocks of two servers may differ by so much.
const CLOCKS: Millis = 2 * MINUTE;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum State {
    InProgress,
    Finished,
    Published,
    /// The platform could not make anything of it.
    Error,
    /// Nobody published it in time.
    Expired,
}

#[derive(Deserialize)]
pub(super) struct Profile {
    pub id: String,
    pub username: String,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

#[derive(Deserialize)]
struct Status {
    status: State,
}

#[derive(Deserialize)]
struct Page {
    data: Vec<Post>,
    #[serde(default)]
    paging: Paging,
}

#[derive(Default, Deserialize)]
struct Paging {
    cursors: Option<Cursors>,
}

#[derive(Deserialize)]
struct Cursors {
    after: Option<String>,
}

#[derive(Deserialize)]
struct Post {
    id: String,
    text: String,
    permalink: Option<String>,
}

impl Post {
    fn receipt(self) -> Receipt {
        Receipt { reference: Some(self.id.clone()), remote_id: self.id, url: self.permalink }
    }
}

/// Why there is no answer to work with.
pub(super) enum Fault {
    Lost(FetchError),
    Garbled(Failure),
    Said(Said),
}

pub(super) struct Said {
    status: http::StatusCode,
    /// The platform's own; nought when something else on the way to it answered.
    code: i64,
    message: String,
    retry_after: Option<i64>,
}

/// Codes of the interface.
const CONTAINER: i64 = 24;
const NOT_READY: i64 = 9007;

impl Fault {
    pub(super) fn failure(&self, now: Millis) -> Failure {
        match self {
            Self::Lost(error) => from_fetch(error),
            Self::Garbled(failure) => failure.clone(),
            Self::Said(said) if [CONTAINER, NOT_READY].contains(&said.code) => {
                Failure::new(Class::Transient, said.code.to_string(), &said.message)
            }
            Self::Said(said) => {
                let failure = from_status(said.status, said.code.to_string(), &said.message);
                match said.retry_after {
                    Some(seconds) => failure.until(now + seconds * SECOND),
                    None => failure,
                }
            }
        }
    }

    /// The call may have worked.
    pub(super) fn unclear(&self, now: Millis) -> Failure {
        Failure { class: Class::Ambiguous, ..self.failure(now) }
    }

    /// The container is gone, has expired or is published: only its state tells which.
    pub(super) fn speaks_of_container(&self) -> bool {
        matches!(self, Self::Said(said) if said.code == CONTAINER)
    }

    /// Whether a publish that failed like this published nothing.
    pub(super) fn is_certain(&self) -> bool {
        match self {
            Self::Lost(error) => error.surely_not_sent(),
            Self::Garbled(_) => false,
            Self::Said(said) => match said.status.as_u16() {
                408 | 425 | 500..=599 => false,
                _ => said.code != 0 && said.code != CONTAINER,
            },
        }
    }
}

pub(super) struct Api<'a> {
    http: &'a Http,
    origin: &'a str,
    user: &'a str,
    authorization: HeaderValue,
}

impl<'a> Api<'a> {
    pub(super) fn of(access: &'a Access<'_>) -> Result<Self, Failure> {
        let api = Self::new(access.http, &access.account.server, &access.secret.0);
        let unusable = || {
            let message = "the stored credential cannot be read; connect the account again";
            Failure::new(Class::Auth, "unreadable_credential", message)
        };
        Ok(Self { user: &access.account.remote_id, ..api.ok_or_else(unusable)? })
    }

    /// `None` when no header can carry such a token.
    pub(super) fn new(http: &'a Http, origin: &'a str, token: &str) -> Option<Self> {
        let mut authorization = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
        authorization.set_sensitive(true);
        Some(Self { http, origin, user: "me", authorization })
    }

    pub(super) async fn profile(&self) -> Result<Profile, Fault> {
        self.ask(Method::GET, "me", &[("fields", "id,username")]).await
    }

    /// A container that nobody publishes does no harm, so this may be repeated.
    pub(super) async fn create(&self, text: &str, parent: Option<&str>) -> Result<String, Fault> {
        let mut said = vec![("media_type", "TEXT"), ("text", text)];
        said.extend(parent.map(|parent| ("reply_to_id", parent)));
        let path = format!("{}/threads", self.user);
        Ok(self.ask::<Named>(Method::POST, &path, &said).await?.id)
    }

    pub(super) async fn state(&self, container: &str) -> Result<State, Fault> {
        let fields = [("fields", "status,error_message")];
        Ok(self.ask::<Status>(Method::GET, container, &fields).await?.status)
    }

    /// The call that cannot be taken back.
    pub(super) async fn publish(&self, container: &str) -> Result<Receipt, Fault> {
        let path = format!("{}/threads_publish", self.user);
        let named: Named = self.ask(Method::POST, &path, &[("creation_id", container)]).await?;
        Ok(Receipt { reference: Some(named.id.clone()), remote_id: named.id, url: None })
    }

    /// The newest post with the words of a container that is published.
    pub(super) async fn find(&self, frozen: &Frozen) -> Result<Option<Receipt>, Fault> {
        let path = format!("{}/threads", self.user);
        let since = ((frozen.due - CLOCKS) / SECOND).to_string();
        let mut after = String::new();
        for _ in 0..MOST_PAGES {
            let asked = [
                ("fields", "id,text,timestamp,permalink"),
                ("since", since.as_str()),
                ("limit", "100"),
                ("after", after.as_str()),
            ];
            let page: Page = self.ask(Method::GET, &path, &asked).await?;
            if let Some(post) = page.data.into_iter().find(|post| post.text == frozen.text) {
                return Ok(Some(post.receipt()));
            }
            match page.paging.cursors.and_then(|cursors| cursors.after) {
                Some(next) => after = next,
                None => break,
            }
        }
        Ok(None)
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        parameters: &[(&str, &str)],
    ) -> Result<T, Fault> {
        let query = Serializer::new(String::new()).extend_pairs(parameters).finish();
        let request = Request::builder()
            .method(method)
            .uri(format!("{}/v1.0/{path}?{query}", self.origin))
            .header(AUTHORIZATION, &self.authorization)
            .body(Bytes::new());
        let request = request.map_err(|_| Fault::Lost(Refused::Malformed.into()))?;
        let total = Duration::from_secs(30);
        let limits = AnswerLimits { max_bytes: 1 << 20, total, ..AnswerLimits::default() };
        let answer = self.http.request(request, &limits).await.map_err(Fault::Lost)?;
        if !answer.status().is_success() {
            return Err(Fault::Said(said(&answer)));
        }
        expect_json(&answer).map_err(Fault::Garbled)
    }
}

fn said(answer: &Response<Bytes>) -> Said {
    #[derive(Deserialize)]
    struct Body {
        error: Error,
    }
    #[derive(Deserialize)]
    struct Error {
        code: i64,
        message: String,
    }
    let status = answer.status();
    let retry_after = answer.headers().get("retry-after");
    let retry_after = retry_after.and_then(|text| text.to_str().ok()?.parse().ok());
    let (code, message) = match serde_json::from_slice::<Body>(answer.body()) {
        Ok(Body { error }) => (error.code, error.message),
        Err(_) => (0, format!("the server answered with status {}", status.as_u16())),
    };
    Said { status, code, message, retry_after }
}
