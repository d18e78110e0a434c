//! Posts: what callers write, and the states a post goes through.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    decode::{Faults, Future, Instant, List, Text, Whole},
    ids::ConnectionId,
    input,
    label::{FolderPath, StoragePath, Tag, Tags},
    words,
};

words! {
    /// Where a post stands.
    #[schemars(extend("examples" = ["Draft"]))]
    pub enum PostStatus {
        /// Being written; nothing will happen by itself.
        Draft = "Draft",
        /// Will be published at `scheduled_at`.
        Scheduled = "Scheduled",
        Publishing = "Publishing",
        Published = "Published",
        /// Live on some of its targets and refused by others.
        PartiallyPublished = "PartiallyPublished",
        Failed = "Failed",
        /// The outcome is not known, or the time was missed: a person has to look.
        NeedsAttention = "NeedsAttention",
    }
}

words! {
    pub enum Privacy { Public = "public", Unlisted = "unlisted", Private = "private" }
}

words! {
    pub enum PostAction {
        /// Queue the post for publishing at once.
        PublishNow = "publish_now",
    }
}

words! {
    /// A time that is found rather than given.
    pub enum Plan { NextSlot = "next_slot" }
}

pub type Content = Text<0, 100_000>;

input! {
    /// One asset of a post.
    #[derive(Serialize, Deserialize, PartialEq, Eq)]
    pub struct MediaReference {
        /// Where the media library put the asset.
        storage_path: StoragePath,
        /// What the asset shows, for people who cannot see it.
        alt_text: Option<Text<0, 2000>>,
    }
}

words! {
    /// Who sees a post. Not every platform knows all of them.
    pub enum Visibility {
        Public = "public",
        /// Everybody, but it is not put forward.
        Unlisted = "unlisted",
        /// Followers only.
        Private = "private",
        /// Only those who are mentioned.
        Direct = "direct",
    }
}

words! {
    /// How the sandbox behaves towards a post.
    pub enum SandboxOutcome {
        /// Published at once.
        Success = "success",
        /// Published after some seconds.
        Slow = "slow",
        /// The first try fails, the second works.
        TransientFailure = "transient_failure",
        /// Refused with a time to come back, then published.
        RateLimit = "rate_limit",
        /// The account has to be connected again.
        ExpiredToken = "expired_token",
        /// The platform does not want this post.
        Rejection = "rejection",
        /// Published, but the answer is lost: reading the timeline shows it.
        LostAnswer = "lost_answer",
        /// The answer is lost and the timeline cannot be read.
        Unknown = "unknown",
    }
}

input! {
    /// A question with choices.
    #[derive(Serialize, Deserialize, PartialEq, Eq)]
    pub struct Poll {
        options: List<Text<1, 200>, 20>,
        expires_in_seconds: Whole<60, 31_536_000>,
        multiple: Option<bool>,
        /// Whether the counts stay hidden until the end.
        hide_totals: Option<bool>,
    }
}

input! {
    /// A preview of a web page below the text.
    #[derive(Serialize, Deserialize, PartialEq, Eq)]
    pub struct LinkCard {
        url: Text<1, 2000>,
        title: Text<0, 300>,
        description: Option<Text<0, 1000>>,
        /// Storage path of the picture.
        thumbnail: Option<StoragePath>,
    }
}

input! {
    /// What one account is to do differently. Options that its platform does not have are errors.
    #[derive(Default, Serialize, Deserialize, PartialEq, Eq)]
    pub struct TargetOptions {
        visibility: Option<Visibility>,
        /// Shown instead of the post until somebody wants to see it.
        content_warning: Option<Text<1, 500>>,
        /// Marks the media as sensitive.
        sensitive: Option<bool>,
        /// Languages of the text, such as `en` or `pt-BR`.
        languages: Option<List<Text<2, 35>, 3>>,
        /// Labels about the content that the platform knows, such as `nudity`.
        labels: Option<List<Text<1, 128>, 10>>,
        /// Further parts: each answers the one before it.
        thread: Option<List<Content, 25>>,
        poll: Option<Poll>,
        link: Option<LinkCard>,
        /// What the sandbox shall do with it.
        outcome: Option<SandboxOutcome>,
    }
}

input! {
    /// One connected account to publish to.
    #[derive(Serialize, Deserialize, PartialEq, Eq)]
    pub struct Target {
        connection_id: ConnectionId,
        /// Text for this account alone, instead of the common one.
        content: Option<Content>,
        /// Assets for this account alone, instead of the common ones.
        media: Option<List<MediaReference, 20>>,
        options: Option<TargetOptions>,
    }
}

input! {
    /// What the video platform wants to know about an upload.
    #[derive(Serialize, Deserialize, PartialEq, Eq)]
    pub struct VideohostFields {
        title: Option<Text<1, 100>>,
        description: Option<Text<0, 5000>>,
        tags: Option<List<Tag, 60>>,
        category_id: Option<Text<1, 16>>,
        privacy: Option<Privacy>,
        made_for_kids: Option<bool>,
        notify_subscribers: Option<bool>,
        /// When the platform itself makes the video public.
        publish_at: Option<Instant>,
        playlist_id: Option<Text<1, 64>>,
        /// Storage path of the thumbnail image.
        thumbnail: Option<StoragePath>,
    }
}

input! {
    /// A post to create. Everything may be left out and added later.
    #[schemars(extend("examples" = [{
        "content": "Doors open at nine.", "tags": ["launch", "events"], "folder_path": "campaigns/2026"
    }]))]
    pub struct NewPost {
        /// The text.
        content: Option<Content>,
        /// The accounts to publish to.
        targets: Option<List<Target, 50>>,
        /// Storage path of the first asset.
        media_url: Option<StoragePath>,
        /// All assets in order. When `media_url` is given too, it must name the first of them.
        media: Option<List<MediaReference, 20>>,
        tags: Option<Tags>,
        folder_path: Option<FolderPath>,
        /// When to publish; absent for a draft.
        scheduled_at: Option<Future>,
        /// `next_slot` publishes at the next free slot of the brand's schedule.
        schedule: Option<Plan>,
        videohost: Option<VideohostFields>,
    }
    read_only: [
        "id", "brand_id", "user_id", "status", "created_by", "created_at", "updated_at",
        "published_at", "publish_job", "remote_id", "approved",
    ]
}

input! {
    /// Changes to a post. A field that is absent stays as it is; `null` empties it.
    #[schemars(extend("examples" = [{ "content": "Doors open at ten.", "folder_path": null }]))]
    pub struct PostChanges {
        content: Option<Option<Content>>,
        targets: Option<Option<List<Target, 50>>>,
        media_url: Option<Option<StoragePath>>,
        media: Option<Option<List<MediaReference, 20>>>,
        tags: Option<Option<Tags>>,
        folder_path: Option<Option<FolderPath>>,
        /// A new time schedules the post; `null` makes it a draft again.
        scheduled_at: Option<Option<Future>>,
        /// `next_slot` publishes at the next free slot of the brand's schedule.
        schedule: Option<Plan>,
        videohost: Option<Option<VideohostFields>>,
        /// `publish_now` queues the post at once; needs the scope posts:publish as well.
        action: Option<PostAction>,
    }
    read_only: [
        "id", "brand_id", "user_id", "status", "created_by", "created_at", "updated_at",
        "published_at", "publish_job", "remote_id", "approved",
    ]
}

/// What the author decides: the part of a post that lists carry as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Draft {
    #[schemars(extend("examples" = ["Doors open at nine."]))]
    pub content: String,
    pub targets: Vec<Target>,
    pub media_url: Option<StoragePath>,
    pub media: Vec<MediaReference>,
    #[schemars(extend("examples" = [["launch", "events"]]))]
    pub tags: Vec<Tag>,
    pub videohost: Option<VideohostFields>,
}

impl Draft {
    /// Sets `media_url` and `media` together, so that the two never disagree.
    pub fn set_media(
        &mut self,
        first: Option<Option<StoragePath>>,
        all: Option<Option<Vec<MediaReference>>>,
        faults: &mut Faults,
    ) {
        match (first, all) {
            (None, None) => {}
            // Naming the first asset that is there already says nothing about the others.
            (Some(first), None) if first.is_some() && first == self.media_url => {}
            (Some(first), None) => {
                self.media = first
                    .into_iter()
                    .map(|storage_path| MediaReference { storage_path, alt_text: None })
                    .collect();
            }
            (first, Some(all)) => {
                self.media = all.unwrap_or_default();
                let named = self.media.first().map(|media| &media.storage_path);
                if first.as_ref().is_some_and(|first| first.as_ref() != named) {
                    faults.add_field(
                        "media_url",
                        "media_conflict",
                        "media_url must be the storage path of the first entry in media",
                    );
                }
            }
        }
        self.media_url = self.media.first().map(|media| media.storage_path.clone());
    }

    /// Every storage path the post needs, with the field that names it.
    pub fn storage_paths(&self) -> impl Iterator<Item = (String, &StoragePath)> {
        let thumbnail = self.videohost.as_ref().and_then(|fields| fields.thumbnail.as_ref());
        self.media
            .iter()
            .enumerate()
            .map(|(index, media)| {
                let field = if index == 0 && self.media.len() == 1 {
                    "media_url".to_owned()
                } else {
                    format!("media[{index}].storage_path")
                };
                (field, &media.storage_path)
            })
            .chain(thumbnail.map(|path| ("videohost.thumbnail".to_owned(), path)))
            .chain(self.targets.iter().enumerate().flat_map(own_paths))
    }

    /// What a search looks through.
    pub fn searchable(&self) -> String {
        let title = self.videohost.as_ref().and_then(|fields| fields.title.as_ref());
        let title = title.map_or("", |title| title.0.as_str());
        crate::label::fold(&format!("{}\n{title}", self.content))
    }
}

/// The storage paths that a target names for itself.
fn own_paths((index, target): (usize, &Target)) -> impl Iterator<Item = (String, &StoragePath)> {
    let media = target.media.iter().flat_map(|list| list.0.iter().enumerate());
    let media = media.map(move |(number, media)| {
        (format!("targets[{index}].media[{number}].storage_path"), &media.storage_path)
    });
    let link = target.options.as_ref().and_then(|options| options.link.as_ref());
    let thumbnail = link.and_then(|link| link.thumbnail.as_ref());
    let field = format!("targets[{index}].options.link.thumbnail");
    media.chain(thumbnail.map(|path| (field, path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::UserId;

    fn path(name: &str) -> StoragePath {
        StoragePath::new(&UserId::stored("user_01hf7yat00000000000000000a"), name)
    }

    fn reference(name: &str) -> MediaReference {
        MediaReference { storage_path: path(name), alt_text: None }
    }

    #[test]
    fn media_url_and_media_never_disagree() {
        let mut draft = Draft::default();
        let mut faults = Faults::new(0);

        draft.set_media(Some(Some(path("a.jpg"))), None, &mut faults);
        assert_eq!(draft.media, [reference("a.jpg")]);

        draft.set_media(
            None,
            Some(Some(vec![reference("b.jpg"), reference("c.jpg")])),
            &mut faults,
        );
        assert_eq!(draft.media_url, Some(path("b.jpg")));
        assert!(faults.is_empty());

        draft.set_media(
            Some(Some(path("z.jpg"))),
            Some(Some(vec![reference("b.jpg")])),
            &mut faults,
        );
        assert!(!faults.is_empty());
    }
}
