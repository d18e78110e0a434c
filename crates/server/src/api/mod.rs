//! The table: every route of the external API, declared once. Read this first.

pub(crate) mod audit;
pub(crate) mod auth;
pub(crate) mod brands;
pub(crate) mod connections;
pub(crate) mod exclusions;
pub(crate) mod features;
pub(crate) mod folders;
pub(crate) mod keys;
pub(crate) mod media;
pub(crate) mod meta;
pub(crate) mod posts;
pub(crate) mod publishing;
pub(crate) mod sandbox;
pub(crate) mod schedule;
pub(crate) mod settings;

use axum::http::Method;
use campanile_model::scope::Scope::{
    AiGenerate, AnalyticsRead, AuditLogsRead, BrandsRead, ConnectionsRead, ConnectionsWrite,
    InboxRead, InboxWrite, MediaRead, MediaWrite, NotificationsRead, PlatformsRead, PostsPublish,
    PostsRead, PostsWrite, ReviewRead, ReviewWrite, ScheduleRead, ScheduleWrite, SettingsRead,
    SettingsWrite, WebhooksRead, WebhooksWrite,
};

use crate::route::{
    Route,
    Rule::{AnyOf, Key, KeyOrSession, Public, Session},
    delete, get, group, later, patch, post, put,
};

const GET: Method = Method::GET;
const POST: Method = Method::POST;
const PATCH: Method = Method::PATCH;
const DELETE: Method = Method::DELETE;

/// All 72 rows, in the order in which the reference lists them.
#[rustfmt::skip]
pub(crate) fn table() -> Vec<Route> {
    [
        group("meta", "dashboard-home", [
            get("/", meta::root, Public).about("Say what this is and where to go from here"),
            get("/health", meta::health, Public).about("Say whether the service answers"),
            get("/reference", meta::reference, Public).about("List every route, scope and feature for machines"),
            get("/whoami", meta::whoami, Key(&[])).about("Say whose key this is and what it may do"),
        ]),
        group("brands", "brands", [
            get("/brands", brands::list, Key(&[BrandsRead])).about("List the brands within reach and how much they hold"),
        ]),
        group("posts", "post-composer-and-library", [
            get("/posts", posts::list, Key(&[PostsRead])).about("List posts by folder, tag, status, text and date"),
            post("/posts", posts::create, Key(&[PostsWrite])).about("Create a post"),
            get("/posts/{id}", posts::get, Key(&[PostsRead])).about("Read one post"),
            patch("/posts/{id}", posts::update, Key(&[PostsWrite])).about("Change a post, or publish it now with action=publish_now"),
            post("/posts/{id}/publish-now", publishing::publish_now, Key(&[PostsPublish])).about("Queue a post for publishing at once"),
            delete("/posts/{id}", posts::remove, Key(&[PostsWrite])).about("Delete a post"),
        ]),
        group("content-folders", "post-composer-and-library", [
            get("/content-folders", folders::list, AnyOf(&[PostsRead, MediaRead])).about("List the folders of one tree"),
            post("/content-folders", folders::create, AnyOf(&[PostsWrite, MediaWrite])).about("Create a folder and those above it"),
            patch("/content-folders", folders::relocate, AnyOf(&[PostsWrite, MediaWrite])).about("Rename or move a folder with everything beneath it"),
            delete("/content-folders", folders::remove, AnyOf(&[PostsWrite, MediaWrite])).about("Delete an empty folder"),
        ]),
        group("analytics", "analytics", [
            later(GET, "/analytics", Key(&[AnalyticsRead])).about("Read the summary and trend series of the dashboard"),
        ]),
        group("schedule", "schedule", [
            get("/schedule", schedule::list, Key(&[ScheduleRead])).about("List publish jobs whose post exists, newest first, 200 at most"),
            get("/schedule/available-slot", schedule::available_slot, Key(&[ScheduleRead])).about("Find the next free slot of the brand's schedule"),
            get("/schedule/missing-content", schedule::missing_content, Key(&[ScheduleRead])).about("List queued jobs whose post or media is missing"),
            patch("/schedule/{id}", schedule::reschedule, Key(&[ScheduleWrite])).about("Move a queued job to another time"),
            delete("/schedule/{id}", schedule::cancel, Key(&[ScheduleWrite])).about("Cancel a job; an orphan is deleted"),
            delete("/schedule/attempts", schedule::clear_attempts, Key(&[ScheduleWrite])).about("Clear recent publish attempts, failed or all"),
        ]),
        group("platforms", "connections", [
            get("/platforms", connections::platforms, Key(&[PlatformsRead])).about("List platforms, what they take and whether they are ready"),
        ]),
        group("connections", "connections", [
            get("/connections", connections::list, Key(&[ConnectionsRead])).about("List connected accounts"),
            later(GET, "/connections/meta-pages", Key(&[ConnectionsRead])).about("List the pages and business accounts that a connected account can use"),
            later(GET, "/connections/{platform}/start", Session).about("Begin to connect an account in the browser"),
            later(GET, "/connections/{platform}/callback", Session).about("Finish connecting an account in the browser"),
            post("/connections/{platform}", connections::create, Key(&[ConnectionsWrite])).about("Connect an account of an open network by hand"),
            later(PATCH, "/connections/{platform}", Key(&[ConnectionsWrite])).about("Choose the page or business account of a connection"),
            delete("/connections/{platform}", connections::remove, Key(&[ConnectionsWrite])).about("Disconnect an account"),
        ]),
        group("notifications", "notifications", [
            later(GET, "/notifications", Key(&[NotificationsRead])).about("Read notifications about queue, tokens and publishing"),
        ]),
        group("inbox", "inbox", [
            later(GET, "/inbox", Key(&[InboxRead])).about("Read events from the social networks"),
            later(PATCH, "/inbox", Key(&[InboxWrite])).about("Mark inbox events as read or unread"),
        ]),
        group("media-library", "media-library", [
            get("/media-library", media::list, Key(&[MediaRead])).about("List media by folder and tag"),
            post("/media-library", media::create, Key(&[MediaWrite])).about("Import an asset from a URL, or register an uploaded one"),
            patch("/media-library", media::update, Key(&[MediaWrite])).about("Change tags and folder of one or more items"),
            delete("/media-library", media::remove, Key(&[MediaWrite])).about("Delete items and their stored assets"),
        ]),
        group("uploads", "media-library", [
            post("/uploads/posts/sign", media::sign_upload, Key(&[PostsWrite])).about("Get a signed URL that takes one upload"),
        ]),
        group("review", "review", [
            later(GET, "/review/approvals", Key(&[ReviewRead])).about("List approvals"),
            later(POST, "/review/approvals", Key(&[ReviewWrite])).about("Ask for an approval"),
            later(PATCH, "/review/approvals/{id}", Key(&[ReviewWrite])).about("Approve, reject, ask for changes, or withdraw"),
            later(GET, "/review/comments", Key(&[ReviewRead])).about("List the comments on a post"),
            later(POST, "/review/comments", Key(&[ReviewWrite])).about("Comment on a post"),
        ]),
        group("settings", "settings-and-profile", [
            get("/settings", settings::get, Key(&[SettingsRead])).about("Read profile and schedule settings"),
            put("/settings", settings::update, Key(&[SettingsWrite])).about("Change profile and schedule settings"),
            put("/settings/password", settings::change_password, Session).about("Change the signed-in user's password"),
        ]),
        group("audit-logs", "audit-logs", [
            get("/audit-logs", audit::list, Key(&[AuditLogsRead])).about("Read who changed what, newest first"),
        ]),
        group("ai", "ai-video-budget-usage", [
            later(POST, "/ai/caption", Key(&[AiGenerate])).about("Have captions written").feature("post-composer-and-library"),
            later(POST, "/ai/image", Key(&[AiGenerate])).about("Have an image made and stored in the media library").feature("media-library"),
            later(POST, "/ai/video", Key(&[AiGenerate])).about("Start the generation of a video"),
            later(GET, "/ai/video", Key(&[AiGenerate])).about("Ask how a video generation is getting on"),
            later(GET, "/ai/usage", Key(&[AiGenerate])).about("Read usage, budget, quota, credits and spend cap"),
        ]),
        group("webhooks", "webhooks", [
            later(GET, "/webhooks/outbound", Key(&[WebhooksRead])).about("List webhook endpoints and recent deliveries"),
            later(POST, "/webhooks/outbound", Key(&[WebhooksWrite])).about("Create a webhook endpoint"),
            later(PATCH, "/webhooks/outbound/{id}", Key(&[WebhooksWrite])).about("Change, test or replay a webhook endpoint"),
            later(DELETE, "/webhooks/outbound/{id}", Key(&[WebhooksWrite])).about("Delete a webhook endpoint"),
        ]),
        group("api-keys", "api-keys", [
            get("/keys", keys::list, KeyOrSession(&[SettingsRead])).about("List the caller's own keys"),
            post("/keys", keys::create, Session).about("Create a key; it is shown once"),
            delete("/keys/{id}", keys::revoke, Session).about("Revoke a key at once"),
        ]),
        group("videohost", "youtube-advanced", [
            later(GET, "/videohost/playlists", Key(&[PostsRead])).about("List the playlists of the connected channel"),
            later(POST, "/videohost/playlists", Key(&[PostsWrite])).about("Add a video to a playlist"),
            later(POST, "/videohost/comments", Key(&[PostsWrite])).about("Comment on a video"),
            later(PATCH, "/videohost/videos", Key(&[PostsWrite])).about("Change the metadata of a video"),
            later(DELETE, "/videohost/videos", Key(&[PostsWrite])).about("Delete a video from the platform"),
            later(GET, "/videohost/channel", Key(&[ConnectionsRead])).about("Read the connected channel and its figures"),
            later(GET, "/videohost/captions", Key(&[PostsRead])).about("List the caption tracks of a video"),
            later(DELETE, "/videohost/captions", Key(&[PostsWrite])).about("Delete a caption track"),
            later(POST, "/videohost/videos/thumbnail", Key(&[PostsWrite])).about("Set the thumbnail of a video"),
            later(POST, "/videohost/live", Key(&[PostsWrite])).about("Create, bind and steer a live broadcast"),
            later(GET, "/videohost/live", Key(&[PostsRead])).about("Read live broadcasts, or the chat of one"),
            later(GET, "/videohost/search", Key(&[PostsRead])).about("Search videos, channels or playlists"),
            later(POST, "/videohost/interact", Key(&[PostsWrite])).about("Like, rate or subscribe"),
        ]),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Rows that stand beside the contract's, under their own paths.
pub(crate) fn own_table() -> Vec<Route> {
    let timeline = get("/api/sandbox/{handle}", sandbox::timeline, Key(&[ConnectionsRead]));
    vec![timeline.about("Read what was published to an account of the sandbox")]
}

/// Routes for browser sessions alone; the external reference lists them as exclusions.
pub(crate) fn internal_table() -> Vec<Route> {
    vec![
        post("/api/auth/sign-in", auth::sign_in, Public).about("Sign in with e-mail and password"),
        post("/api/auth/sign-out", auth::sign_out, Session).about("End this session"),
        post("/api/internal/brands", brands::create, Session).about("Create a brand"),
        patch("/api/internal/brands/{id}", brands::rename, Session).about("Rename a brand"),
        delete("/api/internal/brands/{id}", brands::remove, Session).about("Delete a brand"),
    ]
}
