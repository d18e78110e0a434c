//! Signing in and out.

use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use campanile_model::{
    decode::{Instant, Text},
    ids::{SessionId, UserId},
    input,
    label::Email,
    time::{DAY, HOUR, MINUTE, Millis, SECOND},
};
use campanile_store::{
    audit::{self, Actor, Change},
    identity::Credential,
    keys, users,
};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;

use crate::{
    answer::{Answer, Created},
    app::{App, Shared},
    caller::{Caller, Visitor},
    credential,
    extract::Body,
    guard,
    problem::{Code, Problem},
    route::{Operation, Output},
};

const SESSION_GOOD_FOR: Millis = 7 * DAY;
/// So many wrong passwords cost nothing; each further one doubles the wait.
const FREE_FAILURES: i64 = 5;
const LONGEST_WAIT: Millis = 15 * MINUTE;

input! {
    pub(crate) struct SignIn {
        email: Email,
        password: Text<1, 1024>,
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionBody {
    session: SessionView,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionView {
    id: SessionId,
    /// To be sent as `authorization: Bearer <token>`; browsers get it as a cookie as well.
    token: String,
    user_id: UserId,
    expires_at: Instant,
}

/// An answer that also sets or clears the session cookie.
pub(crate) struct WithCookie<A> {
    answer: A,
    cookie: String,
}

impl<A: IntoResponse> IntoResponse for WithCookie<A> {
    fn into_response(self) -> Response {
        let mut response = self.answer.into_response();
        if let Ok(cookie) = HeaderValue::try_from(self.cookie) {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        response
    }
}

impl<A: Output> Output for WithCookie<A> {
    fn describe(operation: &mut Operation, generator: &mut SchemaGenerator) {
        A::describe(operation, generator);
    }
}

fn cookie(app: &App, value: &str, seconds: i64) -> String {
    let [host_cookie, plain_cookie] = guard::COOKIES;
    let (name, secure) = match app.is_encrypted() {
        true => (host_cookie, "; Secure"),
        false => (plain_cookie, ""),
    };
    format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

pub(crate) async fn sign_in(
    State(app): State<Shared>,
    visitor: Visitor,
    Body(form): Body<SignIn>,
) -> Result<WithCookie<Created<SessionBody>>, Problem> {
    let now = app.now();
    let email = form.email.as_str();
    let address = visitor.ip.to_string();
    if app.strangers.is_exceeded(&address, now) {
        return Err(too_often(60));
    }
    check_throttle(&app, email, now).await?;
    let user = users::find_by_email(&mut app.db.read().await?, email).await?;
    let user = user.filter(|user| user.disabled_at.is_none());
    let hash = user.as_ref().map(|user| user.password_hash.as_str());
    let right = app.passwords.verify(&form.password.0, hash).await?;
    let Some(user) = user.filter(|_| right) else {
        app.strangers.count(&address, now);
        count_failure(&app, email, now).await?;
        return Err(Problem::new(Code::WrongCredentials, "Check both and try again."));
    };
    let fresh = credential::new_session();
    let id = SessionId::new(now);
    let expires_at = now + SESSION_GOOD_FOR;
    let actor = Actor {
        workspace: user.workspace.clone(),
        brand: None,
        user: Some(user.id.clone()),
        door: "session",
        credential: Some(id.as_str().to_owned()),
        request_id: visitor.request_id.clone(),
        ip: Some(address),
    };
    app.db
        .write(async |mut tx| {
            users::forgive(&mut tx, email).await?;
            keys::insert_session(&mut tx, &id, &user.id, &fresh.hash, now, expires_at).await?;
            let change = Change {
                action: "session.started",
                resource: "session",
                resource_id: id.as_str(),
                before: None,
                after: None,
            };
            audit::record(&mut tx, &actor, change, now).await
        })
        .await?;
    let token = fresh.text.to_string();
    let cookie = cookie(&app, &token, SESSION_GOOD_FOR / SECOND);
    let session = SessionView { id, token, user_id: user.id, expires_at: Instant(expires_at) };
    Ok(WithCookie { answer: Answer::new(&SessionBody { session })?, cookie })
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SignedOut {
    signed_out: bool,
}

pub(crate) async fn sign_out(caller: Caller) -> Result<WithCookie<Answer<SignedOut>>, Problem> {
    let identity = caller.identity();
    let answer = caller
        .write(async |mut tx| {
            if let Credential::Session { id } = &identity.credential {
                keys::end_session(&mut tx, &identity.user, id).await?;
                let change = Change {
                    action: "session.ended",
                    resource: "session",
                    resource_id: id.as_str(),
                    before: None,
                    after: None,
                };
                caller.record(&mut tx, change).await?;
            }
            Answer::new(&SignedOut { signed_out: true })
        })
        .await?;
    Ok(WithCookie { answer, cookie: cookie(caller.app(), "", 0) })
}

/// Refuses while an address is closed after wrong passwords, whether it has an account or not.
pub(crate) async fn check_throttle(app: &App, email: &str, now: Millis) -> Result<(), Problem> {
    let (_, locked_until) = users::failures(&mut app.db.read().await?, email).await?;
    if locked_until > now {
        return Err(too_often((locked_until - now + SECOND - 1) / SECOND));
    }
    Ok(())
}

pub(crate) async fn count_failure(app: &App, email: &str, now: Millis) -> Result<(), Problem> {
    app.db
        .write(async |mut tx| {
            tx.take_turns_on(email).await?;
            let (failures, locked_until) = users::failures(&mut tx, email).await?;
            // After a quiet while the count begins anew.
            let failures = if locked_until < now - HOUR { 1 } else { failures + 1 };
            let doublings = u32::try_from(failures - FREE_FAILURES).unwrap_or(0).min(20);
            let wait = match failures > FREE_FAILURES {
                true => (SECOND << doublings).min(LONGEST_WAIT),
                false => 0,
            };
            users::record_failure(&mut tx, email, failures, now + wait).await?;
            Ok::<_, Problem>(())
        })
        .await
}

fn too_often(seconds: i64) -> Problem {
    Problem::new(Code::RateLimited, "Too many wrong passwords; wait before the next try.")
        .retry_after(seconds)
}
