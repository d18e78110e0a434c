//! Posts: what callers write, and the states a post goes through.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    decode::{Faults, Future, Instant, List, Text},
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

input! {
    /// One connected account to publish to.
    #[derive(Serialize, Deserialize, PartialEq, Eq)]
    pub struct Target {
        connection_id: ConnectionId,
        /// Text for this account alone, instead of the common one.
        content: Option<Content>,
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
    }

    /// What a search looks through.
    pub fn searchable(&self) -> String {
        let title = self.videohost.as_ref().and_then(|fields| fields.title.as_ref());
        let title = title.map_or("", |title| title.0.as_str());
        crate::label::fold(&format!("{}\n{title}", self.content))
    }
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
