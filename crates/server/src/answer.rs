//! What a handler answers when all is well.

use std::{marker::PhantomData, sync::Arc};

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;

use crate::{
    problem::Problem,
    route::{Operation, Output},
    vault,
};

/// A JSON body of type `T` with the status `S`, already written out.
pub(crate) struct Answer<T, const S: u16 = 200> {
    body: Bytes,
    etag: Option<String>,
    replayed: bool,
    /// Contravariant, so that an answer made of borrowed texts outlives them once written.
    kind: PhantomData<fn(T)>,
}

pub(crate) type Created<T> = Answer<T, 201>;

impl<T: Serialize, const S: u16> Answer<T, S> {
    pub(crate) fn new(value: &T) -> Result<Self, Problem> {
        serde_json::to_vec(value).map(Self::written).map_err(Problem::internal)
    }

    /// A single resource, which clients may guard with its tag.
    pub(crate) fn tagged(value: &T) -> Result<Self, Problem> {
        Self::new(value).map(Self::with_tag)
    }
}

impl<T, const S: u16> Answer<T, S> {
    /// A body whose JSON was made elsewhere and has the shape of `T`.
    pub(crate) fn written(body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), etag: None, replayed: false, kind: PhantomData }
    }

    pub(crate) fn with_tag(self) -> Self {
        let etag = etag(&self.body);
        Self { etag: Some(etag), ..self }
    }

    /// What is kept of the answer for repetitions: the body, after a byte that says whether it
    /// has a tag.
    pub(crate) fn to_kept(&self) -> Vec<u8> {
        [&[u8::from(self.etag.is_some())], &*self.body].concat()
    }

    pub(crate) fn replay(kept: &[u8]) -> Self {
        let (tagged, body) = kept.split_first().unwrap_or((&0, &[]));
        let answer = Self { replayed: true, ..Self::written(body.to_vec()) };
        if *tagged == 1 { answer.with_tag() } else { answer }
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    pub(crate) fn into_body(self) -> Bytes {
        self.body
    }
}

/// The tag of a resource is made of what it shows, so it changes exactly when that does.
pub(crate) fn etag(body: &[u8]) -> String {
    format!("\"{}\"", vault::base64(&vault::sha256(body)[..12]))
}

impl<T, const S: u16> IntoResponse for Answer<T, S> {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = StatusCode::from_u16(S).unwrap_or(StatusCode::OK);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(etag) = self.etag.and_then(|etag| HeaderValue::try_from(etag).ok()) {
            headers.insert(header::ETAG, etag);
        }
        if self.replayed {
            headers.insert("idempotency-replayed", HeaderValue::from_static("true"));
        }
        response
    }
}

impl<T: JsonSchema, const S: u16> Output for Answer<T, S> {
    fn describe(operation: &mut Operation, generator: &mut SchemaGenerator) {
        operation.answers.push((S, generator.subschema_for::<T>().to_value()));
    }
}

/// One of two answers.
pub(crate) enum Either<A, B> {
    First(A),
    Second(B),
}

impl<A: IntoResponse, B: IntoResponse> IntoResponse for Either<A, B> {
    fn into_response(self) -> Response {
        match self {
            Self::First(answer) => answer.into_response(),
            Self::Second(answer) => answer.into_response(),
        }
    }
}

impl<A: Output, B: Output> Output for Either<A, B> {
    fn describe(operation: &mut Operation, generator: &mut SchemaGenerator) {
        A::describe(operation, generator);
        B::describe(operation, generator);
    }
}

/// A public document that rarely changes, with its tag.
#[derive(Clone)]
pub(crate) struct Document {
    body: Bytes,
    etag: Arc<str>,
}

impl Document {
    pub(crate) fn new(body: String) -> Self {
        Self { etag: etag(body.as_bytes()).into(), body: body.into() }
    }

    /// A body that differs from one request to the next in a way that its tag ignores.
    pub(crate) fn with_stable_tag(body: String, stable: &str) -> Self {
        Self { etag: etag(stable.as_bytes()).into(), body: body.into() }
    }
}

impl IntoResponse for Document {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        if let Ok(etag) = HeaderValue::from_str(&self.etag) {
            headers.insert(header::ETAG, etag);
        }
        response
    }
}

/// `{"deleted": true}`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Deleted {
    pub(crate) deleted: bool,
}

impl Deleted {
    pub(crate) const YES: Self = Self { deleted: true };
}
