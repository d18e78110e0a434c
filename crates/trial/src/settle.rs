//! The end of a run: everything that is open gets the time it needs.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use campanile_model::time::Millis;

use crate::{
    diary::Entry,
    now, verdict,
    world::{Job, World},
};

/// What the service shows in the end, and when it was asked.
pub(crate) struct Shown {
    pub(crate) jobs: HashMap<u64, Vec<Job>>,
    pub(crate) at: Millis,
}

impl Shown {
    /// The jobs of a post, newest first.
    pub(crate) fn of(&self, post: u64) -> &[Job] {
        self.jobs.get(&post).map_or(&[], Vec::as_slice)
    }
}

/// Waits until nothing is open that has to end, and no longer than `patience`. What says itself
/// that it goes on only later than that is not waited for.
pub(crate) async fn settle(world: &Arc<World>, diary: &[Entry], patience: Duration) -> Shown {
    let started = Instant::now();
    let last = now() + Millis::try_from(patience.as_millis()).unwrap_or(Millis::MAX);
    let mut jobs = HashMap::new();
    let mut open: Vec<&Entry> =
        diary.iter().filter(|entry| entry.planned && !entry.deleted).collect();
    loop {
        let mut still_open = Vec::new();
        let mut is_worth_waiting = false;
        for entry in open {
            let found = world.jobs(&entry.id).await;
            if !verdict::is_settled(entry, &found, &world.connections) {
                is_worth_waiting |= verdict::goes_on_before(&found, last);
                still_open.push(entry);
            }
            jobs.insert(entry.number, found);
        }
        open = still_open;
        if !is_worth_waiting || started.elapsed() > patience {
            return Shown { jobs, at: now() };
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
