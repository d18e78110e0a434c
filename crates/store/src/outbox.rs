//! Rows of `outbox`: what happened, written in the transaction in which it happened.

use campanile_model::{
    ids::{BrandId, EventId},
    time::Millis,
};

use crate::{
    db::{Result, Tx},
    params,
};

/// `event` is `noun.verb`; the payload is JSON.
pub async fn put(
    tx: &mut Tx,
    brand: &BrandId,
    event: &str,
    resource_id: &str,
    payload: &str,
    now: Millis,
) -> Result<()> {
    const SQL: &str = "
        INSERT INTO outbox (id, brand_id, event, resource_id, payload, created_at)
        VALUES ($1, $2, $3, $4, $5, $6)";
    tx.push(SQL, params![&EventId::new(now), brand, event, resource_id, payload, now]).await
}
