//! Rows of `idempotency_keys`: the first answer to a request, kept for its repetitions.

use campanile_model::time::Millis;

use crate::{
    db::{Conn, Result, Tx},
    params,
};

/// What was answered the first time.
pub struct Kept {
    pub fingerprint: Vec<u8>,
    pub status: i64,
    /// Encrypted.
    pub answer: Vec<u8>,
    pub created_at: Millis,
}

pub async fn find(conn: &mut Conn, owner: &str, name: &str) -> Result<Option<Kept>> {
    const SQL: &str = "
        SELECT fingerprint, status, answer, created_at FROM idempotency_keys
         WHERE owner = $1 AND name = $2";
    conn.optional(SQL, params![owner, name], |row| {
        Ok(Kept {
            fingerprint: row.bytes(0)?.to_vec(),
            status: row.int(1)?,
            answer: row.bytes(2)?.to_vec(),
            created_at: row.int(3)?,
        })
    })
    .await
}

/// `false` when somebody else kept an answer under this name meanwhile.
pub async fn insert(tx: &mut Tx, owner: &str, name: &str, kept: &Kept) -> Result<bool> {
    const SQL: &str = "
        INSERT INTO idempotency_keys (owner, name, fingerprint, status, answer, created_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT DO NOTHING";
    let params =
        params![owner, name, &kept.fingerprint, kept.status, &kept.answer, kept.created_at];
    Ok(tx.execute(SQL, params).await? == 1)
}

pub async fn forget(tx: &mut Tx, owner: &str, name: &str) -> Result<()> {
    const SQL: &str = "DELETE FROM idempotency_keys WHERE owner = $1 AND name = $2";
    tx.push(SQL, params![owner, name]).await
}

pub async fn sweep(tx: &mut Tx, older_than: Millis) -> Result<u64> {
    const SQL: &str = "DELETE FROM idempotency_keys WHERE created_at < $1";
    tx.execute(SQL, params![older_than]).await
}
