//! The side of whoever plans and watches: jobs of one brand.

use std::collections::HashMap;

use campanile_machine::{Effect, Event, Moment, Rules, next};
use campanile_model::{
    ids::{ConnectionId, JobId, PostId},
    publish::{Class, JobState, Safety, Stage},
    time::Millis,
};

use super::{COLUMNS, Entry, Job, Name, json as damaged, queue, read};
use crate::{
    db::{Conn, Result, Row, Tx},
    params,
    tenant::Tenant,
};

const JOB: &str = "j.id, j.brand_id, j.post_id, j.state, j.run_at, j.late, j.cancel_asked_at,
    j.created_at, j.updated_at, j.started_at, j.finished_at";

fn read_job(row: &Row<'_>) -> Result<Job> {
    Ok(Job {
        id: row.id(0)?,
        brand: row.id(1)?,
        post: row.id(2)?,
        state: JobState::parse(row.str(3)?).unwrap_or(JobState::NeedsAttention),
        run_at: row.int(4)?,
        late: row.int(5)? != 0,
        cancel_asked_at: row.optional_int(6)?,
        created_at: row.int(7)?,
        updated_at: row.int(8)?,
        started_at: row.optional_int(9)?,
        finished_at: row.optional_int(10)?,
    })
}

/// An account to publish to, and its platform.
pub type Account = (ConnectionId, String);

/// Queues a post. An entry without an account says at its time that one is missing.
pub async fn insert(
    tx: &mut Tx,
    tenant: &Tenant,
    post: &PostId,
    accounts: &[Account],
    run_at: Millis,
    now: Millis,
) -> Result<Job> {
    const SQL: &str = "
        INSERT INTO publish_jobs (brand_id, id, post_id, state, run_at, late, created_by,
                                  created_at, updated_at)
        VALUES ($1, $2, $3, 'queued', $4, 0, $5, $6, $6)";
    let id = JobId::new(now);
    let values = params![tenant.brand(), &id, post, run_at, tenant.user(), now];
    // Waited for: a second live job of the post is refused here.
    tx.execute(SQL, values).await?;
    insert_entries(tx, tenant, &id, post, accounts, run_at, 0, now).await?;
    Ok(Job {
        id,
        brand: tenant.brand().clone(),
        post: post.clone(),
        state: JobState::Queued,
        run_at,
        late: false,
        cancel_asked_at: None,
        created_at: now,
        updated_at: now,
        started_at: None,
        finished_at: None,
    })
}

#[expect(clippy::too_many_arguments, reason = "a row has that many columns")]
async fn insert_entries(
    tx: &mut Tx,
    tenant: &Tenant,
    job: &JobId,
    post: &PostId,
    accounts: &[Account],
    run_at: Millis,
    token: i64,
    now: Millis,
) -> Result<()> {
    const SQL: &str = "
        INSERT INTO publish_targets (brand_id, job_id, number, post_id, connection_id, platform,
                                     stage, part, parts, attempt, failures, due_at, next_at,
                                     absences, late, cancel, renewed, token, wake_at, receipts,
                                     updated_at, alone)
        VALUES ($1, $2, $3, $4, $5, $6, 'waiting', $11, 1, 0, 0, $7, $7, 0, 0, 0, 0, $8, $7, $12,
                $9, $10)";
    let begun = begun_threads(tx, tenant, post).await?;
    let nobody = [(ConnectionId::stored(""), String::new())];
    let accounts = if accounts.is_empty() { &nobody } else { accounts };
    for (number, (connection, platform)) in (0_i64..).zip(accounts) {
        let (part, receipts) = begun.get(connection).map_or((0, "[]"), |(part, out)| (*part, out));
        let values = params![
            tenant.brand(),
            job,
            number,
            post,
            connection,
            platform,
            run_at,
            token,
            now,
            i64::from(accounts.len() == 1),
            part,
            receipts
        ];
        tx.push(SQL, values).await?;
    }
    Ok(())
}

/// Of threads that are only partly out: how many parts, and their receipts as JSON. Whoever
/// publishes the rest goes on after them.
async fn begun_threads(
    conn: &mut Conn,
    tenant: &Tenant,
    post: &PostId,
) -> Result<HashMap<ConnectionId, (i64, String)>> {
    const SQL: &str = "
        SELECT t.connection_id, t.part, t.receipts FROM publish_jobs j
          JOIN publish_targets t ON t.brand_id = j.brand_id AND t.job_id = j.id
         WHERE j.brand_id = $1 AND j.post_id = $2 AND t.live = 0 AND t.stage <> 'published'
           AND t.receipts <> '[]'
         ORDER BY j.id";
    let mut begun = HashMap::new();
    conn.each(SQL, params![tenant.brand(), post], |row| {
        // The newest counts: it has gone on where an older one ended.
        begun.insert(row.id(0)?, (row.int(1)?, row.text(2)?));
        Ok(())
    })
    .await?;
    Ok(begun)
}

/// What can stand in the way of changing a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    Yes,
    /// It has begun, or is over.
    NotQueued,
}

/// Gives a queued job new accounts and a new time.
pub async fn replan(
    tx: &mut Tx,
    tenant: &Tenant,
    job: &Job,
    accounts: &[Account],
    run_at: Millis,
    now: Millis,
) -> Result<Changed> {
    const DELETE: &str = "DELETE FROM publish_targets WHERE brand_id = $1 AND job_id = $2";
    const SQL: &str = "
        UPDATE publish_jobs SET run_at = $3, updated_at = $4
         WHERE brand_id = $1 AND id = $2 AND state = 'queued'";
    let entries = lock_entries(tx, tenant, &job.id).await?;
    if !entries.iter().all(is_untouched) {
        return Ok(Changed::NotQueued);
    }
    if tx.execute(SQL, params![tenant.brand(), &job.id, run_at, now]).await? == 0 {
        return Ok(Changed::NotQueued);
    }
    // Whoever was about to take up an old entry finds that its token does not count any more.
    let token = 1 + entries.iter().map(|entry| entry.token).max().unwrap_or(0);
    tx.push(DELETE, params![tenant.brand(), &job.id]).await?;
    insert_entries(tx, tenant, &job.id, &job.post, accounts, run_at, token, now).await?;
    Ok(Changed::Yes)
}

/// Moves a queued job to another time.
pub async fn reschedule(
    tx: &mut Tx,
    tenant: &Tenant,
    job: &Job,
    run_at: Millis,
    now: Millis,
) -> Result<Changed> {
    let entries = lock_entries(tx, tenant, &job.id).await?;
    let accounts: Vec<_> = entries
        .iter()
        .filter_map(|entry| Some((entry.connection.clone()?, entry.platform.clone())))
        .collect();
    replan(tx, tenant, job, &accounts, run_at, now).await
}

fn is_untouched(entry: &Entry) -> bool {
    entry.flow.stage == Stage::Waiting && entry.flow.attempt == 0 && entry.flow.failures == 0
}

/// The entries of a job, held until the transaction ends. Entries are always locked before
/// their job, by everybody.
async fn lock_entries(tx: &mut Tx, tenant: &Tenant, job: &JobId) -> Result<Vec<Entry>> {
    let sql = lock_statement(tx);
    tx.all(&sql, params![tenant.brand(), job], read).await
}

/// The statement that holds entries; public to the test that prepares it.
pub fn lock_statement(conn: &Conn) -> String {
    let lock = conn.dialect().pick("", "FOR UPDATE");
    format!(
        "SELECT {COLUMNS} FROM publish_targets t
          WHERE t.brand_id = $1 AND t.job_id = $2 ORDER BY t.number {lock}"
    )
}

/// Keeps a post's live job as it is until the transaction ends: nobody takes it up or brings it
/// to its end meanwhile. What is read of the post after this stays true; what was read before
/// may have changed.
pub async fn hold(tx: &mut Tx, tenant: &Tenant, post: &PostId) -> Result<()> {
    let sql = hold_statement(tx);
    tx.all(&sql, params![tenant.brand(), post], |_| Ok(())).await.map(drop)
}

/// The statement of [`hold`]; public to the test that prepares it.
pub fn hold_statement(conn: &Conn) -> String {
    // SQLite has a single writer, so there it is a matter of course.
    let lock = conn.dialect().pick("", "FOR UPDATE OF t");
    format!(
        "SELECT t.number FROM publish_jobs j
           JOIN publish_targets t ON t.brand_id = j.brand_id AND t.job_id = j.id
          WHERE j.brand_id = $1 AND j.post_id = $2 AND j.finished_at IS NULL
          ORDER BY t.number {lock}"
    )
}

/// What became of a wish to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// Nothing of it will be published from now on.
    Done,
    /// A call may be on its way; the job will say what it did.
    Asked,
    /// It was over already.
    Finished,
}

/// Cancels what has not been published yet. Never a lie: an entry whose call may have been made
/// is only asked to stop.
pub async fn cancel(tx: &mut Tx, tenant: &Tenant, job: &Job, now: Millis) -> Result<Cancel> {
    const ASK: &str = "
        UPDATE publish_jobs SET cancel_asked_at = coalesce(cancel_asked_at, $3), updated_at = $3
         WHERE brand_id = $1 AND id = $2 AND finished_at IS NULL";
    let mut entries = lock_entries(tx, tenant, &job.id).await?;
    if entries.iter().all(|entry| entry.flow.stage.is_final()) {
        return Ok(Cancel::Finished);
    }
    let mut asked = false;
    for entry in entries.iter_mut().filter(|entry| !entry.flow.stage.is_final()) {
        let step = next(&entry.flow, Event::CancelAsked, &ANY, Moment { now, chance: 0 });
        entry.flow = step.flow;
        match step.effect {
            Effect::Nothing => {
                asked = true;
                ask_entry(tx, entry).await?;
            }
            effect => {
                // Its runner, if it has one, is refused from now on.
                asked |= effect != Effect::Finish;
                let held = entry.token;
                entry.token += 1;
                let wake_at = entry.flow.next_at;
                queue::store(tx, &[queue::Note { entry, held, wake_at }], now).await?;
            }
        }
    }
    tx.push(ASK, params![tenant.brand(), &job.id, now]).await?;
    if let (false, Some(entry)) = (asked, entries.first()) {
        queue::finish(tx, &[entry], now).await?;
        return Ok(Cancel::Done);
    }
    Ok(Cancel::Asked)
}

/// Canceling does not depend on them.
const ANY: Rules = Rules { safety: Safety::Nothing, late_window: 0 };

async fn ask_entry(tx: &mut Tx, entry: &Entry) -> Result<()> {
    const SQL: &str = "
        UPDATE publish_targets SET cancel = 1
         WHERE brand_id = $1 AND job_id = $2 AND number = $3";
    let Name { brand, job, number } = &entry.name;
    tx.push(SQL, params![brand, job, *number]).await
}

/// Removes a job whose post is gone, with all that belongs to it.
pub async fn delete(tx: &mut Tx, tenant: &Tenant, job: &JobId) -> Result<()> {
    const ATTEMPTS: &str = "DELETE FROM publish_attempts WHERE brand_id = $1 AND job_id = $2";
    const ENTRIES: &str = "DELETE FROM publish_targets WHERE brand_id = $1 AND job_id = $2";
    const JOB: &str = "DELETE FROM publish_jobs WHERE brand_id = $1 AND id = $2";
    lock_entries(tx, tenant, job).await?;
    for sql in [ATTEMPTS, ENTRIES, JOB] {
        tx.push(sql, params![tenant.brand(), job]).await?;
    }
    Ok(())
}

/// The post of a queued job is being deleted: the job stays behind, and is never taken up.
pub async fn orphan(tx: &mut Tx, tenant: &Tenant, job: &Job) -> Result<Changed> {
    const SQL: &str = "
        UPDATE publish_targets SET wake_at = $3, next_at = $3, token = token + 1
         WHERE brand_id = $1 AND job_id = $2";
    let entries = lock_entries(tx, tenant, &job.id).await?;
    if entries.iter().any(may_be_out) {
        return Ok(Changed::NotQueued);
    }
    tx.push(SQL, params![tenant.brand(), &job.id, NEVER]).await?;
    Ok(Changed::Yes)
}

/// Whether a call may have published it without our knowing yet.
fn may_be_out(entry: &Entry) -> bool {
    let live = !entry.flow.stage.is_final();
    let undecided = entry.flow.undecided_since.is_some();
    live && (undecided || matches!(entry.flow.stage, Stage::Calling | Stage::Reading))
}

const NEVER: Millis = Millis::MAX;

pub async fn find(conn: &mut Conn, tenant: &Tenant, id: &JobId) -> Result<Option<Job>> {
    let sql = format!("SELECT {JOB} FROM publish_jobs j WHERE j.brand_id = $1 AND j.id = $2");
    conn.optional(&sql, params![tenant.brand(), id], read_job).await
}

/// The job of a post that may still do something.
pub async fn find_live(conn: &mut Conn, tenant: &Tenant, post: &PostId) -> Result<Option<Job>> {
    let sql = format!(
        "SELECT {JOB} FROM publish_jobs j
          WHERE j.brand_id = $1 AND j.post_id = $2 AND j.finished_at IS NULL"
    );
    conn.optional(&sql, params![tenant.brand(), post], read_job).await
}

/// The accounts on which a post is out already.
pub async fn published_accounts(
    conn: &mut Conn,
    tenant: &Tenant,
    post: &PostId,
) -> Result<Vec<ConnectionId>> {
    const SQL: &str = "
        SELECT t.connection_id FROM publish_jobs j
          JOIN publish_targets t ON t.brand_id = j.brand_id AND t.job_id = j.id
         WHERE j.brand_id = $1 AND j.post_id = $2 AND t.stage = 'published'";
    conn.all(SQL, params![tenant.brand(), post], |row| row.id(0)).await
}

/// Whether anything of the post is out on any account, whatever became of the rest.
pub async fn is_partly_out(conn: &mut Conn, tenant: &Tenant, post: &PostId) -> Result<bool> {
    const SQL: &str = "
        SELECT count(*) FROM publish_jobs j
          JOIN publish_targets t ON t.brand_id = j.brand_id AND t.job_id = j.id
         WHERE j.brand_id = $1 AND j.post_id = $2 AND t.receipts <> '[]'";
    Ok(conn.count(SQL, params![tenant.brand(), post]).await? > 0)
}

#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub tag: Option<String>,
    pub post: Option<PostId>,
    pub state: Option<JobState>,
}

const TAGGED: &str = "JOIN post_tags g
             ON g.brand_id = j.brand_id AND g.post_id = j.post_id AND g.tag = $4";

/// The statement of [`list`]; public to the test that prepares it.
pub fn list_statement(filter: &Filter) -> String {
    let (tagged, null) = match filter.tag {
        Some(_) => (TAGGED, "NOT NULL"),
        None => ("", "NULL"),
    };
    format!(
        "SELECT {JOB} FROM publish_jobs j
           JOIN posts p ON p.brand_id = j.brand_id AND p.id = j.post_id {tagged}
          WHERE j.brand_id = $1
            AND (CAST($3 AS TEXT) IS NULL OR j.post_id = $3)
            AND CAST($4 AS TEXT) IS {null}
            AND (CAST($5 AS TEXT) IS NULL OR j.state = $5)
          ORDER BY j.id DESC LIMIT $2"
    )
}

/// Jobs whose post exists, newest first.
pub async fn list(
    conn: &mut Conn,
    tenant: &Tenant,
    filter: &Filter,
    limit: i64,
) -> Result<Vec<Job>> {
    let sql = list_statement(filter);
    let state = filter.state.map(JobState::as_str);
    let post = filter.post.as_ref();
    let values = params![tenant.brand(), limit, post, filter.tag.as_deref(), state];
    conn.all(&sql, values, read_job).await
}

/// Jobs that wait, soonest first, with their post where it exists. One whose post was deleted
/// between two tries has begun, and waits for ever.
pub async fn waiting(
    conn: &mut Conn,
    tenant: &Tenant,
    limit: i64,
) -> Result<Vec<(Job, Option<String>)>> {
    let sql = format!(
        "SELECT {JOB}, p.document FROM publish_jobs j
           LEFT JOIN posts p ON p.brand_id = j.brand_id AND p.id = j.post_id
          WHERE j.brand_id = $1 AND j.finished_at IS NULL
            AND (j.state = 'queued' OR p.id IS NULL)
          ORDER BY j.run_at LIMIT $2"
    );
    conn.all(&sql, params![tenant.brand(), limit], |row| {
        Ok((read_job(row)?, row.optional_text(11)?))
    })
    .await
}

/// The times that live jobs hold between two moments, in order.
pub async fn times(
    conn: &mut Conn,
    tenant: &Tenant,
    from: Millis,
    to: Millis,
) -> Result<Vec<Millis>> {
    const SQL: &str = "
        SELECT run_at FROM publish_jobs
         WHERE brand_id = $1 AND finished_at IS NULL AND run_at >= $2 AND run_at <= $3
         ORDER BY run_at";
    conn.all(SQL, params![tenant.brand(), from, to], |row| row.int(0)).await
}

/// The entries of several jobs, in the order of jobs and numbers.
pub async fn entries(conn: &mut Conn, tenant: &Tenant, jobs: &[Job]) -> Result<Vec<Entry>> {
    let sql = entries_statement(conn);
    conn.all(&sql, params![tenant.brand(), &listed(jobs)?], read).await
}

/// The statement of [`entries`]; public to the test that prepares it.
pub fn entries_statement(conn: &Conn) -> String {
    let list = list_of(conn);
    format!(
        "SELECT {COLUMNS} FROM publish_targets t
          WHERE t.brand_id = $1 AND t.job_id IN (SELECT value FROM {list})
          ORDER BY t.job_id, t.number"
    )
}

fn list_of(conn: &Conn) -> &'static str {
    conn.dialect().pick(
        "json_each($2)",
        "json_array_elements_text(CAST(CAST($2 AS TEXT) AS JSON)) AS listed (value)",
    )
}

fn listed(jobs: &[Job]) -> Result<String> {
    let ids: Vec<_> = jobs.iter().map(|job| job.id.as_str()).collect();
    serde_json::to_string(&ids).map_err(damaged)
}

/// One try, after it ended.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub job: JobId,
    pub number: i64,
    pub part: i64,
    pub attempt: i64,
    pub succeeded: bool,
    pub class: Option<Class>,
    pub code: Option<String>,
    pub message: Option<String>,
    pub repeat_is_safe: Option<bool>,
    pub retry_at: Option<Millis>,
    pub finished_at: Millis,
}

/// The attempts of several jobs, newest first, so many at most.
pub async fn attempts(
    conn: &mut Conn,
    tenant: &Tenant,
    jobs: &[Job],
    limit: i64,
) -> Result<Vec<Attempt>> {
    let sql = attempts_statement(conn);
    conn.all(&sql, params![tenant.brand(), &listed(jobs)?, limit], |row| {
        Ok(Attempt {
            job: row.id(0)?,
            number: row.int(1)?,
            part: row.int(2)?,
            attempt: row.int(3)?,
            succeeded: row.str(4)? == "succeeded",
            class: row.optional_str(5)?.and_then(Class::parse),
            code: row.optional_text(6)?,
            message: row.optional_text(7)?,
            repeat_is_safe: row.optional_int(8)?.map(|safe| safe != 0),
            retry_at: row.optional_int(9)?,
            finished_at: row.int(10)?,
        })
    })
    .await
}

/// The statement of [`attempts`]; public to the test that prepares it.
pub fn attempts_statement(conn: &Conn) -> String {
    let list = list_of(conn);
    format!(
        "SELECT a.job_id, a.number, a.part, a.attempt, a.state, a.class, a.code, a.message,
                a.repeat_is_safe, a.retry_at, a.finished_at
           FROM publish_attempts a
          WHERE a.brand_id = $1 AND a.job_id IN (SELECT value FROM {list})
          ORDER BY a.id DESC LIMIT $3"
    )
}

/// Forgets attempts; jobs and what they did stay.
pub async fn clear_attempts(tx: &mut Tx, tenant: &Tenant, only_failed: bool) -> Result<u64> {
    const SQL: &str = "
        DELETE FROM publish_attempts WHERE brand_id = $1 AND ($2 = 0 OR state = 'failed')";
    tx.execute(SQL, params![tenant.brand(), i64::from(only_failed)]).await
}
