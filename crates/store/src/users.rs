//! Rows of `workspaces`, `users` and `sign_in_failures`.

use campanile_model::{
    ids::{UserId, WorkspaceId},
    time::Millis,
};

use crate::{
    db::{Conn, Result, Tx},
    params,
};

#[derive(Clone, Debug)]
pub struct User {
    pub id: UserId,
    pub workspace: WorkspaceId,
    pub email: String,
    pub name: String,
    pub time_zone: String,
    pub role: String,
    pub password_hash: String,
    pub created_at: Millis,
    pub disabled_at: Option<Millis>,
}

const COLUMNS: &str = "id, workspace_id, email, name, time_zone, role, password_hash,
    created_at, disabled_at";

fn read(row: &crate::db::Row<'_>) -> Result<User> {
    Ok(User {
        id: row.id(0)?,
        workspace: row.id(1)?,
        email: row.text(2)?,
        name: row.text(3)?,
        time_zone: row.text(4)?,
        role: row.text(5)?,
        password_hash: row.text(6)?,
        created_at: row.int(7)?,
        disabled_at: row.optional_int(8)?,
    })
}

pub async fn count(conn: &mut Conn) -> Result<i64> {
    const SQL: &str = "SELECT count(*) FROM users /* every tenant: is this the first start? */";
    conn.count(SQL, params![]).await
}

pub async fn insert_workspace(
    tx: &mut Tx,
    id: &WorkspaceId,
    name: &str,
    now: Millis,
) -> Result<()> {
    const SQL: &str = "INSERT INTO workspaces (id, name, created_at) VALUES ($1, $2, $3)";
    tx.push(SQL, params![id, name, now]).await
}

/// The workspace with this id, or the only one with this name.
pub async fn find_workspace(conn: &mut Conn, wanted: &str) -> Result<Vec<WorkspaceId>> {
    const SQL: &str = "
        SELECT id FROM workspaces WHERE id = $1 OR name = $1 ORDER BY id LIMIT 2";
    conn.all(SQL, params![wanted], |row| row.id(0)).await
}

/// `false` when the address is taken.
pub async fn insert(tx: &mut Tx, user: &User) -> Result<bool> {
    tx.mark_identity_changed();
    const SQL: &str = "
        INSERT INTO users (id, workspace_id, email, name, time_zone, role, password_hash,
                           created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
        ON CONFLICT DO NOTHING";
    let inserted = tx
        .execute(
            SQL,
            params![
                &user.id,
                &user.workspace,
                &user.email,
                &user.name,
                &user.time_zone,
                &user.role,
                &user.password_hash,
                user.created_at
            ],
        )
        .await?;
    Ok(inserted == 1)
}

pub async fn find_by_email(conn: &mut Conn, email: &str) -> Result<Option<User>> {
    let sql = format!("SELECT {COLUMNS} FROM users WHERE email = $1");
    conn.optional(&sql, params![email], read).await
}

pub async fn find(conn: &mut Conn, id: &UserId) -> Result<Option<User>> {
    let sql = format!("SELECT {COLUMNS} FROM users WHERE id = $1");
    conn.optional(&sql, params![id], read).await
}

pub async fn update_profile(
    tx: &mut Tx,
    id: &UserId,
    name: &str,
    time_zone: &str,
    now: Millis,
) -> Result<()> {
    tx.mark_identity_changed();
    const SQL: &str = "UPDATE users SET name = $2, time_zone = $3, updated_at = $4 WHERE id = $1";
    tx.push(SQL, params![id, name, time_zone, now]).await
}

pub async fn update_password(tx: &mut Tx, id: &UserId, hash: &str, now: Millis) -> Result<()> {
    const SQL: &str = "UPDATE users SET password_hash = $2, updated_at = $3 WHERE id = $1";
    tx.push(SQL, params![id, hash, now]).await
}

pub async fn set_disabled(
    tx: &mut Tx,
    id: &UserId,
    disabled_at: Option<Millis>,
    now: Millis,
) -> Result<()> {
    tx.mark_identity_changed();
    const SQL: &str = "UPDATE users SET disabled_at = $2, updated_at = $3 WHERE id = $1";
    tx.push(SQL, params![id, disabled_at, now]).await
}

/// How often sign-in to this address has failed in a row, and until when it is closed.
pub async fn failures(conn: &mut Conn, email: &str) -> Result<(i64, Millis)> {
    const SQL: &str = "SELECT failures, locked_until FROM sign_in_failures WHERE email = $1";
    let found = conn.optional(SQL, params![email], |row| Ok((row.int(0)?, row.int(1)?))).await?;
    Ok(found.unwrap_or_default())
}

pub async fn record_failure(
    tx: &mut Tx,
    email: &str,
    failures: i64,
    locked_until: Millis,
) -> Result<()> {
    const SQL: &str = "
        INSERT INTO sign_in_failures (email, failures, locked_until) VALUES ($1, $2, $3)
        ON CONFLICT (email) DO UPDATE SET failures = $2, locked_until = $3";
    tx.push(SQL, params![email, failures, locked_until]).await
}

pub async fn forgive(tx: &mut Tx, email: &str) -> Result<()> {
    const SQL: &str = "DELETE FROM sign_in_failures WHERE email = $1";
    tx.push(SQL, params![email]).await
}

pub async fn sweep_failures(tx: &mut Tx, older_than: Millis) -> Result<u64> {
    const SQL: &str = "DELETE FROM sign_in_failures WHERE locked_until < $1";
    tx.execute(SQL, params![older_than]).await
}
