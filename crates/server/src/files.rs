//! Signed URLs: one upload in, short-lived reads out. The signature is the credential.

use std::{ops::Range, time::Duration};

use axum::{
    body::Body,
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use campanile_connect::BlobError;
use campanile_engine::draft;
use campanile_model::{
    ids::{BlobId, BrandId, UploadId, WorkspaceId},
    time::{MINUTE, Millis},
};
use campanile_store::{
    audit::{self, Actor, Change},
    media::{self, Upload},
};
use http_body_util::BodyExt;
use tokio::io::AsyncWriteExt;

use crate::{
    app::{App, Shared},
    caller::Visitor,
    extract, intake,
    problem::{Code, Problem},
};

/// A read URL works for at least this long, and for twice as long at most.
const READ_GOOD_FOR: Millis = 5 * MINUTE;
/// Slow is fine, a trickle is not: within so long, so many bytes of an upload must come.
const STALL: Duration = Duration::from_secs(30);
const LEAST_IN_WINDOW: i64 = 30 * 1024;

pub(crate) fn upload_url(app: &App, upload: &Upload) -> String {
    let expires = upload.expires_at.to_string();
    let signature = sign_upload(app, upload, &expires);
    format!("{}/uploads/{}?expires={expires}&signature={signature}", app.public_url, upload.id)
}

fn sign_upload(app: &App, upload: &Upload, expires: &str) -> String {
    let bytes = upload.bytes.to_string();
    let parts = ["PUT", upload.id.as_str(), expires, &upload.media_type, &bytes];
    app.vault.sign_text("upload", &parts)
}

/// Rounded up, so that the same item keeps the same address for some minutes.
pub(crate) fn read_url(app: &App, workspace: &WorkspaceId, blob: &BlobId) -> String {
    let expires = (app.now() / READ_GOOD_FOR + 2) * READ_GOOD_FOR;
    let expires = expires.to_string();
    let parts = ["GET", workspace.as_str(), blob.as_str(), &expires];
    let signature = app.vault.sign_text("read", &parts);
    format!("{}/media/{workspace}/{blob}?expires={expires}&signature={signature}", app.public_url)
}

/// The two parameters of a signed URL, as long as it has not expired.
fn signed_parts(app: &App, request: &Request) -> Result<(String, String), Problem> {
    let mut expires = None;
    let mut signature = None;
    for (name, value) in extract::pairs(request.uri().query()) {
        match name.as_str() {
            "expires" => expires = Some(value),
            "signature" => signature = Some(value),
            _ => return Err(bad_signature()),
        }
    }
    let (expires, signature) = expires.zip(signature).ok_or_else(bad_signature)?;
    let until: Millis = expires.parse().map_err(|_| bad_signature())?;
    if until <= app.now() {
        return Err(Problem::new(Code::SignedUrlExpired, "Ask for a new signed URL."));
    }
    Ok((expires, signature))
}

fn bad_signature() -> Problem {
    Problem::new(Code::InvalidSignature, "Use the URL exactly as it was given.")
}

/// Takes the bytes of one signed upload.
pub(crate) async fn upload(
    State(app): State<Shared>,
    Path(id): Path<String>,
    visitor: Visitor,
    request: Request,
) -> Result<Response, Problem> {
    let (expires, signature) = signed_parts(&app, &request)?;
    let id = UploadId::parse(&id).ok_or_else(bad_signature)?;
    let upload = media::find_upload(&mut app.db.read().await?, &id).await?;
    let upload = upload.ok_or_else(bad_signature)?;
    let expected = sign_upload(&app, &upload, &expires);
    if !bool::from(subtle::ConstantTimeEq::ct_eq(expected.as_bytes(), signature.as_bytes())) {
        return Err(bad_signature());
    }
    if upload.used {
        return Err(used());
    }
    check_promise(&upload, request.headers())?;
    let raw = receive(&app, request.into_body(), &upload).await?;
    let now = app.now();
    let kind = campanile_media::Kind::from_mime(&upload.media_type);
    let stored = intake::store(&app, &upload.workspace, raw, "body", kind, now).await?;
    app.db
        .write(async |mut tx| {
            let blob = media::settle_blob(&mut tx, &upload.workspace, &stored.facts, now).await?;
            if !media::complete_upload(&mut tx, &upload, &blob, now).await? {
                return Err(used());
            }
            let after = serde_json::json!({ "storage_path": upload.storage_path }).to_string();
            let change = Change {
                action: "upload.completed",
                resource: "upload",
                resource_id: upload.id.as_str(),
                before: None,
                after: Some(&after),
            };
            audit::record(&mut tx, &actor(&upload, &visitor), change, now).await?;
            Ok::<_, Problem>(())
        })
        .await?;
    let body = serde_json::json!({ "storage_path": upload.storage_path }).to_string();
    let mut response = (StatusCode::CREATED, body).into_response();
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    Ok(response)
}

fn actor(upload: &Upload, visitor: &Visitor) -> Actor {
    Actor {
        workspace: upload.workspace.clone(),
        brand: Some(BrandId::stored(&upload.brand)),
        user: None,
        door: "upload",
        credential: Some(upload.id.as_str().to_owned()),
        request_id: visitor.request_id.clone(),
        ip: Some(visitor.ip.to_string()),
    }
}

fn used() -> Problem {
    Problem::new(Code::UploadUsed, "Ask for a new URL with POST /uploads/posts/sign.")
}

fn check_promise(upload: &Upload, headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if text(header::CONTENT_TYPE) != Some(upload.media_type.as_str()) {
        let detail = format!("The URL was signed for content-type: {}.", upload.media_type);
        return Err(Problem::new(Code::UnsupportedMediaType, detail));
    }
    if text(header::CONTENT_LENGTH) != Some(upload.bytes.to_string().as_str()) {
        let message = format!("the URL was signed for exactly {} bytes", upload.bytes);
        return Err(Problem::invalid_field("content-length", "size_mismatch", message));
    }
    Ok(())
}

async fn receive(
    app: &App,
    mut body: Body,
    upload: &Upload,
) -> Result<tempfile::NamedTempFile, Problem> {
    let file = intake::temporary(app)?;
    let mut sink = tokio::fs::File::create(file.path()).await.map_err(Problem::internal)?;
    let mut received = 0;
    let (mut window, mut before) = (tokio::time::Instant::now(), 0);
    while let Some(frame) =
        tokio::time::timeout(STALL, body.frame()).await.map_err(|_| stalled())?
    {
        let frame = frame.map_err(|_| cut_short())?;
        if let Ok(data) = frame.into_data() {
            received += data.len() as i64;
            if window.elapsed() >= STALL {
                if received - before < LEAST_IN_WINDOW {
                    return Err(stalled());
                }
                (window, before) = (tokio::time::Instant::now(), received);
            }
            sink.write_all(&data).await.map_err(Problem::internal)?;
        }
    }
    sink.flush().await.map_err(Problem::internal)?;
    if received == upload.bytes { Ok(file) } else { Err(cut_short()) }
}

fn stalled() -> Problem {
    Problem::new(Code::RequestTimeout, "Too few bytes came for 30 seconds; send the upload again.")
}

fn cut_short() -> Problem {
    Problem::new(Code::MalformedRequest, "The upload ended before it was complete; send it again.")
}

/// Serves stored bytes to whoever holds a signed URL, whole or in ranges.
pub(crate) async fn read(
    State(app): State<Shared>,
    Path((workspace, blob)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Problem> {
    let (expires, signature) = signed_parts(&app, &request)?;
    let parts = ["GET", &workspace, &blob, &expires];
    if !app.vault.verify_text("read", &parts, &signature) {
        return Err(bad_signature());
    }
    let workspace = WorkspaceId::parse(&workspace).ok_or_else(bad_signature)?;
    let blob = BlobId::parse(&blob).ok_or_else(bad_signature)?;
    let facts = media::find_blob(&mut app.db.read().await?, &workspace, &blob).await?;
    let facts = facts.ok_or_else(Problem::not_found)?;
    let size = facts.bytes.unsigned_abs();
    let range = wanted_range(request.headers(), size)?;
    let name = draft::blob_name(&workspace, &blob);
    let stored = app.blobs.read(&name, range.clone()).await.map_err(blob_problem)?;
    let length = stored.range.end - stored.range.start;
    let mut response = Response::new(Body::from_stream(stored.chunks));
    let headers = response.headers_mut();
    let mut set = |name, value: String| {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    };
    set(header::CONTENT_TYPE, facts.media_type);
    set(header::CONTENT_LENGTH, length.to_string());
    set(header::ACCEPT_RANGES, "bytes".to_owned());
    set(header::CONTENT_DISPOSITION, "inline".to_owned());
    set(header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox".to_owned());
    set(header::CACHE_CONTROL, "private, max-age=300".to_owned());
    if let Some(range) = range {
        set(header::CONTENT_RANGE, format!("bytes {}-{}/{size}", range.start, range.end - 1));
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    Ok(response)
}

fn blob_problem(error: BlobError) -> Problem {
    match error {
        BlobError::Missing { .. } => Problem::not_found(),
        other => Problem::internal(other),
    }
}

/// One range of bytes. Several at once are legal to ignore, and nobody asks platforms for them.
fn wanted_range(headers: &HeaderMap, size: u64) -> Result<Option<Range<u64>>, Problem> {
    let Some(text) = headers.get(header::RANGE).and_then(|value| value.to_str().ok()) else {
        return Ok(None);
    };
    let Some((first, last)) = text.strip_prefix("bytes=").and_then(|range| range.split_once('-'))
    else {
        return Ok(None);
    };
    if last.contains(',') {
        return Ok(None);
    }
    let range = match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) if first <= last => first..last.saturating_add(1).min(size),
        (Ok(first), Err(_)) if last.is_empty() => first..size,
        (Err(_), Ok(count)) if first.is_empty() => size.saturating_sub(count)..size,
        _ => return Ok(None),
    };
    if range.start >= range.end {
        return Err(Problem::new(Code::RangeNotSatisfiable, "Ask for bytes within the file.")
            .header(header::CONTENT_RANGE, &format!("bytes */{size}")));
    }
    Ok(Some(range))
}
