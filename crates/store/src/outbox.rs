//! Rows of `outbox`: what happened, written in the transaction in which it happened.

use campanile_model::{
    ids::{BrandId, EventId},
    time::Millis,
};

use crate::{
    db::{Result, Tx},
    params,
};

pub struct Event<'e> {
    pub brand: &'e BrandId,
    /// `noun.verb`
    pub kind: &'e str,
    pub resource_id: &'e str,
    /// JSON.
    pub payload: String,
}

pub async fn put(tx: &mut Tx, events: &[Event<'_>], now: Millis) -> Result<()> {
    const SQL: &str = "
        INSERT INTO outbox (id, brand_id, event, resource_id, payload, created_at)
        VALUES ($1, $2, $3, $4, $5, $6)";
    let ids: Vec<_> = events.iter().map(|_| EventId::new(now)).collect();
    let sets: Vec<_> = events
        .iter()
        .zip(&ids)
        .map(|(event, id)| {
            let Event { brand, kind, resource_id, payload } = event;
            params![id, *brand, *kind, *resource_id, payload, now].to_vec()
        })
        .collect();
    tx.push_each(SQL, &sets).await
}
