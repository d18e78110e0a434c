//! Rows of `publish_jobs`, `publish_targets` and `publish_attempts`.
//!
//! A job publishes one post; it has one entry for each account, and entries go their own ways.
//! [`queue`] is the side of whoever publishes, [`jobs`] that of whoever plans and watches;
//! [`receipts`] tells posts of an account apart.

pub mod jobs;
pub mod queue;
pub mod receipts;

use campanile_machine::Flow;
use campanile_model::{
    ids::{BrandId, ConnectionId, JobId, PostId},
    publish::{Failure, JobState, Receipt, Stage},
    time::Millis,
};

use crate::db::{Result, Row, StoreError, boxed};

/// Which entry: the primary key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    pub brand: BrandId,
    pub job: JobId,
    pub number: i64,
}

/// The publishing of one post to one account.
#[derive(Clone, Debug)]
pub struct Entry {
    pub name: Name,
    pub post: PostId,
    /// Whether the job has no other entry.
    pub alone: bool,
    /// `None` where the post names no account.
    pub connection: Option<ConnectionId>,
    pub platform: String,
    pub flow: Flow,
    pub token: i64,
    pub receipts: Vec<Receipt>,
    /// What the account gets, as JSON, once it is frozen.
    pub draft: Option<String>,
    /// What the call says.
    pub frozen: Option<String>,
    pub failure: Option<Failure>,
}

const COLUMNS: &str = "t.brand_id, t.job_id, t.number, t.post_id, t.connection_id, t.platform,
    t.stage, t.part, t.parts, t.attempt, t.failures, t.due_at, t.next_at, t.intent_at, t.absences,
    t.late, t.cancel, t.renewed, t.token, t.receipts, t.draft, t.frozen, t.failure,
    t.undecided_since, t.alone";
/// How many columns those are: what a statement selects beside them comes after.
const WIDTH: usize = 25;

fn read(row: &Row<'_>) -> Result<Entry> {
    let connection = row.str(4)?;
    Ok(Entry {
        name: Name { brand: row.id(0)?, job: row.id(1)?, number: row.int(2)? },
        post: row.id(3)?,
        alone: row.int(24)? != 0,
        connection: (!connection.is_empty()).then(|| ConnectionId::stored(connection)),
        platform: row.text(5)?,
        flow: Flow {
            stage: Stage::parse(row.str(6)?).unwrap_or(Stage::Unknown),
            part: count(row.int(7)?),
            parts: count(row.int(8)?),
            attempt: count(row.int(9)?),
            failures: count(row.int(10)?),
            due: row.int(11)?,
            next_at: row.int(12)?,
            intent_at: row.optional_int(13)?,
            undecided_since: row.optional_int(23)?,
            absences: count(row.int(14)?),
            late: row.int(15)? != 0,
            cancel: row.int(16)? != 0,
            renewed: row.int(17)? != 0,
        },
        token: row.int(18)?,
        receipts: serde_json::from_str(row.str(19)?).map_err(json)?,
        draft: row.optional_text(20)?,
        frozen: row.optional_text(21)?,
        failure: row.optional_str(22)?.map(serde_json::from_str).transpose().map_err(json)?,
    })
}

fn count(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn json(error: serde_json::Error) -> StoreError {
    StoreError::Database(boxed(error))
}

/// A job as a whole.
#[derive(Clone, Debug)]
pub struct Job {
    pub id: JobId,
    pub brand: BrandId,
    pub post: PostId,
    pub state: JobState,
    pub run_at: Millis,
    pub late: bool,
    pub cancel_asked_at: Option<Millis>,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub started_at: Option<Millis>,
    pub finished_at: Option<Millis>,
}

/// How far an entry is, and whether something of it is out: perhaps half a thread.
#[derive(Clone, Copy, Debug)]
pub struct Reached {
    pub stage: Stage,
    pub out: bool,
}

impl Entry {
    pub(crate) fn reached(&self) -> Reached {
        Reached { stage: self.flow.stage, out: !self.receipts.is_empty() }
    }
}

/// What a job comes to once all its entries have ended; `None` while one has not.
pub fn outcome(entries: &[Reached]) -> Option<JobState> {
    if !entries.iter().all(|entry| entry.stage.is_final()) {
        return None;
    }
    let any = |wanted: &[Stage]| entries.iter().any(|entry| wanted.contains(&entry.stage));
    let out = entries.iter().any(|entry| entry.out);
    Some(if any(&[Stage::Unknown, Stage::Missed]) {
        JobState::NeedsAttention
    } else if any(&[Stage::Rejected, Stage::Canceled]) && out {
        JobState::PartiallySucceeded
    } else if any(&[Stage::Rejected]) {
        JobState::Failed
    } else if any(&[Stage::Canceled]) {
        JobState::Canceled
    } else {
        JobState::Succeeded
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_what_its_entries_came_to() {
        use Stage::{Canceled, Missed, Published, Rejected, Unknown, Waiting};
        let cases = [
            (vec![Published, Waiting], None),
            (vec![Published, Published], Some(JobState::Succeeded)),
            (vec![Published, Rejected], Some(JobState::PartiallySucceeded)),
            (vec![Rejected, Rejected], Some(JobState::Failed)),
            (vec![Rejected, Canceled], Some(JobState::Failed)),
            (vec![Published, Unknown], Some(JobState::NeedsAttention)),
            (vec![Missed], Some(JobState::NeedsAttention)),
            (vec![Canceled, Canceled], Some(JobState::Canceled)),
            (vec![Canceled, Published], Some(JobState::PartiallySucceeded)),
        ];
        for (stages, expected) in cases {
            let reached = |stage: &Stage| Reached { stage: *stage, out: *stage == Published };
            let entries: Vec<_> = stages.iter().map(reached).collect();
            assert_eq!(outcome(&entries), expected, "{stages:?}");
        }
    }

    #[test]
    fn half_a_thread_is_neither_failed_nor_canceled() {
        for stage in [Stage::Rejected, Stage::Canceled] {
            let half = Reached { stage, out: true };
            assert_eq!(outcome(&[half]), Some(JobState::PartiallySucceeded), "{stage:?}");
        }
    }
}
