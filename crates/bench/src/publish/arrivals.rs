//! When each publish reached its platform.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use campanile_model::time::Millis;

/// A publish that has reached its platform; both times are microseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    due: i64,
    pub(super) at: i64,
}

impl Arrival {
    /// In milliseconds; below zero when it came too early.
    pub(super) fn lateness(&self) -> f64 {
        (self.at - self.due) as f64 / 1000.0
    }
}

/// Clones write into the same list.
#[derive(Clone, Default)]
pub(super) struct Arrivals(Arc<Mutex<Vec<Arrival>>>);

impl Arrivals {
    pub(super) fn note(&self, due: Millis, at: i64) {
        self.list().push(Arrival { due: due * 1000, at });
    }

    /// All since the last question.
    pub(super) fn take(&self) -> Vec<Arrival> {
        std::mem::take(&mut *self.list())
    }

    pub(super) fn count(&self) -> usize {
        self.list().len()
    }

    fn list(&self) -> MutexGuard<'_, Vec<Arrival>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until so many are there, or none has come for so long that none will.
    pub(super) async fn wait_for(&self, count: usize) {
        const PATIENCE: Duration = Duration::from_secs(60);
        let (mut seen, mut last) = (self.count(), Instant::now());
        while seen < count && last.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let now = self.count();
            if now > seen {
                (seen, last) = (now, Instant::now());
            }
        }
    }
}

/// Microseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "what is measured happens in real time")]
pub(super) fn micros() -> i64 {
    let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    elapsed.map_or(0, |elapsed| i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX))
}
