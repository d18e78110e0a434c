//! A platform inside the service: every outcome on demand, and a timeline to read back.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use campanile_model::{
    post::SandboxOutcome,
    publish::{Class, Failure, Receipt, Safety},
    time::{Millis, SECOND},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use zeroize::Zeroizing;

use super::{
    About, Access, Account, Answer, Breach, Connect, Connected, Deleting, Doing, Draft, Form,
    Limits, Manual, Operation, Platform, Refusal, Secret, Sight,
};
use crate::Http;

/// The network that the sandbox posts to.
pub trait Timeline: Send + Sync {
    /// Takes a post. The same operation again is the same post.
    fn accept<'a>(
        &'a self,
        account: &'a Account,
        operation: &'a str,
        content: &'a str,
    ) -> Doing<'a, Result<Receipt, Failure>>;

    fn find<'a>(
        &'a self,
        account: &'a Account,
        operation: &'a str,
    ) -> Doing<'a, Result<Option<Receipt>, Failure>>;

    fn delete<'a>(&'a self, account: &'a Account, id: &'a str) -> Doing<'a, Result<(), Failure>>;
}

static ABOUT: About = About {
    id: "sandbox",
    name: "Sandbox",
    connect: Connect::Manual { required: &[], optional: &["handle"] },
    post_types: &["text", "image", "video", "thread"],
    options: &["outcome", "visibility", "content_warning", "sensitive", "languages", "thread"],
    limits: Limits {
        characters: 5000,
        counted_in: "characters",
        media: 10,
        image_bytes: 20_000_000,
        video_bytes: 1_000_000_000,
        alt_text_characters: 2000,
        media_types: &["image/jpeg", "image/png", "image/webp", "image/gif", "video/mp4"],
        thread_parts: 25,
    },
    // The timeline is ours and knows no limits: many posts at once show what the service can do.
    at_once: 1024,
};

/// How long a slow post takes, and how long a limited one has to wait.
const SLOWNESS: Duration = Duration::from_secs(3);
const LIMIT: Millis = 5 * SECOND;

pub struct Sandbox {
    timeline: Arc<dyn Timeline>,
    /// How often each operation was tried, for outcomes that change with the tries.
    tries: Mutex<HashMap<String, u32>>,
}

/// More operations than this at once are not remembered.
const MOST_REMEMBERED: usize = 10_000;

/// What the call says.
#[derive(Serialize, Deserialize)]
struct Call {
    operation: String,
    outcome: SandboxOutcome,
    content: serde_json::Value,
}

impl Sandbox {
    pub fn new(timeline: Arc<dyn Timeline>) -> Self {
        Self { timeline, tries: Mutex::default() }
    }

    fn count_try(&self, operation: &str) -> u32 {
        let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        if tries.len() >= MOST_REMEMBERED {
            tries.clear();
        }
        let count = tries.entry(operation.to_owned()).or_default();
        *count += 1;
        *count
    }

    async fn post(&self, access: &Access<'_>, frozen: &str) -> Answer {
        let Ok(call) = serde_json::from_str::<Call>(frozen) else {
            return Answer::Refused(damaged());
        };
        let refuse =
            |class, code: &str, message: &str| Answer::Refused(Failure::new(class, code, message));
        match call.outcome {
            SandboxOutcome::Success => self.accept(access, &call).await,
            SandboxOutcome::Slow => {
                tokio::time::sleep(SLOWNESS).await;
                self.accept(access, &call).await
            }
            SandboxOutcome::TransientFailure if self.count_try(&call.operation) == 1 => {
                refuse(Class::Transient, "sandbox_busy", "the sandbox is busy for a moment")
            }
            SandboxOutcome::RateLimit if self.count_try(&call.operation) == 1 => {
                let message = "the sandbox wants no more posts for some seconds";
                let failure = Failure::new(Class::RateLimited, "sandbox_rate_limit", message);
                Answer::Refused(failure.until(access.now + LIMIT))
            }
            SandboxOutcome::TransientFailure | SandboxOutcome::RateLimit => {
                self.accept(access, &call).await
            }
            SandboxOutcome::ExpiredToken => {
                refuse(Class::Auth, "sandbox_token_expired", "the sandbox account's token expired")
            }
            SandboxOutcome::Rejection => {
                refuse(Class::Rejected, "sandbox_rejected", "the sandbox does not want this post")
            }
            SandboxOutcome::LostAnswer => {
                let _ = self.accept(access, &call).await;
                Answer::Unclear(lost())
            }
            SandboxOutcome::Unknown => Answer::Unclear(lost()),
        }
    }

    async fn accept(&self, access: &Access<'_>, call: &Call) -> Answer {
        let content = call.content.to_string();
        match self.timeline.accept(access.account, &call.operation, &content).await {
            Ok(receipt) => Answer::Published(receipt),
            Err(failure) => Answer::Unclear(failure),
        }
    }

    async fn look(&self, access: &Access<'_>, frozen: &str) -> Sight {
        let Ok(call) = serde_json::from_str::<Call>(frozen) else {
            return Sight::Unknowable(damaged());
        };
        if call.outcome == SandboxOutcome::Unknown {
            return Sight::Unknowable(lost());
        }
        match self.timeline.find(access.account, &call.operation).await {
            Ok(Some(receipt)) => Sight::Found(receipt),
            Ok(None) => Sight::Absent,
            Err(failure) => Sight::Unreadable(failure),
        }
    }
}

fn lost() -> Failure {
    Failure::new(Class::Ambiguous, "sandbox_answer_lost", "the sandbox's answer was lost")
}

fn damaged() -> Failure {
    let message = "what was frozen of the post cannot be read";
    Failure::new(Class::Rejected, "frozen_unreadable", message)
}

impl Platform for Sandbox {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn safety(&self, _: &Account) -> Safety {
        Safety::ChosenId
    }

    fn check(&self, _: &Account, draft: &Draft) -> Vec<Breach> {
        let mut breaches = super::check::options(&ABOUT, draft);
        breaches.extend(super::check::texts(&ABOUT, draft, |text| text.chars().count()));
        breaches.extend(super::check::media(&ABOUT, draft));
        breaches
    }

    fn freeze(&self, _: &Account, draft: &Draft, operation: &Operation<'_>) -> Option<String> {
        let media = if operation.part == 0 { draft.media.as_slice() } else { &[] };
        let media: Vec<_> = media
            .iter()
            .map(|asset| json!({ "storage_path": asset.storage_path, "alt_text": asset.alt_text }))
            .collect();
        let call = Call {
            operation: operation.key.to_owned(),
            outcome: draft.options.outcome.unwrap_or(SandboxOutcome::Success),
            content: json!({
                "text": draft.text_of(operation.part),
                "media": media,
                "in_reply_to": operation.previous.last().map(|receipt| &receipt.remote_id),
                "visibility": draft.options.visibility,
                "content_warning": draft.options.content_warning,
            }),
        };
        serde_json::to_string(&call).ok()
    }

    fn prepare<'a>(
        &'a self,
        _: &'a Access<'a>,
        _: &'a Draft,
        _: &'a Operation<'a>,
    ) -> Doing<'a, Result<String, Failure>> {
        Box::pin(async { Err(damaged()) })
    }

    fn publish<'a>(&'a self, access: &'a Access<'a>, frozen: &'a str) -> Doing<'a, Answer> {
        Box::pin(self.post(access, frozen))
    }

    fn find<'a>(
        &'a self,
        access: &'a Access<'a>,
        frozen: &'a str,
        _: &'a [String],
    ) -> Doing<'a, Sight> {
        Box::pin(self.look(access, frozen))
    }

    fn manual(&self) -> Option<&dyn Manual> {
        Some(self)
    }

    fn deleting(&self) -> Option<&dyn Deleting> {
        Some(self)
    }
}

impl Manual for Sandbox {
    /// Every handle is an account of its own, in every brand.
    fn connect<'a>(
        &'a self,
        _: &'a Http,
        form: &'a Form,
        _: Millis,
    ) -> Doing<'a, Result<Connected, Refusal>> {
        Box::pin(async move {
            let text = |name: &str| form.get(name).map(|text| text.as_str());
            let handle = text("handle").unwrap_or("sandbox").trim_start_matches('@');
            let brand = text("brand_id").unwrap_or_default();
            let account = Account {
                remote_id: handle.to_owned(),
                handle: handle.to_owned(),
                server: String::new(),
                details: json!({ "brand_id": brand }),
            };
            let secret = Secret(Zeroizing::new("{}".to_owned()));
            Ok(Connected { account, secret, scopes: vec!["publish".to_owned()] })
        })
    }
}

impl Deleting for Sandbox {
    fn delete<'a>(
        &'a self,
        access: &'a Access<'a>,
        receipt: &'a Receipt,
    ) -> Doing<'a, Result<(), Failure>> {
        self.timeline.delete(access.account, &receipt.remote_id)
    }
}
