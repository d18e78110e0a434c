//! The side of whoever publishes: what is due, taking it up, and writing down what became of it.

use std::collections::BTreeMap;

use campanile_machine::Ended;
use campanile_model::{
    ids::{AttemptId, BrandId, JobId, PostId},
    post::PostStatus,
    publish::{JobState, Stage},
    time::{self, Millis},
};
use serde::Serialize;

use super::{COLUMNS, Entry, Name, Reached, WIDTH, json as damaged, outcome, read};
use crate::{
    connections::{self, Connection},
    counts,
    db::{Conn, Result, Tx, Value},
    outbox, params,
};

/// An entry whose time has come, with all that is needed to go on with it.
#[derive(Clone, Debug)]
pub struct Due {
    pub entry: Entry,
    /// What the author wrote; `None` when the post is gone.
    pub document: Option<String>,
    /// The brand's schedule settings.
    pub schedule: String,
    /// The account, if it is still there.
    pub connection: Option<Connection>,
}

/// Entries to be taken up now, oldest first, leaving out the brands that have enough. Locked
/// until the transaction ends; what another process holds is passed over.
pub async fn due(tx: &mut Tx, now: Millis, limit: i64, busy: &[BrandId]) -> Result<Vec<Due>> {
    let busy: Vec<_> = busy.iter().map(BrandId::as_str).collect();
    let busy = serde_json::to_string(&busy).map_err(damaged)?;
    let sql = due_statement(tx);
    tx.all(&sql, params![now, limit, &busy], |row| {
        Ok(Due {
            entry: read(row)?,
            document: row.optional_text(WIDTH)?,
            schedule: row.text(WIDTH + 1)?,
            connection: connections::read_joined(row, WIDTH + 2)?,
        })
    })
    .await
}

/// The statement of [`due`]; public to the test that prepares it.
pub fn due_statement(conn: &Conn) -> String {
    let (list, lock) = conn.dialect().pick(
        ("json_each($3)", ""),
        (
            "json_array_elements_text(CAST(CAST($3 AS TEXT) AS JSON)) AS listed (value)",
            "FOR UPDATE SKIP LOCKED",
        ),
    );
    // The index gives the few that are due; only those are looked up elsewhere.
    let account = connections::COLUMNS;
    format!(
        "SELECT {COLUMNS}, p.document, b.schedule, {account}
           FROM (SELECT t.* FROM publish_targets t
                  WHERE t.live = 1
                    AND t.wake_at <= $1 /* every tenant: one queue serves them all */
                    AND t.brand_id NOT IN (SELECT value FROM {list})
                  ORDER BY t.wake_at, t.brand_id, t.job_id, t.number
                  LIMIT $2 {lock}) t
           JOIN brands b ON b.id = t.brand_id
           LEFT JOIN posts p ON p.brand_id = t.brand_id AND p.id = t.post_id
           LEFT JOIN connections c ON c.brand_id = t.brand_id AND c.id = t.connection_id
          ORDER BY t.wake_at, t.brand_id, t.job_id, t.number"
    )
}

/// When the next entry is to be taken up.
pub async fn next_wake(conn: &mut Conn) -> Result<Option<Millis>> {
    const SQL: &str = "
        SELECT t.wake_at FROM publish_targets t /* every tenant: one queue serves them all */
         WHERE t.live = 1
         ORDER BY t.wake_at LIMIT 1";
    conn.optional(SQL, params![], |row| row.int(0)).await
}

/// After a restart of the only process, nobody holds a lease any more.
pub async fn release_all(tx: &mut Tx, now: Millis, lease: Millis) -> Result<u64> {
    const SQL: &str = "
        UPDATE publish_targets SET wake_at = next_at /* every tenant: nobody else runs */
         WHERE live = 1 AND wake_at <= $1
           AND wake_at > next_at";
    // A lease lies in the near future, so the index finds these without looking at the rest.
    // One that waits is held too, while it stands in line for its account.
    tx.execute(SQL, params![now + 2 * lease]).await
}

/// An entry's new state, on its way into the store.
pub struct Note<'e> {
    pub entry: &'e Entry,
    /// The token under which the entry was held so far; the entry itself has the one to come.
    pub held: i64,
    /// The end of the lease, or the time to take the entry up again.
    pub wake_at: Millis,
}

/// Writes new states. `false` for an entry that somebody else has in hand by now, or was asked
/// to cancel: whoever wrote it must not go on as if nothing had happened.
pub async fn store(tx: &mut Tx, notes: &[Note<'_>], now: Millis) -> Result<Vec<bool>> {
    const SQL: &str = "
        UPDATE publish_targets
           SET stage = $5, part = $6, parts = $7, attempt = $8, failures = $9, due_at = $10,
               next_at = $11, intent_at = $12, absences = $13, late = $14, cancel = $15,
               renewed = $16, wake_at = $17, draft = $18, frozen = $19, receipts = $20,
               failure = $21, updated_at = $22, platform = $23, undecided_since = $24,
               token = $25, live = $26
         WHERE brand_id = $1 AND job_id = $2 AND number = $3 AND token = $4
           AND (cancel = $15 OR $15 = 1)";
    let texts = notes.iter().map(|note| texts(note.entry)).collect::<Result<Vec<_>>>()?;
    let sets: Vec<_> = notes
        .iter()
        .zip(&texts)
        .map(|(note, (receipts, failure))| values(note, receipts, failure.as_deref(), now))
        .collect();
    Ok(tx.execute_each(SQL, &sets).await?.into_iter().map(|changed| changed == 1).collect())
}

fn texts(entry: &Entry) -> Result<(String, Option<String>)> {
    let failure = entry.failure.as_ref().map(serde_json::to_string).transpose();
    let receipts = serde_json::to_string(&entry.receipts).map_err(damaged)?;
    Ok((receipts, failure.map_err(damaged)?))
}

/// The parameters of [`store`], in the order of its statement.
fn values<'v>(
    note: &'v Note<'_>,
    receipts: &'v str,
    failure: Option<&'v str>,
    now: Millis,
) -> Vec<Value<'v>> {
    let Note { entry, held, wake_at } = note;
    let Entry { name, flow, .. } = entry;
    params![
        &name.brand,
        &name.job,
        name.number,
        *held,
        flow.stage.as_str(),
        i64::from(flow.part),
        i64::from(flow.parts),
        i64::from(flow.attempt),
        i64::from(flow.failures),
        flow.due,
        flow.next_at,
        flow.intent_at,
        i64::from(flow.absences),
        i64::from(flow.late),
        i64::from(flow.cancel),
        i64::from(flow.renewed),
        *wake_at,
        entry.draft.as_deref(),
        entry.frozen.as_deref(),
        receipts,
        failure,
        now,
        &entry.platform,
        flow.undecided_since,
        entry.token,
        i64::from(!flow.stage.is_final())
    ]
    .to_vec()
}

/// Whether somebody asked to cancel the entry since it was taken up; `None` when it was taken
/// away.
pub async fn is_canceled(conn: &mut Conn, entry: &Entry, held: i64) -> Result<Option<bool>> {
    const SQL: &str = "
        SELECT cancel FROM publish_targets
         WHERE brand_id = $1 AND job_id = $2 AND number = $3 AND token = $4";
    let Name { brand, job, number } = &entry.name;
    let values = params![brand, job, *number, held];
    let found = conn.optional(SQL, values, |row| row.int(0)).await?;
    Ok(found.map(|cancel| cancel != 0))
}

/// Makes a lease longer. `false` when it was lost.
pub async fn extend(tx: &mut Tx, entry: &Entry, until: Millis) -> Result<bool> {
    const SQL: &str = "
        UPDATE publish_targets SET wake_at = $5
         WHERE brand_id = $1 AND job_id = $2 AND number = $3 AND token = $4";
    let Name { brand, job, number } = &entry.name;
    Ok(tx.execute(SQL, params![brand, job, *number, entry.token, until]).await? == 1)
}

/// Notes that jobs have begun.
pub async fn begin(tx: &mut Tx, entries: &[&Entry], now: Millis) -> Result<()> {
    const SQL: &str = "
        UPDATE publish_jobs SET state = 'running', started_at = $3, updated_at = $3, late = $4
         WHERE brand_id = $1 AND id = $2 AND state = 'queued'";
    // Several entries of a job may begin at once.
    let late: BTreeMap<_, _> =
        entries.iter().map(|entry| (job_of(entry), entry.flow.late)).collect();
    let sets: Vec<_> = late
        .into_iter()
        .map(|((brand, job), late)| params![brand, job, now, i64::from(late)].to_vec())
        .collect();
    tx.push_each(SQL, &sets).await
}

fn job_of(entry: &Entry) -> (&BrandId, &JobId) {
    (&entry.name.brand, &entry.name.job)
}

/// Writes down how attempts ended.
pub async fn insert_attempts(
    tx: &mut Tx,
    attempts: &[(&Entry, &Ended)],
    now: Millis,
) -> Result<()> {
    const SQL: &str = "
        INSERT INTO publish_attempts (brand_id, id, job_id, number, part, attempt, state, class,
                                      code, message, repeat_is_safe, retry_at, finished_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    let ids: Vec<_> = attempts.iter().map(|_| AttemptId::new(now)).collect();
    let sets: Vec<_> = attempts
        .iter()
        .zip(&ids)
        .map(|((entry, ended), id)| attempt_values(id, entry, ended, now))
        .collect();
    tx.push_each(SQL, &sets).await
}

/// The parameters of [`insert_attempts`], in the order of its statement.
fn attempt_values<'v>(
    id: &'v AttemptId,
    entry: &'v Entry,
    ended: &'v Ended,
    now: Millis,
) -> Vec<Value<'v>> {
    let Entry { name, flow, .. } = entry;
    let failed = match ended {
        Ended::Published(_) => None,
        Ended::Failed { failure, repeat_is_safe, retry_at } => {
            Some((failure, i64::from(*repeat_is_safe), *retry_at))
        }
    };
    // What was just published is the part before the one that comes next.
    let part = i64::from(flow.part) - i64::from(failed.is_none());
    params![
        &name.brand,
        id,
        &name.job,
        name.number,
        part,
        i64::from(flow.attempt),
        if failed.is_some() { "failed" } else { "succeeded" },
        failed.map(|(failure, ..)| failure.class.as_str()),
        failed.map(|(failure, ..)| failure.code.as_str()),
        failed.map(|(failure, ..)| failure.message.as_str()),
        failed.map(|(_, safe, _)| safe),
        failed.and_then(|(.., retry_at)| retry_at),
        now
    ]
    .to_vec()
}

/// Ends the jobs whose last entry has ended, and tells so.
pub async fn finish(tx: &mut Tx, entries: &[&Entry], now: Millis) -> Result<()> {
    const SQL: &str = "
        UPDATE publish_jobs SET state = $3, finished_at = $4, updated_at = $4
         WHERE brand_id = $1 AND id = $2 AND finished_at IS NULL";
    let mut ended: BTreeMap<_, (&Entry, JobState)> = BTreeMap::new();
    for entry in entries {
        let state = if entry.alone {
            outcome(&[entry.reached()])
        } else {
            outcome(&reached(tx, entry, now).await?)
        };
        if let Some(state) = state {
            ended.insert(job_of(entry), (entry, state));
        }
    }
    let sets: Vec<_> = ended
        .iter()
        .map(|((brand, job), (_, state))| params![*brand, *job, state.as_str(), now].to_vec())
        .collect();
    tx.push_each(SQL, &sets).await?;
    let events: Vec<_> = ended.values().map(|(entry, state)| event(entry, *state, now)).collect();
    outbox::put(tx, &events, now).await?;
    let moves: Vec<_> = ended.values().map(|(entry, state)| (*entry, shown_as(*state))).collect();
    move_posts(tx, &moves, now).await
}

/// How far the entries of a job are. Two that end at once must see each other.
async fn reached(tx: &mut Tx, entry: &Entry, now: Millis) -> Result<Vec<Reached>> {
    const LOCK: &str = "
        UPDATE publish_jobs SET updated_at = $3 WHERE brand_id = $1 AND id = $2";
    const SQL: &str = "
        SELECT stage, receipts FROM publish_targets WHERE brand_id = $1 AND job_id = $2";
    let Name { brand, job, .. } = &entry.name;
    tx.push(LOCK, params![brand, job, now]).await?;
    tx.all(SQL, params![brand, job], |row| {
        let stage = Stage::parse(row.str(0)?).unwrap_or(Stage::Unknown);
        Ok(Reached { stage, out: row.str(1)? != "[]" })
    })
    .await
}

fn shown_as(state: JobState) -> PostStatus {
    match state {
        JobState::Succeeded => PostStatus::Published,
        JobState::PartiallySucceeded => PostStatus::PartiallyPublished,
        JobState::Canceled => PostStatus::Draft,
        JobState::NeedsAttention => PostStatus::NeedsAttention,
        JobState::Failed | JobState::Queued | JobState::Running => PostStatus::Failed,
    }
}

#[derive(Serialize)]
struct Told<'e> {
    publish_job_id: &'e JobId,
    post_id: &'e PostId,
    state: JobState,
    timestamp: String,
}

fn event(entry: &Entry, state: JobState, now: Millis) -> outbox::Event<'_> {
    let Name { brand, job, .. } = &entry.name;
    let kind = match state {
        JobState::Succeeded => "publish_job.succeeded",
        JobState::PartiallySucceeded => "publish_job.partially_succeeded",
        JobState::Canceled => "publish_job.canceled",
        JobState::NeedsAttention => "publish_job.needs_attention",
        JobState::Failed | JobState::Queued | JobState::Running => "publish_job.failed",
    };
    let payload =
        Told { publish_job_id: job, post_id: &entry.post, state, timestamp: time::format(now) };
    // Plain texts cannot fail to be written out.
    let payload = serde_json::to_string(&payload).unwrap_or_default();
    outbox::Event { brand, kind, resource_id: job.as_str(), payload }
}

/// Shows that the posts of these entries are on their way out.
pub async fn show_publishing(tx: &mut Tx, entries: &[&Entry], now: Millis) -> Result<()> {
    let moves: Vec<_> = entries.iter().map(|entry| (*entry, PostStatus::Publishing)).collect();
    move_posts(tx, &moves, now).await
}

/// Changes the status of posts, and the brands' counts with them.
async fn move_posts(tx: &mut Tx, moves: &[(&Entry, PostStatus)], now: Millis) -> Result<()> {
    const SQL: &str = "
        UPDATE posts SET status = $3, updated_at = $4, published_at = coalesce(published_at, $5),
                         scheduled_at = CASE WHEN $3 = 'Draft' THEN NULL ELSE scheduled_at END
         WHERE brand_id = $1 AND id = $2 AND status = $6";
    let mut counts: BTreeMap<(&BrandId, &str), i64> = BTreeMap::new();
    let mut left: Vec<_> = moves.to_vec();
    // A post that is published was scheduled, as a rule, or has been shown as publishing; the
    // others are the exception. One more try costs less than looking first.
    for before in [PostStatus::Scheduled, PostStatus::Publishing] {
        left.retain(|(_, status)| *status != before);
        let sets: Vec<_> = left
            .iter()
            .map(|(entry, status)| {
                let out = matches!(status, PostStatus::Published | PostStatus::PartiallyPublished);
                let (brand, post, at) = (&entry.name.brand, &entry.post, out.then_some(now));
                params![brand, post, status.as_str(), now, at, before.as_str()].to_vec()
            })
            .collect();
        let moved = tx.execute_each(SQL, &sets).await?;
        let mut moved = moved.into_iter().map(|changed| changed == 1);
        left.retain(|(entry, status)| {
            let is_moved = moved.next() == Some(true);
            if is_moved {
                let brand = &entry.name.brand;
                *counts.entry((brand, before.as_str())).or_default() -= 1;
                *counts.entry((brand, status.as_str())).or_default() += 1;
            }
            !is_moved
        });
    }
    for ((brand, kind), amount) in counts.into_iter().filter(|(_, amount)| *amount != 0) {
        counts::add(tx, brand, &mut [(kind, amount)]).await?;
    }
    Ok(())
}

/// The connection of an entry, if it still exists.
pub async fn connection(conn: &mut Conn, entry: &Entry) -> Result<Option<Connection>> {
    match &entry.connection {
        Some(id) => connections::find(conn, &entry.name.brand, id).await,
        None => Ok(None),
    }
}

/// How old the oldest entry is that should have started, and the oldest whose call is undecided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ages {
    pub oldest_due: Option<Millis>,
    pub oldest_undecided: Option<Millis>,
}

pub async fn ages(conn: &mut Conn, now: Millis) -> Result<Ages> {
    const DUE: &str = "
        SELECT min(t.next_at) FROM publish_targets t /* every tenant: the health of the queue */
         WHERE t.live = 1 AND t.wake_at <= $1
           AND t.stage = 'waiting'";
    const UNDECIDED: &str = "
        SELECT min(coalesce(t.undecided_since, t.intent_at)) FROM publish_targets t /* every tenant: the health of the queue */
         WHERE t.live = 1 AND t.wake_at <= $1
           AND t.stage IN ('calling', 'reading')";
    let oldest_due = conn.optional(DUE, params![now], |row| row.optional_int(0)).await?;
    let undecided = params![now + time::DAY];
    let undecided = conn.optional(UNDECIDED, undecided, |row| row.optional_int(0)).await?;
    let age = |at: Option<Option<Millis>>| at.flatten().map(|at| (now - at).max(0));
    Ok(Ages { oldest_due: age(oldest_due), oldest_undecided: age(undecided) })
}
