//! API keys: listed by their user, made and revoked in a session only.

use campanile_model::{
    decode::{Future, Instant, List},
    ids::{Key as KeyKind, KeyId},
    input,
    label::Name,
    scope::{Scope, Scopes},
};
use campanile_store::{
    audit::Change,
    keys::{self, Key},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    answer::{Answer, Created, Deleted},
    caller::Caller,
    credential,
    extract::{Body, Path, Query},
    paging::{self, Paging},
    problem::Problem,
};

#[derive(Serialize, JsonSchema)]
pub(crate) struct KeyView {
    id: KeyId,
    name: String,
    /// The first and last characters, by which you recognise the key.
    hint: String,
    scopes: Vec<Scope>,
    created_at: Instant,
    expires_at: Option<Instant>,
    revoked_at: Option<Instant>,
    /// To the minute.
    last_used_at: Option<Instant>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct KeyList {
    keys: Vec<KeyView>,
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct NewKeyBody {
    key: KeyView,
    /// The key itself. It is shown this once and cannot be read again.
    api_key: String,
}

pub(crate) fn view(key: &Key) -> KeyView {
    KeyView {
        id: key.id.clone(),
        name: key.name.clone(),
        hint: key.hint.clone(),
        scopes: key.scopes.list(),
        created_at: Instant(key.created_at),
        expires_at: key.expires_at.map(Instant),
        revoked_at: key.revoked_at.map(Instant),
        last_used_at: key.last_used_at.map(Instant),
    }
}

pub(crate) async fn list(
    caller: Caller,
    Query(query): Query<Paging>,
) -> Result<Answer<KeyList>, Problem> {
    let app = caller.app();
    let user = &caller.identity().user;
    let list = format!("keys|{user}");
    let page = paging::page(app, &list, query.limit, query.cursor.as_ref())?;
    let mut conn = app.db.read().await?;
    let mut found = keys::list(&mut conn, user, page.below.as_deref(), page.limit + 1).await?;
    let more = found.len() as i64 > page.limit;
    found.truncate(page.limit.unsigned_abs() as usize);
    let last = found.last().filter(|_| more).map(|key| key.id.as_str());
    let next_cursor = paging::next(app, &list, last);
    Answer::new(&KeyList { keys: found.iter().map(view).collect(), next_cursor })
}

input! {
    #[schemars(extend("examples" = [{ "name": "Agent", "scopes": ["posts:read", "posts:write"] }]))]
    pub(crate) struct NewKey {
        name: Name,
        /// At least one; `*` stands for all.
        scopes: List<Scope, 24, 1>,
        /// When the key ends; absent for a key without an end.
        expires_at: Option<Future>,
    }
    read_only: ["id", "hint", "created_at", "revoked_at", "last_used_at"]
}

pub(crate) async fn create(
    caller: Caller,
    Body(new): Body<NewKey>,
) -> Result<Created<NewKeyBody>, Problem> {
    let now = caller.now();
    let fresh = credential::new_key();
    let key = Key {
        id: KeyId::new(now),
        name: new.name.0,
        hint: fresh.hint.clone(),
        scopes: Scopes::of(&new.scopes.0),
        created_at: now,
        expires_at: new.expires_at.map(|at| at.0),
        revoked_at: None,
        last_used_at: None,
    };
    caller
        .write(async |mut tx| {
            keys::insert(&mut tx, &caller.identity().user, &key, &fresh.hash).await?;
            record(&caller, &mut tx, "key.created", None, Some(&key)).await?;
            Answer::new(&NewKeyBody { key: view(&key), api_key: fresh.text.to_string() })
        })
        .await
}

/// Revokes the key; it is refused from the next request on. Doing so twice changes nothing.
pub(crate) async fn revoke(
    caller: Caller,
    Path(id): Path<KeyKind>,
) -> Result<Answer<Deleted>, Problem> {
    let user = &caller.identity().user;
    caller
        .write(async |mut tx| {
            let before = keys::find(&mut tx, user, &id).await?.ok_or_else(Problem::not_found)?;
            if keys::revoke(&mut tx, user, &id, caller.now()).await? {
                let after = Key { revoked_at: Some(caller.now()), ..before.clone() };
                record(&caller, &mut tx, "key.revoked", Some(&before), Some(&after)).await?;
            }
            Answer::new(&Deleted::YES)
        })
        .await
}

async fn record(
    caller: &Caller,
    tx: &mut campanile_store::Tx,
    action: &'static str,
    before: Option<&Key>,
    after: Option<&Key>,
) -> Result<(), Problem> {
    let json = |key: Option<&Key>| key.and_then(|key| serde_json::to_string(&view(key)).ok());
    let (was, is) = (json(before), json(after));
    let change = Change {
        action,
        resource: "key",
        resource_id: after.or(before).map_or("", |key| key.id.as_str()),
        before: was.as_deref(),
        after: is.as_deref(),
    };
    caller.record(tx, change).await
}
