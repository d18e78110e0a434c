//! The credential of an account: an app password, and the two tokens it was exchanged for.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use campanile_model::{
    publish::{Class, Failure},
    time::{MINUTE, Millis, SECOND},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zeroize::{Zeroize, Zeroizing};

use super::fault::Fault;
use super::xrpc::Server;
use crate::platforms::Secret;

/// A token is renewed so long before its end, so that no call begins with one about to expire.
const RENEW_BEFORE: Millis = 5 * MINUTE;

/// What is kept in a [`Secret`].
#[derive(Serialize, Deserialize)]
pub(super) struct Credential {
    app_password: String,
    pub(super) access: String,
    refresh: String,
    /// When the access token ends; absent when it does not say.
    expires_at: Option<Millis>,
}

impl Drop for Credential {
    fn drop(&mut self) {
        self.app_password.zeroize();
        self.access.zeroize();
        self.refresh.zeroize();
    }
}

/// What a server gives for a password or a refresh token.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Session {
    pub(super) did: String,
    pub(super) handle: String,
    access_jwt: String,
    refresh_jwt: String,
    pub(super) did_doc: Option<Value>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.access_jwt.zeroize();
        self.refresh_jwt.zeroize();
    }
}

impl Credential {
    pub(super) fn read(secret: &Secret) -> Result<Self, Failure> {
        serde_json::from_str(&secret.0).map_err(|_| {
            let message = "the stored credential cannot be read; connect the account again";
            Failure::new(Class::Auth, "credential_unreadable", message)
        })
    }

    pub(super) fn new(app_password: &str, session: &Session) -> Self {
        Self {
            app_password: app_password.to_owned(),
            access: session.access_jwt.clone(),
            refresh: session.refresh_jwt.clone(),
            expires_at: session.claims().and_then(|claims| claims.expires_at()),
        }
    }

    pub(super) fn seal(&self) -> Secret {
        // Strings and a number cannot fail to be written.
        Secret(Zeroizing::new(serde_json::to_string(self).unwrap_or_default()))
    }

    pub(super) fn renew_before(&self) -> Option<Millis> {
        self.expires_at.map(|at| at - RENEW_BEFORE)
    }
}

impl Session {
    /// Signs in.
    pub(super) async fn open(
        server: &Server<'_>,
        identifier: &str,
        app_password: &str,
    ) -> Result<Self, Fault> {
        let content = json!({ "identifier": identifier, "password": app_password });
        server.procedure("com.atproto.server.createSession", Some(&content)).await
    }

    async fn refresh(server: &Server<'_>, credential: &Credential) -> Result<Self, Fault> {
        let server = server.with_token(&credential.refresh);
        server.procedure("com.atproto.server.refreshSession", None::<&()>).await
    }

    pub(super) fn access(&self) -> &str {
        &self.access_jwt
    }

    /// What the access token says about itself. It is the server's own affair, so a token that
    /// cannot be read is no fault: the server will say when it does not take it any more.
    pub(super) fn claims(&self) -> Option<Claims> {
        let payload = self.access_jwt.split('.').nth(1)?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()
    }
}

#[derive(Deserialize)]
pub(super) struct Claims {
    exp: Option<i64>,
    pub(super) scope: Option<String>,
}

impl Claims {
    fn expires_at(&self) -> Option<Millis> {
        self.exp?.checked_mul(SECOND)
    }
}

/// New tokens for old ones, or else for the app password, which is tried once: sign-ins are
/// counted by the server, and few a day are allowed.
pub(super) async fn renew(
    server: &Server<'_>,
    did: &str,
    credential: &Credential,
) -> Result<Credential, Failure> {
    let session = match Session::refresh(server, credential).await {
        Err(Fault::Said(said)) if said.is("ExpiredToken") || said.is("InvalidToken") => {
            Session::open(server, did, &credential.app_password).await
        }
        outcome => outcome,
    }?;
    if session.did != did {
        let message = "the server answered for another account; connect the account again";
        return Err(Failure::new(Class::Auth, "wrong_account", message));
    }
    Ok(Credential::new(&credential.app_password, &session))
}

/// Ends the session; the app password itself can only be removed by its owner.
pub(super) async fn end(server: &Server<'_>, credential: &Credential) {
    let server = server.with_token(&credential.refresh);
    let ended = server.procedure::<Value>("com.atproto.server.deleteSession", None::<&()>).await;
    // It ends by itself in time.
    drop(ended);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(access: &str) -> Session {
        let content = json!({
            "did": "did:plc:abc", "handle": "ada.example.com", "active": true,
            "accessJwt": access, "refreshJwt": "r",
        });
        serde_json::from_value(content).unwrap()
    }

    fn token(claims: &str) -> String {
        format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn the_end_of_a_session_is_read_from_its_token() {
        let session = session(&token(r#"{"exp":1793491200,"scope":"com.atproto.appPass"}"#));
        let credential = Credential::new("p", &session);

        assert_eq!(credential.renew_before(), Some(1_793_491_200_000 - RENEW_BEFORE));
        assert_eq!(session.claims().unwrap().scope.as_deref(), Some("com.atproto.appPass"));
    }

    #[test]
    fn a_token_in_another_form_is_used_all_the_same() {
        for access in ["opaque", "a.%%.c", &token("[]"), &token(r#"{"exp":9223372036854775807}"#)] {
            assert_eq!(Credential::new("p", &session(access)).renew_before(), None, "{access}");
        }
    }

    #[test]
    fn a_sealed_credential_can_be_read_again() {
        let sealed = Credential::new("pass", &session(&token(r#"{"exp":5}"#))).seal();
        let credential = Credential::read(&sealed).unwrap();

        assert_eq!(credential.app_password, "pass");
        assert_eq!((credential.refresh.as_str(), credential.expires_at), ("r", Some(5000)));
        let broken = Secret(Zeroizing::new("{}".to_owned()));
        assert_eq!(Credential::read(&broken).err().unwrap().class, Class::Auth);
    }
}
