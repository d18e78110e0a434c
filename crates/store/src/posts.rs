//! Rows of `posts`, `post_tags` and `post_media`. Every function is confined to one brand.

use campanile_model::{
    ids::{BrandId, PostId, UserId},
    label::Tag,
    post::{Draft, PostStatus},
    time::{self, Millis},
};

use crate::{
    counts,
    db::{Conn, Result, Row, StoreError, Tx, boxed},
    page::{Page, Window},
    params,
    tenant::Tenant,
};

/// A post as the store keeps it. The author's part stays JSON until somebody wants to change it.
#[derive(Clone, Debug)]
pub struct Post {
    pub id: PostId,
    pub brand: BrandId,
    pub status: PostStatus,
    pub folder_path: Option<String>,
    pub scheduled_at: Option<Millis>,
    pub published_at: Option<Millis>,
    pub created_by: UserId,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub draft: Draft,
}

const COLUMNS: &str = "p.id, p.status, p.folder_path, p.scheduled_at, p.published_at,
    p.created_by, p.created_at, p.updated_at, p.document";

/// Which posts a list shows. The first of tag, folder and status that is given is looked up
/// in an index; the others are checked on a bounded window of rows.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub folder: Option<String>,
    pub tag: Option<String>,
    pub status: Option<PostStatus>,
    /// Folded, see [`campanile_model::label::fold`].
    pub text: Option<String>,
    pub scheduled_from: Option<Millis>,
    pub scheduled_to: Option<Millis>,
    pub created_from: Option<Millis>,
    pub created_to: Option<Millis>,
}

impl Filter {
    /// Whether rows that the index finds may still be left out.
    fn is_loose(&self) -> bool {
        let indexed = [self.tag.is_some(), self.folder.is_some(), self.status.is_some()];
        indexed.iter().filter(|given| **given).count() > 1
            || self.text.is_some()
            || self.scheduled_from.is_some()
            || self.scheduled_to.is_some()
    }

    /// The index to go by, as the source of candidate rows.
    fn candidates(&self) -> &'static str {
        if self.tag.is_some() {
            BY_TAG
        } else if self.folder.is_some() {
            BY_FOLDER
        } else if self.status.is_some() {
            BY_STATUS
        } else {
            NEWEST
        }
    }
}

// Candidates lie between $2 (exclusive, above) and $3 (inclusive, below); $4 is the index's key.
const NEWEST: &str = "FROM posts p
     WHERE p.brand_id = $1 AND p.id < $2 AND p.id >= $3 AND CAST($4 AS TEXT) IS NULL";
const BY_TAG: &str = "FROM post_tags t JOIN posts p ON p.brand_id = t.brand_id AND p.id = t.post_id
     WHERE t.brand_id = $1 AND t.tag = $4 AND t.post_id < $2 AND t.post_id >= $3";
const BY_FOLDER: &str = "FROM posts p
     WHERE p.brand_id = $1 AND p.folder_path = $4 AND p.id < $2 AND p.id >= $3";
const BY_STATUS: &str = "FROM posts p
     WHERE p.brand_id = $1 AND p.status = $4 AND p.id < $2 AND p.id >= $3";

fn order(filter: &Filter) -> &'static str {
    if filter.tag.is_some() { "ORDER BY t.post_id DESC" } else { "ORDER BY p.id DESC" }
}

/// What the window's rows must also satisfy.
const LOOSE: &str = "
     WHERE ($6 = '' OR p.search LIKE $6 ESCAPE '\\')
       AND (CAST($7 AS TEXT) IS NULL OR p.status = $7)
       AND (CAST($8 AS TEXT) IS NULL OR p.folder_path = $8)
       AND (CAST($9 AS BIGINT) IS NULL OR p.scheduled_at >= $9)
       AND (CAST($10 AS BIGINT) IS NULL OR p.scheduled_at <= $10)";

/// The statements that [`list`] runs for a filter; public to the test that prepares them all.
pub fn list_statements(filter: &Filter) -> (String, Option<String>) {
    let candidates = filter.candidates();
    let order = order(filter);
    if !filter.is_loose() {
        return (format!("SELECT {COLUMNS} {candidates} {order} LIMIT $5"), None);
    }
    let rows = format!(
        "SELECT {COLUMNS} FROM (SELECT p.* {candidates} {order} LIMIT {}) p
         {LOOSE} ORDER BY p.id DESC LIMIT $5",
        Window::WIDTH
    );
    let edge = format!(
        "SELECT min(edge.id) FROM (SELECT p.id {candidates} {order} LIMIT {}) edge
         HAVING count(*) = {}",
        Window::WIDTH,
        Window::WIDTH
    );
    (rows, Some(edge))
}

/// Appends the posts of one page as JSON objects to `out`, newest first.
pub async fn list(
    conn: &mut Conn,
    tenant: &Tenant,
    filter: &Filter,
    page: &Page,
    out: &mut String,
) -> Result<Option<String>> {
    let brand = tenant.brand();
    let above = page.below.clone().or_else(|| {
        filter.created_to.map(|to| PostId::floor(to.saturating_add(1)).as_str().to_owned())
    });
    let above = above.as_deref().unwrap_or("post_~");
    let floor = filter.created_from.map(|from| PostId::floor(from).as_str().to_owned());
    let floor = floor.as_deref().unwrap_or("");
    let key = filter.tag.as_deref().or(filter.folder.as_deref());
    let key = key.or(filter.status.map(PostStatus::as_str));
    let text = filter.text.as_deref().map(contains_pattern).unwrap_or_default();
    let status = filter.status.map(PostStatus::as_str);
    let mut window = Window::new(page.limit);
    let (rows, edge) = list_statements(filter);
    let loose = params![
        brand,
        above,
        floor,
        key,
        page.limit + 1,
        &text,
        status,
        filter.folder.as_deref(),
        filter.scheduled_from,
        filter.scheduled_to
    ];
    let params = if edge.is_some() { loose.as_slice() } else { &loose[..5] };
    conn.each(&rows, params, |row| {
        if window.admits(row.str(0)?) {
            if window.shown > 1 {
                out.push(',');
            }
            write_json(row, brand, out)?;
        }
        Ok(())
    })
    .await?;
    match (window.next, edge) {
        (Some(next), _) => Ok(Some(next)),
        (None, None) => Ok(None),
        // The page is not full, but the window may have ended before the list did.
        (None, Some(edge)) => {
            let edge = conn.optional(&edge, &params[..4], |row| row.optional_text(0)).await?;
            Ok(edge.flatten())
        }
    }
}

/// A `LIKE` pattern that takes every character of `text` literally.
fn contains_pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

/// What is shown of a post, borrowed from a row or from a [`Post`].
struct View<'a> {
    id: &'a str,
    brand: &'a str,
    status: &'a str,
    document: &'a str,
    folder_path: Option<&'a str>,
    scheduled_at: Option<Millis>,
    published_at: Option<Millis>,
    created_by: &'a str,
    created_at: Millis,
    updated_at: Millis,
}

/// Writes the row as the API shows it, straight from the columns of [`COLUMNS`].
fn write_json(row: &Row<'_>, brand: &BrandId, out: &mut String) -> Result<()> {
    let view = View {
        id: row.str(0)?,
        brand: brand.as_str(),
        status: row.str(1)?,
        document: row.str(8)?,
        folder_path: row.optional_str(2)?,
        scheduled_at: row.optional_int(3)?,
        published_at: row.optional_int(4)?,
        created_by: row.str(5)?,
        created_at: row.int(6)?,
        updated_at: row.int(7)?,
    };
    view.write(out)
}

/// The texts that are kept and shown of a post. Made before a transaction begins, since others
/// wait for their turn while one runs.
pub struct Texts {
    document: String,
    search: String,
    /// The post as the API shows it.
    pub json: String,
}

impl Post {
    pub fn texts(&self) -> Result<Texts> {
        let document = serde_json::to_string(&self.draft).map_err(encoding)?;
        let json = self.json_around(&document)?;
        Ok(Texts { document, search: self.draft.searchable(), json })
    }

    /// The post as the API shows it.
    pub fn to_json(&self) -> Result<String> {
        self.json_around(&serde_json::to_string(&self.draft).map_err(encoding)?)
    }

    fn json_around(&self, document: &str) -> Result<String> {
        let view = View {
            id: self.id.as_str(),
            brand: self.brand.as_str(),
            status: self.status.as_str(),
            document,
            folder_path: self.folder_path.as_deref(),
            scheduled_at: self.scheduled_at,
            published_at: self.published_at,
            created_by: self.created_by.as_str(),
            created_at: self.created_at,
            updated_at: self.updated_at,
        };
        let mut json = String::with_capacity(document.len() + 300);
        view.write(&mut json)?;
        Ok(json)
    }
}

impl View<'_> {
    fn write(&self, out: &mut String) -> Result<()> {
        for part in ["{\"id\":\"", self.id, "\",\"brand_id\":\"", self.brand] {
            out.push_str(part);
        }
        for part in ["\",\"status\":\"", self.status, "\","] {
            out.push_str(part);
        }
        // The document is an object of its own: its fields go in without its braces.
        let end = self.document.len().saturating_sub(1);
        out.push_str(self.document.get(1..end).unwrap_or_default());
        out.push_str(",\"folder_path\":");
        match self.folder_path {
            Some(path) => out.push_str(&serde_json::to_string(path).map_err(encoding)?),
            None => out.push_str("null"),
        }
        write_time(",\"scheduled_at\":", self.scheduled_at, out);
        write_time(",\"published_at\":", self.published_at, out);
        for part in [",\"created_by\":\"", self.created_by, "\""] {
            out.push_str(part);
        }
        write_time(",\"created_at\":", Some(self.created_at), out);
        write_time(",\"updated_at\":", Some(self.updated_at), out);
        out.push('}');
        Ok(())
    }
}

fn write_time(name: &str, at: Option<Millis>, out: &mut String) {
    out.push_str(name);
    match at {
        Some(at) => {
            out.push('"');
            time::write(out, at);
            out.push('"');
        }
        None => out.push_str("null"),
    }
}

fn encoding(error: serde_json::Error) -> StoreError {
    StoreError::Database(boxed(error))
}

/// One post as the API shows it; `None` when there is none or it is another brand's.
pub async fn find_json(conn: &mut Conn, tenant: &Tenant, id: &PostId) -> Result<Option<String>> {
    let sql = format!("SELECT {COLUMNS} FROM posts p WHERE p.brand_id = $1 AND p.id = $2");
    let brand = tenant.brand();
    conn.optional(&sql, params![brand, id], |row| {
        let mut json = String::with_capacity(512);
        write_json(row, brand, &mut json)?;
        Ok(json)
    })
    .await
}

pub async fn find(conn: &mut Conn, tenant: &Tenant, id: &PostId) -> Result<Option<Post>> {
    let sql = format!("SELECT {COLUMNS} FROM posts p WHERE p.brand_id = $1 AND p.id = $2");
    conn.optional(&sql, params![tenant.brand(), id], |row| {
        Ok(Post {
            id: row.id(0)?,
            brand: tenant.brand().clone(),
            status: PostStatus::parse(row.str(1)?).unwrap_or(PostStatus::NeedsAttention),
            folder_path: row.optional_text(2)?,
            scheduled_at: row.optional_int(3)?,
            published_at: row.optional_int(4)?,
            created_by: row.id(5)?,
            created_at: row.int(6)?,
            updated_at: row.int(7)?,
            draft: serde_json::from_str(row.str(8)?).map_err(encoding)?,
        })
    })
    .await
}

pub async fn insert(tx: &mut Tx, tenant: &Tenant, post: &Post, texts: &Texts) -> Result<()> {
    const SQL: &str = "
        INSERT INTO posts (brand_id, id, status, folder_path, scheduled_at, published_at,
                           created_by, created_at, updated_at, document, search)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    tx.push(
        SQL,
        params![
            tenant.brand(),
            &post.id,
            post.status.as_str(),
            post.folder_path.as_deref(),
            post.scheduled_at,
            post.published_at,
            &post.created_by,
            post.created_at,
            post.updated_at,
            &texts.document,
            &texts.search
        ],
    )
    .await?;
    counts::add(tx, tenant.brand(), &mut [(post.status.as_str(), 1)]).await?;
    insert_references(tx, tenant, post).await
}

pub async fn update(
    tx: &mut Tx,
    tenant: &Tenant,
    before: &Post,
    post: &Post,
    texts: &Texts,
) -> Result<()> {
    const SQL: &str = "
        UPDATE posts SET status = $3, folder_path = $4, scheduled_at = $5, published_at = $6,
                         updated_at = $7, document = $8, search = $9
         WHERE brand_id = $1 AND id = $2";
    delete_references(tx, tenant, before).await?;
    if before.status != post.status {
        let mut moved = [(before.status.as_str(), -1), (post.status.as_str(), 1)];
        counts::add(tx, tenant.brand(), &mut moved).await?;
    }
    tx.push(
        SQL,
        params![
            tenant.brand(),
            &post.id,
            post.status.as_str(),
            post.folder_path.as_deref(),
            post.scheduled_at,
            post.published_at,
            post.updated_at,
            &texts.document,
            &texts.search
        ],
    )
    .await?;
    insert_references(tx, tenant, post).await
}

pub async fn delete(tx: &mut Tx, tenant: &Tenant, post: &Post) -> Result<()> {
    const SQL: &str = "DELETE FROM posts WHERE brand_id = $1 AND id = $2";
    delete_references(tx, tenant, post).await?;
    counts::add(tx, tenant.brand(), &mut [(post.status.as_str(), -1)]).await?;
    tx.push(SQL, params![tenant.brand(), &post.id]).await
}

static TAG: Reference = Reference {
    insert: "INSERT INTO post_tags (brand_id, tag, post_id) VALUES ($1, $2, $3)",
    delete: "DELETE FROM post_tags WHERE brand_id = $1 AND tag = $2 AND post_id = $3",
};
static MEDIA: Reference = Reference {
    insert: "INSERT INTO post_media (brand_id, storage_path, post_id) VALUES ($1, $2, $3)
             ON CONFLICT DO NOTHING",
    delete: "DELETE FROM post_media WHERE brand_id = $1 AND storage_path = $2 AND post_id = $3",
};

/// Rows by which something else finds the post.
struct Reference {
    insert: &'static str,
    delete: &'static str,
}

fn references(post: &Post) -> impl Iterator<Item = (&'static Reference, &str)> {
    let tags = post.draft.tags.iter().map(|Tag(tag)| (&TAG, tag.as_str()));
    let media = post.draft.storage_paths().map(|(_, path)| (&MEDIA, path.as_str()));
    tags.chain(media)
}

async fn insert_references(tx: &mut Tx, tenant: &Tenant, post: &Post) -> Result<()> {
    for (reference, name) in references(post) {
        tx.push(reference.insert, params![tenant.brand(), name, &post.id]).await?;
    }
    Ok(())
}

async fn delete_references(tx: &mut Tx, tenant: &Tenant, post: &Post) -> Result<()> {
    for (reference, name) in references(post) {
        tx.push(reference.delete, params![tenant.brand(), name, &post.id]).await?;
    }
    Ok(())
}
