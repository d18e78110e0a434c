//! The outermost layer of a request, and the loop that accepts connections.

use std::{
    net::{IpAddr, SocketAddr},
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::Response,
};
use campanile_model::{ids::RequestId, time::Millis};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use tokio::net::{TcpListener, TcpStream};
use tower_service::Service;

use crate::{
    app::Shared,
    caller::{Served, Visitor},
    crowd::{Crowd, Place},
    limiter::Allowance,
    logs::{self, RequestLine},
    problem::{Code, Problem},
    wire::Wire,
};

const HEADERS_DEADLINE: Duration = Duration::from_secs(10);
const DRAIN_DEADLINE: Duration = Duration::from_secs(10);
const LONGEST_URI: usize = 8 * 1024;
const LARGEST_HEADERS: usize = 16 * 1024;
const MOST_HEADERS: usize = 64;
/// hyper refuses on its own beyond this, and beyond a hundred headers.
const BUFFER: usize = 64 * 1024;
const MOST_CONNECTIONS: usize = 1024;
const MOST_PER_ADDRESS: usize = 256;

/// Answers one request: checks its outside, routes it, and finishes what comes back.
async fn answer(app: Shared, mut router: Router, ip: IpAddr, mut request: Request) -> Response {
    let started = Instant::now();
    let now = app.now();
    let visitor = Visitor::new(request_id(request.headers(), now), now, ip);
    let method = request.method().clone();
    let if_none_match = request.headers().get(header::IF_NONE_MATCH).cloned();
    let response = match check_outside(&request) {
        Err(problem) => axum::response::IntoResponse::into_response(problem),
        Ok(()) => {
            request.extensions_mut().insert(visitor.clone());
            match router.call(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            }
        }
    };
    let (request_id, served) = (&visitor.request_id, visitor.served());
    let mut response = complete(response, request_id, &method);
    let reads = matches!(method, Method::GET | Method::HEAD);
    if reads && if_none_match.is_some_and(|tags| matches_tag(&tags, &response)) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    add_headers(&app, response.headers_mut(), request_id, served.allowance);
    let status = response.status().as_u16();
    note(&app, &method, served, status, request_id, started.elapsed());
    response
}

/// The caller's id for the request where it is harmless, else one of ours.
fn request_id(headers: &HeaderMap, now: Millis) -> String {
    let given = headers.get("x-request-id").and_then(|value| value.to_str().ok());
    let harmless = |text: &&str| {
        (1..=64).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
    };
    match given.filter(harmless) {
        Some(given) => given.to_owned(),
        None => RequestId::new(now).into(),
    }
}

fn check_outside(request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    if request.uri().path_and_query().is_some_and(|path| path.as_str().len() > LONGEST_URI) {
        return Err(Problem::new(Code::UriTooLong, "Use at most 8 KiB for path and query."));
    }
    if headers.contains_key(header::TRANSFER_ENCODING)
        && headers.contains_key(header::CONTENT_LENGTH)
    {
        let detail = "Send either a content length or a transfer encoding, not both.";
        return Err(Problem::new(Code::MalformedRequest, detail));
    }
    let size: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if headers.len() > MOST_HEADERS || size > LARGEST_HEADERS {
        return Err(Problem::new(Code::HeadersTooLarge, "Send at most 64 headers and 16 KiB."));
    }
    if request.uri().path().starts_with("/api/") {
        check_accept(headers)?;
    }
    Ok(())
}

fn check_accept(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(accept) = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()) else {
        return Ok(());
    };
    let kinds = accept.split(',').map(|kind| kind.split(';').next().unwrap_or_default().trim());
    let json = |kind: &str| {
        matches!(
            kind,
            "" | "*/*" | "application/*" | "application/json" | "application/problem+json"
        )
    };
    if kinds.map(str::to_ascii_lowercase).any(|kind| json(&kind)) {
        return Ok(());
    }
    Err(Problem::new(Code::NotAcceptable, "Accept application/json."))
}

/// Turns problems, and refusals of the router itself, into their final form.
fn complete(mut response: Response, request_id: &str, method: &Method) -> Response {
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        return problem.render(request_id, &HeaderMap::new());
    }
    if response.status() != StatusCode::METHOD_NOT_ALLOWED {
        return explained(response, request_id);
    }
    let mut kept = HeaderMap::new();
    if let Some(allow) = response.headers().get(header::ALLOW) {
        kept.insert(header::ALLOW, allow.clone());
    }
    if method == Method::OPTIONS {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        *response.headers_mut() = kept;
        return response;
    }
    Problem::new(Code::MethodNotAllowed, "The header allow lists the methods of this path.")
        .render(request_id, &kept)
}

/// The router's own refusals are a line of plain text.
fn explained(response: Response, request_id: &str) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE);
    let plain = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/plain"));
    if !response.status().is_client_error() || !plain {
        return response;
    }
    Problem::new(Code::MalformedRequest, "The path cannot be read; check its encoding.")
        .render(request_id, &HeaderMap::new())
}

fn matches_tag(tags: &HeaderValue, response: &Response) -> bool {
    let (Ok(tags), Some(tag)) = (tags.to_str(), response.headers().get(header::ETAG)) else {
        return false;
    };
    let tag = tag.to_str().unwrap_or_default();
    let plain = |text: &str| text.trim().trim_start_matches("W/").to_owned();
    response.status() == StatusCode::OK
        && tags.split(',').any(|wanted| wanted.trim() == "*" || plain(wanted) == tag)
}

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const OLD_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const OLD_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const OLD_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

fn add_headers(
    app: &Shared,
    headers: &mut HeaderMap,
    request_id: &str,
    allowance: Option<Allowance>,
) {
    if let Ok(id) = HeaderValue::from_str(request_id) {
        headers.insert(REQUEST_ID, id);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if app.is_encrypted() {
        let a_year = HeaderValue::from_static("max-age=31536000");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, a_year);
    }
    headers.entry(header::CACHE_CONTROL).or_insert(const { HeaderValue::from_static("no-store") });
    if let Some(Allowance { limit, left, resets_in, .. }) = allowance {
        let mut set = |name, text: String| {
            if let Ok(value) = HeaderValue::try_from(text) {
                headers.insert(name, value);
            }
        };
        set(RATE_LIMIT_POLICY, format!("\"default\";q={limit};w=60"));
        set(RATE_LIMIT, format!("\"default\";r={left};t={resets_in}"));
        set(OLD_LIMIT, limit.to_string());
        set(OLD_REMAINING, left.to_string());
        set(OLD_RESET, resets_in.to_string());
    }
}

/// One line in the log and one count in the metrics for every request.
fn note(
    app: &Shared,
    method: &Method,
    served: &Served,
    status: u16,
    request_id: &str,
    took: Duration,
) {
    let known = match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "OTHER",
    };
    app.metrics.served(known, served.template, status, took);
    logs::request(&RequestLine {
        request_id,
        method: known,
        route: served.template,
        status,
        duration_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        user: served.identity.as_ref().map(|identity| identity.user.as_str()),
        brand: served.tenant.as_ref().map(|tenant| tenant.brand().as_str()),
    });
}

/// Accepts connections until `stop` resolves, then lets running requests finish.
pub(crate) async fn run(
    app: Shared,
    router: Router,
    listener: TcpListener,
    stop: impl Future<Output = ()>,
) {
    let crowd = Crowd::new(MOST_CONNECTIONS, MOST_PER_ADDRESS);
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, peer)) => match crowd.enter(&peer.ip()) {
                Some(place) => attend(&app, &router, &graceful, stream, peer, place),
                None => {
                    app.metrics.refused_connections.fetch_add(1, Ordering::Relaxed);
                }
            },
            Err(error) => {
                // Out of file descriptors, most likely: others will be given back.
                tracing::warn!(error = &error as &dyn std::error::Error, "accept failed");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(DRAIN_DEADLINE, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish in time");
    }
}

fn attend(
    app: &Shared,
    router: &Router,
    graceful: &GracefulShutdown,
    stream: TcpStream,
    peer: SocketAddr,
    place: Place<IpAddr>,
) {
    // Small answers should not wait for a full packet.
    let _ = stream.set_nodelay(true);
    let (service_app, router) = (app.clone(), router.clone());
    let service = hyper::service::service_fn(move |request: hyper::Request<_>| {
        let (app, router) = (service_app.clone(), router.clone());
        async move {
            let request = request.map(Body::new);
            Ok::<_, std::convert::Infallible>(answer(app, router, peer.ip(), request).await)
        }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADERS_DEADLINE).max_buf_size(BUFFER);
    let connection =
        graceful.watch(builder.serve_connection(TokioIo::new(Wire::new(stream)), service));
    let app = app.clone();
    tokio::spawn(async move {
        app.metrics.connections.fetch_add(1, Ordering::Relaxed);
        // Clients that go away or send nonsense are their own affair.
        let _ = connection.await;
        app.metrics.connections.fetch_sub(1, Ordering::Relaxed);
        drop(place);
    });
}
