//! The slowest a server may send.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::error::FetchError;

/// In every stretch of `window` spent waiting, at least this much must come.
#[derive(Debug, Clone, Copy)]
pub struct MinimumPace {
    pub bytes_per_second: u64,
    pub window: Duration,
}

/// Measures one body window by window, so that a fast start does not pay for a stall later.
///
/// Only the time spent waiting for the server counts: our own disk may be slow.
pub(super) struct PaceKeeper {
    demanded: u64,
    window: Duration,
    received: u64,
    left: Duration,
}

impl PaceKeeper {
    pub(super) fn new(pace: MinimumPace) -> Self {
        // A window of no length would never let the waiting rest.
        let window = pace.window.max(Duration::from_millis(1));
        let demanded = u128::from(pace.bytes_per_second) * window.as_millis() / 1000;
        let demanded = u64::try_from(demanded).unwrap_or(u64::MAX);
        Self { demanded, window, received: 0, left: window }
    }

    pub(super) fn count(&mut self, bytes: u64) {
        self.received = self.received.saturating_add(bytes);
    }

    /// Waits for the next piece for as long as the pace is kept.
    pub(super) async fn wait<T>(&mut self, next: impl Future<Output = T>) -> Result<T, FetchError> {
        let mut next = std::pin::pin!(next);
        loop {
            let begun = Instant::now();
            let outcome = timeout(self.left, &mut next).await;
            self.left = self.left.saturating_sub(begun.elapsed());
            match outcome {
                Ok(piece) => return Ok(piece),
                Err(_) if self.received < self.demanded => return Err(FetchError::TooSlow),
                Err(_) => (self.received, self.left) = (0, self.window),
            }
        }
    }
}
