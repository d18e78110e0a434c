//! What handlers take from a request. Every refusal is a [`Problem`] that lists all faults.

use std::{collections::BTreeMap, time::Duration};

use axum::{
    extract::{FromRequest, FromRequestParts, RawPathParams, Request},
    http::{HeaderMap, header, request::Parts},
};
use bytes::Bytes;
use campanile_model::{
    decode::{self, Fault, Field, Json, parse},
    ids::{Id, Kind},
    time::Millis,
};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::{
    caller::Visitor,
    problem::{Code, Problem},
};

pub(crate) const LARGEST_BODY: usize = 1 << 20;
const BODY_DEADLINE: Duration = Duration::from_secs(30);
const MOST_PARAMETERS: usize = 50;

/// A JSON body.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: Field, S: Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        check_content_type(&parts.headers)?;
        let bytes = read_body(&parts.headers, body).await?;
        let json = parse(&bytes).map_err(|error| {
            Problem::new(Code::MalformedJson, format!("The body could not be parsed: {error}."))
        })?;
        decode::decode(json, moment(&parts)).map(Self).map_err(Problem::invalid)
    }
}

/// When the request came in.
fn moment(parts: &Parts) -> Millis {
    parts.extensions.get::<Visitor>().map_or(0, |visitor| visitor.now)
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Problem> {
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Problem::new(
            Code::UnsupportedMediaType,
            "Send the body without a content encoding.",
        ));
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let mut parts = kind.unwrap_or_default().split(';').map(str::trim);
    let json = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    let utf8 = parts.all(|part| {
        let part = part.to_ascii_lowercase().replace(['"', ' '], "");
        !part.starts_with("charset=") || part == "charset=utf-8"
    });
    if json && utf8 {
        return Ok(());
    }
    Err(Problem::new(
        Code::UnsupportedMediaType,
        "Send JSON in UTF-8 with the header content-type: application/json.",
    ))
}

/// The whole body, up to the limit and within the deadline.
pub(crate) async fn read_body(
    headers: &HeaderMap,
    body: axum::body::Body,
) -> Result<Bytes, Problem> {
    let too_large = || {
        let limit = LARGEST_BODY;
        Problem::new(Code::PayloadTooLarge, format!("A body may have {limit} bytes at most."))
    };
    let declared = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if declared.and_then(|length| length.parse::<u64>().ok()) > Some(LARGEST_BODY as u64) {
        return Err(too_large());
    }
    let whole = Limited::new(body, LARGEST_BODY).collect();
    match tokio::time::timeout(BODY_DEADLINE, whole).await {
        Err(_) => Err(Problem::new(Code::RequestTimeout, "Send the whole body within 30 seconds.")),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => {
            Err(Problem::new(Code::MalformedRequest, "The body ended before it was complete."))
        }
        Ok(Ok(body)) => Ok(body.to_bytes()),
    }
}

/// The query string, read as strictly as a body. `brand_id` belongs to the guard.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: Field, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut fields = BTreeMap::new();
        let mut faults = Vec::new();
        for (count, (name, value)) in pairs(parts.uri.query()).enumerate() {
            if count >= MOST_PARAMETERS {
                let message = format!("at most {MOST_PARAMETERS} parameters");
                return Err(Problem::invalid_field("query", "too_many", message));
            }
            if name == "brand_id" {
                continue;
            }
            if fields.insert(name.clone(), Json::Parameter(value)).is_some() {
                let message = "this parameter stands twice; send it once".to_owned();
                faults.push(Fault { field: name, code: "duplicate_parameter", message });
            }
        }
        match decode::decode(Json::Object(fields), moment(parts)) {
            Ok(value) if faults.is_empty() => Ok(Self(value)),
            Ok(_) => Err(Problem::invalid(faults)),
            Err(more) => Err(Problem::invalid(faults.into_iter().chain(more).collect())),
        }
    }
}

/// The decoded pairs of a query string.
pub(crate) fn pairs(query: Option<&str>) -> impl Iterator<Item = (String, String)> {
    url::form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
}

/// The identifier in the path. One that is malformed names nothing, so it is not found.
pub(crate) struct Path<K>(pub(crate) Id<K>);

impl<K: Kind, S: Send + Sync> FromRequestParts<S> for Path<K> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let params = RawPathParams::from_request_parts(parts, state).await;
        let params = params.map_err(|_| Problem::not_found())?;
        let id = params.iter().next().and_then(|(_, value)| Id::parse(value));
        id.map(Self).ok_or_else(Problem::not_found)
    }
}

/// A text in the path that is no identifier, such as the name of a platform.
pub(crate) struct PathText(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathText {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let params = RawPathParams::from_request_parts(parts, state).await;
        let params = params.map_err(|_| Problem::not_found())?;
        let text = params.iter().next().map(|(_, value)| value.to_owned());
        text.map(Self).ok_or_else(Problem::not_found)
    }
}

/// A JSON body that may be left out.
pub(crate) struct MaybeBody<T>(pub(crate) Option<T>);

impl<T: Field, S: Sync> FromRequest<S> for MaybeBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = read_body(&parts.headers, body).await?;
        if bytes.is_empty() {
            return Ok(Self(None));
        }
        let request = Request::from_parts(parts, axum::body::Body::from(bytes));
        Body::from_request(request, state).await.map(|Body(value)| Self(Some(value)))
    }
}
