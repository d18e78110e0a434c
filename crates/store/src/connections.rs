//! Rows of `connections`. The secret is opaque here: whoever stores it has encrypted it.

use campanile_model::{
    ids::{BrandId, ConnectionId, UserId},
    publish::ConnectionStatus,
    time::Millis,
};

use crate::{
    db::{Conn, Result, Row, Tx},
    params,
    tenant::Tenant,
};

#[derive(Clone, Debug)]
pub struct Connection {
    pub id: ConnectionId,
    pub brand: BrandId,
    pub platform: String,
    pub remote_id: String,
    pub handle: String,
    pub server: String,
    /// JSON in the platform's own form.
    pub details: String,
    pub status: ConnectionStatus,
    /// Separated by spaces.
    pub scopes: String,
    pub secret: Vec<u8>,
    pub secret_version: i64,
    pub created_by: UserId,
    pub created_at: Millis,
    pub updated_at: Millis,
}

const COLUMNS: &str = "c.id, c.brand_id, c.platform, c.remote_id, c.handle, c.server,
    c.details, c.status, c.scopes, c.secret, c.secret_version, c.created_by, c.created_at,
    c.updated_at";

fn read(row: &Row<'_>) -> Result<Connection> {
    Ok(Connection {
        id: row.id(0)?,
        brand: row.id(1)?,
        platform: row.text(2)?,
        remote_id: row.text(3)?,
        handle: row.text(4)?,
        server: row.text(5)?,
        details: row.text(6)?,
        status: ConnectionStatus::parse(row.str(7)?).unwrap_or(ConnectionStatus::Expired),
        scopes: row.text(8)?,
        secret: row.bytes(9)?.to_vec(),
        secret_version: row.int(10)?,
        created_by: row.id(11)?,
        created_at: row.int(12)?,
        updated_at: row.int(13)?,
    })
}

pub async fn list(conn: &mut Conn, tenant: &Tenant) -> Result<Vec<Connection>> {
    let sql = format!("SELECT {COLUMNS} FROM connections c WHERE c.brand_id = $1 ORDER BY c.id");
    conn.all(&sql, params![tenant.brand()], read).await
}

pub async fn find(
    conn: &mut Conn,
    brand: &BrandId,
    id: &ConnectionId,
) -> Result<Option<Connection>> {
    let sql = format!("SELECT {COLUMNS} FROM connections c WHERE c.brand_id = $1 AND c.id = $2");
    conn.optional(&sql, params![brand, id], read).await
}

pub async fn find_by_account(
    conn: &mut Conn,
    tenant: &Tenant,
    platform: &str,
    remote_id: &str,
) -> Result<Option<Connection>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM connections c
          WHERE c.brand_id = $1 AND c.platform = $2 AND c.remote_id = $3"
    );
    conn.optional(&sql, params![tenant.brand(), platform, remote_id], read).await
}

pub async fn insert(tx: &mut Tx, connection: &Connection) -> Result<()> {
    const SQL: &str = "
        INSERT INTO connections (brand_id, id, platform, remote_id, handle, server, details,
                                 status, scopes, secret, secret_version, renewing_until,
                                 created_by, created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, $12, $13, $14)";
    let Connection { id, brand, platform, remote_id, handle, server, details, .. } = connection;
    let values = params![
        brand,
        id,
        platform,
        remote_id,
        handle,
        server,
        details,
        connection.status.as_str(),
        &connection.scopes,
        &connection.secret,
        connection.secret_version,
        &connection.created_by,
        connection.created_at,
        connection.updated_at
    ];
    tx.push(SQL, values).await
}

/// The same account, connected again.
pub async fn update(tx: &mut Tx, connection: &Connection) -> Result<()> {
    const SQL: &str = "
        UPDATE connections SET handle = $3, server = $4, details = $5, status = $6, scopes = $7,
                               secret = $8, secret_version = $9, updated_at = $10
         WHERE brand_id = $1 AND id = $2";
    let values = params![
        &connection.brand,
        &connection.id,
        &connection.handle,
        &connection.server,
        &connection.details,
        connection.status.as_str(),
        &connection.scopes,
        &connection.secret,
        connection.secret_version,
        connection.updated_at
    ];
    tx.push(SQL, values).await
}

pub async fn delete(tx: &mut Tx, tenant: &Tenant, id: &ConnectionId) -> Result<()> {
    const SQL: &str = "DELETE FROM connections WHERE brand_id = $1 AND id = $2";
    tx.push(SQL, params![tenant.brand(), id]).await
}

/// Reserves the renewal of a secret for one of those who would like to do it.
pub async fn begin_renewal(
    tx: &mut Tx,
    connection: &Connection,
    until: Millis,
    now: Millis,
) -> Result<bool> {
    const SQL: &str = "
        UPDATE connections SET renewing_until = $4
         WHERE brand_id = $1 AND id = $2 AND secret_version = $3 AND renewing_until < $5";
    let Connection { brand, id, secret_version, .. } = connection;
    Ok(tx.execute(SQL, params![brand, id, *secret_version, until, now]).await? == 1)
}

/// After a restart of the only process, nobody is renewing a secret any more.
pub async fn release_renewals(tx: &mut Tx) -> Result<u64> {
    const SQL: &str = "
        UPDATE connections SET renewing_until = 0 /* every tenant: nobody else runs */
         WHERE renewing_until > 0";
    tx.execute(SQL, params![]).await
}

/// Keeps a renewed secret, unless the account was connected again meanwhile.
pub async fn renew(
    tx: &mut Tx,
    connection: &Connection,
    secret: &[u8],
    now: Millis,
) -> Result<bool> {
    const SQL: &str = "
        UPDATE connections SET secret = $4, secret_version = secret_version + 1,
                               status = 'connected', renewing_until = 0, updated_at = $5
         WHERE brand_id = $1 AND id = $2 AND secret_version = $3";
    let Connection { brand, id, secret_version, .. } = connection;
    Ok(tx.execute(SQL, params![brand, id, *secret_version, secret, now]).await? == 1)
}

/// Says that the platform does not take the secret any more.
pub async fn expire(tx: &mut Tx, connection: &Connection, now: Millis) -> Result<bool> {
    const SQL: &str = "
        UPDATE connections SET status = 'expired', renewing_until = 0, updated_at = $4
         WHERE brand_id = $1 AND id = $2 AND secret_version = $3 AND status <> 'expired'";
    let Connection { brand, id, secret_version, .. } = connection;
    Ok(tx.execute(SQL, params![brand, id, *secret_version, now]).await? == 1)
}
