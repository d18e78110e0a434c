//! Files on their way to a server.

use std::time::Duration;

use bytes::Bytes;
use campanile_model::publish::{Class, Failure};
use http::Response;
use sha2::{Digest, Sha256};

use super::answers::failure;
use super::api::{Api, quoted};
use super::wire::Attachment;
use crate::platforms::{Asset, expect_json, from_fetch};
use crate::{BlobError, Blobs, Upload};

/// Uploads every file and waits until the server is done with it; returns their ids in order.
pub(super) async fn upload_all(
    api: &Api<'_>,
    blobs: &Blobs,
    assets: &[Asset],
    key: &str,
) -> Result<Vec<String>, Failure> {
    let mut uploaded = Vec::with_capacity(assets.len());
    for (index, asset) in assets.iter().enumerate() {
        uploaded.push(upload(api, blobs, asset, &boundary(key, index)).await?);
    }
    // The server works on all of them meanwhile.
    for (id, state) in &uploaded {
        if *state == State::Processing {
            wait(api, id).await?;
        }
    }
    Ok(uploaded.into_iter().map(|(id, _)| id).collect())
}

/// How a file that was uploaded before stands now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    Processing,
    /// Deleted, as servers do after a day, or part of another status.
    Gone,
}

pub(super) async fn state(api: &Api<'_>, id: &str) -> Result<State, Failure> {
    let path = format!("/api/v1/media/{}", quoted(id));
    let answer = api.get(&path).await.map_err(|error| from_fetch(&error))?;
    match answer.status().as_u16() {
        206 => Ok(State::Processing),
        200..=299 => Ok(State::Ready),
        404 | 410 => Ok(State::Gone),
        _ => Err(failure(&answer, api.now)),
    }
}

/// Waits for files that are still being worked on; says whether all of them are there.
pub(super) async fn all_there(api: &Api<'_>, ids: &[String]) -> Result<bool, Failure> {
    for id in ids {
        match state(api, id).await? {
            State::Ready => {}
            State::Processing => wait(api, id).await?,
            State::Gone => return Ok(false),
        }
    }
    Ok(true)
}

async fn upload(
    api: &Api<'_>,
    blobs: &Blobs,
    asset: &Asset,
    boundary: &str,
) -> Result<(String, State), Failure> {
    let mut answer = send(api, "/api/v2/media", blobs, asset, boundary).await?;
    // Some servers have only the older call, which waits until the file is ready.
    if matches!(answer.status().as_u16(), 404 | 405) {
        answer = send(api, "/api/v1/media", blobs, asset, boundary).await?;
    }
    if !answer.status().is_success() {
        return Err(failure(&answer, api.now));
    }
    let is_done = answer.status().as_u16() == 200;
    let Attachment { id, url } = expect_json(&answer)?;
    // Servers that are ready at once say 202 as well, but with an address.
    let state = if is_done || url.is_some() { State::Ready } else { State::Processing };
    Ok((id, state))
}

async fn send(
    api: &Api<'_>,
    path: &str,
    blobs: &Blobs,
    asset: &Asset,
    boundary: &str,
) -> Result<Response<Bytes>, Failure> {
    let blob = blobs.read(&asset.blob, None).await.map_err(|error| unreadable(asset, &error))?;
    let size = blob.size;
    let body = Upload::new()
        .bytes(head(asset, boundary))
        .blob(blob, size)
        .bytes(format!("\r\n--{boundary}--\r\n"));
    let content_type = format!("multipart/form-data; boundary={boundary}");
    api.upload(path, &content_type, body).await.map_err(|error| from_fetch(&error))
}

fn unreadable(asset: &Asset, error: &BlobError) -> Failure {
    match error {
        BlobError::Missing { .. } | BlobError::BadName { .. } => {
            let message = format!("the file {} is not in the media library", asset.storage_path);
            Failure::new(Class::MissingContent, "media_missing", message)
        }
        _ => Failure::new(Class::Transient, "storage_failed", error.to_string()),
    }
}

/// What stands before the bytes of the file.
fn head(asset: &Asset, boundary: &str) -> String {
    let mut head = String::new();
    if !asset.alt_text.is_empty() {
        let part = "content-disposition: form-data; name=\"description\"";
        head = format!("--{boundary}\r\n{part}\r\n\r\n{}\r\n", asset.alt_text);
    }
    let media_type = &asset.media_type;
    // The name tells servers the kind of file; what people call it is nobody's business.
    let (_, kind) = media_type.split_once('/').unwrap_or_default();
    let ending: String = kind.chars().filter(char::is_ascii_alphanumeric).take(10).collect();
    let part = format!(
        "content-disposition: form-data; name=\"file\"; filename=\"file.{ending}\"\r\n\
         content-type: {}",
        media_type.replace(['\r', '\n'], "")
    );
    head + &format!("--{boundary}\r\n{part}\r\n\r\n")
}

/// Made from the key of the operation, which nobody can guess: no file contains it by design.
fn boundary(key: &str, index: usize) -> String {
    let digest = Sha256::digest(format!("campanile boundary {index} {key}"));
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Waits until the server has worked on a file.
async fn wait(api: &Api<'_>, id: &str) -> Result<(), Failure> {
    let waiting = tokio::time::timeout(api.pace.processing, poll(api, id));
    waiting.await.unwrap_or_else(|_| {
        let message = "the server did not finish its work on an uploaded file in time";
        Err(Failure::new(Class::Transient, "media_processing", message))
    })
}

async fn poll(api: &Api<'_>, id: &str) -> Result<(), Failure> {
    let mut pause = Duration::ZERO;
    loop {
        match state(api, id).await? {
            State::Ready => return Ok(()),
            State::Processing => {}
            State::Gone => {
                let message = "the server lost an uploaded file";
                return Err(Failure::new(Class::Transient, "media_gone", message));
            }
        }
        pause = (pause * 3 / 2).clamp(api.pace.first_pause, api.pace.longest_pause);
        tokio::time::sleep(pause).await;
    }
}
