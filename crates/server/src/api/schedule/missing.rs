//! What queued jobs will miss when their time comes.

use campanile_model::{
    decode::Instant,
    ids::{JobId, PostId},
    post::Draft,
    publish::ConnectionStatus,
};
use campanile_store::{
    Conn,
    connections::{self, Connection},
    media,
    publish::jobs,
    tenant::Tenant,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::MOST_JOBS;
use crate::{answer::Answer, caller::Caller, problem::Problem};

#[derive(Serialize, JsonSchema)]
pub(crate) struct MissingList {
    jobs: Vec<MissingView>,
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct MissingView {
    publish_job_id: JobId,
    post_id: PostId,
    scheduled_at: Instant,
    missing: Vec<MissingThing>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct MissingThing {
    /// `post`, `media`, `connection` or `targets`.
    kind: &'static str,
    /// Which one, where there may be several.
    id: Option<String>,
    message: &'static str,
}

pub(crate) async fn missing_content(caller: Caller) -> Result<Answer<MissingList>, Problem> {
    let tenant = caller.tenant()?;
    let mut conn = caller.app().db.read().await?;
    let waiting = jobs::waiting(&mut conn, tenant, MOST_JOBS).await?;
    let accounts = connections::list(&mut conn, tenant).await?;
    let mut found = Vec::new();
    for (job, document) in waiting {
        let missing = missing_of(&mut conn, tenant, document.as_deref(), &accounts).await?;
        if !missing.is_empty() {
            found.push(MissingView {
                publish_job_id: job.id,
                post_id: job.post,
                scheduled_at: Instant(job.run_at),
                missing,
            });
        }
    }
    Answer::new(&MissingList { jobs: found, next_cursor: None })
}

async fn missing_of(
    conn: &mut Conn,
    tenant: &Tenant,
    document: Option<&str>,
    accounts: &[Connection],
) -> Result<Vec<MissingThing>, Problem> {
    let thing =
        |kind, id: Option<&str>, message| MissingThing { kind, id: id.map(str::to_owned), message };
    let Some(document) = document else {
        return Ok(vec![thing("post", None, "the post was deleted; delete the job")]);
    };
    let draft: Draft = serde_json::from_str(document).map_err(Problem::internal)?;
    let mut missing = Vec::new();
    if draft.targets.is_empty() {
        missing.push(thing("targets", None, "the post names no account to publish to"));
    }
    for target in &draft.targets {
        let id = &target.connection_id;
        let message = match accounts.iter().find(|connection| connection.id == *id) {
            None => "the account is not connected any more",
            Some(connection) if connection.status == ConnectionStatus::Expired => {
                "the account has to be connected again"
            }
            Some(_) => continue,
        };
        missing.push(thing("connection", Some(id.as_str()), message));
    }
    for (_, path) in draft.storage_paths() {
        if media::find_asset(conn, tenant, path).await?.is_none() {
            let message = "the media library does not hold it any more";
            missing.push(thing("media", Some(path.as_str()), message));
        }
    }
    Ok(missing)
}
