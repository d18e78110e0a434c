//! The social networks. One folder each, one line in [`Platforms::new`].
//!
//! A platform gets a client, a credential and a frozen draft, and nothing else: it cannot reach
//! the store, it does not sleep or retry, and it never decides whether a call may be repeated.
//! It says how repeating is made safe, what it did and what came back; the machine decides.

pub mod bluesky;
pub mod check;
#[cfg(feature = "trial")]
mod container;
mod draft;
mod failure;
pub mod mastodon;
pub mod sandbox;

use std::{collections::BTreeMap, future::Future, pin::Pin, sync::Arc};

use campanile_model::{
    publish::{Failure, Receipt, Safety},
    time::Millis,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

pub use draft::{Asset, Breach, Draft};
pub use failure::{expect_json, from_fetch, from_status};

use crate::{Blobs, Http};

pub type Doing<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What everybody may know about a platform; `GET /platforms` shows it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct About {
    pub id: &'static str,
    pub name: &'static str,
    /// How an account is connected, and with which fields.
    pub connect: Connect,
    /// `text`, `image`, `video`, `thread`, `poll`, `link`.
    pub post_types: &'static [&'static str],
    /// The options of a target that it understands.
    pub options: &'static [&'static str],
    pub limits: Limits,
    /// How many posts of one account may be on their way at once.
    #[serde(skip)]
    pub at_once: usize,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Connect {
    /// `POST /connections/:platform` with these fields.
    Manual { required: &'static [&'static str], optional: &'static [&'static str] },
    /// `GET /connections/:platform/start` in a browser.
    OAuth,
}

/// The limits of a platform; a server of its own may have others, which its accounts then carry.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Limits {
    pub characters: u32,
    /// What one character is: `graphemes` or `characters`.
    pub counted_in: &'static str,
    pub media: u32,
    pub image_bytes: u64,
    pub video_bytes: u64,
    pub alt_text_characters: u32,
    pub media_types: &'static [&'static str],
    pub thread_parts: u32,
}

/// A connected account, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// What the platform, or its server there, calls it, for ever.
    pub remote_id: String,
    /// What people call it.
    pub handle: String,
    /// Where its server answers; empty where a platform has but one.
    pub server: String,
    /// What else the platform wants to remember of it, such as its server's own limits.
    pub details: serde_json::Value,
}

/// The credential of an account: JSON in the platform's own form, wiped when dropped.
#[derive(Clone)]
pub struct Secret(pub Zeroizing<String>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// What somebody sends to connect an account by hand; see [`Connect::Manual`].
pub type Form = BTreeMap<&'static str, Zeroizing<String>>;

/// An account whose credential was tried and works.
#[derive(Debug)]
pub struct Connected {
    pub account: Account,
    pub secret: Secret,
    /// What the credential may do, in the platform's words.
    pub scopes: Vec<String>,
}

/// Everything a call may use.
pub struct Access<'a> {
    pub http: &'a Http,
    pub blobs: &'a Blobs,
    pub account: &'a Account,
    pub secret: &'a Secret,
    pub now: Millis,
}

/// Which publish this is. All of it stays the same however often it is tried.
pub struct Operation<'a> {
    /// Unique to this target, publish and part; unguessable; letters and digits.
    pub key: &'a str,
    /// When the post was to be published.
    pub due: Millis,
    /// Parts of a thread are published one by one.
    pub part: u32,
    /// The parts before this one.
    pub previous: &'a [Receipt],
    /// What an earlier try of this part had frozen.
    pub earlier: Option<&'a str>,
}

/// What came of the call that cannot be taken back.
pub type Answer = campanile_machine::Answer;
/// What reading the platform showed.
pub type Sight = campanile_machine::Sight;

pub trait Platform: Send + Sync {
    fn about(&self) -> &About;

    /// What tells the account from all others on the platform, wherever it may move: connected
    /// again, it is the same one.
    fn identity(&self, account: &Account) -> String {
        account.remote_id.clone()
    }

    /// How repeating is made safe for this account.
    fn safety(&self, account: &Account) -> Safety;

    /// Everything about the draft that the account would refuse.
    fn check(&self, account: &Account, draft: &Draft) -> Vec<Breach>;

    /// What the call will say, where nothing has to be done first: no upload, no look-up.
    /// Otherwise `None`, and [`Platform::prepare`] does it.
    fn freeze(&self, account: &Account, draft: &Draft, operation: &Operation<'_>)
    -> Option<String>;

    /// Does what may be repeated, and returns what the call will say. When `operation.earlier`
    /// is there, the result must name the same post with the same words.
    fn prepare<'a>(
        &'a self,
        access: &'a Access<'a>,
        draft: &'a Draft,
        operation: &'a Operation<'a>,
    ) -> Doing<'a, Result<String, Failure>>;

    /// Makes the call, once. [`Answer::Refused`] only when it is certain that nothing is out.
    fn publish<'a>(&'a self, access: &'a Access<'a>, frozen: &'a str) -> Doing<'a, Answer>;

    /// Looks for what [`Platform::publish`] may have published. What is in `taken`, by the
    /// platform's ids, is known to come from other publishes.
    fn find<'a>(
        &'a self,
        access: &'a Access<'a>,
        frozen: &'a str,
        taken: &'a [String],
    ) -> Doing<'a, Sight>;

    /// When the credential should be renewed at the latest; `None` when it lasts.
    fn renew_before(&self, _secret: &Secret) -> Option<Millis> {
        None
    }

    /// A new credential for the old one. `account` comes back where it has changed.
    fn renew<'a>(
        &'a self,
        _http: &'a Http,
        _account: &'a Account,
        _secret: &'a Secret,
        _now: Millis,
    ) -> Doing<'a, Result<Secret, Failure>> {
        Box::pin(async {
            let message = "the platform does not accept the account's token; connect it again";
            Err(Failure::new(campanile_model::publish::Class::Auth, "token_refused", message))
        })
    }

    fn manual(&self) -> Option<&dyn Manual> {
        None
    }

    fn remembering(&self) -> Option<&dyn Remembering> {
        None
    }

    fn deleting(&self) -> Option<&dyn Deleting> {
        None
    }

    fn figures(&self) -> Option<&dyn Figures> {
        None
    }
}

/// Accounts are connected with credentials that somebody types in.
pub trait Manual: Send + Sync {
    /// Tries the credentials before anything is stored.
    fn connect<'a>(
        &'a self,
        http: &'a Http,
        form: &'a Form,
        now: Millis,
    ) -> Doing<'a, Result<Connected, Refusal>>;

    /// Tells the platform that the credential is not needed any more; best effort.
    fn disconnect<'a>(
        &'a self,
        _http: &'a Http,
        _account: &'a Account,
        _secret: &'a Secret,
    ) -> Doing<'a, ()> {
        Box::pin(async {})
    }
}

/// Why an account could not be connected.
#[derive(Debug)]
pub enum Refusal {
    /// A field is wrong, with a code and what to do.
    Field(&'static str, &'static str, String),
    /// The platform refused, failed or took too long.
    Platform(Failure),
}

/// Accounts carry what their server said of itself, which may change.
pub trait Remembering: Send + Sync {
    /// Whether [`Account::details`] should be read again.
    fn is_stale(&self, account: &Account, now: Millis) -> bool;

    /// The details as they are now; `None` when the server does not tell.
    fn read<'a>(
        &'a self,
        http: &'a Http,
        account: &'a Account,
        now: Millis,
    ) -> Doing<'a, Option<serde_json::Value>>;
}

/// Published posts can be deleted.
pub trait Deleting: Send + Sync {
    /// One that is gone already counts as deleted.
    fn delete<'a>(
        &'a self,
        access: &'a Access<'a>,
        receipt: &'a Receipt,
    ) -> Doing<'a, Result<(), Failure>>;
}

/// Posts and profiles have numbers.
pub trait Figures: Send + Sync {
    /// In the order of `remote_ids`; `None` for a post that is gone.
    fn of_posts<'a>(
        &'a self,
        access: &'a Access<'a>,
        remote_ids: &'a [String],
    ) -> Doing<'a, Result<Vec<Option<PostFigures>>, Failure>>;

    fn of_profile<'a>(
        &'a self,
        access: &'a Access<'a>,
    ) -> Doing<'a, Result<ProfileFigures, Failure>>;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PostFigures {
    pub likes: u64,
    pub reposts: u64,
    pub replies: u64,
    pub quotes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProfileFigures {
    pub followers: u64,
    pub following: u64,
    pub posts: u64,
}

/// Where platforms with servers of their own look things up; other than the defaults in tests.
#[derive(Clone, Debug)]
pub struct Endpoints {
    /// The directory of `did:plc` identities.
    pub plc: String,
    /// Where Bluesky accounts sign in when nobody names a server.
    pub bluesky: String,
    /// Bluesky's public reading service.
    pub bluesky_appview: String,
    pub bluesky_video: String,
}

impl Default for Endpoints {
    fn default() -> Self {
        Self {
            plc: "https://plc.directory".to_owned(),
            bluesky: "https://bsky.social".to_owned(),
            bluesky_appview: "https://public.api.bsky.app".to_owned(),
            bluesky_video: "https://video.bsky.app".to_owned(),
        }
    }
}

/// Every platform there is.
#[derive(Clone)]
pub struct Platforms {
    all: Arc<[Arc<dyn Platform>]>,
}

impl Platforms {
    /// The built-in ones, and those that the service itself brings along.
    pub fn new(endpoints: &Endpoints, own: Vec<Arc<dyn Platform>>) -> Self {
        let mut all: Vec<Arc<dyn Platform>> = Vec::new();
        all.push(Arc::new(bluesky::Bluesky::new(endpoints)));
        all.push(Arc::new(mastodon::Mastodon::new()));
        #[cfg(feature = "trial")]
        all.push(Arc::new(container::Containers));
        all.extend(own);
        Self { all: all.into() }
    }

    pub fn all(&self) -> &[Arc<dyn Platform>] {
        &self.all
    }

    pub fn find(&self, id: &str) -> Option<&Arc<dyn Platform>> {
        self.all.iter().find(|platform| platform.about().id == id)
    }
}
