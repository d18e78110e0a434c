//! The files of a post on their way to the account's server.

use bytes::{Bytes, BytesMut};
use campanile_model::publish::{Class, Failure};
use futures_util::TryStreamExt;
use serde::Deserialize;
use serde_json::{Value, json};

use super::check::IMAGE_BYTES;
use super::picture::{self, Picture};
use super::video::Service;
use super::xrpc::Server;
use crate::platforms::{Access, Asset, Draft};
use crate::{Blob, BlobError, Upload};

/// The server with the account's token, and the storage that the files come from.
pub(super) struct Files<'a> {
    pub(super) access: &'a Access<'a>,
    pub(super) server: Server<'a>,
    /// Where the network's video service is.
    pub(super) video_service: &'a str,
}

/// Whether something has to be uploaded or put below the text of the first part.
pub(super) fn has_embed(draft: &Draft) -> bool {
    !draft.media.is_empty() || draft.options.link.is_some()
}

impl Files<'_> {
    /// Uploads what the draft has, and says how the post shows it.
    pub(super) async fn embed(&self, draft: &Draft) -> Result<Value, Failure> {
        let assets = draft.files();
        match assets.first() {
            Some((_, video)) if video.is_video() => self.video(video).await,
            Some(_) => self.pictures(assets.iter().map(|(_, asset)| *asset)).await,
            None => self.link(draft).await,
        }
    }

    async fn pictures(&self, assets: impl Iterator<Item = &Asset>) -> Result<Value, Failure> {
        let mut images = Vec::new();
        for asset in assets {
            let (image, picture) = self.picture(asset).await?;
            let (width, height) = (picture.width, picture.height);
            images.push(json!({
                "image": image,
                "alt": asset.alt_text,
                "aspectRatio": { "width": width, "height": height },
            }));
        }
        Ok(json!({ "$type": "app.bsky.embed.images", "images": images }))
    }

    /// Uploads one picture, made smaller where it has to be.
    async fn picture(&self, asset: &Asset) -> Result<(Value, Picture), Failure> {
        let picture = picture::fit(self.content(asset).await?).await?;
        let body = Upload::new().bytes(picture.content.clone());
        Ok((self.upload(picture.media_type, body).await?, picture))
    }

    async fn video(&self, asset: &Asset) -> Result<Value, Failure> {
        let service = Service { files: self, address: self.video_service };
        let video = match service.process(asset).await? {
            Some(video) => video,
            None => self.upload(&asset.media_type, self.stream(asset).await?).await?,
        };
        let mut embed = json!({ "$type": "app.bsky.embed.video", "video": video });
        if !asset.alt_text.is_empty() {
            embed["alt"] = json!(asset.alt_text);
        }
        if let (Some(width @ 1..), Some(height @ 1..)) = (asset.width, asset.height) {
            embed["aspectRatio"] = json!({ "width": width, "height": height });
        }
        Ok(embed)
    }

    async fn link(&self, draft: &Draft) -> Result<Value, Failure> {
        let Some(link) = &draft.options.link else {
            return Err(Failure::new(Class::MissingContent, "media_missing", "the media is gone"));
        };
        let description = link.description.as_ref().map_or("", |text| &text.0);
        let mut external =
            json!({ "uri": link.url, "title": link.title, "description": description });
        if link.thumbnail.is_some() {
            let message = "the picture of the link is not in the media library";
            let missing = || Failure::new(Class::MissingContent, "thumbnail_missing", message);
            let asset = draft.thumbnail().ok_or_else(missing)?;
            external["thumb"] = self.picture(asset).await?.0;
        }
        Ok(json!({ "$type": "app.bsky.embed.external", "external": external }))
    }

    /// Hands bytes to the server. What comes back is put into the post as it is: the server
    /// looks at the bytes, and does not believe what type it was told.
    async fn upload(&self, media_type: &str, body: Upload) -> Result<Value, Failure> {
        #[derive(Deserialize)]
        struct Uploaded {
            blob: Value,
        }
        let method = "com.atproto.repo.uploadBlob";
        let uploaded: Uploaded = self.server.send_file(method, &[], media_type, body).await?;
        Ok(uploaded.blob)
    }

    async fn content(&self, asset: &Asset) -> Result<Bytes, Failure> {
        let blob = self.open(asset).await?;
        if blob.size > IMAGE_BYTES {
            let message = "the picture is larger than pictures may be";
            return Err(Failure::new(Class::Rejected, "too_large", message));
        }
        let chunks = blob.chunks.try_fold(BytesMut::new(), |mut all, chunk| async move {
            all.extend_from_slice(&chunk);
            Ok(all)
        });
        chunks.await.map(BytesMut::freeze).map_err(|error| unreadable(&error))
    }

    /// A file that is sent while it is read.
    pub(super) async fn stream(&self, asset: &Asset) -> Result<Upload, Failure> {
        let blob = self.open(asset).await?;
        let size = blob.size;
        Ok(Upload::new().blob(blob, size))
    }

    async fn open(&self, asset: &Asset) -> Result<Blob, Failure> {
        self.access.blobs.read(&asset.blob, None).await.map_err(|error| unreadable(&error))
    }
}

fn unreadable(error: &BlobError) -> Failure {
    let class = match error {
        BlobError::Missing { .. } | BlobError::BadName { .. } => Class::MissingContent,
        _ => Class::Transient,
    };
    Failure::new(class, "media_unreadable", error.to_string())
}
