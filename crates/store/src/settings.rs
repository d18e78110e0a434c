//! Rows of `service_settings`: what the installation itself has to remember.

use crate::{
    db::{Conn, Result, Tx},
    params,
};

pub async fn find(conn: &mut Conn, name: &str) -> Result<Option<Vec<u8>>> {
    const SQL: &str = "SELECT value FROM service_settings WHERE name = $1";
    conn.optional(SQL, params![name], |row| Ok(row.bytes(0)?.to_vec())).await
}

pub async fn insert(tx: &mut Tx, name: &str, value: &[u8]) -> Result<()> {
    const SQL: &str = "
        INSERT INTO service_settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    tx.push(SQL, params![name, value]).await
}

pub async fn put(tx: &mut Tx, name: &str, value: &[u8]) -> Result<()> {
    const SQL: &str = "
        INSERT INTO service_settings (name, value) VALUES ($1, $2)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    tx.push(SQL, params![name, value]).await
}
