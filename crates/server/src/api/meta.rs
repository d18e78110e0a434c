//! The front door: root, health, reference, whoami.

use axum::extract::State;
use campanile_model::{
    decode::Instant,
    ids::{BrandId, KeyId, SessionId, UserId, WorkspaceId},
    scope::Scope,
};
use campanile_store::{identity::Credential, tenant::Tenant};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    answer::{Answer, Document},
    app::Shared,
    caller::Caller,
    problem::Problem,
    reference,
    route::BASE_PATH,
};

#[derive(Serialize, JsonSchema)]
pub(crate) struct Root {
    api_name: &'static str,
    version: &'static str,
    base_path: &'static str,
    links: Links,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Links {
    health: String,
    reference: String,
    whoami: String,
    openapi: String,
    docs: String,
}

pub(crate) async fn root(State(app): State<Shared>) -> Result<Answer<Root>, Problem> {
    let url = &app.public_url;
    Answer::new(&Root {
        api_name: reference::API_NAME,
        version: reference::VERSION,
        base_path: BASE_PATH,
        links: Links {
            health: format!("{url}{BASE_PATH}/health"),
            reference: format!("{url}{BASE_PATH}/reference"),
            whoami: format!("{url}{BASE_PATH}/whoami"),
            openapi: format!("{url}/openapi.json"),
            docs: format!("{url}/docs"),
        },
    })
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Health {
    /// `ok` whenever the process answers.
    status: &'static str,
}

/// Never touches the store: a slow disk must not make a supervisor kill us.
pub(crate) async fn health() -> Result<Answer<Health>, Problem> {
    Answer::new(&Health { status: "ok" })
}

pub(crate) async fn reference(State(app): State<Shared>) -> Document {
    reference::document(app.now())
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Whoami<'a> {
    user: Person<'a>,
    workspace: Workspace<'a>,
    /// The key that was sent; `null` for a session.
    key: Option<KeySummary<'a>>,
    /// The session that was sent; `null` for a key.
    session_id: Option<&'a SessionId>,
    /// What the credential may do; a session may do everything.
    scopes: Vec<Scope>,
    /// The brand that requests without a brand header act on.
    brand_id: Option<&'a BrandId>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Person<'a> {
    id: &'a UserId,
    email: &'a str,
    name: &'a str,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Workspace<'a> {
    id: &'a WorkspaceId,
    name: &'a str,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct KeySummary<'a> {
    id: &'a KeyId,
    name: &'a str,
    expires_at: Option<Instant>,
}

pub(crate) async fn whoami(caller: Caller) -> Result<Answer<Whoami<'static>>, Problem> {
    let identity = caller.identity();
    let (key, session_id, scopes) = match &identity.credential {
        Credential::Key { id, name, scopes } => {
            let expires_at = identity.expires_at.map(Instant);
            (Some(KeySummary { id, name, expires_at }), None, scopes.list())
        }
        Credential::Session { id } => (None, Some(id), vec![Scope::Everything]),
    };
    Answer::new(&Whoami {
        user: Person { id: &identity.user, email: &identity.email, name: &identity.name },
        workspace: Workspace { id: &identity.workspace, name: &identity.workspace_name },
        key,
        session_id,
        scopes,
        brand_id: caller.tenant().ok().map(Tenant::brand),
    })
}
