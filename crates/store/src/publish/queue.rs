//! The side of whoever publishes: what is due, taking it up, and writing down what became of it.

use campanile_machine::Ended;
use campanile_model::{
    ids::{AttemptId, BrandId},
    post::PostStatus,
    publish::{JobState, Stage},
    time::{self, Millis},
};
use serde_json::json;

use super::{COLUMNS, Entry, Name, WIDTH, json as damaged, outcome, read};
use crate::{
    connections::{self, Connection},
    counts,
    db::{Conn, Result, Row, Tx},
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
            "FOR UPDATE OF t SKIP LOCKED",
        ),
    );
    format!(
        "SELECT {COLUMNS}, p.document, b.schedule
           FROM publish_targets t
           JOIN brands b ON b.id = t.brand_id
           LEFT JOIN posts p ON p.brand_id = t.brand_id AND p.id = t.post_id
          WHERE t.stage IN ('waiting', 'preparing', 'calling', 'reading')
            AND t.wake_at <= $1 /* every tenant: one queue serves them all */
            AND t.brand_id NOT IN (SELECT value FROM {list})
          ORDER BY t.wake_at, t.brand_id, t.job_id, t.number
          LIMIT $2 {lock}"
    )
}

/// When the next entry is to be taken up.
pub async fn next_wake(conn: &mut Conn) -> Result<Option<Millis>> {
    const SQL: &str = "
        SELECT t.wake_at FROM publish_targets t /* every tenant: one queue serves them all */
         WHERE t.stage IN ('waiting', 'preparing', 'calling', 'reading')
         ORDER BY t.wake_at LIMIT 1";
    conn.optional(SQL, params![], |row| row.int(0)).await
}

/// After a restart of the only process, nobody holds a lease any more.
pub async fn release_all(tx: &mut Tx, now: Millis, lease: Millis) -> Result<u64> {
    const SQL: &str = "
        UPDATE publish_targets SET wake_at = next_at /* every tenant: nobody else runs */
         WHERE stage IN ('preparing', 'calling', 'reading') AND wake_at <= $1";
    // A lease lies in the near future, so the index finds these without looking at the rest.
    tx.execute(SQL, params![now + 2 * lease]).await
}

/// Writes an entry's new state. `false` when somebody else has it in hand by now: whoever wrote
/// must stop. `wake_at` is the end of the lease, or the time to take the entry up again.
pub async fn store(tx: &mut Tx, entry: &Entry, wake_at: Millis, now: Millis) -> Result<bool> {
    const SQL: &str = "
        UPDATE publish_targets
           SET stage = $5, part = $6, parts = $7, attempt = $8, failures = $9, due_at = $10,
               next_at = $11, intent_at = $12, absences = $13, late = $14, cancel = $15,
               renewed = $16, wake_at = $17, draft = $18, frozen = $19, receipts = $20,
               failure = $21, updated_at = $22, platform = $23,
               undecided_since = $24
         WHERE brand_id = $1 AND job_id = $2 AND number = $3 AND token = $4
           AND (cancel = $15 OR $15 = 1)";
    let Entry { name, flow, token, .. } = entry;
    let receipts = serde_json::to_string(&entry.receipts).map_err(damaged)?;
    let failure = entry.failure.as_ref().map(serde_json::to_string);
    let failure = failure.transpose().map_err(damaged)?;
    let values = params![
        &name.brand,
        &name.job,
        name.number,
        *token,
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
        wake_at,
        entry.draft.as_deref(),
        entry.frozen.as_deref(),
        &receipts,
        failure.as_deref(),
        now,
        &entry.platform,
        flow.undecided_since
    ];
    Ok(tx.execute(SQL, values).await? == 1)
}

/// Takes an entry up: from now on only the new token counts.
pub async fn take(tx: &mut Tx, entry: &mut Entry) -> Result<()> {
    const SQL: &str = "
        UPDATE publish_targets SET token = token + 1
         WHERE brand_id = $1 AND job_id = $2 AND number = $3";
    let Name { brand, job, number } = &entry.name;
    tx.push(SQL, params![brand, job, *number]).await?;
    entry.token += 1;
    Ok(())
}

/// Whether somebody asked to cancel the entry since it was taken up; `None` when it was taken
/// away.
pub async fn is_canceled(conn: &mut Conn, entry: &Entry) -> Result<Option<bool>> {
    const SQL: &str = "
        SELECT cancel FROM publish_targets
         WHERE brand_id = $1 AND job_id = $2 AND number = $3 AND token = $4";
    let Name { brand, job, number } = &entry.name;
    let values = params![brand, job, *number, entry.token];
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

/// Gives an entry back without having done anything.
pub async fn give_back(tx: &mut Tx, entry: &Entry, at: Millis) -> Result<()> {
    extend(tx, entry, at).await.map(|_| ())
}

/// Notes that a job has begun.
pub async fn begin_job(tx: &mut Tx, entry: &Entry, now: Millis) -> Result<()> {
    const SQL: &str = "
        UPDATE publish_jobs SET state = 'running', started_at = $3, updated_at = $3, late = $4
         WHERE brand_id = $1 AND id = $2 AND state = 'queued'";
    let Name { brand, job, .. } = &entry.name;
    let values = params![brand, job, now, i64::from(entry.flow.late)];
    if tx.execute(SQL, values).await? == 1 {
        move_post(tx, entry, PostStatus::Publishing, now).await?;
    }
    Ok(())
}

pub async fn insert_attempt(tx: &mut Tx, entry: &Entry, ended: &Ended, now: Millis) -> Result<()> {
    const SQL: &str = "
        INSERT INTO publish_attempts (brand_id, id, job_id, number, part, attempt, state, class,
                                      code, message, repeat_is_safe, retry_at, finished_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    let Entry { name, flow, .. } = entry;
    let failed = match ended {
        Ended::Published(_) => None,
        Ended::Failed { failure, repeat_is_safe, retry_at } => {
            Some((failure, i64::from(*repeat_is_safe), *retry_at))
        }
    };
    // What was just published is the part before the one that comes next.
    let part = i64::from(flow.part) - i64::from(failed.is_none());
    let id = AttemptId::new(now);
    let values = params![
        &name.brand,
        &id,
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
    ];
    tx.push(SQL, values).await
}

/// Ends the job when this was the last of its entries, and tells so.
pub async fn finish_job(tx: &mut Tx, entry: &Entry, now: Millis) -> Result<Option<JobState>> {
    const LOCK: &str = "
        UPDATE publish_jobs SET updated_at = $3 WHERE brand_id = $1 AND id = $2";
    const STAGES: &str = "SELECT stage FROM publish_targets WHERE brand_id = $1 AND job_id = $2";
    const SQL: &str = "
        UPDATE publish_jobs SET state = $3, finished_at = $4, updated_at = $4
         WHERE brand_id = $1 AND id = $2 AND state IN ('queued', 'running')";
    let Name { brand, job, .. } = &entry.name;
    // Two entries that end at once must see each other.
    tx.push(LOCK, params![brand, job, now]).await?;
    let stages = tx.all(STAGES, params![brand, job], read_stage).await?;
    let Some(state) = outcome(&stages) else { return Ok(None) };
    tx.push(SQL, params![brand, job, state.as_str(), now]).await?;
    let status = match state {
        JobState::Succeeded => PostStatus::Published,
        JobState::PartiallySucceeded => PostStatus::PartiallyPublished,
        JobState::Canceled => PostStatus::Draft,
        JobState::NeedsAttention => PostStatus::NeedsAttention,
        JobState::Failed | JobState::Queued | JobState::Running => PostStatus::Failed,
    };
    move_post(tx, entry, status, now).await?;
    tell(tx, entry, state, now).await?;
    Ok(Some(state))
}

fn read_stage(row: &Row<'_>) -> Result<Stage> {
    Ok(Stage::parse(row.str(0)?).unwrap_or(Stage::Unknown))
}

async fn tell(tx: &mut Tx, entry: &Entry, state: JobState, now: Millis) -> Result<()> {
    let Name { brand, job, .. } = &entry.name;
    let event = match state {
        JobState::Succeeded => "publish_job.succeeded",
        JobState::PartiallySucceeded => "publish_job.partially_succeeded",
        JobState::Canceled => "publish_job.canceled",
        JobState::NeedsAttention => "publish_job.needs_attention",
        JobState::Failed | JobState::Queued | JobState::Running => "publish_job.failed",
    };
    let payload = json!({
        "publish_job_id": job, "post_id": entry.post, "state": state,
        "timestamp": time::format(now),
    });
    outbox::put(tx, brand, event, job.as_str(), &payload.to_string(), now).await
}

/// Changes the status of the entry's post, and the brand's counts with it.
async fn move_post(tx: &mut Tx, entry: &Entry, status: PostStatus, now: Millis) -> Result<()> {
    const FIND: &str = "SELECT status FROM posts WHERE brand_id = $1 AND id = $2";
    const SQL: &str = "
        UPDATE posts SET status = $3, updated_at = $4, published_at = coalesce(published_at, $5),
                         scheduled_at = CASE WHEN $3 = 'Draft' THEN NULL ELSE scheduled_at END
         WHERE brand_id = $1 AND id = $2";
    let (brand, post) = (&entry.name.brand, &entry.post);
    let Some(before) = tx.optional(FIND, params![brand, post], |row| row.text(0)).await? else {
        return Ok(());
    };
    if before == status.as_str() {
        return Ok(());
    }
    let out = matches!(status, PostStatus::Published | PostStatus::PartiallyPublished);
    let published_at = out.then_some(now);
    tx.push(SQL, params![brand, post, status.as_str(), now, published_at]).await?;
    counts::add(tx, brand, &mut [(before.as_str(), -1), (status.as_str(), 1)]).await
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
         WHERE t.stage IN ('waiting', 'preparing', 'calling', 'reading') AND t.wake_at <= $1
           AND t.stage = 'waiting'";
    const UNDECIDED: &str = "
        SELECT min(coalesce(t.undecided_since, t.intent_at)) FROM publish_targets t /* every tenant: the health of the queue */
         WHERE t.stage IN ('waiting', 'preparing', 'calling', 'reading') AND t.wake_at <= $1
           AND t.stage IN ('calling', 'reading')";
    const DAY: Millis = time::DAY;
    let oldest_due = conn.optional(DUE, params![now], |row| row.optional_int(0)).await?;
    let undecided = params![now + DAY];
    let undecided = conn.optional(UNDECIDED, undecided, |row| row.optional_int(0)).await?;
    let age = |at: Option<Option<Millis>>| at.flatten().map(|at| (now - at).max(0));
    Ok(Ages { oldest_due: age(oldest_due), oldest_undecided: age(undecided) })
}
