//! Rows of `brand_counts`: how much a brand holds, without counting it each time.

use std::sync::atomic::{AtomicI64, Ordering};

use campanile_model::{
    ids::{BrandId, UserId},
    post::PostStatus,
};

use crate::{
    db::{Conn, Result, Tx},
    params,
};

/// Kinds are the statuses of posts, and this.
pub(crate) const MEDIA: &str = "media";

/// How much a brand holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub posts: i64,
    pub drafts: i64,
    pub scheduled: i64,
    pub published: i64,
    pub media: i64,
}

/// Writers on PostgreSQL would wait for each other's commit at a single row.
const SHARDS: i64 = 64;

/// Changes come in one order, so that two transactions never hold what the other wants.
pub(crate) async fn add(tx: &mut Tx, brand: &BrandId, changes: &mut [(&str, i64)]) -> Result<()> {
    const SQL: &str = "
        INSERT INTO brand_counts (brand_id, shard, kind, amount) VALUES ($1, $2, $3, $4)
        ON CONFLICT (brand_id, shard, kind)
        DO UPDATE SET amount = brand_counts.amount + excluded.amount";
    static NEXT: AtomicI64 = AtomicI64::new(0);
    let shard = tx.dialect().pick(0, NEXT.fetch_add(1, Ordering::Relaxed).rem_euclid(SHARDS));
    changes.sort_unstable();
    for (kind, amount) in changes {
        tx.push(SQL, params![brand, shard, *kind, *amount]).await?;
    }
    Ok(())
}

/// The counts of every brand that a user is a member of.
pub async fn of_user(conn: &mut Conn, user: &UserId) -> Result<Vec<(BrandId, Counts)>> {
    const SQL: &str = "
        SELECT c.brand_id, c.kind, CAST(sum(c.amount) AS BIGINT)
          FROM memberships m JOIN brand_counts c ON c.brand_id = m.brand_id
         WHERE m.user_id = $1
         GROUP BY c.brand_id, c.kind ORDER BY c.brand_id";
    let mut found: Vec<(BrandId, Counts)> = Vec::new();
    conn.each(SQL, params![user], |row| {
        let brand = row.str(0)?;
        if found.last().is_none_or(|(last, _)| last.as_str() != brand) {
            found.push((BrandId::stored(brand), Counts::default()));
        }
        if let Some((_, counts)) = found.last_mut() {
            counts.take(row.str(1)?, row.int(2)?);
        }
        Ok(())
    })
    .await?;
    Ok(found)
}

impl Counts {
    fn take(&mut self, kind: &str, amount: i64) {
        if kind == MEDIA {
            self.media = amount;
            return;
        }
        self.posts += amount;
        match PostStatus::parse(kind) {
            Some(PostStatus::Draft) => self.drafts = amount,
            Some(PostStatus::Scheduled) => self.scheduled = amount,
            Some(PostStatus::Published) => self.published = amount,
            _ => {}
        }
    }
}
