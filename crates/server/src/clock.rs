//! What time it is. Processes that share a store have to agree on it, or one would call another's
//! lease over while it lasts; they go by the clock of the database.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use campanile_model::time::{Clock, Millis, SECOND};
use campanile_store::{Db, StoreError};

/// The machine's clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else asks")]
    fn now(&self) -> Millis {
        let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        elapsed.map_or(0, |elapsed| i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX))
    }
}

/// The machine's clock, put right by that of a database which is shared.
#[derive(Default)]
pub(crate) struct StoreClock {
    behind: AtomicI64,
}

impl Clock for StoreClock {
    fn now(&self) -> Millis {
        SystemClock.now() + self.behind()
    }
}

/// Clocks drift by a few milliseconds in that time.
const ASK_EVERY: Duration = Duration::from_secs(30);
/// The quickest answer says most precisely when it was given.
const QUESTIONS: usize = 3;
/// Operators should know of more.
const TOLERATED: Millis = SECOND;

impl StoreClock {
    /// How far the machine's clock is behind the database's.
    pub(crate) fn behind(&self) -> Millis {
        self.behind.load(Ordering::Relaxed)
    }

    /// Asks the database for the time. A store of our own has no clock but ours.
    pub(crate) async fn ask(&self, db: &Db) -> Result<(), StoreError> {
        let mut best: Option<(Millis, Millis)> = None;
        for _ in 0..QUESTIONS {
            let mut conn = db.read().await?;
            let asked = SystemClock.now();
            let Some(told) = conn.server_time().await? else { return Ok(()) };
            let took = SystemClock.now() - asked;
            if best.is_none_or(|(quickest, _)| took < quickest) {
                best = Some((took, told - asked - took / 2));
            }
        }
        if let Some((_, behind)) = best {
            let before = self.behind.swap(behind, Ordering::Relaxed);
            if (behind - before).abs() > TOLERATED {
                tracing::warn!(
                    behind_ms = behind,
                    "this clock differs from the database's; going by that"
                );
            }
        }
        Ok(())
    }

    /// Goes on asking until it is dropped.
    pub(crate) async fn follow(&self, db: &Db) {
        loop {
            tokio::time::sleep(ASK_EVERY).await;
            if let Err(error) = self.ask(db).await {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "the database did not tell the time; will ask again");
            }
        }
    }
}
