//! Which posts on a platform are known to be whose.

use campanile_model::{
    ids::{AttemptId, BrandId, ConnectionId},
    publish::Receipt,
    time::Millis,
};

use super::json as damaged;
use crate::{
    db::{Conn, Result},
    params,
};

/// The platform's ids of what was published to an account since some moment, as far as its
/// attempts are still on record.
pub async fn published_since(
    conn: &mut Conn,
    brand: &BrandId,
    connection: &ConnectionId,
    since: Millis,
) -> Result<Vec<String>> {
    // Attempts are in the order of their time; entries are not.
    const SQL: &str = "
        SELECT t.receipts FROM publish_attempts a
          JOIN publish_targets t
            ON t.brand_id = a.brand_id AND t.job_id = a.job_id AND t.number = a.number
         WHERE a.brand_id = $1 AND a.id >= $2 AND a.state = 'succeeded' AND t.connection_id = $3";
    let first = AttemptId::floor(since);
    let lists = conn
        .all(SQL, params![brand, &first, connection], |row| {
            serde_json::from_str::<Vec<Receipt>>(row.str(0)?).map_err(damaged)
        })
        .await?;
    Ok(lists.into_iter().flatten().map(|receipt| receipt.remote_id).collect())
}
