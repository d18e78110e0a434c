//! Waiting: for a place, for the platform, and keeping the lease meanwhile.

use std::time::Duration;

use campanile_store::{StoreError, publish::queue};

use super::Flowing;
use crate::LEASE;

/// A lease is made longer so often while something takes its time.
const RENEW_LEASE_EVERY: Duration = Duration::from_millis((LEASE / 4) as u64);

/// People see what takes longer than this.
const NOTICEABLE: Duration = Duration::from_millis(500);

impl Flowing {
    pub(super) async fn wait_for_place(&mut self) -> Result<(), StoreError> {
        let (None, Some(connection)) = (&self.work.place, &self.work.entry.connection) else {
            return Ok(());
        };
        let Some(platform) = self.engine.platforms.find(&self.work.entry.platform) else {
            return Ok(());
        };
        let places = self.engine.accounts.places(connection, platform.about().at_once);
        let place = self.holding(places.acquire_owned()).await?;
        self.work.place = place.and_then(Result::ok);
        Ok(())
    }

    /// Waits for something, and keeps the lease meanwhile. `None` when the lease was lost.
    pub(super) async fn holding<T>(
        &self,
        doing: impl Future<Output = T>,
    ) -> Result<Option<T>, StoreError> {
        tokio::pin!(doing);
        loop {
            match tokio::time::timeout(RENEW_LEASE_EVERY, &mut doing).await {
                Ok(done) => return Ok(Some(done)),
                Err(_) if !self.extend().await? => return Ok(None),
                Err(_) => {}
            }
        }
    }

    /// Makes the lease longer; `false` when it was lost.
    async fn extend(&self) -> Result<bool, StoreError> {
        let (entry, until) = (&self.work.entry, self.engine.now() + LEASE);
        let extend = async |mut tx: campanile_store::Tx| queue::extend(&mut tx, entry, until).await;
        self.engine.db.write(extend).await
    }

    /// Waits for something; when it takes long, the post is shown as being published.
    pub(super) async fn shown<T>(&self, doing: impl Future<Output = T>) -> Result<T, StoreError> {
        tokio::pin!(doing);
        if let Ok(done) = tokio::time::timeout(NOTICEABLE, &mut doing).await {
            return Ok(done);
        }
        let (entry, now) = (&self.work.entry, self.engine.now());
        let show = async |mut tx: campanile_store::Tx| {
            queue::show_publishing(&mut tx, &[entry], now).await
        };
        if let Err(error) = self.engine.db.write(show).await {
            // What is being done matters more than how it is shown.
            tracing::warn!(error = &error as &dyn std::error::Error, "a post's status is behind");
        }
        loop {
            if let Ok(done) = tokio::time::timeout(RENEW_LEASE_EVERY, &mut doing).await {
                return Ok(done);
            }
            // A call that has begun is waited for even without a lease: to drop it would undo
            // nothing, and its outcome is refused where another runner has the entry.
            let _ = self.extend().await;
        }
    }
}
