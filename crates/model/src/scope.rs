//! The 24 scopes a key can hold.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use crate::decode::{At, Faults, Field, Json};

macro_rules! scopes {
    ($($variant:ident $name:literal $grants:literal),* $(,)?) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Scope { $($variant),* }

        impl Scope {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// What a key that holds it may do.
            pub fn grants(self) -> &'static str {
                match self { $(Self::$variant => $grants),* }
            }

            pub fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

scopes! {
    Everything "*" "everything a key can do at all",
    PostsRead "posts:read" "see posts and their details",
    PostsWrite "posts:write" "create, change and delete posts",
    PostsPublish "posts:publish" "start publishing a post at once",
    AnalyticsRead "analytics:read" "see analytics summaries and trends",
    ScheduleRead "schedule:read" "see publish jobs and the state of the queue",
    ScheduleWrite "schedule:write" "move or cancel publish jobs",
    BrandsRead "brands:read" "list the brands within reach and how much they hold",
    PlatformsRead "platforms:read" "see which platforms are available and configured",
    ConnectionsRead "connections:read" "see connected accounts",
    ConnectionsWrite "connections:write" "connect, choose and disconnect accounts",
    AiGenerate "ai:generate" "have captions, images and videos generated",
    MediaRead "media-library:read" "list media",
    MediaWrite "media-library:write" "import, register, change and delete media",
    InboxRead "inbox:read" "read the social inbox",
    InboxWrite "inbox:write" "mark inbox events as read or unread",
    NotificationsRead "notifications:read" "read operational notifications",
    ReviewRead "review:read" "see approvals and review comments",
    ReviewWrite "review:write" "ask for and decide approvals, comment on posts",
    WebhooksRead "webhooks:read" "see webhook endpoints and their deliveries",
    WebhooksWrite "webhooks:write" "create, change and delete webhook endpoints",
    SettingsRead "settings:read" "see profile and schedule settings, list keys",
    SettingsWrite "settings:write" "change profile and schedule settings",
    AuditLogsRead "audit-logs:read" "read the workspace's audit trail",
}

impl Serialize for Scope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Field for Scope {
    fn decode(json: Json, at: &At<'_>, faults: &mut Faults) -> Option<Self> {
        let text = json.into_text(at, faults)?;
        let scope = Self::parse(&text);
        if scope.is_none() {
            faults.add(at, "unknown_scope", "there is no such scope; GET /reference lists them");
        }
        scope
    }
}

impl JsonSchema for Scope {
    fn schema_name() -> Cow<'static, str> {
        "Scope".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = Self::ALL.iter().map(|scope| scope.name()).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

/// The scopes of one key, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes(u32);

impl Scopes {
    pub fn of(scopes: &[Scope]) -> Self {
        Self(scopes.iter().fold(0, |set, scope| set | 1 << *scope as u32))
    }

    /// Whether a holder may do what needs `scope`.
    pub fn allow(self, scope: Scope) -> bool {
        self.0 & (1 << scope as u32 | 1 << Scope::Everything as u32) != 0
    }

    pub fn list(self) -> Vec<Scope> {
        Scope::ALL.iter().copied().filter(|scope| self.0 & (1 << *scope as u32) != 0).collect()
    }

    /// As the store keeps them: names in one text.
    pub fn to_text(self) -> String {
        self.list().iter().map(|scope| scope.name()).collect::<Vec<_>>().join(" ")
    }

    pub fn from_text(text: &str) -> Self {
        Self::of(&text.split(' ').filter_map(Scope::parse).collect::<Vec<_>>())
    }
}
