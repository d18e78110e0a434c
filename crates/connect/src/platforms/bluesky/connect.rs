//! Connecting an account with an app password.

use campanile_model::{publish::Failure, time::Millis};
use serde::Deserialize;
use serde_json::json;

use super::Bluesky;
use super::fault::{Fault, Said};
use super::identity::{Directory, Identifier, is_local, origin, server_in};
use super::session::{self, Credential, Session};
use super::xrpc::Server;
use crate::platforms::{Account, Connected, Doing, Form, Manual, Refusal, Secret};
use crate::{FetchError, Http};

/// The server to sign in at.
struct Home {
    origin: String,
    /// Whether somebody typed it in, and can be told that it is wrong.
    named: bool,
    /// Whose account it must turn out to be.
    did: Option<String>,
}

impl Manual for Bluesky {
    fn connect<'a>(
        &'a self,
        http: &'a Http,
        form: &'a Form,
        now: Millis,
    ) -> Doing<'a, Result<Connected, Refusal>> {
        Box::pin(self.sign_in(http, form, now))
    }

    fn disconnect<'a>(
        &'a self,
        http: &'a Http,
        account: &'a Account,
        secret: &'a Secret,
    ) -> Doing<'a, ()> {
        Box::pin(async move {
            if let Ok(credential) = Credential::read(secret) {
                // Nothing is scheduled by the answer, so the time does not matter.
                session::end(&Server::new(http, &account.server, 0), &credential).await;
            }
        })
    }
}

impl Bluesky {
    async fn sign_in(&self, http: &Http, form: &Form, now: Millis) -> Result<Connected, Refusal> {
        let identifier = identifier(http, text(form, "handle"))?;
        let app_password = text(form, "app_password");
        if app_password.is_empty() {
            let message = "make an app password in the settings of the account and enter it here";
            return Err(Refusal::Field("app_password", "required", message.to_owned()));
        }
        let directory = Directory { http, plc: &self.endpoints.plc, now };
        let home = self.home(&directory, &identifier, text(form, "server")).await?;
        let server = Server::new(http, &home.origin, now);
        let session = Session::open(&server, identifier.as_str(), app_password)
            .await
            .map_err(|fault| explain(fault, &home))?;
        if home.did.as_ref().is_some_and(|did| *did != session.did) {
            return Err(wrong_account());
        }
        let origin = settle(&directory, &home, &session).await?;
        Ok(connected(&identifier, app_password, &session, origin))
    }

    /// Finds the server: the one that was named, or the one that the identity names.
    async fn home(
        &self,
        directory: &Directory<'_>,
        identifier: &Identifier,
        named: &str,
    ) -> Result<Home, Refusal> {
        let known = match identifier {
            Identifier::Did(did) => Some(did.clone()),
            Identifier::Handle(_) => None,
        };
        if !named.is_empty() {
            let message = "the address of a server, such as https://bsky.social";
            let origin = origin(named)
                .ok_or_else(|| Refusal::Field("server", "invalid_server", message.to_owned()))?;
            return Ok(Home { origin, named: true, did: known });
        }
        let did = match identifier {
            Identifier::Did(_) => known,
            Identifier::Handle(handle) => directory.did_of(handle, &self.endpoints.bluesky).await,
        };
        let found = match &did {
            Some(did) => directory.server_of(did).await,
            None => None,
        };
        let origin = found.unwrap_or_else(|| self.endpoints.bluesky.clone());
        Ok(Home { origin, named: false, did })
    }
}

/// The server that holds the account's posts, which may be another than the one signed in at.
///
/// What an identity says of itself counts more than what the server says of it: otherwise a
/// server could pass off somebody else's account as its own. So the token is tried there.
async fn settle(
    directory: &Directory<'_>,
    home: &Home,
    session: &Session,
) -> Result<String, Refusal> {
    #[derive(Deserialize)]
    struct Whose {
        did: String,
    }
    let said = session.did_doc.as_ref().and_then(|document| server_in(document, &session.did));
    let origin = directory.server_of(&session.did).await.or(said);
    let Some(origin) = origin.filter(|origin| *origin != home.origin) else {
        return Ok(home.origin.clone());
    };
    let server = Server::new(directory.http, &origin, directory.now).with_token(session.access());
    let whose: Whose = server
        .query("com.atproto.server.getSession", &[])
        .await
        .map_err(|fault| Refusal::Platform(fault.failure()))?;
    if whose.did != session.did {
        return Err(wrong_account());
    }
    Ok(origin)
}

fn connected(
    identifier: &Identifier,
    app_password: &str,
    session: &Session,
    server: String,
) -> Connected {
    // A server that could not verify the handle puts this in its place.
    let handle = match (session.handle.as_str(), identifier) {
        ("handle.invalid", Identifier::Handle(typed)) => typed,
        (handle, _) => handle,
    };
    let scope = session.claims().and_then(|claims| claims.scope);
    Connected {
        account: Account {
            remote_id: session.did.clone(),
            handle: handle.to_owned(),
            server,
            details: json!({}),
        },
        secret: Credential::new(app_password, session).seal(),
        scopes: scope.into_iter().collect(),
    }
}

fn text<'a>(form: &'a Form, field: &str) -> &'a str {
    form.get(field).map_or("", |value| value.trim())
}

fn identifier(http: &Http, text: &str) -> Result<Identifier, Refusal> {
    let refuse = |code, message: &str| Refusal::Field("handle", code, message.to_owned());
    if text.is_empty() {
        return Err(refuse("required", "the account's handle, such as ada.bsky.social"));
    }
    match Identifier::parse(text) {
        Some(Identifier::Handle(handle)) if is_local(&handle) && !http.policy().allow_private => {
            Err(refuse("invalid_handle", "handles with this ending do not exist in public"))
        }
        Some(identifier) => Ok(identifier),
        None => {
            let message = "a whole handle such as ada.bsky.social, or a DID; no e-mail address";
            Err(refuse("invalid_handle", message))
        }
    }
}

fn wrong_account() -> Refusal {
    let message = "the server signed in to an account that this handle does not belong to";
    Refusal::Field("handle", "wrong_account", message.to_owned())
}

/// Why nobody could sign in, at the field that can be corrected.
fn explain(fault: Fault, home: &Home) -> Refusal {
    let failure: Failure = fault.failure();
    let said = match fault {
        Fault::Lost(FetchError::Refused(refused)) if home.named => {
            return Refusal::Field("server", "url_not_allowed", refused.to_string());
        }
        Fault::Lost(error @ (FetchError::Dns(_) | FetchError::Tls(_))) if home.named => {
            return Refusal::Field("server", "unreachable", error.to_string());
        }
        Fault::Lost(error) if home.named && error.is_foreign_tongue() => return no_server(),
        Fault::Garbled if home.named => return no_server(),
        Fault::Lost(_) | Fault::Garbled => return Refusal::Platform(failure),
        Fault::Said(said) => said,
    };
    let field = |code, message: &str| Refusal::Field("app_password", code, message.to_owned());
    match (said.status.as_u16(), said.name.as_str()) {
        (401, "AuthenticationRequired") => {
            field("wrong_password", "the server does not know this handle with this app password")
        }
        (401, "AuthFactorTokenRequired") => {
            field("main_password", "this is the account's main password; make an app password")
        }
        _ if home.named && is_of_another_kind(&said) => no_server(),
        _ => Refusal::Platform(failure),
    }
}

/// Whether a refusal comes from something else than a server of the protocol: every one of
/// those can open sessions, and names its errors with one word.
fn is_of_another_kind(said: &Said) -> bool {
    let is_word = !said.name.is_empty() && said.name.bytes().all(|b| b.is_ascii_alphanumeric());
    match said.status.as_u16() {
        404 | 405 | 501 => true,
        408 | 429 => false,
        300..=499 => !is_word,
        _ => false,
    }
}

fn no_server() -> Refusal {
    let message = "no server of the AT Protocol answers at this address";
    Refusal::Field("server", "no_server", message.to_owned())
}
