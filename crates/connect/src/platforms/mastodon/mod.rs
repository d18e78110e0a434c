//! Mastodon, and the servers that speak its language.

mod answers;
mod api;
mod check;
mod connect;
mod entities;
mod frozen;
mod instance;
mod look;
mod media;
mod numbers;
mod status;
mod text;
mod wire;

use campanile_model::publish::{Class, Failure, Receipt, Safety};
use campanile_model::time::Millis;

use api::Api;
pub use api::Pace;
use frozen::Frozen;
use instance::Instance;

use super::{
    About, Access, Account, Answer, Breach, Connect, Connected, Deleting, Doing, Draft, Figures,
    Form, Limits, Manual, Operation, Platform, PostFigures, ProfileFigures, Refusal, Remembering,
    Sight,
};
use crate::Http;

pub struct Mastodon {
    about: About,
    pace: Pace,
}

impl Default for Mastodon {
    fn default() -> Self {
        Self::new()
    }
}

impl Mastodon {
    pub fn new() -> Self {
        Self::at(Pace::default())
    }

    /// With other patience than the usual.
    pub fn at(pace: Pace) -> Self {
        Self { about: about(), pace }
    }

    /// Everything that may be repeated. What an earlier try said is said again, under the same
    /// keys; only files that the server has lost meanwhile are uploaded again.
    async fn prepared(
        &self,
        access: &Access<'_>,
        draft: &Draft,
        operation: &Operation<'_>,
    ) -> Result<String, Failure> {
        let api = Api::of(access, &self.pace)?;
        let media = if operation.part == 0 { draft.media.as_slice() } else { &[] };
        let mut frozen = match operation.earlier {
            Some(earlier) => Frozen::read(earlier)?,
            None => {
                let mut frozen = Frozen::new(draft, operation)?;
                frozen.seen = self.seen(&api, access.account, &frozen).await?;
                frozen
            }
        };
        let ids = &frozen.status.media_ids;
        let is_there = ids.len() == media.len() && media::all_there(&api, ids).await?;
        if !is_there {
            let ids = media::upload_all(&api, access.blobs, media, operation.key).await?;
            frozen.status.media_ids = ids;
        }
        frozen.to_json()
    }

    async fn seen(
        &self,
        api: &Api<'_>,
        account: &Account,
        frozen: &Frozen,
    ) -> Result<Option<Vec<String>>, Failure> {
        match look::seen(api, account, frozen).await {
            Ok(seen) => Ok(Some(seen)),
            // A token that may not read is good enough where a key makes repeating safe.
            Err(failure) if failure.class == Class::Rejected && has_keys(account) => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

fn has_keys(account: &Account) -> bool {
    matches!(Instance::of(account).safety(), Safety::KeyWindow { .. })
}

fn about() -> About {
    About {
        id: "mastodon",
        name: "Mastodon",
        connect: Connect::Manual { required: &["server", "access_token"], optional: &[] },
        post_types: &["text", "image", "video", "thread", "poll"],
        options: &["visibility", "content_warning", "sensitive", "languages", "thread", "poll"],
        limits: Limits {
            characters: 500,
            counted_in: "graphemes",
            media: 4,
            image_bytes: 16_777_216,
            video_bytes: 103_809_024,
            alt_text_characters: 1500,
            media_types: &[
                "image/jpeg",
                "image/png",
                "image/gif",
                "image/webp",
                "image/avif",
                "image/heic",
                "video/mp4",
                "video/webm",
                "video/quicktime",
            ],
            thread_parts: 26,
        },
        // Two posts with the same words at the same moment could not be told apart afterwards.
        at_once: 1,
    }
}

impl Platform for Mastodon {
    fn about(&self) -> &About {
        &self.about
    }

    /// Every server counts its own accounts, and an account that moves becomes a new one.
    fn identity(&self, account: &Account) -> String {
        format!("{}/{}", account.server, account.remote_id)
    }

    fn safety(&self, account: &Account) -> Safety {
        Instance::of(account).safety()
    }

    fn check(&self, account: &Account, draft: &Draft) -> Vec<Breach> {
        check::check(&self.about, &Instance::of(account), draft)
    }

    fn freeze(
        &self,
        account: &Account,
        draft: &Draft,
        operation: &Operation<'_>,
    ) -> Option<String> {
        // Without keys the post can only be told from others by looking before it is sent.
        let uploads = operation.part == 0 && !draft.media.is_empty();
        if uploads || !has_keys(account) {
            return None;
        }
        match operation.earlier {
            Some(earlier) => Some(earlier.to_owned()),
            None => Frozen::new(draft, operation).ok()?.to_json().ok(),
        }
    }

    fn prepare<'a>(
        &'a self,
        access: &'a Access<'a>,
        draft: &'a Draft,
        operation: &'a Operation<'a>,
    ) -> Doing<'a, Result<String, Failure>> {
        Box::pin(self.prepared(access, draft, operation))
    }

    fn publish<'a>(&'a self, access: &'a Access<'a>, frozen: &'a str) -> Doing<'a, Answer> {
        Box::pin(async move {
            let ready =
                Api::of(access, &self.pace).and_then(|api| Ok((api, Frozen::read(frozen)?)));
            match ready {
                Ok((api, frozen)) => status::publish(&api, &frozen).await,
                Err(failure) => Answer::Refused(failure),
            }
        })
    }

    fn find<'a>(
        &'a self,
        access: &'a Access<'a>,
        frozen: &'a str,
        taken: &'a [String],
    ) -> Doing<'a, Sight> {
        Box::pin(async move {
            let frozen = match Frozen::read(frozen) {
                Ok(frozen) => frozen,
                Err(failure) => return Sight::Unknowable(failure),
            };
            match Api::of(access, &self.pace) {
                Ok(api) => look::find(&api, access.account, &frozen, taken).await,
                Err(failure) => Sight::Unreadable(failure),
            }
        })
    }

    fn manual(&self) -> Option<&dyn Manual> {
        Some(self)
    }

    fn remembering(&self) -> Option<&dyn Remembering> {
        Some(self)
    }

    fn deleting(&self) -> Option<&dyn Deleting> {
        Some(self)
    }

    fn figures(&self) -> Option<&dyn Figures> {
        Some(self)
    }
}

impl Manual for Mastodon {
    fn connect<'a>(
        &'a self,
        http: &'a Http,
        form: &'a Form,
        now: Millis,
    ) -> Doing<'a, Result<Connected, Refusal>> {
        Box::pin(connect::connect(http, form, now, &self.pace))
    }
}

impl Remembering for Mastodon {
    fn is_stale(&self, account: &Account, now: Millis) -> bool {
        Instance::of(account).is_stale(now)
    }

    fn read<'a>(
        &'a self,
        http: &'a Http,
        account: &'a Account,
        now: Millis,
    ) -> Doing<'a, Option<serde_json::Value>> {
        Box::pin(async move {
            let api = Api::anonymous(http, &account.server, &self.pace, now);
            let instance = Instance::of(account).read_again(&api).await?;
            serde_json::to_value(instance).ok()
        })
    }
}

impl Deleting for Mastodon {
    fn delete<'a>(
        &'a self,
        access: &'a Access<'a>,
        receipt: &'a Receipt,
    ) -> Doing<'a, Result<(), Failure>> {
        Box::pin(async move { numbers::delete(&Api::of(access, &self.pace)?, receipt).await })
    }
}

impl Figures for Mastodon {
    fn of_posts<'a>(
        &'a self,
        access: &'a Access<'a>,
        remote_ids: &'a [String],
    ) -> Doing<'a, Result<Vec<Option<PostFigures>>, Failure>> {
        Box::pin(async move { numbers::of_posts(&Api::of(access, &self.pace)?, remote_ids).await })
    }

    fn of_profile<'a>(
        &'a self,
        access: &'a Access<'a>,
    ) -> Doing<'a, Result<ProfileFigures, Failure>> {
        Box::pin(async move { numbers::of_profile(&Api::of(access, &self.pace)?).await })
    }
}
