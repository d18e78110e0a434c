//! Rows of `media_items`, `assets`, `blobs` and `uploads`.

use campanile_model::{
    ids::{BlobId, BrandId, MediaId, UploadId, UserId, WorkspaceId},
    label::{StoragePath, Tag},
    time::Millis,
};

use crate::{
    counts,
    db::{Conn, Result, Row, Tx},
    page::{Page, Window},
    params,
    tenant::Tenant,
};

/// An item of the library, with the facts of its bytes.
#[derive(Clone, Debug)]
pub struct Item {
    pub id: MediaId,
    pub storage_path: String,
    pub name: Option<String>,
    pub folder_path: Option<String>,
    /// A JSON list.
    pub tags: String,
    pub source_url: Option<String>,
    pub created_by: UserId,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub facts: Facts,
}

/// What the bytes are.
#[derive(Clone, Debug)]
pub struct Facts {
    pub blob: BlobId,
    pub sha256: Vec<u8>,
    pub bytes: i64,
    pub media_type: String,
    pub width: i64,
    pub height: i64,
    pub duration_ms: Option<i64>,
}

const ITEM: &str = "i.id, i.storage_path, i.name, i.folder_path, i.tags, i.source_url,
    i.created_by, i.created_at, i.updated_at";
const FACTS: &str = "b.id, b.sha256, b.bytes, b.media_type, b.width, b.height, b.duration_ms";
const JOINS: &str = "JOIN assets a ON a.brand_id = i.brand_id AND a.storage_path = i.storage_path
    JOIN blobs b ON b.id = a.blob_id";

fn read_item(row: &Row<'_>) -> Result<Item> {
    Ok(Item {
        id: row.id(0)?,
        storage_path: row.text(1)?,
        name: row.optional_text(2)?,
        folder_path: row.optional_text(3)?,
        tags: row.text(4)?,
        source_url: row.optional_text(5)?,
        created_by: row.id(6)?,
        created_at: row.int(7)?,
        updated_at: row.int(8)?,
        facts: read_facts(row, 9)?,
    })
}

fn read_facts(row: &Row<'_>, first: usize) -> Result<Facts> {
    Ok(Facts {
        blob: row.id(first)?,
        sha256: row.bytes(first + 1)?.to_vec(),
        bytes: row.int(first + 2)?,
        media_type: row.text(first + 3)?,
        width: row.int(first + 4)?,
        height: row.int(first + 5)?,
        duration_ms: row.optional_int(first + 6)?,
    })
}

#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub folder: Option<String>,
    pub tag: Option<String>,
}

/// The statement of [`list`]; public to the test that prepares every form of it.
pub fn list_statement(filter: &Filter) -> String {
    let (from, condition, order) = match (&filter.tag, &filter.folder) {
        (Some(_), _) => (
            "media_tags t JOIN media_items i ON i.brand_id = t.brand_id AND i.id = t.media_id",
            "t.brand_id = $1 AND t.tag = $4 AND t.media_id < $2
             AND (CAST($5 AS TEXT) IS NULL OR i.folder_path = $5)",
            "t.media_id",
        ),
        (None, Some(_)) => (
            "media_items i",
            "i.brand_id = $1 AND i.folder_path = $5 AND i.id < $2 AND CAST($4 AS TEXT) IS NULL",
            "i.id",
        ),
        (None, None) => (
            "media_items i",
            "i.brand_id = $1 AND i.id < $2
             AND CAST($4 AS TEXT) IS NULL AND CAST($5 AS TEXT) IS NULL",
            "i.id",
        ),
    };
    format!(
        "SELECT {ITEM}, {FACTS} FROM {from} {JOINS} WHERE {condition} ORDER BY {order} DESC LIMIT $3"
    )
}

pub async fn list(
    conn: &mut Conn,
    tenant: &Tenant,
    filter: &Filter,
    page: &Page,
) -> Result<(Vec<Item>, Option<String>)> {
    let below = page.below.as_deref().unwrap_or("media_~");
    let (tag, folder) = (filter.tag.as_deref(), filter.folder.as_deref());
    let params = params![tenant.brand(), below, page.limit + 1, tag, folder];
    let mut window = Window::new(page.limit);
    let mut items = Vec::new();
    conn.each(&list_statement(filter), params, |row| {
        if window.admits(row.str(0)?) {
            items.push(read_item(row)?);
        }
        Ok(())
    })
    .await?;
    Ok((items, window.next))
}

pub async fn find(conn: &mut Conn, tenant: &Tenant, id: &MediaId) -> Result<Option<Item>> {
    let sql = format!(
        "SELECT {ITEM}, {FACTS} FROM media_items i {JOINS} WHERE i.brand_id = $1 AND i.id = $2"
    );
    conn.optional(&sql, params![tenant.brand(), id], read_item).await
}

pub async fn find_by_path(
    conn: &mut Conn,
    tenant: &Tenant,
    path: &StoragePath,
) -> Result<Option<Item>> {
    let sql = format!(
        "SELECT {ITEM}, {FACTS} FROM media_items i {JOINS}
          WHERE i.brand_id = $1 AND i.storage_path = $2"
    );
    conn.optional(&sql, params![tenant.brand(), path.as_str()], read_item).await
}

pub async fn insert(tx: &mut Tx, tenant: &Tenant, item: &Item, tags: &[Tag]) -> Result<()> {
    const SQL: &str = "
        INSERT INTO media_items (brand_id, id, storage_path, name, folder_path, tags, source_url,
                                 created_by, created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)";
    tx.push(
        SQL,
        params![
            tenant.brand(),
            &item.id,
            &item.storage_path,
            item.name.as_deref(),
            item.folder_path.as_deref(),
            &item.tags,
            item.source_url.as_deref(),
            &item.created_by,
            item.created_at
        ],
    )
    .await?;
    counts::add(tx, tenant.brand(), &mut [(counts::MEDIA, 1)]).await?;
    insert_tags(tx, tenant, &item.id, tags).await
}

pub async fn update(tx: &mut Tx, tenant: &Tenant, item: &Item, tags: Option<&[Tag]>) -> Result<()> {
    const SQL: &str = "
        UPDATE media_items SET folder_path = $3, tags = $4, updated_at = $5
         WHERE brand_id = $1 AND id = $2";
    tx.push(
        SQL,
        params![tenant.brand(), &item.id, item.folder_path.as_deref(), &item.tags, item.updated_at],
    )
    .await?;
    if let Some(tags) = tags {
        delete_tags(tx, tenant, &item.id).await?;
        insert_tags(tx, tenant, &item.id, tags).await?;
    }
    Ok(())
}

/// Removes the item and its asset, and dooms the bytes when nothing else holds them.
pub async fn delete(tx: &mut Tx, tenant: &Tenant, item: &Item, now: Millis) -> Result<()> {
    const ITEM: &str = "DELETE FROM media_items WHERE brand_id = $1 AND id = $2";
    const ASSET: &str = "DELETE FROM assets WHERE brand_id = $1 AND storage_path = $2";
    const DOOM: &str = "
        UPDATE blobs SET state = 'doomed', created_at = $3
         WHERE workspace_id = $1 AND id = $2 AND state = 'live'
           AND NOT EXISTS (SELECT 1 FROM assets a WHERE a.blob_id = $2)";
    take_turns(tx, tenant.workspace(), &item.facts.sha256).await?;
    delete_tags(tx, tenant, &item.id).await?;
    counts::add(tx, tenant.brand(), &mut [(counts::MEDIA, -1)]).await?;
    tx.push(ITEM, params![tenant.brand(), &item.id]).await?;
    tx.push(ASSET, params![tenant.brand(), &item.storage_path]).await?;
    tx.push(DOOM, params![tenant.workspace(), &item.facts.blob, now]).await
}

async fn insert_tags(tx: &mut Tx, tenant: &Tenant, id: &MediaId, tags: &[Tag]) -> Result<()> {
    const SQL: &str = "INSERT INTO media_tags (brand_id, tag, media_id) VALUES ($1, $2, $3)";
    for Tag(tag) in tags {
        tx.push(SQL, params![tenant.brand(), tag, id]).await?;
    }
    Ok(())
}

async fn delete_tags(tx: &mut Tx, tenant: &Tenant, id: &MediaId) -> Result<()> {
    const TAGS: &str = "SELECT tags FROM media_items WHERE brand_id = $1 AND id = $2";
    const SQL: &str = "DELETE FROM media_tags WHERE brand_id = $1 AND tag = $2 AND media_id = $3";
    let tags = tx.optional(TAGS, params![tenant.brand(), id], |row| row.text(0)).await?;
    let tags: Vec<String> =
        tags.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
    for tag in &tags {
        tx.push(SQL, params![tenant.brand(), tag, id]).await?;
    }
    Ok(())
}

/// The bytes behind a storage path of this brand.
pub async fn find_asset(
    conn: &mut Conn,
    tenant: &Tenant,
    path: &StoragePath,
) -> Result<Option<Facts>> {
    let sql = format!(
        "SELECT {FACTS} FROM assets a JOIN blobs b ON b.id = a.blob_id
          WHERE a.brand_id = $1 AND a.storage_path = $2"
    );
    conn.optional(&sql, params![tenant.brand(), path.as_str()], |row| read_facts(row, 0)).await
}

/// The bytes behind a storage path of a brand, and the workspace they are stored for.
pub async fn find_asset_of(
    conn: &mut Conn,
    brand: &BrandId,
    path: &StoragePath,
) -> Result<Option<(WorkspaceId, Facts)>> {
    let sql = format!(
        "SELECT {FACTS}, b.workspace_id FROM assets a JOIN blobs b ON b.id = a.blob_id
          WHERE a.brand_id = $1 AND a.storage_path = $2"
    );
    conn.optional(&sql, params![brand, path.as_str()], |row| Ok((row.id(7)?, read_facts(row, 0)?)))
        .await
}

pub async fn insert_asset(
    tx: &mut Tx,
    tenant: &Tenant,
    path: &StoragePath,
    blob: &BlobId,
    now: Millis,
) -> Result<()> {
    insert_asset_of(tx, tenant.brand().as_str(), path.as_str(), blob, now).await
}

async fn insert_asset_of(
    tx: &mut Tx,
    brand: &str,
    path: &str,
    blob: &BlobId,
    now: Millis,
) -> Result<()> {
    const SQL: &str = "
        INSERT INTO assets (brand_id, storage_path, blob_id, created_at) VALUES ($1, $2, $3, $4)";
    tx.push(SQL, params![brand, path, blob, now]).await
}

/// Notes that an object is about to be written, so that a crash cannot leave it behind unknown.
pub async fn announce_blob(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    blob: &BlobId,
    now: Millis,
) -> Result<()> {
    const SQL: &str = "
        INSERT INTO blobs (id, workspace_id, state, created_at) VALUES ($1, $2, 'pending', $3)";
    tx.push(SQL, params![blob, workspace, now]).await
}

/// Makes the announced object the one home of its content, or finds the one there is already
/// and dooms the newcomer. Says which object holds the bytes.
pub async fn settle_blob(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    facts: &Facts,
    now: Millis,
) -> Result<BlobId> {
    const THERE: &str = "
        SELECT id FROM blobs WHERE workspace_id = $1 AND sha256 = $2 AND state = 'live'";
    const LIVE: &str = "
        UPDATE blobs SET state = 'live', sha256 = $3, bytes = $4, media_type = $5, width = $6,
                         height = $7, duration_ms = $8, created_at = $9
         WHERE workspace_id = $1 AND id = $2";
    const DOOMED: &str =
        "UPDATE blobs SET state = 'doomed', created_at = $3 WHERE workspace_id = $1 AND id = $2";
    take_turns(tx, workspace, &facts.sha256).await?;
    let there = tx.optional(THERE, params![workspace, &facts.sha256], |row| row.id(0)).await?;
    if let Some(there) = there {
        tx.push(DOOMED, params![workspace, &facts.blob, now]).await?;
        return Ok(there);
    }
    tx.push(
        LIVE,
        params![
            workspace,
            &facts.blob,
            &facts.sha256,
            facts.bytes,
            &facts.media_type,
            facts.width,
            facts.height,
            facts.duration_ms,
            now
        ],
    )
    .await?;
    Ok(facts.blob.clone())
}

/// Two requests that add and remove the same content must see each other.
async fn take_turns(tx: &mut Tx, workspace: &WorkspaceId, sha256: &[u8]) -> Result<()> {
    let mut what = format!("{workspace}:");
    for byte in sha256 {
        what.push_str(&format!("{byte:02x}"));
    }
    tx.take_turns_on(&what).await
}

/// Objects that nothing refers to: doomed ones, and announced ones that never arrived.
pub async fn sweepable(
    conn: &mut Conn,
    pending_before: Millis,
) -> Result<Vec<(BlobId, WorkspaceId)>> {
    const SQL: &str = "
        SELECT id, workspace_id FROM blobs /* every tenant: the server cleans up after all */
         WHERE state = 'doomed' OR (state = 'pending' AND created_at < $1)
         ORDER BY created_at LIMIT 500";
    conn.all(SQL, params![pending_before], |row| Ok((row.id(0)?, row.id(1)?))).await
}

pub async fn forget_blob(tx: &mut Tx, workspace: &WorkspaceId, blob: &BlobId) -> Result<()> {
    const SQL: &str = "DELETE FROM blobs WHERE workspace_id = $1 AND id = $2 AND state <> 'live'";
    tx.push(SQL, params![workspace, blob]).await
}

/// A promise to take one upload.
#[derive(Clone, Debug)]
pub struct Upload {
    pub id: UploadId,
    pub brand: String,
    pub workspace: WorkspaceId,
    pub storage_path: String,
    pub media_type: String,
    pub bytes: i64,
    pub expires_at: Millis,
    pub used: bool,
}

pub async fn insert_upload(tx: &mut Tx, tenant: &Tenant, upload: &Upload) -> Result<()> {
    const SQL: &str = "
        INSERT INTO uploads (id, brand_id, workspace_id, storage_path, media_type, bytes,
                             expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    tx.push(
        SQL,
        params![
            &upload.id,
            tenant.brand(),
            tenant.workspace(),
            &upload.storage_path,
            &upload.media_type,
            upload.bytes,
            upload.expires_at
        ],
    )
    .await
}

/// The upload that a signed URL names: the signature is the proof, not a tenant.
pub async fn find_upload(conn: &mut Conn, id: &UploadId) -> Result<Option<Upload>> {
    const SQL: &str = "
        SELECT id, brand_id, workspace_id, storage_path, media_type, bytes, expires_at, used_at
          FROM uploads WHERE id = $1 /* every tenant: the URL was signed for this upload */";
    conn.optional(SQL, params![id], |row| {
        Ok(Upload {
            id: row.id(0)?,
            brand: row.text(1)?,
            workspace: row.id(2)?,
            storage_path: row.text(3)?,
            media_type: row.text(4)?,
            bytes: row.int(5)?,
            expires_at: row.int(6)?,
            used: row.optional_int(7)?.is_some(),
        })
    })
    .await
}

/// `false` when the URL was used already: it is good for one upload.
pub async fn complete_upload(
    tx: &mut Tx,
    upload: &Upload,
    blob: &BlobId,
    now: Millis,
) -> Result<bool> {
    const SQL: &str = "
        UPDATE uploads SET used_at = $2
         WHERE id = $1 AND used_at IS NULL /* every tenant: the URL was signed for this upload */";
    let first = tx.execute(SQL, params![&upload.id, now]).await? == 1;
    if first {
        insert_asset_of(tx, &upload.brand, &upload.storage_path, blob, now).await?;
    }
    Ok(first)
}

pub async fn sweep_uploads(tx: &mut Tx, expired_before: Millis) -> Result<u64> {
    const SQL: &str = "
        DELETE FROM uploads WHERE expires_at < $1 /* every tenant: expired for everybody */";
    tx.execute(SQL, params![expired_before]).await
}

/// The object a signed read URL names.
pub async fn find_blob(
    conn: &mut Conn,
    workspace: &WorkspaceId,
    blob: &BlobId,
) -> Result<Option<Facts>> {
    let sql = format!(
        "SELECT {FACTS} FROM blobs b WHERE b.workspace_id = $1 AND b.id = $2 AND b.state = 'live'"
    );
    conn.optional(&sql, params![workspace, blob], |row| read_facts(row, 0)).await
}
