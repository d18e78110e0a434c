//! Everything an API caller can be told when something is wrong: RFC 9457 problems.

use std::borrow::Cow;

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use campanile_model::{decode::Fault, scope::Scope};
use campanile_store::StoreError;
use serde_json::{Value, json};

macro_rules! codes {
    ($($code:ident $name:literal $status:literal $title:literal),* $(,)?) => {
        /// The stable names that clients match on. They never change once released.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Code { $($code),* }

        impl Code {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$code),*];

            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$code => $name),* }
            }

            pub(crate) fn status(self) -> StatusCode {
                let status: u16 = match self { $(Self::$code => $status),* };
                StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }

            pub(crate) fn title(self) -> &'static str {
                match self { $(Self::$code => $title),* }
            }
        }
    };
}

codes! {
    AmbiguousCredentials "ambiguous_credentials" 400 "More than one credential was sent",
    BrandConflict "brand_conflict" 400 "Header and query name different brands",
    DuplicateHeader "duplicate_header" 400 "A header was sent twice",
    InvalidCursor "invalid_cursor" 400 "The cursor was not made for this list",
    InvalidHeader "invalid_header" 400 "A header has a value that cannot be used",
    MalformedJson "malformed_json" 400 "The body is not valid JSON",
    MalformedRequest "malformed_request" 400 "The request could not be read",
    Unauthenticated "unauthenticated" 401 "A credential is needed",
    InvalidApiKey "invalid_api_key" 401 "The API key is not valid",
    InvalidSession "invalid_session" 401 "The session is not valid",
    ExpiredApiKey "expired_api_key" 401 "The API key has expired",
    RevokedApiKey "revoked_api_key" 401 "The API key was revoked",
    WrongCredentials "wrong_credentials" 401 "E-mail address or password is wrong",
    InsufficientScope "insufficient_scope" 403 "The key lacks a scope",
    SessionRequired "session_required" 403 "This route takes a session, not a key",
    ApiKeyRequired "api_key_required" 403 "This route takes an API key, not a session",
    CrossSite "cross_site_request" 403 "The request came from another site",
    InvalidSignature "invalid_signature" 403 "The signed URL is not valid",
    NotPermitted "not_permitted" 403 "Only an owner of the workspace may do this",
    WrongPassword "wrong_password" 403 "The current password is wrong",
    NotFound "not_found" 404 "There is no such thing",
    BrandNotFound "brand_not_found" 404 "There is no such brand within reach",
    MethodNotAllowed "method_not_allowed" 405 "The route does not take this method",
    NotAcceptable "not_acceptable" 406 "Answers are JSON only",
    RequestTimeout "request_timeout" 408 "The request took too long to arrive",
    AlreadyExists "already_exists" 409 "It exists already",
    AlreadyPublished "already_published" 409 "The post is out already",
    AmbiguousConnection "ambiguous_connection" 409 "Several connections could be meant",
    FolderNotEmpty "folder_not_empty" 409 "The folder is not empty",
    IdempotencyInProgress "idempotency_in_progress" 409 "The first request is still running",
    JobFinished "job_finished" 409 "The publish job is over",
    JobNotQueued "job_not_queued" 409 "The publish job is not waiting any more",
    LastBrand "last_brand" 409 "A user needs at least one brand",
    PostBusy "post_busy" 409 "The post is being published or is live already",
    PublishInProgress "publish_in_progress" 409 "The post is being published",
    NoFreeSlot "no_free_slot" 409 "The schedule has no free slot",
    UploadUsed "upload_used" 409 "The upload URL was used already",
    LimitReached "limit_reached" 409 "A limit of the service is reached",
    SignedUrlExpired "signed_url_expired" 410 "The signed URL has expired",
    PreconditionFailed "precondition_failed" 412 "The resource has changed meanwhile",
    PayloadTooLarge "payload_too_large" 413 "The body is too large",
    UriTooLong "uri_too_long" 414 "The URL is too long",
    UnsupportedMediaType "unsupported_media_type" 415 "The content type is not taken here",
    RangeNotSatisfiable "range_not_satisfiable" 416 "The range lies outside of the file",
    ValidationFailed "validation_failed" 422 "Some fields are not valid",
    IdempotencyKeyReused "idempotency_key_reused" 422 "The key belongs to another request",
    ReconnectRequired "reconnect_required" 424 "The account has to be connected again",
    RateLimited "rate_limited" 429 "Too many requests",
    HeadersTooLarge "headers_too_large" 431 "The headers are too large",
    Internal "internal" 500 "Something went wrong on our side",
    QueueInsertFailed "queue_insert_failed" 500 "The publish job could not be queued",
    NotYetAvailable "not_yet_available" 501 "This route is not available yet",
    UpstreamFailed "upstream_failed" 502 "The other side refused or failed",
    Unavailable "unavailable" 503 "The service is busy or shutting down",
    UpstreamTimeout "upstream_timeout" 504 "The other side took too long",
}

/// A failed request, in the terms of the caller.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) code: Code,
    detail: Cow<'static, str>,
    errors: Vec<Fault>,
    more: Vec<(&'static str, Value)>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// `detail` says what to do next.
    pub(crate) fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        let detail = detail.into();
        Self { code, detail, errors: Vec::new(), more: Vec::new(), headers: Vec::new() }
    }

    /// The one answer for what is absent, malformed, deleted or somebody else's.
    pub(crate) fn not_found() -> Self {
        Self::new(
            Code::NotFound,
            "Check the address and the id; ids of other brands are unknown here.",
        )
    }

    pub(crate) fn invalid(errors: Vec<Fault>) -> Self {
        let detail = match errors.len() {
            1 => "One field is not valid; see errors.".into(),
            count => Cow::from(format!("{count} fields are not valid; see errors.")),
        };
        Self { errors, ..Self::new(Code::ValidationFailed, detail) }
    }

    pub(crate) fn invalid_field(
        field: impl Into<String>,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self::invalid(vec![Fault { field: field.into(), code, message: message.into() }])
    }

    pub(crate) fn missing_scope(required: &[Scope], granted: &[Scope]) -> Self {
        let names: Vec<_> = required.iter().map(|scope| scope.name()).collect();
        let list = names.join(" ");
        let detail = format!("Use a key that holds {}.", names.join(" and "));
        Self::new(Code::InsufficientScope, detail)
            .with("required_scopes", json!(required))
            .with("granted_scopes", json!(granted))
            .header(
                header::WWW_AUTHENTICATE,
                &format!("Bearer error=\"insufficient_scope\", scope=\"{list}\""),
            )
    }

    pub(crate) fn internal(error: impl std::error::Error + 'static) -> Self {
        tracing::error!(error = &error as &dyn std::error::Error, "request failed");
        Self::new(Code::Internal, "It was logged under this request_id; tell the operator.")
    }

    pub(crate) fn with(mut self, name: &'static str, value: Value) -> Self {
        self.more.push((name, value));
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    pub(crate) fn retry_after(self, seconds: i64) -> Self {
        self.header(header::RETRY_AFTER, &seconds.max(1).to_string())
    }

    pub(crate) fn body(&self, request_id: &str) -> Value {
        let mut body = json!({
            "type": format!("/errors/{}", self.code.name()),
            "title": self.code.title(),
            "status": self.code.status().as_u16(),
            "detail": self.detail,
            "code": self.code.name(),
            "request_id": request_id,
            "errors": self.errors,
        });
        for (name, value) in &self.more {
            body[*name] = value.clone();
        }
        body
    }

    /// The complete answer; only the outermost layer knows the request's id.
    pub(crate) fn render(self, request_id: &str, kept: &HeaderMap) -> Response {
        let mut response = Response::new(Body::from(self.body(request_id).to_string()));
        *response.status_mut() = self.code.status();
        let headers = response.headers_mut();
        headers.extend(kept.clone());
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.code.status() == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        headers.extend(self.headers.into_iter().map(|(name, value)| (Some(name), value)));
        response
    }
}

impl IntoResponse for Problem {
    /// Carries the problem outwards; [`Problem::render`] makes the body.
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.code.status();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) => {
                tracing::error!(error = &error as &dyn std::error::Error, "store unavailable");
                Self::new(Code::Unavailable, "Nothing was changed; try again.").retry_after(1)
            }
            other => Self::internal(other),
        }
    }
}
