//! Publish jobs: what is planned, what happened, and changing one's mind.

mod missing;
mod view;

use campanile_model::{
    decode::{Future, Instant},
    ids::{Job as JobKind, JobId, PostId},
    input,
    label::Tag,
    publish::JobState,
    settings::Schedule,
    time::{DAY, Millis},
    words,
};
use campanile_store::{
    Conn, Tx,
    audit::Change,
    brands, posts,
    publish::{
        Job,
        jobs::{self, Cancel, Changed},
    },
    tenant::Tenant,
};
pub(crate) use missing::missing_content;
use schemars::JsonSchema;
use serde::Serialize;
pub(crate) use view::{JobView, one_view, views};

use crate::{
    answer::{Answer, Either},
    api::publishing,
    caller::Caller,
    extract::{Body, MaybeBody, Path, Query},
    paging::Limit,
    problem::{Code, Problem},
};

#[derive(Serialize, JsonSchema)]
pub(crate) struct JobList {
    publish_jobs: Vec<JobView>,
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct JobBody {
    pub(crate) publish_job: JobView,
}

input! {
    pub(crate) struct JobFilter {
        /// Jobs of posts with this label.
        tag: Option<Tag>,
        /// Jobs of this post.
        post_id: Option<PostId>,
        status: Option<JobState>,
        /// How many to return: 200 at most.
        limit: Option<Limit>,
    }
}

const MOST_JOBS: i64 = 200;

pub(crate) async fn list(
    caller: Caller,
    Query(query): Query<JobFilter>,
) -> Result<Answer<JobList>, Problem> {
    let tenant = caller.tenant()?;
    let filter =
        jobs::Filter { tag: query.tag.map(|tag| tag.0), post: query.post_id, state: query.status };
    let limit = query.limit.map_or(MOST_JOBS, |limit| limit.0);
    let mut conn = caller.app().db.read().await?;
    let found = jobs::list(&mut conn, tenant, &filter, limit).await?;
    let publish_jobs = views(&mut conn, tenant, found).await?;
    Answer::new(&JobList { publish_jobs, next_cursor: None })
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SlotBody {
    /// `null` when the schedule has no slots, or none that is free within a year.
    available_slot: Option<AvailableSlot>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct AvailableSlot {
    scheduled_at: Instant,
    /// The zone in which the brand's slots are meant.
    time_zone: String,
}

pub(crate) async fn available_slot(caller: Caller) -> Result<Answer<SlotBody>, Problem> {
    let mut conn = caller.app().db.read().await?;
    let (schedule, found) = find_slot(&mut conn, caller.tenant()?, caller.now()).await?;
    let available_slot = found.map(|at| AvailableSlot {
        scheduled_at: Instant(at),
        time_zone: schedule.time_zone.0.clone(),
    });
    Answer::new(&SlotBody { available_slot })
}

/// The brand's schedule, and its next slot that no job holds.
pub(crate) async fn find_slot(
    conn: &mut Conn,
    tenant: &Tenant,
    now: Millis,
) -> Result<(Schedule, Option<Millis>), Problem> {
    let brand = brands::find(conn, tenant).await?.ok_or_else(Problem::not_found)?;
    let schedule: Schedule = serde_json::from_str(&brand.schedule).map_err(Problem::internal)?;
    let taken = jobs::times(conn, tenant, now - DAY, Millis::MAX).await?;
    let slot = schedule.next_slot(now, &taken);
    Ok((schedule, slot))
}

input! {
    #[schemars(extend("examples" = [{ "scheduled_at": "2030-01-01T09:00:00Z" }]))]
    pub(crate) struct NewTime {
        scheduled_at: Future,
    }
}

pub(crate) async fn reschedule(
    caller: Caller,
    Path(id): Path<JobKind>,
    Body(new): Body<NewTime>,
) -> Result<Answer<JobBody>, Problem> {
    let tenant = caller.tenant()?;
    let (run_at, now) = (new.scheduled_at.0, caller.now());
    let answer = caller
        .write(async |mut tx| {
            let job = held(&mut tx, tenant, &id).await?;
            let Some(post) = posts::find(&mut tx, tenant, &job.post).await? else {
                return Err(orphaned());
            };
            let before = job.run_at;
            if jobs::reschedule(&mut tx, tenant, &job, run_at, now).await? != Changed::Yes {
                return Err(not_queued(&job));
            }
            let moved = posts::Post { scheduled_at: Some(run_at), updated_at: now, ..post.clone() };
            posts::update(&mut tx, tenant, &post, &moved, &moved.texts()?).await?;
            record(&caller, &mut tx, "publish_job.rescheduled", &id, before, Some(run_at)).await?;
            let job = find(&mut tx, tenant, &id).await?;
            Answer::new(&JobBody { publish_job: one_view(&mut tx, tenant, job).await? })
        })
        .await?;
    caller.app().engine.ring();
    Ok(answer)
}

async fn find(tx: &mut Tx, tenant: &Tenant, id: &JobId) -> Result<Job, Problem> {
    jobs::find(tx, tenant, id).await?.ok_or_else(Problem::not_found)
}

/// The job as it stays until the transaction ends.
async fn held(tx: &mut Tx, tenant: &Tenant, id: &JobId) -> Result<Job, Problem> {
    let job = find(tx, tenant, id).await?;
    publishing::hold(tx, tenant, &job.post).await?;
    find(tx, tenant, id).await
}

fn not_queued(job: &Job) -> Problem {
    let detail = match job.state {
        JobState::Queued | JobState::Running => {
            "It has begun; wait for its outcome, or ask to cancel it.".to_owned()
        }
        state => format!("It is {}; publish the post again instead.", state.as_str()),
    };
    Problem::new(Code::JobNotQueued, detail)
}

fn orphaned() -> Problem {
    Problem::new(Code::JobNotQueued, "Its post was deleted; delete the job as well.")
}

async fn record(
    caller: &Caller,
    tx: &mut Tx,
    action: &'static str,
    id: &JobId,
    before: Millis,
    after: Option<Millis>,
) -> Result<(), Problem> {
    let text =
        |at: Millis| format!("{{\"scheduled_at\":\"{}\"}}", campanile_model::time::format(at));
    let (before, after) = (text(before), after.map(text));
    let change = Change {
        action,
        resource: "publish_job",
        resource_id: id.as_str(),
        before: Some(&before),
        after: after.as_deref(),
    };
    caller.record(tx, change).await
}

/// What became of a wish to cancel.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Canceled {
    /// `canceled`, or `cancel_requested` while a call may be on its way.
    status: &'static str,
    deleted: bool,
    /// Whether the job's post was gone; the job is then gone too.
    orphaned_post: bool,
    publish_job: Option<JobView>,
}

pub(crate) async fn cancel(
    caller: Caller,
    Path(id): Path<JobKind>,
) -> Result<Either<Answer<Canceled>, Answer<Canceled, 202>>, Problem> {
    let tenant = caller.tenant()?;
    let mut asked = false;
    let answer: Answer<Canceled> = caller
        .write(async |mut tx| {
            let job = held(&mut tx, tenant, &id).await?;
            let run_at = job.run_at;
            if posts::find(&mut tx, tenant, &job.post).await?.is_none() && job.state.is_live() {
                jobs::delete(&mut tx, tenant, &id).await?;
                record(&caller, &mut tx, "publish_job.deleted", &id, run_at, None).await?;
                return Answer::new(&Canceled {
                    status: "canceled",
                    deleted: true,
                    orphaned_post: true,
                    publish_job: None,
                });
            }
            let outcome = jobs::cancel(&mut tx, tenant, &job, caller.now()).await?;
            match (outcome, job.state) {
                (Cancel::Finished, JobState::Canceled) => {}
                (Cancel::Finished, state) => return Err(finished(state)),
                (Cancel::Done | Cancel::Asked, _) => {
                    record(&caller, &mut tx, "publish_job.canceled", &id, run_at, None).await?;
                }
            }
            asked = outcome == Cancel::Asked;
            let job = find(&mut tx, tenant, &id).await?;
            Answer::new(&Canceled {
                status: if asked { "cancel_requested" } else { "canceled" },
                deleted: false,
                orphaned_post: false,
                publish_job: Some(one_view(&mut tx, tenant, job).await?),
            })
        })
        .await?;
    Ok(if asked {
        Either::Second(Answer::written(answer.into_body()))
    } else {
        Either::First(answer)
    })
}

fn finished(state: JobState) -> Problem {
    let detail = format!("It is {} and nothing of it can be called back.", state.as_str());
    Problem::new(Code::JobFinished, detail)
}

words! {
    /// Which attempts are cleared.
    pub enum AttemptScope { Failed = "failed", All = "all" }
}

input! {
    #[schemars(extend("examples" = [{ "scope": "failed" }]))]
    pub(crate) struct ClearAttempts {
        /// In the query or in the body.
        scope: Option<AttemptScope>,
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Cleared {
    deleted: bool,
    cleared_attempts: u64,
}

pub(crate) async fn clear_attempts(
    caller: Caller,
    Query(query): Query<ClearAttempts>,
    MaybeBody(body): MaybeBody<ClearAttempts>,
) -> Result<Answer<Cleared>, Problem> {
    let tenant = caller.tenant()?;
    let scope = match (query.scope, body.and_then(|body| body.scope)) {
        (Some(one), Some(other)) if one != other => {
            let message = "query and body name different scopes; send one";
            return Err(Problem::invalid_field("scope", "conflict", message));
        }
        (Some(scope), _) | (None, Some(scope)) => scope,
        (None, None) => {
            let message = "choose one of: failed all";
            return Err(Problem::invalid_field("scope", "required", message));
        }
    };
    caller
        .write(async |mut tx| {
            let only_failed = scope == AttemptScope::Failed;
            let cleared = jobs::clear_attempts(&mut tx, tenant, only_failed).await?;
            let after = format!("{{\"scope\":\"{}\",\"cleared\":{cleared}}}", scope.as_str());
            let change = Change {
                action: "publish_attempts.cleared",
                resource: "publish_attempts",
                resource_id: tenant.brand().as_str(),
                before: None,
                after: Some(&after),
            };
            caller.record(&mut tx, change).await?;
            Answer::new(&Cleared { deleted: true, cleared_attempts: cleared })
        })
        .await
}
