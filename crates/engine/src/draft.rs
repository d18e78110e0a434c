//! What an account gets of a post.

use campanile_connect::platforms::{Asset, Draft};
use campanile_model::{
    ids::{BlobId, BrandId, ConnectionId, WorkspaceId},
    label::StoragePath,
    post::{self, MediaReference, Target},
};
use campanile_store::{Conn, StoreError, media, publish::Entry};

/// The target that names an account.
pub fn target<'p>(post: &'p post::Draft, connection: &ConnectionId) -> Option<&'p Target> {
    post.targets.iter().find(|target| target.connection_id == *connection)
}

/// Puts together what is common to all targets and what is the target's own; also says which
/// storage paths lead nowhere.
pub async fn compose(
    conn: &mut Conn,
    brand: &BrandId,
    post: &post::Draft,
    target: &Target,
) -> Result<(Draft, Vec<StoragePath>), StoreError> {
    let references = references(post, target);
    let mut missing = Vec::new();
    let mut assets = Vec::with_capacity(references.len());
    for reference in &references {
        match media::find_asset_of(conn, brand, &reference.storage_path).await? {
            Some((workspace, facts)) => assets.push(asset(reference, &workspace, &facts)),
            None => missing.push(reference.storage_path.clone()),
        }
    }
    Ok((with_media(post, target, assets), missing))
}

/// What [`compose`] gives for a post without media, for which nothing has to be looked up.
pub(crate) fn compose_plain(post: &post::Draft, target: &Target) -> Option<Draft> {
    references(post, target).is_empty().then(|| with_media(post, target, Vec::new()))
}

fn references(post: &post::Draft, target: &Target) -> Vec<MediaReference> {
    let own = target.media.as_ref().map(|list| list.0.as_slice());
    let mut references = own.unwrap_or(&post.media).to_vec();
    let link = target.options.as_ref().and_then(|options| options.link.as_ref());
    // The picture of a link card travels with the media; its platform knows it by its path.
    if let Some(storage_path) = link.and_then(|link| link.thumbnail.clone()) {
        references.push(MediaReference { storage_path, alt_text: None });
    }
    references
}

fn with_media(post: &post::Draft, target: &Target, media: Vec<Asset>) -> Draft {
    let text = target.content.as_ref().map_or(&post.content, |content| &content.0);
    Draft { text: text.clone(), media, options: target.options.clone().unwrap_or_default() }
}

/// Keeps the draft with its entry: later tries say the same, whatever the post says by then.
pub(crate) fn freeze(entry: &mut Entry, draft: &Draft) -> Result<(), serde_json::Error> {
    entry.draft = Some(serde_json::to_string(draft)?);
    entry.flow.parts = draft.parts();
    Ok(())
}

fn asset(reference: &MediaReference, workspace: &WorkspaceId, facts: &media::Facts) -> Asset {
    let size = |pixels: i64| u32::try_from(pixels).ok().filter(|pixels| *pixels > 0);
    Asset {
        storage_path: reference.storage_path.as_str().to_owned(),
        blob: blob_name(workspace, &facts.blob),
        media_type: facts.media_type.clone(),
        bytes: facts.bytes.unsigned_abs(),
        width: size(facts.width),
        height: size(facts.height),
        duration_ms: facts.duration_ms.map(i64::unsigned_abs),
        alt_text: reference.alt_text.as_ref().map(|text| text.0.clone()).unwrap_or_default(),
    }
}

/// Where the bytes of a blob are stored.
pub fn blob_name(workspace: &WorkspaceId, blob: &BlobId) -> String {
    format!("{workspace}/{blob}")
}
