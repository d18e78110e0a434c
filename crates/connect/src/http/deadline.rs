//! One moment by which a whole request must be over.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::error::{FetchError, Phase};

/// The end of a request's time; each phase may have a shorter time of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    end: Instant,
}

impl Deadline {
    pub(super) fn after(total: Duration) -> Self {
        Self { end: Instant::now() + total }
    }

    /// Runs one phase until its own limit or the end of the whole, whichever comes first.
    pub(super) async fn run<T>(
        self,
        phase: Phase,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, FetchError> {
        let end = self.end.min(Instant::now() + limit);
        timeout_at(end, work).await.map_err(|_| FetchError::Timeout { phase })
    }

    /// Runs one phase that has no limit but the end of the whole.
    pub(super) async fn run_to_end<T>(
        self,
        phase: Phase,
        work: impl Future<Output = T>,
    ) -> Result<T, FetchError> {
        timeout_at(self.end, work).await.map_err(|_| FetchError::Timeout { phase })
    }
}
