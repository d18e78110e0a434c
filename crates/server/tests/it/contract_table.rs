//! What the contract promises, as plain facts: the other half of the comparison.

/// Method, path, who may call, and the scopes. A bar stands between alternatives.
const ROUTES: &str = "
    GET     /                               none
    GET     /health                         none
    GET     /reference                      none
    GET     /whoami                         key
    GET     /brands                         key             brands:read
    GET     /posts                          key             posts:read
    POST    /posts                          key             posts:write
    GET     /posts/:id                      key             posts:read
    PATCH   /posts/:id                      key             posts:write
    POST    /posts/:id/publish-now          key             posts:publish
    DELETE  /posts/:id                      key             posts:write
    GET     /content-folders                key             posts:read|media-library:read
    POST    /content-folders                key             posts:write|media-library:write
    PATCH   /content-folders                key             posts:write|media-library:write
    DELETE  /content-folders                key             posts:write|media-library:write
    GET     /analytics                      key             analytics:read
    GET     /schedule                       key             schedule:read
    GET     /schedule/available-slot        key             schedule:read
    GET     /schedule/missing-content       key             schedule:read
    PATCH   /schedule/:id                   key             schedule:write
    DELETE  /schedule/:id                   key             schedule:write
    DELETE  /schedule/attempts              key             schedule:write
    GET     /platforms                      key             platforms:read
    GET     /connections                    key             connections:read
    GET     /connections/meta-pages         key             connections:read
    GET     /connections/:platform/start    session
    GET     /connections/:platform/callback session
    POST    /connections/:platform          key             connections:write
    PATCH   /connections/:platform          key             connections:write
    DELETE  /connections/:platform          key             connections:write
    GET     /notifications                  key             notifications:read
    GET     /inbox                          key             inbox:read
    PATCH   /inbox                          key             inbox:write
    GET     /media-library                  key             media-library:read
    POST    /media-library                  key             media-library:write
    PATCH   /media-library                  key             media-library:write
    DELETE  /media-library                  key             media-library:write
    POST    /uploads/posts/sign             key             posts:write
    GET     /review/approvals               key             review:read
    POST    /review/approvals               key             review:write
    PATCH   /review/approvals/:id           key             review:write
    GET     /review/comments                key             review:read
    POST    /review/comments                key             review:write
    GET     /settings                       key             settings:read
    PUT     /settings                       key             settings:write
    PUT     /settings/password              session
    GET     /audit-logs                     key             audit-logs:read
    POST    /ai/caption                     key             ai:generate
    POST    /ai/image                       key             ai:generate
    POST    /ai/video                       key             ai:generate
    GET     /ai/video                       key             ai:generate
    GET     /ai/usage                       key             ai:generate
    GET     /webhooks/outbound              key             webhooks:read
    POST    /webhooks/outbound              key             webhooks:write
    PATCH   /webhooks/outbound/:id          key             webhooks:write
    DELETE  /webhooks/outbound/:id          key             webhooks:write
    GET     /keys                           key-or-session  settings:read
    POST    /keys                           session
    DELETE  /keys/:id                       session
    GET     /videohost/playlists            key             posts:read
    POST    /videohost/playlists            key             posts:write
    POST    /videohost/comments             key             posts:write
    PATCH   /videohost/videos               key             posts:write
    DELETE  /videohost/videos               key             posts:write
    GET     /videohost/channel              key             connections:read
    GET     /videohost/captions             key             posts:read
    DELETE  /videohost/captions             key             posts:write
    POST    /videohost/videos/thumbnail     key             posts:write
    POST    /videohost/live                 key             posts:write
    GET     /videohost/live                 key             posts:read
    GET     /videohost/search               key             posts:read
    POST    /videohost/interact             key             posts:write
";

pub(crate) const SCOPES: [&str; 24] = [
    "*",
    "posts:read",
    "posts:write",
    "posts:publish",
    "analytics:read",
    "schedule:read",
    "schedule:write",
    "brands:read",
    "platforms:read",
    "connections:read",
    "connections:write",
    "ai:generate",
    "media-library:read",
    "media-library:write",
    "inbox:read",
    "inbox:write",
    "notifications:read",
    "review:read",
    "review:write",
    "webhooks:read",
    "webhooks:write",
    "settings:read",
    "settings:write",
    "audit-logs:read",
];

pub(crate) const FEATURES: [&str; 17] = [
    "dashboard-home",
    "post-composer-and-library",
    "schedule",
    "analytics",
    "connections",
    "media-library",
    "inbox",
    "notifications",
    "review",
    "webhooks",
    "api-keys",
    "settings-and-profile",
    "audit-logs",
    "brands",
    INTERNAL_FEATURE,
    "youtube-advanced",
    "ai-video-budget-usage",
];

/// The one feature that no route belongs to.
pub(crate) const INTERNAL_FEATURE: &str = "designer-labs";

pub(crate) const RESOURCES: [&str; 19] = [
    "ai",
    "analytics",
    "api-keys",
    "audit-logs",
    "brands",
    "connections",
    "content-folders",
    "inbox",
    "media-library",
    "meta",
    "notifications",
    "platforms",
    "posts",
    "review",
    "schedule",
    "settings",
    "uploads",
    "webhooks",
    "videohost",
];

/// Who may call a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Auth {
    Nobody,
    Key,
    KeyOrSession,
    Session,
}

impl Auth {
    /// The word that the reference has for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Nobody => "none",
            Self::Key => "external-api-key",
            Self::KeyOrSession => "external-api-key-or-session",
            Self::Session => "session",
        }
    }
}

/// One row of the contract.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) auth: Auth,
    /// Any one of these suffices; none are needed where there are none.
    pub(crate) scopes: Vec<&'static str>,
}

impl Row {
    /// As the features list it.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The group that the contract puts the route into.
    pub(crate) fn resource(&self) -> &'static str {
        match self.path.split('/').nth(1).expect("a path begins with a slash") {
            "" | "health" | "reference" | "whoami" => "meta",
            "keys" => "api-keys",
            first => first,
        }
    }
}

pub(crate) fn rows() -> Vec<Row> {
    ROUTES.lines().filter(|line| !line.trim().is_empty()).map(row).collect()
}

fn row(line: &'static str) -> Row {
    let mut words = line.split_whitespace();
    let mut word = || words.next().expect("method, path and who may call");
    let (method, path) = (word(), word());
    let auth = match word() {
        "none" => Auth::Nobody,
        "key" => Auth::Key,
        "key-or-session" => Auth::KeyOrSession,
        "session" => Auth::Session,
        other => panic!("{other} in {line}"),
    };
    Row { method, path, auth, scopes: words.flat_map(|words| words.split('|')).collect() }
}
