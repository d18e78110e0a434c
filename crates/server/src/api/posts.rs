//! Posts: everything but publishing.

use campanile_model::{
    decode::{Faults, Instant, Text},
    folder::Tree,
    ids::{BrandId, Post as PostKind, PostId, UserId},
    input,
    label::{self, FolderPath, Tag},
    post::{Draft, NewPost, Plan, PostAction, PostChanges, PostStatus},
    scope::Scope,
};
use campanile_store::{
    Conn, Tx,
    audit::Change,
    media,
    posts::{self, Filter, Post},
    publish::{
        Job,
        jobs::{self, Account, Changed},
    },
    tenant::Tenant,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    answer::{self, Answer, Created, Deleted, Either},
    api::{
        folders, publishing,
        schedule::{self, JobView},
    },
    caller::Caller,
    extract::{Body, Path, Query},
    paging::{self, Cursor, Limit},
    problem::{Code, Problem},
};

/// A post as answers show it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PostView {
    id: PostId,
    brand_id: BrandId,
    status: PostStatus,
    #[serde(flatten)]
    draft: Draft,
    folder_path: Option<FolderPath>,
    scheduled_at: Option<Instant>,
    published_at: Option<Instant>,
    created_by: UserId,
    created_at: Instant,
    updated_at: Instant,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PostList {
    posts: Vec<PostView>,
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PostBody {
    post: PostView,
    /// The job that `action=publish_now` queued.
    #[serde(skip_serializing_if = "Option::is_none")]
    publish_job: Option<JobView>,
}

/// The answer to `validate_only=true` when nothing is wrong.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Valid {
    valid: bool,
}

input! {
    pub(crate) struct PostFilter {
        /// Posts in exactly this folder.
        folder: Option<FolderPath>,
        /// Posts with this label.
        tag: Option<Tag>,
        status: Option<PostStatus>,
        /// Posts whose text or title contains this, whatever the case. A page may be short and
        /// still have a `next_cursor`: each call looks through a bounded number of posts.
        text: Option<Text<1, 200>>,
        scheduled_from: Option<Instant>,
        scheduled_to: Option<Instant>,
        created_from: Option<Instant>,
        created_to: Option<Instant>,
        /// How many to return.
        limit: Option<Limit>,
        /// `next_cursor` of the page before.
        cursor: Option<Cursor>,
    }
}

pub(crate) async fn list(
    caller: Caller,
    Query(query): Query<PostFilter>,
) -> Result<Answer<PostList>, Problem> {
    let app = caller.app();
    let tenant = caller.tenant()?;
    let filter = Filter {
        folder: query.folder.map(|path| path.as_str().to_owned()),
        tag: query.tag.map(|tag| tag.0),
        status: query.status,
        text: query.text.map(|text| label::fold(&text.0)),
        scheduled_from: query.scheduled_from.map(|at| at.0),
        scheduled_to: query.scheduled_to.map(|at| at.0),
        created_from: query.created_from.map(|at| at.0),
        created_to: query.created_to.map(|at| at.0),
    };
    let list = format!("posts|{}|{filter:?}", tenant.brand());
    let page = paging::page(app, &list, query.limit, query.cursor.as_ref())?;
    let mut body = String::with_capacity(32 * 1024);
    body.push_str("{\"posts\":[");
    let next = {
        let mut conn = app.db.read().await?;
        posts::list(&mut conn, tenant, &filter, &page, &mut body).await?
    };
    body.push_str("],\"next_cursor\":");
    match paging::next(app, &list, next.as_deref()) {
        // A cursor is base64: nothing in it needs escaping.
        Some(cursor) => body.extend(["\"", &cursor, "\"}"]),
        None => body.push_str("null}"),
    }
    Ok(Answer::written(body))
}

pub(crate) async fn get(
    caller: Caller,
    Path(id): Path<PostKind>,
) -> Result<Answer<PostBody>, Problem> {
    let mut conn = caller.app().db.read().await?;
    let json = posts::find_json(&mut conn, caller.tenant()?, &id).await?;
    Ok(Answer::written(wrap(&json.ok_or_else(Problem::not_found)?)).with_tag())
}

fn wrap(post: &str) -> String {
    ["{\"post\":", post, "}"].concat()
}

input! {
    pub(crate) struct CreateOptions {
        /// Check everything, store nothing.
        validate_only: Option<bool>,
    }
}

pub(crate) async fn create(
    caller: Caller,
    Query(options): Query<CreateOptions>,
    Body(new): Body<NewPost>,
) -> Result<Either<Created<PostBody>, Answer<Valid>>, Problem> {
    let tenant = caller.tenant()?;
    let wish = new.schedule;
    let (mut post, faults) = compose(&caller, tenant, new);
    if options.validate_only == Some(true) {
        let mut conn = caller.app().db.read().await?;
        check(&caller, &mut conn, &mut post, wish, faults).await?;
        return Ok(Either::Second(Answer::new(&Valid { valid: true })?));
    }
    // The usual draft is written out before others have to wait for this transaction.
    let early = if wish.is_none() { Some(post.texts()?) } else { None };
    let created = caller
        .write(async |mut tx| {
            let accounts = check(&caller, &mut tx, &mut post, wish, faults).await?;
            let texts = match early {
                Some(texts) => texts,
                None => post.texts()?,
            };
            place(&mut tx, tenant, &post).await?;
            posts::insert(&mut tx, tenant, &post, &texts).await?;
            publishing::plan(&mut tx, tenant, &post, &accounts, caller.now()).await?;
            let change = Change {
                action: "post.created",
                resource: "post",
                resource_id: post.id.as_str(),
                before: None,
                after: Some(&texts.json),
            };
            caller.record(&mut tx, change).await?;
            Ok(Answer::written(wrap(&texts.json)).with_tag())
        })
        .await?;
    caller.app().engine.ring();
    Ok(Either::First(created))
}

/// The post that the caller described, and what is wrong with it so far.
fn compose(caller: &Caller, tenant: &Tenant, new: NewPost) -> (Post, Faults) {
    let now = caller.now();
    let mut faults = Faults::new(caller.now());
    let mut draft = Draft {
        content: new.content.map(|content| content.0).unwrap_or_default(),
        targets: new.targets.unwrap_or_default().0,
        tags: label::without_repeats(new.tags.unwrap_or_default().0),
        videohost: new.videohost,
        ..Draft::default()
    };
    draft.set_media(new.media_url.map(Some), new.media.map(|list| Some(list.0)), &mut faults);
    let scheduled_at = new.scheduled_at.map(|at| at.0);
    refuse_two_times(new.schedule, scheduled_at.is_some(), &mut faults);
    let post = Post {
        id: PostId::new(now),
        brand: tenant.brand().clone(),
        status: resting_status(scheduled_at.is_some()),
        folder_path: new.folder_path.map(|path| path.as_str().to_owned()),
        scheduled_at,
        published_at: None,
        created_by: tenant.user().clone(),
        created_at: now,
        updated_at: now,
        draft,
    };
    (post, faults)
}

fn resting_status(scheduled: bool) -> PostStatus {
    if scheduled { PostStatus::Scheduled } else { PostStatus::Draft }
}

/// Looks up what the post refers to, finds its slot, and tells everything that is wrong in one
/// answer. Returns the accounts it goes to.
async fn check(
    caller: &Caller,
    conn: &mut Conn,
    post: &mut Post,
    wish: Option<Plan>,
    mut faults: Faults,
) -> Result<Vec<Account>, Problem> {
    let tenant = caller.tenant()?;
    for (field, path) in post.draft.storage_paths() {
        if media::find_asset(conn, tenant, path).await?.is_none() {
            let message = "there is no such asset in this brand's media library";
            faults.add_field(field, "media_not_found", message);
        }
    }
    let planned = wish.is_some() || post.status == PostStatus::Scheduled;
    let app = caller.app();
    let draft = &post.draft;
    let accounts =
        publishing::check_targets(app, conn, tenant, draft, planned, &mut faults).await?;
    if !faults.is_empty() {
        return Err(Problem::invalid(faults.into_vec()));
    }
    if wish == Some(Plan::NextSlot) {
        take_slot(caller, conn, post).await?;
    }
    Ok(accounts)
}

async fn take_slot(caller: &Caller, conn: &mut Conn, post: &mut Post) -> Result<(), Problem> {
    let (_, slot) = schedule::find_slot(conn, caller.tenant()?, caller.now()).await?;
    let detail = "Add slots to the schedule settings, or give scheduled_at instead.";
    let slot = slot.ok_or_else(|| Problem::new(Code::NoFreeSlot, detail))?;
    post.scheduled_at = Some(slot);
    post.status = PostStatus::Scheduled;
    Ok(())
}

fn refuse_two_times(wish: Option<Plan>, given: bool, faults: &mut Faults) {
    if wish.is_some() && given {
        let message = "give either scheduled_at or schedule, not both";
        faults.add_field("schedule", "conflict", message);
    }
}

/// Makes sure that the post's folder exists.
async fn place(tx: &mut Tx, tenant: &Tenant, post: &Post) -> Result<(), Problem> {
    if let Some(path) = &post.folder_path
        && let Ok(path) = FolderPath::parse(path)
    {
        folders::ensure(tx, tenant, Tree::Posts, &path, post.updated_at).await?;
    }
    Ok(())
}

pub(crate) async fn update(
    caller: Caller,
    Path(id): Path<PostKind>,
    Body(changes): Body<PostChanges>,
) -> Result<Answer<PostBody>, Problem> {
    if changes.action == Some(PostAction::PublishNow) {
        caller.require(Scope::PostsPublish)?;
    }
    let tenant = caller.tenant()?;
    caller
        .write(async |mut tx| {
            publishing::hold(&mut tx, tenant, &id).await?;
            let before = posts::find(&mut tx, tenant, &id).await?.ok_or_else(Problem::not_found)?;
            let before_json = before.to_json()?;
            caller.expect_tag(&answer::etag(wrap(&before_json).as_bytes()))?;
            let (wish, publishes) = (changes.schedule, changes.action.is_some());
            let replans = rewrites(&changes);
            if replans {
                publishing::expect_idle(&mut tx, tenant, &before).await?;
                expect_unseen(&mut tx, tenant, &before, &changes).await?;
            }
            let (mut after, faults) = apply(&caller, before.clone(), changes)?;
            let accounts = check(&caller, &mut tx, &mut after, wish, faults).await?;
            place(&mut tx, tenant, &after).await?;
            let texts = after.texts()?;
            posts::update(&mut tx, tenant, &before, &after, &texts).await?;
            if replans && !publishes {
                publishing::plan(&mut tx, tenant, &after, &accounts, caller.now()).await?;
            }
            let change = Change {
                action: "post.updated",
                resource: "post",
                resource_id: id.as_str(),
                before: Some(&before_json),
                after: Some(&texts.json),
            };
            caller.record(&mut tx, change).await?;
            if publishes {
                let job = publishing::queue_now(&caller, &mut tx, &after).await?;
                return queued_answer(&mut tx, tenant, &id, job).await;
            }
            Ok(Answer::written(wrap(&texts.json)).with_tag())
        })
        .await
        .inspect(|_| caller.app().engine.ring())
}

/// The post as it is now, and the job that was queued for it.
async fn queued_answer(
    tx: &mut Tx,
    tenant: &Tenant,
    id: &PostId,
    job: Job,
) -> Result<Answer<PostBody>, Problem> {
    let post = posts::find_json(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
    let job = schedule::one_view(tx, tenant, job).await?;
    let job = serde_json::to_string(&job).map_err(Problem::internal)?;
    let body = ["{\"post\":", &post, ",\"publish_job\":", &job, "}"].concat();
    Ok(Answer::written(body))
}

/// Whether what is published, or when, is to change.
fn rewrites(changes: &PostChanges) -> bool {
    changes.content.is_some()
        || changes.targets.is_some()
        || changes.media_url.is_some()
        || changes.media.is_some()
        || changes.scheduled_at.is_some()
        || changes.schedule.is_some()
        || changes.videohost.is_some()
        || changes.action.is_some()
}

fn apply(caller: &Caller, mut post: Post, changes: PostChanges) -> Result<(Post, Faults), Problem> {
    let mut faults = Faults::new(caller.now());
    refuse_two_times(changes.schedule, changes.scheduled_at.is_some(), &mut faults);
    if let Some(content) = changes.content {
        post.draft.content = content.map(|content| content.0).unwrap_or_default();
    }
    if let Some(targets) = changes.targets {
        post.draft.targets = targets.unwrap_or_default().0;
    }
    if let Some(tags) = changes.tags {
        post.draft.tags = label::without_repeats(tags.unwrap_or_default().0);
    }
    if let Some(videohost) = changes.videohost {
        post.draft.videohost = videohost;
    }
    if let Some(path) = changes.folder_path {
        post.folder_path = path.map(|path| path.as_str().to_owned());
    }
    let media = changes.media.map(|media| media.map(|list| list.0));
    post.draft.set_media(changes.media_url, media, &mut faults);
    if let Some(at) = changes.scheduled_at {
        post.scheduled_at = at.map(|at| at.0);
        post.status = resting_status(at.is_some());
    }
    post.updated_at = caller.now();
    Ok((post, faults))
}

fn changes_content(changes: &PostChanges) -> bool {
    changes.content.is_some()
        || changes.targets.is_some()
        || changes.media_url.is_some()
        || changes.media.is_some()
        || changes.videohost.is_some()
}

/// Refuses to change what the world may have seen: what is out somewhere would say something
/// else elsewhere, and a new time would send it once more.
async fn expect_unseen(
    tx: &mut Tx,
    tenant: &Tenant,
    post: &Post,
    changes: &PostChanges,
) -> Result<(), Problem> {
    let publishes_again = changes.action.is_some() && !changes_content(changes);
    if publishes_again || !is_out(post.status) && !jobs::is_partly_out(tx, tenant, &post.id).await?
    {
        return Ok(());
    }
    let detail = "Only its tags and folder can be changed now; create a new post for new content.";
    Err(Problem::new(Code::PostBusy, detail))
}

/// Whether the world may have seen the post already.
fn is_out(status: PostStatus) -> bool {
    match status {
        PostStatus::Publishing | PostStatus::Published | PostStatus::PartiallyPublished => true,
        PostStatus::Draft
        | PostStatus::Scheduled
        | PostStatus::Failed
        | PostStatus::NeedsAttention => false,
    }
}

pub(crate) async fn remove(
    caller: Caller,
    Path(id): Path<PostKind>,
) -> Result<Answer<Deleted>, Problem> {
    let tenant = caller.tenant()?;
    caller
        .write(async |mut tx| {
            publishing::hold(&mut tx, tenant, &id).await?;
            let post = posts::find(&mut tx, tenant, &id).await?.ok_or_else(Problem::not_found)?;
            let before = post.to_json()?;
            caller.expect_tag(&answer::etag(wrap(&before).as_bytes()))?;
            if let Some(job) = jobs::find_live(&mut tx, tenant, &id).await?
                && jobs::orphan(&mut tx, tenant, &job).await? != Changed::Yes
            {
                return Err(publishing::in_progress());
            }
            posts::delete(&mut tx, tenant, &post).await?;
            let change = Change {
                action: "post.deleted",
                resource: "post",
                resource_id: id.as_str(),
                before: Some(&before),
                after: None,
            };
            caller.record(&mut tx, change).await?;
            Answer::new(&Deleted::YES)
        })
        .await
}
