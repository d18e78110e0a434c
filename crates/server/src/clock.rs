//! What time it is. Processes that share a store have to agree on it, or one would call another's
//! lease over while it lasts; they go by the clock of the database.

use std::{
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use campanile_model::time::{Clock, Millis, SECOND};
use campanile_store::{Db, StoreError};
use tokio::sync::Notify;

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
    /// What time it was when the database was last asked, and when that was.
    told: RwLock<Option<(Millis, Instant)>>,
    doubts: Notify,
}

impl Clock for StoreClock {
    fn now(&self) -> Millis {
        let now = SystemClock.now() + self.behind();
        let told = *self.told.read().unwrap_or_else(PoisonError::into_inner);
        let Some((then, at)) = told else { return now };
        let steady = then + Millis::try_from(at.elapsed().as_millis()).unwrap_or(0);
        // Somebody set this machine's clock. Back is refused; on may be right, after a pause of
        // the whole machine, but is worth a question.
        if (now - steady).abs() > TOLERATED {
            self.doubts.notify_one();
        }
        now.max(steady)
    }
}

/// Clocks drift by a few milliseconds in that time.
const ASK_EVERY: Duration = Duration::from_secs(30);
/// Not more often, whatever the doubts.
const PAUSE: Duration = Duration::from_secs(1);
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
        let mut best: Option<(Duration, Millis, Instant)> = None;
        for _ in 0..QUESTIONS {
            let mut conn = db.read().await?;
            let asked = Instant::now();
            let Some(told) = conn.server_time().await? else { return Ok(()) };
            let took = asked.elapsed();
            if best.is_none_or(|(quickest, ..)| took < quickest) {
                best = Some((took, told, asked + took / 2));
            }
        }
        if let Some((_, told, at)) = best {
            let since = Millis::try_from(at.elapsed().as_millis()).unwrap_or(0);
            let behind = told + since - SystemClock.now();
            *self.told.write().unwrap_or_else(PoisonError::into_inner) = Some((told, at));
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
            tokio::time::sleep(PAUSE).await;
            let _ = tokio::time::timeout(ASK_EVERY, self.doubts.notified()).await;
            if let Err(error) = self.ask(db).await {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "the database did not tell the time; will ask again");
            }
        }
    }
}
