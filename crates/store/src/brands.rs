//! Rows of `brands` and `memberships`.

use campanile_model::{
    ids::{BrandId, UserId, WorkspaceId},
    time::Millis,
};

use crate::{
    db::{Conn, Result, Row, Tx},
    params,
    tenant::Tenant,
};

#[derive(Clone, Debug)]
pub struct Brand {
    pub id: BrandId,
    pub workspace: WorkspaceId,
    pub name: String,
    /// The schedule settings, as JSON.
    pub schedule: String,
    pub created_at: Millis,
    pub updated_at: Millis,
}

fn read(row: &Row<'_>) -> Result<Brand> {
    Ok(Brand {
        id: row.id(0)?,
        workspace: row.id(1)?,
        name: row.text(2)?,
        schedule: row.text(3)?,
        created_at: row.int(4)?,
        updated_at: row.int(5)?,
    })
}

pub async fn insert(tx: &mut Tx, brand: &Brand) -> Result<()> {
    tx.mark_identity_changed();
    const SQL: &str = "
        INSERT INTO brands (id, workspace_id, name, schedule, created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $5)";
    tx.push(
        SQL,
        params![&brand.id, &brand.workspace, &brand.name, &brand.schedule, brand.created_at],
    )
    .await
}

pub async fn add_member(tx: &mut Tx, brand: &BrandId, user: &UserId, now: Millis) -> Result<()> {
    tx.mark_identity_changed();
    const SQL: &str = "
        INSERT INTO memberships (user_id, brand_id, created_at) VALUES ($1, $2, $3)
        ON CONFLICT DO NOTHING";
    tx.push(SQL, params![user, brand, now]).await
}

/// The owners of a workspace see every brand in it.
pub async fn add_owners(
    tx: &mut Tx,
    brand: &BrandId,
    workspace: &WorkspaceId,
    now: Millis,
) -> Result<()> {
    tx.mark_identity_changed();
    const SQL: &str = "
        INSERT INTO memberships (user_id, brand_id, created_at)
        SELECT id, $2, $3 FROM users WHERE workspace_id = $1 AND role = 'owner'
        ON CONFLICT DO NOTHING";
    tx.push(SQL, params![workspace, brand, now]).await
}

/// The brands a user is a member of, oldest first.
pub async fn list(conn: &mut Conn, user: &UserId) -> Result<Vec<Brand>> {
    const SQL: &str = "
        SELECT b.id, b.workspace_id, b.name, b.schedule, b.created_at, b.updated_at
          FROM memberships m JOIN brands b ON b.id = m.brand_id
         WHERE m.user_id = $1 AND b.deleted_at IS NULL
         ORDER BY b.id";
    conn.all(SQL, params![user], read).await
}

/// The oldest brand of a workspace, where a new colleague begins.
pub async fn first_of(conn: &mut Conn, workspace: &WorkspaceId) -> Result<Option<BrandId>> {
    const SQL: &str = "
        SELECT id FROM brands WHERE workspace_id = $1 AND deleted_at IS NULL ORDER BY id LIMIT 1";
    conn.optional(SQL, params![workspace], |row| row.id(0)).await
}

pub async fn find(conn: &mut Conn, tenant: &Tenant) -> Result<Option<Brand>> {
    const SQL: &str = "
        SELECT id, workspace_id, name, schedule, created_at, updated_at
          FROM brands WHERE workspace_id = $1 AND id = $2 AND deleted_at IS NULL";
    conn.optional(SQL, params![tenant.workspace(), tenant.brand()], read).await
}

pub async fn rename(tx: &mut Tx, tenant: &Tenant, name: &str, now: Millis) -> Result<()> {
    tx.mark_identity_changed();
    const SQL: &str = "
        UPDATE brands SET name = $3, updated_at = $4 WHERE workspace_id = $1 AND id = $2";
    tx.push(SQL, params![tenant.workspace(), tenant.brand(), name, now]).await
}

pub async fn set_schedule(tx: &mut Tx, tenant: &Tenant, json: &str, now: Millis) -> Result<()> {
    const SQL: &str = "
        UPDATE brands SET schedule = $3, updated_at = $4 WHERE workspace_id = $1 AND id = $2";
    tx.push(SQL, params![tenant.workspace(), tenant.brand(), json, now]).await
}

/// The rows stay for the audit log; nobody reaches them any more.
pub async fn delete(tx: &mut Tx, tenant: &Tenant, now: Millis) -> Result<()> {
    tx.mark_identity_changed();
    const SQL: &str = "
        UPDATE brands SET deleted_at = $3, updated_at = $3 WHERE workspace_id = $1 AND id = $2";
    tx.push(SQL, params![tenant.workspace(), tenant.brand(), now]).await
}
