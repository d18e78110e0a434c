//! WORK. What happens without a request: posts go out when their time has come.
//!
//! The machine decides, and this crate carries out: [`runner`] takes up what is due, [`flow`]
//! goes through one publish step by step, [`scribe`] writes steps down, many at a time. A step
//! is durable before its effect begins; nothing here decides whether a call may be repeated.

pub mod accounts;
pub mod crash;
pub mod draft;
#[cfg(feature = "flaws")]
mod flaw;
mod flow;
mod operation;
mod ready;
pub mod refresh;
mod runner;
mod scribe;

use std::sync::Arc;

use campanile_connect::{Blobs, Http, platforms::Platforms};
use campanile_model::time::{Clock, Millis, SECOND};
use campanile_store::Db;
use tokio::sync::Notify;

pub use accounts::{Accounts, Keeper, Opened};
pub use runner::{run, run_once};

/// How long a runner may hold an entry without saying that it is still at it.
pub const LEASE: Millis = 60 * SECOND;

/// Everything that publishing needs.
pub struct Engine {
    pub db: Db,
    pub clock: Arc<dyn Clock>,
    pub platforms: Platforms,
    pub http: Http,
    pub blobs: Blobs,
    pub accounts: Accounts,
    /// Rung when something may have become due.
    pub bell: Notify,
}

impl Engine {
    pub fn now(&self) -> Millis {
        self.clock.now()
    }

    /// Says that there may be something to do. Only a hint: the runner looks by itself as well.
    pub fn ring(&self) {
        self.bell.notify_one();
    }
}

/// Chance for the machine, 0 to 999.
fn chance() -> u32 {
    let mut bytes = [0; 4];
    // Without chance pauses are merely more alike.
    let _ = getrandom::fill(&mut bytes);
    u32::from_be_bytes(bytes) % 1000
}
