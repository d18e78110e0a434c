//! Posts by the hundred thousand, written through the store as the service would write them.

use std::sync::Arc;

use campanile_model::{
    ids::{BrandId, PostId},
    label::Tag,
    post::{Draft, PostStatus},
    time::{Millis, SECOND},
};
use campanile_store::{Db, Tx, db::Location, identity, posts, posts::Post, tenant::Tenant};
use sha2::{Digest, Sha256};

use crate::Outcome;

/// In one transaction; more would make PostgreSQL's answers pile up in memory.
const BATCH: usize = 1_000;
/// The beginning of 2025: in the past for every machine that runs this.
const BEGINNING: Millis = 1_735_689_600_000;
const STEP: Millis = 20 * SECOND;

const TAGS: [&str; 12] = [
    "launch",
    "spring",
    "video",
    "behind-the-scenes",
    "evergreen",
    "question",
    "event",
    "team",
    "product",
    "weekly",
    "press",
    "community",
];
const FOLDERS: [&str; 3] = ["campaigns/spring", "campaigns/launch", "evergreen"];

/// Puts posts into the first brand that the key reaches, oldest first.
pub(crate) async fn fill(location: &Location, key: &str, count: usize) -> Outcome {
    let db = Db::open(location).await?;
    let tenant = tenant(&db, key).await?;
    for start in (0..count).step_by(BATCH) {
        let end = count.min(start + BATCH);
        db.write(async |tx: Tx| insert(tx, &tenant, start..end).await).await?;
    }
    db.close().await;
    Ok(())
}

pub(crate) async fn tenant(db: &Db, key: &str) -> Outcome<Arc<Tenant>> {
    tenant_of(db, key, None).await
}

/// The named brand, or the first.
pub(crate) async fn tenant_of(db: &Db, key: &str, brand: Option<&BrandId>) -> Outcome<Arc<Tenant>> {
    let hash: [u8; 32] = Sha256::digest(key.as_bytes()).into();
    let identity = identity::find_by_key(&mut db.read().await?, &hash).await?;
    let tenant = identity.and_then(|identity| identity.tenant(brand.map(BrandId::as_str)));
    Ok(tenant.ok_or("the key that the service printed reaches no brand")?)
}

async fn insert(
    mut tx: Tx,
    tenant: &Tenant,
    numbers: std::ops::Range<usize>,
) -> Result<(), campanile_store::StoreError> {
    for number in numbers {
        let post = post(tenant, number);
        posts::insert(&mut tx, tenant, &post, &post.texts()?).await?;
    }
    Ok(())
}

/// The same posts in every run; fifty of them are about 22 KB of JSON.
fn post(tenant: &Tenant, number: usize) -> Post {
    let at = BEGINNING + STEP * Millis::try_from(number).unwrap_or(0);
    let published = number.is_multiple_of(4);
    Post {
        id: PostId::floor(at),
        brand: tenant.brand().clone(),
        status: if published { PostStatus::Published } else { PostStatus::Draft },
        folder_path: number.is_multiple_of(3).then(|| FOLDERS[number / 3 % 3].to_owned()),
        scheduled_at: published.then_some(at),
        published_at: published.then_some(at),
        created_by: tenant.user().clone(),
        created_at: at,
        updated_at: at,
        draft: draft(number),
    }
}

/// A text of a line or so with two or three tags.
pub(crate) fn draft(number: usize) -> Draft {
    let tags = (0..2 + number % 2).map(|step| TAGS[(number + step * 5) % TAGS.len()]);
    Draft {
        content: format!("Post {number}: doors open at nine, coffee is on us."),
        tags: tags.map(|tag| Tag(tag.to_owned())).collect(),
        ..Draft::default()
    }
}
