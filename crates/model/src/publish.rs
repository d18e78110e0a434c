//! Words of publishing: the states of jobs, targets and attempts, and what can go wrong.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{time::Millis, words};

words! {
    /// Where a publish job stands.
    #[schemars(extend("examples" = ["queued"]))]
    pub enum JobState {
        /// Waits for its time.
        Queued = "queued",
        Running = "running",
        /// Every target published it.
        Succeeded = "succeeded",
        /// Some targets published it, others did not.
        PartiallySucceeded = "partially_succeeded",
        Failed = "failed",
        /// The outcome is not known, or the time was missed: a person has to look.
        NeedsAttention = "needs_attention",
        Canceled = "canceled",
    }
}

impl JobState {
    /// Whether something may still happen by itself.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Queued | Self::Running)
    }
}

words! {
    /// How far the publishing to one account has come. This is what a restart goes on from.
    #[schemars(extend("examples" = ["waiting"]))]
    pub enum Stage {
        /// For its time, or for the next try.
        Waiting = "waiting",
        /// Uploads and other work that may be repeated.
        Preparing = "preparing",
        /// The one call that cannot be taken back is about to be made, or was.
        Calling = "calling",
        /// Nobody knows what the call did; the platform is being read.
        Reading = "reading",
        Published = "published",
        /// The platform does not want it, or it was given up: it is not out.
        Rejected = "rejected",
        /// It cannot be found out whether it is out.
        Unknown = "unknown",
        /// It was too late to publish it.
        Missed = "missed",
        Canceled = "canceled",
    }
}

impl Stage {
    /// Whether nothing happens any more.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Waiting | Self::Preparing | Self::Calling | Self::Reading)
    }
}

words! {
    /// Whether an account can be used.
    #[schemars(extend("examples" = ["connected"]))]
    pub enum ConnectionStatus {
        Connected = "connected",
        /// Works, but not for much longer.
        Expiring = "expiring",
        /// Has to be connected again.
        Expired = "expired",
        /// The account's owner took our access away.
        Revoked = "revoked",
    }
}

words! {
    /// Why an attempt failed.
    #[schemars(extend("examples" = ["transient"]))]
    pub enum Class {
        /// Passes by itself.
        Transient = "transient",
        RateLimited = "rate_limited",
        Quota = "quota",
        /// The account has to be connected again.
        Auth = "auth",
        /// The platform does not want this post.
        Rejected = "rejected",
        /// The post, its media or its connection is gone.
        MissingContent = "missing_content",
        /// The call may have worked.
        Ambiguous = "ambiguous",
    }
}

/// What went wrong, in our class and in the platform's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    pub class: Class,
    /// The platform's own code, or ours where it gave none.
    pub code: String,
    pub message: String,
    /// When the platform wants to be asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Millis>,
}

impl Failure {
    pub fn new(class: Class, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { class, code: code.into(), message: message.into(), retry_at: None }
    }

    pub fn until(mut self, at: Millis) -> Self {
        self.retry_at = Some(at);
        self
    }
}

/// Where a published post can be found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// The platform's id of the post.
    pub remote_id: String,
    pub url: Option<String>,
    /// What an answer to the post has to name, in the platform's form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// How a platform makes publishing safe to repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Safety {
    /// We choose the id: the same again changes nothing, for ever.
    ChosenId,
    /// Something exists before the call, and says afterwards whether it was published.
    Container,
    /// A key makes the platform recognise repeats for about this long; reading decides first.
    KeyWindow { millis: Millis },
    /// Our own recent posts can be read.
    ReadBack,
    /// The platform refuses the same text twice, and can be read.
    DuplicateRefused,
    /// Nothing helps: one call, and what it did is what it did.
    Nothing,
}
