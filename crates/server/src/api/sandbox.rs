//! The sandbox's timeline, to read back what was published to it.

use campanile_model::{decode::Instant, ids::SandboxPostId};
use campanile_store::sandbox;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{answer::Answer, caller::Caller, extract::PathText, problem::Problem};

#[derive(Serialize, JsonSchema)]
pub(crate) struct TimelineBody {
    posts: Vec<SandboxPostView>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SandboxPostView {
    id: SandboxPostId,
    content: Value,
    created_at: Instant,
}

const MOST: i64 = 200;

/// The newest posts of an account of the brand's sandbox.
pub(crate) async fn timeline(
    caller: Caller,
    PathText(handle): PathText,
) -> Result<Answer<TimelineBody>, Problem> {
    let mut conn = caller.app().db.read().await?;
    let found = sandbox::list(&mut conn, caller.tenant()?, &handle, MOST).await?;
    let posts = found.into_iter().map(|post| SandboxPostView {
        id: post.id,
        content: serde_json::from_str(&post.content).unwrap_or_default(),
        created_at: Instant(post.created_at),
    });
    Answer::new(&TimelineBody { posts: posts.collect() })
}
