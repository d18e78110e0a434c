//! Writes steps down, many in one transaction, and answers once they are durable.

use std::{sync::Arc, time::Duration};

use campanile_machine::{Effect, Ended};
use campanile_model::time::Millis;
use campanile_store::{
    Db, StoreError, Tx,
    publish::{Entry, queue},
};
use tokio::sync::{Mutex, mpsc, oneshot};

/// More would make the first wait for the last.
const LARGEST_BATCH: usize = 256;

/// A store that cannot be reached is asked again after so long.
const PATIENCE: Duration = Duration::from_millis(250);

/// Why a step was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Meanwhile somebody asked to cancel.
    CancelAsked,
    /// Somebody else has the entry now.
    Lost,
}

type Stored = Result<(), Refused>;

/// A step on its way into the store.
pub(crate) struct Note {
    pub(crate) entry: Entry,
    /// The token under which the entry is held.
    pub(crate) held: i64,
    pub(crate) ended: Option<Ended>,
    pub(crate) effect: Effect,
    pub(crate) wake_at: Millis,
    pub(crate) now: Millis,
}

impl Note {
    /// Whether its job is under way from now on: it prepares, or was taken up ready to call.
    fn begins(&self) -> bool {
        let taken_up = self.held != self.entry.token;
        self.effect == Effect::Prepare || taken_up && self.effect == Effect::Call
    }
}

type Pending = (Note, oneshot::Sender<Result<Entry, Refused>>);

#[derive(Clone)]
pub(crate) struct Scribe {
    notes: mpsc::Sender<Pending>,
}

impl Scribe {
    /// Starts as many writers as the engine can use: SQLite has one.
    pub(crate) fn start(db: &Db) -> Self {
        let (notes, pending) = mpsc::channel(4 * LARGEST_BATCH);
        let pending = Arc::new(Mutex::new(pending));
        for _ in 0..db.dialect().pick(1, 4) {
            tokio::spawn(write_all(db.clone(), pending.clone()));
        }
        Self { notes }
    }

    /// Returns the entry once its step is durable, or it is known that it must not be.
    pub(crate) async fn write(&self, note: Note) -> Result<Entry, Refused> {
        let (answer, outcome) = oneshot::channel();
        if self.notes.send((note, answer)).await.is_err() {
            return Err(Refused::Lost);
        }
        // Without an answer the step may or may not be stored, so nothing may build on it.
        outcome.await.unwrap_or(Err(Refused::Lost))
    }
}

async fn write_all(db: Db, pending: Arc<Mutex<mpsc::Receiver<Pending>>>) {
    loop {
        let mut batch = Vec::new();
        let mut queue = pending.lock().await;
        if queue.recv_many(&mut batch, LARGEST_BATCH).await == 0 {
            return;
        }
        // Steps of posts that were taken up together come together; let them join.
        tokio::task::yield_now().await;
        while batch.len() < LARGEST_BATCH
            && let Ok(pending) = queue.try_recv()
        {
            batch.push(pending);
        }
        drop(queue);
        // Everybody locks entries in this order, so that nobody waits in a circle.
        batch.sort_by(|(one, _), (other, _)| one.entry.name.cmp(&other.entry.name));
        let outcomes = write_batch(&db, &batch).await;
        for ((note, answer), outcome) in batch.into_iter().zip(outcomes) {
            // Whoever asked may have been stopped.
            let _ = answer.send(outcome.map(|()| note.entry));
        }
    }
}

/// An outcome that nobody can write down would have to be found out again by reading the
/// platform, so a store that is away for a moment is waited for.
async fn write_batch(db: &Db, batch: &[Pending]) -> Vec<Stored> {
    loop {
        let written = db.write(async |mut tx| write_notes(&mut tx, batch).await).await;
        match written {
            Ok(outcomes) => return outcomes,
            Err(StoreError::Unavailable(error)) => {
                tracing::warn!(error = &*error, "the store is away; outcomes wait for it");
                tokio::time::sleep(PATIENCE).await;
            }
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::error!(error, "publish steps could not be stored");
                return vec![Err(Refused::Lost); batch.len()];
            }
        }
    }
}

async fn write_notes(tx: &mut Tx, batch: &[Pending]) -> Result<Vec<Stored>, StoreError> {
    let notes: Vec<_> = batch.iter().map(|(note, _)| note).collect();
    write(tx, &notes).await
}

/// Writes steps, and what follows from them, in one transaction.
pub(crate) async fn write(tx: &mut Tx, notes: &[&Note]) -> Result<Vec<Stored>, StoreError> {
    let Some(now) = notes.iter().map(|note| note.now).max() else { return Ok(Vec::new()) };
    let rows: Vec<_> = notes
        .iter()
        .map(|note| queue::Note { entry: &note.entry, held: note.held, wake_at: note.wake_at })
        .collect();
    let stored = queue::store(tx, &rows, now).await?;
    let kept: Vec<&Note> =
        notes.iter().zip(&stored).filter(|(_, stored)| **stored).map(|(note, _)| *note).collect();
    let ended: Vec<_> =
        kept.iter().filter_map(|note| Some((&note.entry, note.ended.as_ref()?))).collect();
    queue::insert_attempts(tx, &ended, now).await?;
    let begins: Vec<_> = kept.iter().filter(|note| note.begins()).map(|note| &note.entry).collect();
    queue::begin(tx, &begins, now).await?;
    let with = |wanted: &[Effect]| -> Vec<&Entry> {
        let kept = kept.iter().filter(|note| wanted.contains(&note.effect));
        kept.map(|note| &note.entry).collect()
    };
    queue::finish(tx, &with(&[Effect::Finish]), now).await?;
    // What did not go out at the first try takes long enough for people to see it.
    queue::show_publishing(tx, &begun(&with(&[Effect::Wait, Effect::Read])), now).await?;
    let mut outcomes = Vec::with_capacity(notes.len());
    for (note, stored) in notes.iter().zip(stored) {
        outcomes.push(match stored {
            true => Ok(()),
            false => Err(refusal(tx, note).await?),
        });
    }
    Ok(outcomes)
}

fn begun<'e>(entries: &[&'e Entry]) -> Vec<&'e Entry> {
    entries.iter().copied().filter(|entry| entry.flow.attempt > 0).collect()
}

async fn refusal(tx: &mut Tx, note: &Note) -> Result<Refused, StoreError> {
    Ok(match queue::is_canceled(tx, &note.entry, note.held).await? {
        Some(true) => Refused::CancelAsked,
        _ => Refused::Lost,
    })
}
