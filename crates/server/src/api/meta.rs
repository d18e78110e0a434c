//! The front door: root, health, reference, whoami.

use axum::extract::State;
use campanile_model::{
    decode::Instant,
    ids::{BrandId, KeyId, SessionId, UserId, WorkspaceId},
    scope::Scope,
};
use campanile_store::identity::Credential;
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
pub(crate) struct Whoami {
    user: Person,
    workspace: Workspace,
    /// The key that was sent; `null` for a session.
    key: Option<KeySummary>,
    /// The session that was sent; `null` for a key.
    session_id: Option<SessionId>,
    /// What the credential may do; a session may do everything.
    scopes: Vec<Scope>,
    /// The brand that requests without a brand header act on.
    brand_id: Option<BrandId>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Person {
    id: UserId,
    email: String,
    name: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Workspace {
    id: WorkspaceId,
    name: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct KeySummary {
    id: KeyId,
    name: String,
    expires_at: Option<Instant>,
}

pub(crate) async fn whoami(caller: Caller) -> Result<Answer<Whoami>, Problem> {
    let identity = caller.identity();
    let (key, session_id, scopes) = match &identity.credential {
        Credential::Key { id, name, scopes } => {
            let expires_at = identity.expires_at.map(Instant);
            let key = KeySummary { id: id.clone(), name: name.clone(), expires_at };
            (Some(key), None, scopes.list())
        }
        Credential::Session { id } => (None, Some(id.clone()), vec![Scope::Everything]),
    };
    Answer::new(&Whoami {
        user: Person {
            id: identity.user.clone(),
            email: identity.email.clone(),
            name: identity.name.clone(),
        },
        workspace: Workspace {
            id: identity.workspace.clone(),
            name: identity.workspace_name.clone(),
        },
        key,
        session_id,
        scopes,
        brand_id: caller.tenant().ok().map(|tenant| tenant.brand().clone()),
    })
}
