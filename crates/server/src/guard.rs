//! Stands before every row: who is it, may they, for which brand, how often, again?

use std::{
    pin::Pin,
    sync::{Arc, PoisonError, atomic::AtomicBool},
};

use axum::{
    body::Body,
    extract::Request,
    handler::Handler,
    http::{HeaderMap, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use campanile_model::time::{DAY, Millis};
use campanile_store::{
    idempotency,
    identity::{Credential, Identity},
    tenant::Tenant,
};

use crate::{
    answer::Answer,
    app::Shared,
    caller::{Admitted, Caller, Repeat, Served, Visitor},
    credential::{self, Form},
    extract,
    problem::{Code, Problem},
    route::{Door, Post, Rule},
    vault,
};

pub(crate) const BRAND_HEADER: &str = "x-app-brand-id";
pub(crate) const COOKIES: [&str; 2] = ["__Host-campanile_session", "campanile_session"];
const REPEATABLE_FOR: Millis = DAY;

/// A handler that only admitted callers reach. It is part of the handler rather than a layer
/// around it: every layer of the router costs each request a clone and a boxed future.
pub(crate) struct Guarded<H> {
    pub(crate) handler: H,
    pub(crate) post: Arc<Post>,
}

impl<H: Clone> Clone for Guarded<H> {
    fn clone(&self) -> Self {
        Self { handler: self.handler.clone(), post: self.post.clone() }
    }
}

impl<H: Handler<T, Shared>, T: 'static> Handler<T, Shared> for Guarded<H> {
    type Future = Pin<Box<dyn Future<Output = Response> + Send>>;

    fn call(self, request: Request, app: Shared) -> Self::Future {
        Box::pin(async move {
            let Some(visitor) = request.extensions().get::<Visitor>().cloned() else {
                return Problem::not_found().into_response();
            };
            let mut served = Served::at(self.post.template);
            let admitted = admit(&app, &self.post, visitor.clone(), request, &mut served).await;
            visitor.leave(served);
            match admitted {
                Ok(Admission::Granted(request, _running)) => self.handler.call(request, app).await,
                Ok(Admission::Answered(response)) => response,
                Err(problem) => problem.into_response(),
            }
        })
    }
}

enum Admission {
    /// The request with its caller, and the mark that it runs, to be held until it is answered.
    Granted(Request, Option<Running>),
    /// It was answered before.
    Answered(Response),
}

async fn admit(
    app: &Shared,
    post: &Post,
    visitor: Visitor,
    request: Request,
    served: &mut Served,
) -> Result<Admission, Problem> {
    if let Rule::Public = post.rule {
        return Ok(Admission::Granted(request, None));
    }
    let (mut parts, mut body) = request.into_parts();
    let now = visitor.now;
    let identity = authenticate(app, post, &parts.headers, &parts.method, &visitor, now).await?;
    served.identity = Some(identity.clone());
    count(app, &identity, now, served)?;
    authorise(post, &identity)?;
    let tenant = choose_brand(&identity, &parts)?;
    if !post.takes_query {
        refuse_query(&parts)?;
    }
    served.tenant = tenant.clone();
    let if_match = single(&parts.headers, header::IF_MATCH.as_str())?.map(str::to_owned);
    let mut repeat = None;
    let mut running = None;
    if parts.method == Method::POST
        && let Some(name) = idempotency_name(&parts.headers)?
    {
        let bytes = extract::read_body(&parts.headers, body).await?;
        let this = recognise_repeat(post, &parts, name, &identity, tenant.as_deref(), &bytes);
        running = Some(Running::claim(app, &this)?);
        if let Some(answer) = earlier_answer(app, &this, now).await? {
            return Ok(Admission::Answered(answer));
        }
        body = Body::from(bytes);
        repeat = Some(this);
    }
    let admitted = Admitted {
        app: app.clone(),
        identity,
        tenant,
        visitor,
        if_match,
        compared: AtomicBool::new(false),
        repeat,
    };
    parts.extensions.insert(Caller::admit(admitted));
    Ok(Admission::Granted(Request::from_parts(parts, body), running))
}

/// Finds out whose credential was sent.
async fn authenticate(
    app: &Shared,
    post: &Post,
    headers: &HeaderMap,
    method: &Method,
    visitor: &Visitor,
    now: Millis,
) -> Result<Arc<Identity>, Problem> {
    let sent = read_credential(headers)?;
    if let Sent::Cookie(_) = sent {
        refuse_cross_site(app, headers, method)?;
    }
    let text = match sent {
        Sent::Nothing => {
            return Err(Problem::new(
                Code::Unauthenticated,
                "Send an API key as authorization: Bearer <key> or x-api-key: <key>.",
            ));
        }
        Sent::Header(text) | Sent::Cookie(text) => text,
    };
    let by_cookie = matches!(sent, Sent::Cookie(_));
    let recognised = credential::recognise(text);
    // A key in a cookie would be sent along by every page that a browser shows.
    let Some((form, hash)) = recognised.filter(|(form, _)| !by_cookie || *form == Form::Session)
    else {
        return Err(unknown(post, Form::Key));
    };
    let found = app.identities.find(&app.db, form, &hash).await?;
    let Some(identity) = found.filter(|identity| !identity.disabled) else {
        // Only strangers meet this limit: somebody else at the address may be a good friend.
        let guesses = app.strangers.count(&visitor.ip.to_string(), now);
        return Err(match guesses.filter(|guesses| guesses.exceeded) {
            Some(guesses) => Problem::new(
                Code::RateLimited,
                "Too many unknown credentials came from this address; wait a minute.",
            )
            .retry_after(guesses.resets_in),
            None => unknown(post, form),
        });
    };
    if identity.revoked {
        return Err(Problem::new(Code::RevokedApiKey, "This key was revoked; use another one."));
    }
    if identity.expires_at.is_some_and(|at| at <= now) {
        return Err(match form {
            Form::Key => Problem::new(Code::ExpiredApiKey, "This key has expired; use a new one."),
            Form::Session => Problem::new(Code::InvalidSession, "Sign in again."),
        });
    }
    Ok(identity)
}

fn unknown(post: &Post, form: Form) -> Problem {
    match (post.door, form) {
        (Door::External, Form::Key) => Problem::new(
            Code::InvalidApiKey,
            "Check that the key is complete; make a new one if it is lost.",
        ),
        _ => Problem::new(Code::InvalidSession, "Sign in again."),
    }
}

enum Sent<'h> {
    Nothing,
    Header(&'h str),
    Cookie(&'h str),
}

/// Cookies count only where no header carries a credential.
fn read_credential(headers: &HeaderMap) -> Result<Sent<'_>, Problem> {
    let ambiguous =
        || Problem::new(Code::AmbiguousCredentials, "Send one credential, in one header, once.");
    let only = |name: &str| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(ambiguous()),
            (value, None) => Ok(value.map(|value| value.to_str().unwrap_or_default())),
        }
    };
    // Another scheme is no credential of ours, but it is an attempt at one.
    let bearer = only("authorization")?.map(|text| {
        text.split_once(' ')
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map_or("", |(_, token)| token)
    });
    match (bearer, only("x-api-key")?) {
        (Some(bearer), Some(key)) if bearer != key => Err(ambiguous()),
        (Some(text), _) | (None, Some(text)) => Ok(Sent::Header(text)),
        (None, None) => Ok(cookie(headers).map_or(Sent::Nothing, Sent::Cookie)),
    }
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    pairs.flat_map(|line| line.split(';')).find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        COOKIES.contains(&name).then_some(value)
    })
}

/// A browser sends cookies along whoever asks; only our own pages may act with them.
fn refuse_cross_site(app: &Shared, headers: &HeaderMap, method: &Method) -> Result<(), Problem> {
    if method.is_safe() {
        return Ok(());
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let own = match (text("sec-fetch-site"), text("origin")) {
        (Some(site), _) => matches!(site, "same-origin" | "none"),
        (None, Some(origin)) => origin == app.public_url,
        (None, None) => false,
    };
    if own {
        return Ok(());
    }
    Err(Problem::new(
        Code::CrossSite,
        "Use this page's own forms, or send the session as a bearer token.",
    ))
}

fn authorise(post: &Post, identity: &Identity) -> Result<(), Problem> {
    let scopes = match (&identity.credential, post.rule) {
        (Credential::Session { .. }, Rule::Session | Rule::KeyOrSession(_)) => return Ok(()),
        (Credential::Session { .. }, _) => {
            return Err(Problem::new(
                Code::ApiKeyRequired,
                "Call the same path under /api/internal with a session, or use an API key here.",
            ));
        }
        (Credential::Key { .. }, Rule::Session) => {
            return Err(Problem::new(
                Code::SessionRequired,
                "Sign in and send the session instead.",
            ));
        }
        (Credential::Key { scopes, .. }, _) => *scopes,
    };
    match post.rule {
        Rule::Key(needed) | Rule::KeyOrSession(needed) => {
            if needed.iter().all(|scope| scopes.allow(*scope)) {
                return Ok(());
            }
            Err(Problem::missing_scope(needed, &scopes.list()))
        }
        Rule::AnyOf(any) if any.iter().any(|scope| scopes.allow(*scope)) => Ok(()),
        Rule::AnyOf(any) => Err(Problem::missing_scope(any, &scopes.list())),
        Rule::Public | Rule::Session => Ok(()),
    }
}

fn count(
    app: &Shared,
    identity: &Identity,
    now: Millis,
    served: &mut Served,
) -> Result<(), Problem> {
    if let Credential::Key { id, .. } = &identity.credential
        && identity.is_worth_noting(now)
    {
        app.note_use(id.as_str(), now);
    }
    served.allowance = app.limiter.count(identity.credential_id(), now);
    match served.allowance {
        Some(allowance) if allowance.exceeded => {
            let limit = allowance.limit;
            let detail = format!("This credential may make {limit} requests a minute.");
            Err(Problem::new(Code::RateLimited, detail).retry_after(allowance.resets_in))
        }
        _ => Ok(()),
    }
}

/// A brand that is named must be within reach; it is never replaced by another.
fn choose_brand(identity: &Identity, parts: &Parts) -> Result<Option<Arc<Tenant>>, Problem> {
    let header = single(&parts.headers, BRAND_HEADER)?.map(str::to_owned);
    let mut named = header;
    let queries = parts.uri.query().filter(|query| query.contains("brand_id"));
    for (_, value) in extract::pairs(queries).filter(|(name, _)| name == "brand_id") {
        if named.as_ref().is_some_and(|named| *named != value) {
            return Err(Problem::new(Code::BrandConflict, "Name one brand, in one place."));
        }
        named = Some(value);
    }
    let tenant = identity.tenant(named.as_deref());
    if named.is_some() && tenant.is_none() {
        return Err(Problem::new(
            Code::BrandNotFound,
            "GET /brands lists the brands within reach.",
        ));
    }
    Ok(tenant)
}

/// A parameter that would be ignored may have been meant.
fn refuse_query(parts: &Parts) -> Result<(), Problem> {
    match extract::pairs(parts.uri.query()).find(|(name, _)| name != "brand_id") {
        None => Ok(()),
        Some((name, _)) => {
            let message = "this route takes no such parameter in its query";
            Err(Problem::invalid_field(name, "unknown_field", message))
        }
    }
}

/// The one value of a header that must not stand twice.
fn single<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, Problem> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    if values.next().is_some() {
        let detail = format!("Send the header {name} once.");
        return Err(Problem::new(Code::DuplicateHeader, detail));
    }
    Ok(value.map(|value| value.to_str().unwrap_or("\u{fffd}")))
}

fn idempotency_name(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(text) = single(headers, "idempotency-key")? else { return Ok(None) };
    let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let valid =
        (1..=255).contains(&bare.len()) && bare.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    if !valid {
        return Err(Problem::new(
            Code::InvalidHeader,
            "idempotency-key takes 1 to 255 visible ASCII characters.",
        ));
    }
    Ok(Some(bare.to_owned()))
}

fn recognise_repeat(
    post: &Post,
    parts: &Parts,
    name: String,
    identity: &Identity,
    tenant: Option<&Tenant>,
    body: &[u8],
) -> Repeat {
    let brand = tenant.map_or("-", |tenant| tenant.brand().as_str());
    let owner = format!("{}|{brand}|POST {}", identity.user, post.template);
    let mut whole = parts.uri.to_string().into_bytes();
    whole.push(b'\n');
    whole.extend_from_slice(body);
    Repeat { owner, name, fingerprint: vault::sha256(&whole) }
}

/// The answer to the first of these requests, if it was given already.
async fn earlier_answer(
    app: &Shared,
    repeat: &Repeat,
    now: Millis,
) -> Result<Option<Response>, Problem> {
    let mut conn = app.db.read().await?;
    let kept = idempotency::find(&mut conn, &repeat.owner, &repeat.name).await?;
    drop(conn);
    let Some(kept) = kept else { return Ok(None) };
    if kept.created_at <= now - REPEATABLE_FOR {
        let forget = async |mut tx: campanile_store::Tx| {
            idempotency::forget(&mut tx, &repeat.owner, &repeat.name).await
        };
        app.db.write(forget).await?;
        return Ok(None);
    }
    if kept.fingerprint != repeat.fingerprint {
        return Err(Problem::new(
            Code::IdempotencyKeyReused,
            "This key was used for a request with another body; choose a new key.",
        ));
    }
    let body = app.vault.open_sealed(&repeat.context(), &kept.answer).map_err(Problem::internal)?;
    let mut response = Answer::<(), 200>::replay(&body).into_response();
    let status = u16::try_from(kept.status).ok().and_then(|code| StatusCode::from_u16(code).ok());
    *response.status_mut() = status.unwrap_or(StatusCode::OK);
    Ok(Some(response))
}

/// Marks a repeatable request as running until it is dropped.
struct Running {
    app: Shared,
    mark: String,
}

impl Running {
    fn claim(app: &Shared, repeat: &Repeat) -> Result<Self, Problem> {
        let mark = repeat.context();
        let mut running = app.running.lock().unwrap_or_else(PoisonError::into_inner);
        if !running.insert(mark.clone()) {
            return Err(Problem::new(
                Code::IdempotencyInProgress,
                "The first request with this key is still running; ask again for its answer.",
            )
            .retry_after(1));
        }
        Ok(Self { app: app.clone(), mark })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.app.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.mark);
    }
}
