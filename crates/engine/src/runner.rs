//! Takes up what is due, in fair shares, and wakes up in time for what comes next.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use campanile_machine::{Effect, Event, Moment, Rules, next};
use campanile_model::{
    ids::BrandId,
    publish::{Safety, Stage},
    time::{DAY, HOUR, Millis},
};
use campanile_store::{
    StoreError, Tx, connections,
    publish::queue::{self, Due},
};
use tokio::sync::{Notify, OwnedSemaphorePermit};

use crate::{
    Engine, LEASE,
    accounts::Opened,
    chance, crash,
    flow::{self, Work},
    ready::ready,
    scribe::{Note, Scribe, write},
};

/// So many entries are in hand at once, and so many of them may be one brand's.
const MOST: usize = 1024;
const MOST_OF_A_BRAND: usize = 512;
const LARGEST_CLAIM: usize = 256;

/// The runner looks at least so often, whatever happened to those who should have woken it.
const FLOOR: Duration = Duration::from_millis(250);

/// Publishes until `stop` resolves; then finishes what is in hand, within reason.
pub async fn run(engine: Arc<Engine>, stop: impl Future<Output = ()>) {
    let runner = Arc::new(Runner::new(engine));
    runner.recover().await;
    tokio::pin!(stop);
    loop {
        let pause = runner.round().await;
        tokio::select! {
            () = &mut stop => break,
            () = runner.engine.bell.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
    runner.finish().await;
}

/// Publishes what is due now, and returns when that is done; says how many entries that were.
pub async fn run_once(engine: &Arc<Engine>) -> usize {
    let runner = Arc::new(Runner::new(engine.clone()));
    let mut taken_up = 0;
    loop {
        match runner.claim(LARGEST_CLAIM).await {
            Ok(0) => break,
            Ok(found) => taken_up += found,
            Err(error) => {
                report(&error);
                break;
            }
        }
        runner.finish().await;
    }
    taken_up
}

struct Runner {
    engine: Arc<Engine>,
    scribe: Scribe,
    in_hand: Mutex<HashMap<BrandId, usize>>,
    freed: Notify,
}

impl Runner {
    fn new(engine: Arc<Engine>) -> Self {
        let scribe = Scribe::start(&engine.db);
        Self { scribe, engine, in_hand: Mutex::default(), freed: Notify::new() }
    }

    /// On SQLite no other process can be at work: whatever is held was left by one that died.
    async fn recover(&self) {
        let now = self.engine.now();
        let recovered = match self.engine.db.is_shared() {
            true => Ok(0),
            false => {
                let release = async |mut tx: Tx| {
                    connections::release_renewals(&mut tx).await?;
                    queue::release_all(&mut tx, now, LEASE).await
                };
                self.engine.db.write(release).await
            }
        };
        match recovered {
            Ok(0) => {}
            Ok(entries) => tracing::info!(entries, "going on with interrupted publishing"),
            Err(error) => report(&error),
        }
    }

    /// One look at the queue; says how long to sleep.
    async fn round(self: &Arc<Self>) -> Duration {
        let room = MOST.saturating_sub(self.count());
        if room == 0 {
            let _ = tokio::time::timeout(FLOOR, self.freed.notified()).await;
            return Duration::ZERO;
        }
        let limit = room.min(LARGEST_CLAIM);
        match self.claim(limit).await {
            Ok(found) if found == limit => Duration::ZERO,
            Ok(_) => self.pause().await,
            Err(error) => {
                report(&error);
                FLOOR
            }
        }
    }

    /// Until the next entry is due, but never long: the clock may jump, a message may be lost.
    async fn pause(&self) -> Duration {
        let next = async { queue::next_wake(&mut self.engine.db.read().await?).await };
        let now = self.engine.now();
        match next.await {
            Ok(Some(at)) if at <= now => Duration::from_millis(1),
            Ok(Some(at)) => {
                let pause = Duration::from_millis(at.abs_diff(now));
                pause.min(FLOOR)
            }
            Ok(None) => FLOOR,
            Err(error) => {
                report(&error);
                FLOOR
            }
        }
    }

    /// Takes entries up and sends them on their way; says how many were due.
    async fn claim(self: &Arc<Self>, limit: usize) -> Result<usize, StoreError> {
        let busy = self.busy_brands();
        let now = self.engine.now();
        let rows = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut taken: Vec<Taken> = Vec::new();
        let take_up = async |mut tx: Tx| {
            let due = queue::due(&mut tx, now, rows, &busy).await?;
            taken = due.into_iter().map(|due| self.take_up(due, now)).collect();
            let notes: Vec<_> = taken.iter().map(|taken| &taken.note).collect();
            // The rows are held by this transaction, so nobody can have changed them.
            write(&mut tx, &notes).await
        };
        let written = self.engine.db.write(take_up).await;
        crash::point("claimed");
        let found = taken.len();
        if let Err(error) = written {
            taken = self.kept(taken, &error).await;
            if taken.is_empty() {
                return Err(error);
            }
        }
        for work in taken.into_iter().filter_map(Taken::on_its_way) {
            let place = Place::take(self, &work.entry.name.brand);
            let (engine, scribe) = (self.engine.clone(), self.scribe.clone());
            tokio::spawn(async move {
                flow::drive(engine, scribe, work).await;
                drop(place);
            });
        }
        Ok(found)
    }

    /// A commit without an answer may have worked all the same. What it took up is then ours, and
    /// nobody would go on with it until our lease has ended.
    async fn kept(&self, taken: Vec<Taken>, error: &StoreError) -> Vec<Taken> {
        let mut kept = Vec::new();
        if !matches!(error, StoreError::Unavailable(_)) {
            return kept;
        }
        let asking = async {
            for taken in taken {
                let entry = &taken.note.entry;
                loop {
                    let ours = async {
                        let mut conn = self.engine.db.read().await?;
                        queue::is_canceled(&mut conn, entry, entry.token).await
                    };
                    match ours.await {
                        Ok(Some(_)) => break kept.push(taken),
                        Ok(None) => break,
                        Err(_) => tokio::time::sleep(FLOOR).await,
                    }
                }
            }
        };
        // Later the lease would be too short for a call.
        let _ = tokio::time::timeout(Duration::from_secs(15), asking).await;
        kept
    }

    /// Takes one entry up: from now on only its new token counts.
    fn take_up(&self, due: Due, now: Millis) -> Taken {
        let Due { mut entry, document, schedule, connection } = due;
        let late_window = late_window(&schedule);
        let held = entry.token;
        entry.token += 1;
        let place = self.enter(&mut entry, now);
        let waits = place.is_none();
        let place = place.flatten();
        // After a crash near the call the account has to be known first.
        if waits || matches!(entry.flow.stage, Stage::Calling | Stage::Reading) {
            let (effect, wake_at) = (Effect::Nothing, now + LEASE);
            let note = Note { entry, held, ended: None, effect, wake_at, now };
            return Taken { note, document, late_window, place, effect: None, opened: None };
        }
        let rules = Rules { safety: Safety::Nothing, late_window };
        let mut step = next(&entry.flow, Event::Claimed, &rules, Moment { now, chance: chance() });
        flow::apply(&mut entry, &step);
        let mut opened = None;
        if step.effect == Effect::Prepare {
            let (document, connection) = (document.as_deref(), connection.as_ref());
            let ready = ready(&self.engine, &mut entry, document, connection, late_window, now);
            if let Some((prepared, account)) = ready {
                flow::apply(&mut entry, &prepared);
                (step, opened) = (prepared, Some(account));
            }
        }
        let (effect, wake_at) = (step.effect, step.wake_at(now + LEASE));
        let note = Note { entry, held, ended: step.ended, effect, wake_at, now };
        Taken { note, document, late_window, place, effect: Some(effect), opened }
    }

    /// A place at the account; `None` when all are taken. An account that rests moves the entry
    /// to a later time.
    #[expect(clippy::option_option, reason = "an entry without an account needs no place")]
    fn enter(
        &self,
        entry: &mut campanile_store::publish::Entry,
        now: Millis,
    ) -> Option<Option<OwnedSemaphorePermit>> {
        let platform = self.engine.platforms.find(&entry.platform);
        let (Some(connection), Some(platform)) = (&entry.connection, platform) else {
            return Some(None);
        };
        let accounts = &self.engine.accounts;
        if entry.flow.stage == Stage::Waiting {
            let late = now - entry.flow.due > campanile_machine::LATE_AFTER;
            let free_at = accounts.free_at(connection, late, now);
            if free_at > now {
                entry.flow.next_at = free_at;
                return Some(None);
            }
        }
        accounts.try_enter(connection, platform.about().at_once).map(Some)
    }

    fn in_hand(&self) -> MutexGuard<'_, HashMap<BrandId, usize>> {
        self.in_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self) -> usize {
        self.in_hand().values().sum()
    }

    fn busy_brands(&self) -> Vec<BrandId> {
        let in_hand = self.in_hand();
        let busy = in_hand.iter().filter(|(_, count)| **count >= MOST_OF_A_BRAND);
        busy.map(|(brand, _)| brand.clone()).collect()
    }

    /// What is in hand gets a moment to end; what does not is found and read after the restart.
    async fn finish(&self) {
        const PATIENCE: Duration = Duration::from_secs(10);
        let idle = async {
            while self.count() > 0 {
                let _ = tokio::time::timeout(FLOOR, self.freed.notified()).await;
            }
        };
        if tokio::time::timeout(PATIENCE, idle).await.is_err() {
            tracing::warn!("some publishing did not end in time; it goes on after the next start");
        }
    }
}

/// An entry that was taken up, and what to write down about that.
struct Taken {
    note: Note,
    document: Option<String>,
    late_window: Millis,
    place: Option<OwnedSemaphorePermit>,
    /// `None` when the flow has yet to be told.
    effect: Option<Effect>,
    /// The account, where it is known already.
    opened: Option<Opened>,
}

impl Taken {
    /// What is left to do, unless taking it up has settled it.
    fn on_its_way(self) -> Option<Work> {
        let Self { note, document, late_window, place, effect, opened } = self;
        let Note { entry, wake_at: held_until, .. } = note;
        let settled = matches!(effect, Some(Effect::Wait | Effect::Finish | Effect::Nothing));
        let work = Work { entry, document, late_window, effect, place, opened, held_until };
        (!settled).then_some(work)
    }
}

/// How late a post of the brand may start.
fn late_window(schedule: &str) -> Millis {
    #[derive(serde::Deserialize)]
    struct Window {
        late_window_hours: i64,
    }
    // The rest of the settings is of no interest here, and this is done for every post.
    let window = serde_json::from_str::<Window>(schedule);
    window.map_or(DAY, |window| window.late_window_hours * HOUR)
}

fn report(error: &StoreError) {
    let error = error as &dyn std::error::Error;
    tracing::warn!(error, "the publish queue could not be read; will try again");
}

/// Counts an entry as in hand until it is dropped.
struct Place {
    runner: Arc<Runner>,
    brand: BrandId,
}

impl Place {
    fn take(runner: &Arc<Runner>, brand: &BrandId) -> Self {
        *runner.in_hand().entry(brand.clone()).or_default() += 1;
        Self { runner: runner.clone(), brand: brand.clone() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut in_hand = self.runner.in_hand();
        if let Some(count) = in_hand.get_mut(&self.brand) {
            *count -= 1;
            if *count == 0 {
                in_hand.remove(&self.brand);
            }
        }
        drop(in_hand);
        self.runner.freed.notify_one();
    }
}
