//! How often somebody may call: fixed windows of a minute, kept in memory.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use campanile_model::time::{MINUTE, Millis, SECOND};

/// Beyond this many callers the oldest windows are thrown out.
const MOST_CALLERS: usize = 50_000;
const SHARDS: usize = 16;

/// Counts requests per caller.
pub(crate) struct Limiter {
    /// Requests in a minute; `None` is no limit.
    limit: Option<u32>,
    shards: Vec<Mutex<HashMap<String, Window>>>,
}

#[derive(Clone, Copy)]
struct Window {
    began: Millis,
    used: u32,
}

/// What is left for a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowance {
    pub(crate) limit: u32,
    pub(crate) left: u32,
    pub(crate) resets_in: i64,
    pub(crate) exceeded: bool,
}

impl Limiter {
    pub(crate) fn new(limit: Option<u32>) -> Self {
        Self { limit, shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }

    /// Counts one request; `None` where there is no limit.
    pub(crate) fn count(&self, caller: &str, now: Millis) -> Option<Allowance> {
        let limit = self.limit?;
        let mut windows = self.shard(caller);
        if windows.len() > MOST_CALLERS / SHARDS {
            windows.retain(|_, window| now - window.began < MINUTE);
        }
        let window = match windows.get_mut(caller) {
            Some(window) => window,
            None => windows.entry(caller.to_owned()).or_insert(Window { began: now, used: 0 }),
        };
        if !(0..MINUTE).contains(&(now - window.began)) {
            *window = Window { began: now, used: 0 };
        }
        let exceeded = window.used >= limit;
        window.used = window.used.saturating_add(u32::from(!exceeded));
        let resets_in = (window.began + MINUTE - now + SECOND - 1) / SECOND;
        Some(Allowance { limit, left: limit - window.used, resets_in, exceeded })
    }

    /// Whether the caller has used everything up, without counting this look.
    pub(crate) fn is_exceeded(&self, caller: &str, now: Millis) -> bool {
        let Some(limit) = self.limit else { return false };
        self.shard(caller)
            .get(caller)
            .is_some_and(|window| now - window.began < MINUTE && window.used >= limit)
    }

    fn shard(&self, caller: &str) -> std::sync::MutexGuard<'_, HashMap<String, Window>> {
        let shard =
            caller.bytes().fold(0usize, |sum, byte| sum.wrapping_mul(31) + usize::from(byte));
        self.shards[shard % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_fills_and_opens_again() {
        let limiter = Limiter::new(Some(2));
        let at = |now| limiter.count("key", now).map(|found| (found.left, found.exceeded));

        assert_eq!(at(0), Some((1, false)));
        assert_eq!(at(10), Some((0, false)));
        assert_eq!(at(20), Some((0, true)));
        assert!(limiter.is_exceeded("key", 30));
        assert_eq!(at(MINUTE), Some((1, false)));
        assert_eq!(limiter.count("other", 20).map(|found| found.left), Some(1));
        assert_eq!(Limiter::new(None).count("key", 0), None);
    }
}
