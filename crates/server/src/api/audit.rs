//! The workspace's audit trail.

use campanile_model::{
    decode::{Instant, Text},
    ids::{AuditId, BrandId, UserId},
    input,
};
use campanile_store::audit::{self, Entry, Filter};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    answer::Answer,
    caller::Caller,
    extract::Query,
    paging::{self, Cursor, Limit},
    problem::Problem,
};

#[derive(Serialize, JsonSchema)]
pub(crate) struct EntryView {
    id: AuditId,
    /// What was done, `noun.verb`.
    action: String,
    /// The kind of thing it was done to.
    resource: String,
    resource_id: String,
    brand_id: Option<String>,
    actor: ActorView,
    request_id: String,
    ip: Option<String>,
    /// The thing before the change; `null` when it is new.
    before: Option<Value>,
    /// The thing after the change; `null` when it is gone.
    after: Option<Value>,
    created_at: Instant,
    /// Whether the entry is part of the hash chain yet.
    sealed: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ActorView {
    /// `key`, `session`, `upload`, `cli` or `system`.
    door: String,
    user_id: Option<String>,
    /// The key, session or upload that was used.
    credential_id: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct EntryList {
    audit_logs: Vec<EntryView>,
    next_cursor: Option<String>,
}

input! {
    pub(crate) struct AuditFilter {
        /// Such as `post.created`.
        action: Option<Text<1, 64>>,
        /// Such as `post`.
        resource: Option<Text<1, 64>>,
        resource_id: Option<Text<1, 600>>,
        user_id: Option<UserId>,
        /// Only entries of this brand.
        about_brand_id: Option<BrandId>,
        from: Option<Instant>,
        to: Option<Instant>,
        /// How many to return.
        limit: Option<Limit>,
        /// `next_cursor` of the page before.
        cursor: Option<Cursor>,
    }
}

pub(crate) async fn list(
    caller: Caller,
    Query(query): Query<AuditFilter>,
) -> Result<Answer<EntryList>, Problem> {
    let app = caller.app();
    let identity = caller.identity();
    let filter = Filter {
        action: query.action.map(|text| text.0),
        resource: query.resource.map(|text| text.0),
        resource_id: query.resource_id.map(|text| text.0),
        user_id: query.user_id.map(|id| id.as_str().to_owned()),
        brand_id: query.about_brand_id.map(|id| id.as_str().to_owned()),
        from: query.from.map(|at| at.0),
        to: query.to.map(|at| at.0),
    };
    let list = format!("audit|{}|{}|{filter:?}", identity.workspace, identity.user);
    let page = paging::page(app, &list, query.limit, query.cursor.as_ref())?;
    let mut conn = app.db.read().await?;
    let (entries, next) =
        audit::list(&mut conn, &identity.workspace, &identity.user, &filter, &page).await?;
    Answer::new(&EntryList {
        audit_logs: entries.into_iter().map(view).collect(),
        next_cursor: paging::next(app, &list, next.as_deref()),
    })
}

fn view(entry: Entry) -> EntryView {
    let json = |text: Option<String>| text.and_then(|text| serde_json::from_str(&text).ok());
    EntryView {
        id: entry.id,
        action: entry.action,
        resource: entry.resource,
        resource_id: entry.resource_id,
        brand_id: entry.brand,
        actor: ActorView { door: entry.door, user_id: entry.user, credential_id: entry.credential },
        request_id: entry.request_id,
        ip: entry.ip,
        before: json(entry.before),
        after: json(entry.after),
        created_at: Instant(entry.created_at),
        sealed: entry.sealed,
    }
}
