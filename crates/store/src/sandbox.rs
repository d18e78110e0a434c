//! Rows of `sandbox_posts`: the timeline of the platform inside the service.

use campanile_model::{
    ids::{BrandId, SandboxPostId},
    time::Millis,
};

use crate::{
    db::{Conn, Result, Row, Tx},
    params,
    tenant::Tenant,
};

#[derive(Clone, Debug)]
pub struct SandboxPost {
    pub id: SandboxPostId,
    /// What was posted, as JSON.
    pub content: String,
    pub created_at: Millis,
}

const COLUMNS: &str = "s.id, s.content, s.created_at";

fn read(row: &Row<'_>) -> Result<SandboxPost> {
    Ok(SandboxPost { id: row.id(0)?, content: row.text(1)?, created_at: row.int(2)? })
}

/// Takes a post, unless the same operation brought it before.
pub async fn accept(
    tx: &mut Tx,
    brand: &BrandId,
    account: &str,
    operation: &str,
    content: &str,
    now: Millis,
) -> Result<()> {
    const SQL: &str = "
        INSERT INTO sandbox_posts (brand_id, account, id, operation, content, created_at)
        VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
    let id = SandboxPostId::new(now);
    tx.push(SQL, params![brand, account, &id, operation, content, now]).await
}

pub async fn find(
    conn: &mut Conn,
    brand: &BrandId,
    account: &str,
    operation: &str,
) -> Result<Option<SandboxPost>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM sandbox_posts s
          WHERE s.brand_id = $1 AND s.account = $2 AND s.operation = $3"
    );
    conn.optional(&sql, params![brand, account, operation], read).await
}

/// The newest posts of an account.
pub async fn list(
    conn: &mut Conn,
    tenant: &Tenant,
    account: &str,
    limit: i64,
) -> Result<Vec<SandboxPost>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM sandbox_posts s
          WHERE s.brand_id = $1 AND s.account = $2 ORDER BY s.id DESC LIMIT $3"
    );
    conn.all(&sql, params![tenant.brand(), account, limit], read).await
}

pub async fn delete(tx: &mut Tx, brand: &BrandId, account: &str, id: &str) -> Result<()> {
    const SQL: &str = "DELETE FROM sandbox_posts WHERE brand_id = $1 AND account = $2 AND id = $3";
    tx.push(SQL, params![brand, account, id]).await
}
