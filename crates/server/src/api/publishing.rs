//! From a post to its job: checking the targets, planning, publishing at once.

use std::collections::HashSet;

use campanile_engine::{Opened, draft, refresh};
use campanile_model::{
    decode::Faults,
    ids::{ConnectionId, Post as PostKind, PostId},
    post::{Draft, PostStatus},
    publish::JobState,
    time::Millis,
};
use campanile_store::{
    Conn, Tx,
    audit::Change,
    connections::{self, Connection},
    posts::{self, Post},
    publish::{
        Job,
        jobs::{self, Account, Changed},
    },
    tenant::Tenant,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    answer::Answer,
    api::schedule::{self, JobView},
    app::App,
    caller::Caller,
    extract::Path,
    problem::{Code, Problem},
};

/// Looks at every target as its platform will. A draft may still be empty; what is planned may
/// not.
pub(crate) async fn check_targets(
    app: &App,
    conn: &mut Conn,
    tenant: &Tenant,
    post: &Draft,
    planned: bool,
    faults: &mut Faults,
) -> Result<Vec<Account>, Problem> {
    if post.targets.is_empty() {
        return Ok(Vec::new());
    }
    let connections = connections::list(conn, tenant).await?;
    let mut accounts = Vec::with_capacity(post.targets.len());
    let mut seen = HashSet::new();
    for (index, target) in post.targets.iter().enumerate() {
        let at = format!("targets[{index}]");
        let id = &target.connection_id;
        let Some(connection) = connections.iter().find(|found| found.id == *id) else {
            let message = "there is no such connection in this brand";
            faults.add_field(format!("{at}.connection_id"), "connection_not_found", message);
            continue;
        };
        if !seen.insert(id.as_str()) {
            let message = "this account stands twice among the targets";
            faults.add_field(format!("{at}.connection_id"), "duplicate_target", message);
            continue;
        }
        accounts.push((connection.id.clone(), connection.platform.clone()));
        let (drafted, _) = draft::compose(conn, tenant.brand(), post, target).await?;
        check_limits(app, connection, &drafted, &at, planned, faults);
    }
    Ok(accounts)
}

fn check_limits(
    app: &App,
    connection: &Connection,
    drafted: &campanile_connect::platforms::Draft,
    at: &str,
    planned: bool,
    faults: &mut Faults,
) {
    let Ok(opened) = Opened::new(&app.engine, connection.clone()) else { return };
    // Not waited for: whoever was refused by an old limit finds the new one at the next try.
    refresh::when_stale(&app.engine, &opened);
    for breach in opened.platform.check(&opened.account, drafted) {
        if planned || breach.code != "empty" {
            faults.add_field(format!("{at}.{}", breach.field), breach.code, &breach.message);
        }
    }
}

/// Takes a post into the hands of one request: until its transaction ends nobody else changes
/// the post, and it is not published either. Has to come before the post is read.
pub(crate) async fn hold(tx: &mut Tx, tenant: &Tenant, id: &PostId) -> Result<(), Problem> {
    tx.take_turns_on(id.as_str()).await?;
    Ok(jobs::hold(tx, tenant, id).await?)
}

/// Makes the post's job fit the post, in the transaction that changes it.
pub(crate) async fn plan(
    tx: &mut Tx,
    tenant: &Tenant,
    post: &Post,
    accounts: &[Account],
    now: Millis,
) -> Result<(), Problem> {
    let live = jobs::find_live(tx, tenant, &post.id).await?;
    match (live, post.scheduled_at.filter(|_| post.status == PostStatus::Scheduled)) {
        (None, None) => Ok(()),
        (None, Some(at)) => {
            jobs::insert(tx, tenant, &post.id, accounts, at, now).await?;
            Ok(())
        }
        (Some(job), Some(at)) => match jobs::replan(tx, tenant, &job, accounts, at, now).await? {
            Changed::Yes => Ok(()),
            Changed::NotQueued => Err(in_progress()),
        },
        (Some(job), None) => match jobs::cancel(tx, tenant, &job, now).await? {
            jobs::Cancel::Done | jobs::Cancel::Finished => Ok(()),
            jobs::Cancel::Asked => Err(in_progress()),
        },
    }
}

/// Refuses changes to what is on its way out.
pub(crate) async fn expect_idle(tx: &mut Tx, tenant: &Tenant, post: &Post) -> Result<(), Problem> {
    match jobs::find_live(tx, tenant, &post.id).await? {
        Some(Job { state: JobState::Running, .. }) => Err(in_progress()),
        _ => Ok(()),
    }
}

pub(crate) fn in_progress() -> Problem {
    let detail = "It is being published right now; wait for the outcome, or cancel its job.";
    Problem::new(Code::PublishInProgress, detail)
}

/// The answer to publish-now.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Queued {
    publish_job: JobView,
}

pub(crate) async fn publish_now(
    caller: Caller,
    Path(id): Path<PostKind>,
) -> Result<Answer<Queued, 202>, Problem> {
    let tenant = caller.tenant()?;
    let answer = caller
        .write(async |mut tx| {
            hold(&mut tx, tenant, &id).await?;
            let post = posts::find(&mut tx, tenant, &id).await?.ok_or_else(Problem::not_found)?;
            let job = queue_now(&caller, &mut tx, &post).await?;
            let publish_job = schedule::one_view(&mut tx, tenant, job).await?;
            Answer::new(&Queued { publish_job })
        })
        .await?;
    caller.app().engine.ring();
    Ok(answer)
}

/// Queues a post for this moment: either all of it happens or nothing.
pub(crate) async fn queue_now(caller: &Caller, tx: &mut Tx, post: &Post) -> Result<Job, Problem> {
    let (tenant, now) = (caller.tenant()?, caller.now());
    let mut faults = Faults::new(now);
    let accounts = check_targets(caller.app(), tx, tenant, &post.draft, true, &mut faults).await?;
    let accounts = still_to_publish(tx, tenant, post, accounts, &mut faults).await?;
    if !faults.is_empty() {
        return Err(Problem::invalid(faults.into_vec()));
    }
    let job = enqueue(tx, tenant, post, &accounts, now).await?;
    let queued = Post {
        status: PostStatus::Scheduled,
        scheduled_at: Some(now),
        updated_at: now,
        ..post.clone()
    };
    posts::update(tx, tenant, post, &queued, &queued.texts()?).await?;
    let after = format!("{{\"post_id\":\"{}\",\"state\":\"queued\"}}", post.id);
    let change = Change {
        action: "publish_job.queued",
        resource: "publish_job",
        resource_id: job.id.as_str(),
        before: None,
        after: Some(&after),
    };
    caller.record(tx, change).await?;
    Ok(job)
}

/// An account on which the post is out already does not get it again.
async fn still_to_publish(
    tx: &mut Tx,
    tenant: &Tenant,
    post: &Post,
    accounts: Vec<Account>,
    faults: &mut Faults,
) -> Result<Vec<Account>, Problem> {
    if post.draft.targets.is_empty() {
        let message = "name at least one connected account to publish to";
        faults.add_field("targets", "required", message);
        return Ok(Vec::new());
    }
    let out: Vec<ConnectionId> = jobs::published_accounts(tx, tenant, &post.id).await?;
    let left: Vec<_> = accounts.iter().filter(|(id, _)| !out.contains(id)).cloned().collect();
    if left.is_empty() && !accounts.is_empty() {
        let detail = "It is out on all its accounts; create a new post to publish it once more.";
        return Err(Problem::new(Code::AlreadyPublished, detail));
    }
    Ok(left)
}

async fn enqueue(
    tx: &mut Tx,
    tenant: &Tenant,
    post: &Post,
    accounts: &[Account],
    now: Millis,
) -> Result<Job, Problem> {
    let Some(job) = jobs::find_live(tx, tenant, &post.id).await? else {
        let inserted = jobs::insert(tx, tenant, &post.id, accounts, now, now).await;
        return inserted.map_err(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "no job could be queued");
            let detail = "The post is unchanged; try again, and look at the server's log.";
            Problem::new(Code::QueueInsertFailed, detail)
        });
    };
    match jobs::replan(tx, tenant, &job, accounts, now, now).await? {
        Changed::Yes => Ok(Job { run_at: now, updated_at: now, ..job }),
        Changed::NotQueued => Err(in_progress()),
    }
}
