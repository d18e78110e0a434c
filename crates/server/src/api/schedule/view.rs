//! Publish jobs as answers show them.

use std::collections::HashMap;

use campanile_model::{
    decode::Instant,
    ids::{ConnectionId, JobId, PostId},
    publish::{Class, Failure, JobState, Receipt, Stage},
    time::Millis,
    words,
};
use campanile_store::{
    Conn,
    publish::{
        Entry, Job,
        jobs::{self, Attempt},
    },
    tenant::Tenant,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::problem::Problem;

/// A publish job: one post, one publish, one entry per account.
#[derive(Serialize, JsonSchema)]
pub(crate) struct JobView {
    id: JobId,
    post_id: PostId,
    state: JobState,
    /// When it starts.
    scheduled_at: Instant,
    /// Whether it started more than a minute after its time.
    late: bool,
    /// Whether somebody asked to cancel it; what was on its way is reported all the same.
    cancel_requested: bool,
    targets: Vec<TargetView>,
    /// The latest attempts, newest first.
    attempts: Vec<AttemptView>,
    created_at: Instant,
    updated_at: Instant,
    started_at: Option<Instant>,
    finished_at: Option<Instant>,
}

words! {
    /// What came of the publishing to one account.
    #[schemars(extend("examples" = ["open"]))]
    pub enum TargetOutcome {
        /// Not decided yet.
        Open = "open",
        Published = "published",
        Rejected = "rejected",
        /// It cannot be found out; look at the account.
        Unknown = "unknown",
        Missed = "missed",
        Canceled = "canceled",
    }
}

impl From<Stage> for TargetOutcome {
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Waiting | Stage::Preparing | Stage::Calling | Stage::Reading => Self::Open,
            Stage::Published => Self::Published,
            Stage::Rejected => Self::Rejected,
            Stage::Unknown => Self::Unknown,
            Stage::Missed => Self::Missed,
            Stage::Canceled => Self::Canceled,
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct TargetView {
    /// `null` where the post names no account.
    connection_id: Option<ConnectionId>,
    platform: String,
    outcome: TargetOutcome,
    stage: Stage,
    /// Where it can be seen, once it is out; a thread has one entry per part.
    published: Vec<Receipt>,
    /// Calls made so far.
    attempts: u32,
    /// When it is tried or looked at again.
    next_attempt_at: Option<Instant>,
    /// What went wrong last.
    failure: Option<Failure>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct AttemptView {
    /// Which of the job's targets, counted from 0.
    target: i64,
    part: i64,
    attempt: i64,
    state: &'static str,
    class: Option<Class>,
    code: Option<String>,
    message: Option<String>,
    /// Whether it was certain that a repeat would not publish twice.
    repeat_is_safe: Option<bool>,
    retry_at: Option<Instant>,
    finished_at: Instant,
}

fn target_view(entry: &Entry) -> TargetView {
    let flow = &entry.flow;
    let waits = matches!(flow.stage, Stage::Waiting | Stage::Reading) && flow.next_at < Millis::MAX;
    TargetView {
        connection_id: entry.connection.clone(),
        platform: entry.platform.clone(),
        outcome: flow.stage.into(),
        stage: flow.stage,
        published: entry.receipts.clone(),
        attempts: flow.attempt,
        next_attempt_at: waits.then_some(Instant(flow.next_at)),
        failure: entry.failure.clone(),
    }
}

fn attempt_view(attempt: Attempt) -> AttemptView {
    AttemptView {
        target: attempt.number,
        part: attempt.part,
        attempt: attempt.attempt,
        state: if attempt.succeeded { "succeeded" } else { "failed" },
        class: attempt.class,
        code: attempt.code,
        message: attempt.message,
        repeat_is_safe: attempt.repeat_is_safe,
        retry_at: attempt.retry_at.map(Instant),
        finished_at: Instant(attempt.finished_at),
    }
}

/// More attempts than this are not shown beside a list of jobs.
const MOST_ATTEMPTS: i64 = 1000;

/// Jobs as answers show them.
pub(crate) async fn views(
    conn: &mut Conn,
    tenant: &Tenant,
    found: Vec<Job>,
) -> Result<Vec<JobView>, Problem> {
    let mut targets: HashMap<JobId, Vec<TargetView>> = HashMap::new();
    for entry in jobs::entries(conn, tenant, &found).await? {
        targets.entry(entry.name.job.clone()).or_default().push(target_view(&entry));
    }
    let mut attempts: HashMap<JobId, Vec<AttemptView>> = HashMap::new();
    for attempt in jobs::attempts(conn, tenant, &found, MOST_ATTEMPTS).await? {
        attempts.entry(attempt.job.clone()).or_default().push(attempt_view(attempt));
    }
    let view = |job: Job| JobView {
        targets: targets.remove(&job.id).unwrap_or_default(),
        attempts: attempts.remove(&job.id).unwrap_or_default(),
        id: job.id,
        post_id: job.post,
        state: job.state,
        scheduled_at: Instant(job.run_at),
        late: job.late,
        cancel_requested: job.cancel_asked_at.is_some(),
        created_at: Instant(job.created_at),
        updated_at: Instant(job.updated_at),
        started_at: job.started_at.map(Instant),
        finished_at: job.finished_at.map(Instant),
    };
    Ok(found.into_iter().map(view).collect())
}

pub(crate) async fn one_view(
    conn: &mut Conn,
    tenant: &Tenant,
    job: Job,
) -> Result<JobView, Problem> {
    views(conn, tenant, vec![job]).await?.pop().ok_or_else(Problem::not_found)
}
