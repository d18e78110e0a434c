//! Brands: listed with a key, managed with a session.

use std::sync::Arc;

use campanile_model::{
    decode::Instant,
    ids::{Brand as BrandKind, BrandId},
    input,
    label::Name,
    settings::Schedule,
};
use campanile_store::{
    audit::Change,
    brands::{self, Brand},
    counts::{self, Counts},
    tenant::Tenant,
    users,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    answer::{self, Answer, Created, Deleted},
    caller::Caller,
    extract::{Body, Path},
    problem::{Code, Problem},
};

#[derive(Serialize, JsonSchema)]
pub(crate) struct BrandView {
    id: BrandId,
    name: String,
    /// The brand that requests without a brand header act on.
    is_default: bool,
    counts: CountsView,
    created_at: Instant,
    updated_at: Instant,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct CountsView {
    posts: i64,
    drafts: i64,
    scheduled: i64,
    published: i64,
    media: i64,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct BrandList {
    brands: Vec<BrandView>,
    /// Always `null`: all brands within reach are listed.
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct BrandBody {
    brand: BrandView,
}

input! {
    pub(crate) struct BrandInput {
        name: Name,
    }
    read_only: ["id", "is_default", "counts", "created_at", "updated_at"]
}

fn view(brand: &Brand, counts: Counts, is_default: bool) -> BrandView {
    let Counts { posts, drafts, scheduled, published, media } = counts;
    BrandView {
        id: brand.id.clone(),
        name: brand.name.clone(),
        is_default,
        counts: CountsView { posts, drafts, scheduled, published, media },
        created_at: Instant(brand.created_at),
        updated_at: Instant(brand.updated_at),
    }
}

pub(crate) async fn list(caller: Caller) -> Result<Answer<BrandList>, Problem> {
    let mut conn = caller.app().db.read().await?;
    let found = brands::list(&mut conn, &caller.identity().user).await?;
    let counts = counts::of_user(&mut conn, &caller.identity().user).await?;
    let view = |(index, brand): (usize, &Brand)| view(brand, of(&counts, &brand.id), index == 0);
    let brands = found.iter().enumerate().map(view).collect();
    Answer::new(&BrandList { brands, next_cursor: None })
}

fn of(counts: &[(BrandId, Counts)], brand: &BrandId) -> Counts {
    counts.iter().find(|(id, _)| id == brand).map(|(_, counts)| *counts).unwrap_or_default()
}

pub(crate) async fn create(
    caller: Caller,
    Body(new): Body<BrandInput>,
) -> Result<Created<BrandBody>, Problem> {
    let identity = caller.identity();
    let now = caller.now();
    let brand = Brand {
        id: BrandId::new(now),
        workspace: identity.workspace.clone(),
        name: new.name.0,
        schedule: serde_json::to_string(&Schedule::default()).map_err(Problem::internal)?,
        created_at: now,
        updated_at: now,
    };
    caller
        .write(async |mut tx| {
            brands::insert(&mut tx, &brand).await?;
            brands::add_owners(&mut tx, &brand.id, &identity.workspace, now).await?;
            brands::add_member(&mut tx, &brand.id, &identity.user, now).await?;
            let answer =
                Answer::tagged(&BrandBody { brand: view(&brand, Counts::default(), false) })?;
            let change = Change {
                action: "brand.created",
                resource: "brand",
                resource_id: brand.id.as_str(),
                before: None,
                after: Some(&name_json(&brand.name)),
            };
            caller.record(&mut tx, change).await?;
            Ok(answer)
        })
        .await
}

pub(crate) async fn rename(
    caller: Caller,
    Path(id): Path<BrandKind>,
    Body(new): Body<BrandInput>,
) -> Result<Answer<BrandBody>, Problem> {
    let tenant = reach(&caller, &id)?;
    let now = caller.now();
    caller
        .write(async |mut tx| {
            let before = brands::find(&mut tx, &tenant).await?.ok_or_else(Problem::not_found)?;
            let counts = counts::of_user(&mut tx, &caller.identity().user).await?;
            let counts = of(&counts, &id);
            let is_default = caller.identity().tenant(None).is_some_and(|t| *t.brand() == id);
            let shown = Answer::<BrandBody>::tagged(&BrandBody {
                brand: view(&before, counts, is_default),
            })?;
            caller.expect_tag(&answer::etag(shown.body()))?;
            brands::rename(&mut tx, &tenant, &new.name.0, now).await?;
            let change = Change {
                action: "brand.renamed",
                resource: "brand",
                resource_id: id.as_str(),
                before: Some(&name_json(&before.name)),
                after: Some(&name_json(&new.name.0)),
            };
            caller.record(&mut tx, change).await?;
            let after = Brand { name: new.name.0, updated_at: now, ..before };
            Answer::tagged(&BrandBody { brand: view(&after, counts, is_default) })
        })
        .await
}

pub(crate) async fn remove(
    caller: Caller,
    Path(id): Path<BrandKind>,
) -> Result<Answer<Deleted>, Problem> {
    let tenant = reach(&caller, &id)?;
    let now = caller.now();
    caller
        .write(async |mut tx| {
            let user = users::find(&mut tx, &caller.identity().user).await?;
            if user.is_none_or(|user| user.role != "owner") {
                return Err(Problem::new(Code::NotPermitted, "Ask an owner of the workspace."));
            }
            if brands::list(&mut tx, &caller.identity().user).await?.len() < 2 {
                return Err(Problem::new(Code::LastBrand, "Create another brand first."));
            }
            let before = brands::find(&mut tx, &tenant).await?.ok_or_else(Problem::not_found)?;
            brands::delete(&mut tx, &tenant, now).await?;
            let change = Change {
                action: "brand.deleted",
                resource: "brand",
                resource_id: id.as_str(),
                before: Some(&name_json(&before.name)),
                after: None,
            };
            caller.record(&mut tx, change).await?;
            Answer::new(&Deleted::YES)
        })
        .await
}

fn reach(caller: &Caller, id: &BrandId) -> Result<Arc<Tenant>, Problem> {
    caller.identity().tenant(Some(id.as_str())).ok_or_else(Problem::not_found)
}

fn name_json(name: &str) -> String {
    serde_json::json!({ "name": name }).to_string()
}
