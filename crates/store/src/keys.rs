//! Rows of `api_keys` and `sessions`. Only hashes are kept.

use campanile_model::{
    ids::{KeyId, SessionId, UserId},
    scope::Scopes,
    time::Millis,
};

use crate::{
    db::{Conn, Result, Row, Tx},
    params,
};

#[derive(Clone, Debug)]
pub struct Key {
    pub id: KeyId,
    pub name: String,
    /// The first and last characters, by which a person recognises it.
    pub hint: String,
    pub scopes: Scopes,
    pub created_at: Millis,
    pub expires_at: Option<Millis>,
    pub revoked_at: Option<Millis>,
    pub last_used_at: Option<Millis>,
}

fn read(row: &Row<'_>) -> Result<Key> {
    Ok(Key {
        id: row.id(0)?,
        name: row.text(1)?,
        hint: row.text(2)?,
        scopes: Scopes::from_text(row.str(3)?),
        created_at: row.int(4)?,
        expires_at: row.optional_int(5)?,
        revoked_at: row.optional_int(6)?,
        last_used_at: row.optional_int(7)?,
    })
}

pub async fn insert(tx: &mut Tx, user: &UserId, key: &Key, hash: &[u8; 32]) -> Result<()> {
    tx.mark_identity_changed();
    const SQL: &str = "
        INSERT INTO api_keys (id, user_id, name, hash, hint, scopes, created_at, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let scopes = key.scopes.to_text();
    tx.push(
        SQL,
        params![&key.id, user, &key.name, hash, &key.hint, &scopes, key.created_at, key.expires_at],
    )
    .await
}

/// Newest first, below `before` where it is given.
pub async fn list(
    conn: &mut Conn,
    user: &UserId,
    before: Option<&str>,
    limit: i64,
) -> Result<Vec<Key>> {
    const SQL: &str = "
        SELECT id, name, hint, scopes, created_at, expires_at, revoked_at, last_used_at
          FROM api_keys
         WHERE user_id = $1 AND id < coalesce(CAST($2 AS TEXT), 'l')
         ORDER BY id DESC LIMIT $3";
    conn.all(SQL, params![user, before, limit], read).await
}

pub async fn find(conn: &mut Conn, user: &UserId, id: &KeyId) -> Result<Option<Key>> {
    const SQL: &str = "
        SELECT id, name, hint, scopes, created_at, expires_at, revoked_at, last_used_at
          FROM api_keys WHERE user_id = $1 AND id = $2";
    conn.optional(SQL, params![user, id], read).await
}

pub async fn revoke(tx: &mut Tx, user: &UserId, id: &KeyId, now: Millis) -> Result<bool> {
    tx.mark_identity_changed();
    const SQL: &str = "
        UPDATE api_keys SET revoked_at = $3
         WHERE user_id = $1 AND id = $2 AND revoked_at IS NULL";
    Ok(tx.execute(SQL, params![user, id, now]).await? == 1)
}

/// Written in batches; a request is not worth an fsync.
pub async fn touch(tx: &mut Tx, id: &str, at: Millis) -> Result<()> {
    const SQL: &str = "
        UPDATE api_keys SET last_used_at = $2 /* every tenant: a batch of the server's own */
         WHERE id = $1 AND coalesce(last_used_at, 0) < $2";
    tx.push(SQL, params![id, at]).await
}

pub async fn insert_session(
    tx: &mut Tx,
    id: &SessionId,
    user: &UserId,
    hash: &[u8; 32],
    now: Millis,
    expires_at: Millis,
) -> Result<()> {
    tx.mark_identity_changed();
    const SQL: &str = "
        INSERT INTO sessions (id, user_id, hash, created_at, expires_at)
        VALUES ($1, $2, $3, $4, $5)";
    tx.push(SQL, params![id, user, hash, now, expires_at]).await
}

pub async fn end_session(tx: &mut Tx, user: &UserId, id: &SessionId) -> Result<()> {
    tx.mark_identity_changed();
    const SQL: &str = "DELETE FROM sessions WHERE user_id = $1 AND id = $2";
    tx.push(SQL, params![user, id]).await
}

pub async fn end_other_sessions(tx: &mut Tx, user: &UserId, kept: &str) -> Result<()> {
    tx.mark_identity_changed();
    const SQL: &str = "DELETE FROM sessions WHERE user_id = $1 AND id <> $2";
    tx.push(SQL, params![user, kept]).await
}

pub async fn sweep_sessions(tx: &mut Tx, now: Millis) -> Result<u64> {
    const SQL: &str = "
        DELETE FROM sessions WHERE expires_at < $1 /* every tenant: expired for everybody */";
    tx.execute(SQL, params![now]).await
}
