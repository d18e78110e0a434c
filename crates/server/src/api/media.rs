//! The media library, and signed uploads for posts.

use campanile_media::Kind;
use campanile_model::{
    decode::{Instant, List, Text, Whole},
    folder::Tree,
    ids::{MediaId, UploadId, UserId},
    input,
    label::{self, FolderPath, Name, StoragePath, Tag, Tags},
    time::MINUTE,
    words,
};
use campanile_store::{
    Tx,
    audit::Change,
    media::{self, Facts, Filter, Item, Upload},
    tenant::Tenant,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    answer::{Answer, Created, Deleted},
    api::folders,
    app::App,
    caller::Caller,
    extract::{Body, Query},
    files, intake,
    paging::{self, Cursor, Limit},
    problem::{Code, Problem},
};

const UPLOAD_GOOD_FOR: i64 = 15 * MINUTE;

#[derive(Serialize, JsonSchema)]
pub(crate) struct ItemView {
    id: MediaId,
    /// What posts take as `media_url`.
    storage_path: StoragePath,
    name: Option<String>,
    media_type: String,
    bytes: i64,
    width: i64,
    height: i64,
    /// For videos and animations.
    duration_ms: Option<i64>,
    /// SHA-256 of the stored bytes, in hexadecimal.
    sha256: String,
    tags: Vec<String>,
    folder_path: Option<String>,
    source_url: Option<String>,
    /// A signed address of the bytes that works for some minutes.
    url: String,
    created_by: UserId,
    created_at: Instant,
    updated_at: Instant,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ItemList {
    items: Vec<ItemView>,
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ItemBody {
    item: ItemView,
}

fn view(app: &App, tenant: &Tenant, item: &Item) -> ItemView {
    let Facts { blob, sha256, bytes, media_type, width, height, duration_ms } = &item.facts;
    ItemView {
        id: item.id.clone(),
        storage_path: StoragePath::parse(&item.storage_path)
            .unwrap_or_else(|| StoragePath::new(&item.created_by, "unknown.bin")),
        name: item.name.clone(),
        media_type: media_type.clone(),
        bytes: *bytes,
        width: *width,
        height: *height,
        duration_ms: *duration_ms,
        sha256: sha256.iter().map(|byte| format!("{byte:02x}")).collect(),
        tags: serde_json::from_str(&item.tags).unwrap_or_default(),
        folder_path: item.folder_path.clone(),
        source_url: item.source_url.clone(),
        url: files::read_url(app, tenant.workspace(), blob),
        created_by: item.created_by.clone(),
        created_at: Instant(item.created_at),
        updated_at: Instant(item.updated_at),
    }
}

/// What the audit log keeps of an item: all but its signed address.
fn audit_json(item: &Item) -> String {
    let tags: serde_json::Value = serde_json::from_str(&item.tags).unwrap_or_default();
    serde_json::json!({
        "storage_path": item.storage_path, "name": item.name, "tags": tags,
        "folder_path": item.folder_path, "source_url": item.source_url,
        "media_type": item.facts.media_type, "bytes": item.facts.bytes,
    })
    .to_string()
}

input! {
    pub(crate) struct MediaFilter {
        /// Items in exactly this folder.
        folder: Option<FolderPath>,
        /// Items with this label.
        tag: Option<Tag>,
        /// How many to return.
        limit: Option<Limit>,
        /// `next_cursor` of the page before.
        cursor: Option<Cursor>,
    }
}

pub(crate) async fn list(
    caller: Caller,
    Query(query): Query<MediaFilter>,
) -> Result<Answer<ItemList>, Problem> {
    let app = caller.app();
    let tenant = caller.tenant()?;
    let filter = Filter {
        folder: query.folder.map(|path| path.as_str().to_owned()),
        tag: query.tag.map(|tag| tag.0),
    };
    let list = format!("media|{}|{filter:?}", tenant.brand());
    let page = paging::page(app, &list, query.limit, query.cursor.as_ref())?;
    let mut conn = app.db.read().await?;
    let (items, next) = media::list(&mut conn, tenant, &filter, &page).await?;
    let items = items.iter().map(|item| view(app, tenant, item)).collect();
    Answer::new(&ItemList { items, next_cursor: paging::next(app, &list, next.as_deref()) })
}

input! {
    /// An asset to add: fetched from `source_url`, or uploaded before to `storage_path`.
    #[schemars(extend("examples" = [{
        "source_url": "https://example.org/picture.jpg", "tags": ["launch"], "folder_path": "photos"
    }]))]
    pub(crate) struct NewItem {
        /// Where to fetch the asset from.
        #[schemars(extend("format" = "uri"))]
        source_url: Option<Text<1, 2000>>,
        /// Where a signed upload put the asset.
        storage_path: Option<StoragePath>,
        name: Option<Name>,
        tags: Option<Tags>,
        folder_path: Option<FolderPath>,
    }
    read_only: [
        "id", "media_type", "bytes", "width", "height", "duration_ms", "sha256", "url",
        "created_by", "created_at", "updated_at",
    ]
}

pub(crate) async fn create(
    caller: Caller,
    Body(new): Body<NewItem>,
) -> Result<Created<ItemBody>, Problem> {
    match (&new.source_url, &new.storage_path) {
        (Some(_), None) => import(caller, new).await,
        (None, Some(_)) => register(caller, new).await,
        _ => Err(Problem::invalid_field(
            "source_url",
            "required",
            "give either source_url or storage_path",
        )),
    }
}

async fn import(caller: Caller, new: NewItem) -> Result<Created<ItemBody>, Problem> {
    let app = caller.app();
    let tenant = caller.tenant()?;
    let now = caller.now();
    let url = new.source_url.as_ref().map(|url| url.0.clone()).unwrap_or_default();
    let raw = intake::download(app, tenant.workspace(), &url).await?;
    let stored = intake::store(app, tenant.workspace(), raw, "source_url", None, now).await?;
    let id = MediaId::new(now);
    let file = format!("{id}.{}", stored.kind.extension());
    let path = StoragePath::new(tenant.user(), &file);
    caller
        .write(async |mut tx| {
            let facts = stored.facts;
            let blob = media::settle_blob(&mut tx, tenant.workspace(), &facts, now).await?;
            media::insert_asset(&mut tx, tenant, &path, &blob, now).await?;
            let facts = Facts { blob, ..facts };
            add(&caller, tx, new, id, &path, facts).await
        })
        .await
}

async fn register(caller: Caller, new: NewItem) -> Result<Created<ItemBody>, Problem> {
    let tenant = caller.tenant()?;
    let Some(path) = new.storage_path.clone() else { return Err(Problem::not_found()) };
    caller
        .write(async |mut tx| {
            tx.take_turns_on(path.as_str()).await?;
            let Some(facts) = media::find_asset(&mut tx, tenant, &path).await? else {
                return Err(Problem::invalid_field(
                    "storage_path",
                    "media_not_found",
                    "nothing was uploaded there; use a URL from POST /uploads/posts/sign first",
                ));
            };
            if media::find_by_path(&mut tx, tenant, &path).await?.is_some() {
                return Err(Problem::new(Code::AlreadyExists, "It is in the library already."));
            }
            add(&caller, tx, new, MediaId::new(caller.now()), &path, facts).await
        })
        .await
}

/// Adds the item to the library, in the transaction that gave it its bytes.
async fn add(
    caller: &Caller,
    mut tx: Tx,
    new: NewItem,
    id: MediaId,
    path: &StoragePath,
    facts: Facts,
) -> Result<Created<ItemBody>, Problem> {
    let tenant = caller.tenant()?;
    let now = caller.now();
    let tags = label::without_repeats(new.tags.unwrap_or_default().0);
    let item = Item {
        id,
        storage_path: path.as_str().to_owned(),
        name: new.name.map(|name| name.0),
        folder_path: new.folder_path.as_ref().map(|path| path.as_str().to_owned()),
        tags: serde_json::to_string(&tags).map_err(Problem::internal)?,
        source_url: new.source_url.map(|url| url.0),
        created_by: tenant.user().clone(),
        created_at: now,
        updated_at: now,
        facts,
    };
    if let Some(folder) = &new.folder_path {
        folders::ensure(&mut tx, tenant, Tree::Media, folder, now).await?;
    }
    media::insert(&mut tx, tenant, &item, &tags).await?;
    let change = Change {
        action: "media.created",
        resource: "media",
        resource_id: item.id.as_str(),
        before: None,
        after: Some(&audit_json(&item)),
    };
    caller.record(&mut tx, change).await?;
    Answer::tagged(&ItemBody { item: view(caller.app(), tenant, &item) })
}

input! {
    /// New tags or a new folder for one item (`id`) or several (`ids`).
    #[schemars(extend("examples" = [{
        "ids": ["media_01hf7yat00000000000000000a"], "tags": ["launch"], "folder_path": "photos/2026"
    }]))]
    pub(crate) struct ItemChanges {
        id: Option<MediaId>,
        ids: Option<List<MediaId, 250, 1>>,
        /// Replaces all tags; `null` removes them.
        tags: Option<Option<Tags>>,
        /// `null` takes the items out of their folder.
        folder_path: Option<Option<FolderPath>>,
    }
}

pub(crate) async fn update(
    caller: Caller,
    Body(changes): Body<ItemChanges>,
) -> Result<Answer<ItemList>, Problem> {
    let ids = chosen(changes.id, changes.ids)?;
    let (tags, folder) = (changes.tags, changes.folder_path);
    if tags.is_none() && folder.is_none() {
        let message = "give tags, folder_path or both";
        return Err(Problem::invalid_field("tags", "required", message));
    }
    let tags = tags.map(|tags| label::without_repeats(tags.unwrap_or_default().0));
    let tenant = caller.tenant()?;
    let now = caller.now();
    caller
        .write(async |mut tx| {
            if let Some(Some(folder)) = &folder {
                folders::ensure(&mut tx, tenant, Tree::Media, folder, now).await?;
            }
            let mut items = Vec::with_capacity(ids.len());
            for id in &ids {
                tx.take_turns_on(id.as_str()).await?;
                let found = media::find(&mut tx, tenant, id).await?;
                let mut item = found.ok_or_else(Problem::not_found)?;
                let before = audit_json(&item);
                if let Some(folder) = &folder {
                    item.folder_path = folder.as_ref().map(|path| path.as_str().to_owned());
                }
                if let Some(tags) = &tags {
                    item.tags = serde_json::to_string(tags).map_err(Problem::internal)?;
                }
                item.updated_at = now;
                media::update(&mut tx, tenant, &item, tags.as_deref()).await?;
                let change = Change {
                    action: "media.updated",
                    resource: "media",
                    resource_id: id.as_str(),
                    before: Some(&before),
                    after: Some(&audit_json(&item)),
                };
                caller.record(&mut tx, change).await?;
                items.push(view(caller.app(), tenant, &item));
            }
            Answer::new(&ItemList { items, next_cursor: None })
        })
        .await
}

/// The items that are meant; all of them must exist, or nothing is done.
fn chosen(
    id: Option<MediaId>,
    ids: Option<List<MediaId, 250, 1>>,
) -> Result<Vec<MediaId>, Problem> {
    let wrong = |code, message: &str| Err(Problem::invalid_field("ids", code, message));
    match (id, ids) {
        (Some(id), None) => Ok(vec![id]),
        (None, Some(List(mut ids))) => {
            ids.sort_by(|one, other| one.as_str().cmp(other.as_str()));
            ids.dedup();
            Ok(ids)
        }
        (None, None) => wrong("required", "give id or ids"),
        (Some(_), Some(_)) => wrong("conflict", "give either id or ids"),
    }
}

input! {
    /// The items to delete.
    #[schemars(extend("examples" = [{ "ids": ["media_01hf7yat00000000000000000a"] }]))]
    pub(crate) struct ItemRemoval {
        id: Option<MediaId>,
        ids: Option<List<MediaId, 250, 1>>,
    }
}

pub(crate) async fn remove(
    caller: Caller,
    Body(removal): Body<ItemRemoval>,
) -> Result<Answer<Deleted>, Problem> {
    let ids = chosen(removal.id, removal.ids)?;
    let tenant = caller.tenant()?;
    let now = caller.now();
    let answer = caller
        .write(async |mut tx| {
            for id in &ids {
                tx.take_turns_on(id.as_str()).await?;
                let found = media::find(&mut tx, tenant, id).await?;
                let item = found.ok_or_else(Problem::not_found)?;
                media::delete(&mut tx, tenant, &item, now).await?;
                let change = Change {
                    action: "media.deleted",
                    resource: "media",
                    resource_id: id.as_str(),
                    before: Some(&audit_json(&item)),
                    after: None,
                };
                caller.record(&mut tx, change).await?;
            }
            Answer::new(&Deleted::YES)
        })
        .await?;
    crate::background::sweep_blobs(caller.app()).await;
    Ok(answer)
}

/// Where to send the bytes of one asset.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UploadView {
    id: UploadId,
    /// Send the bytes here, once.
    url: String,
    method: &'static str,
    headers: UploadHeaders,
    /// What posts take as `media_url`, and `POST /media-library` as `storage_path`, afterwards.
    storage_path: StoragePath,
    expires_at: Instant,
}

/// Headers that the upload must carry exactly.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UploadHeaders {
    #[serde(rename = "content-type")]
    content_type: String,
    #[serde(rename = "content-length")]
    content_length: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct UploadBody {
    upload: UploadView,
}

words! {
    /// A type that the library takes.
    pub(crate) enum MediaType {
        Jpeg = "image/jpeg",
        Png = "image/png",
        Webp = "image/webp",
        Gif = "image/gif",
        Mp4 = "video/mp4",
        Mov = "video/quicktime",
        Webm = "video/webm",
    }
}

impl MediaType {
    fn kind(self) -> Kind {
        match self {
            Self::Jpeg => Kind::Jpeg,
            Self::Png => Kind::Png,
            Self::Webp => Kind::Webp,
            Self::Gif => Kind::Gif,
            Self::Mp4 => Kind::Mp4,
            Self::Mov => Kind::Mov,
            Self::Webm => Kind::Webm,
        }
    }
}

input! {
    /// The asset that will be uploaded.
    #[schemars(extend("examples" = [{ "content_type": "image/jpeg", "size": 48213 }]))]
    pub(crate) struct UploadRequest {
        content_type: MediaType,
        /// The exact number of bytes.
        size: Whole<1, { i64::MAX }>,
    }
}

pub(crate) async fn sign_upload(
    caller: Caller,
    Body(wanted): Body<UploadRequest>,
) -> Result<Created<UploadBody>, Problem> {
    let app = caller.app();
    let kind = acceptable(app, &wanted)?;
    let tenant = caller.tenant()?;
    let now = caller.now();
    let file = format!("{}.{}", MediaId::new(now), kind.extension());
    let path = StoragePath::new(tenant.user(), &file);
    let upload = Upload {
        id: UploadId::new(now),
        brand: tenant.brand().as_str().to_owned(),
        workspace: tenant.workspace().clone(),
        storage_path: path.as_str().to_owned(),
        media_type: kind.mime().to_owned(),
        bytes: wanted.size.0,
        expires_at: now + UPLOAD_GOOD_FOR,
        used: false,
    };
    caller
        .write(async |mut tx| {
            media::insert_upload(&mut tx, tenant, &upload).await?;
            let after = serde_json::json!({
                "storage_path": path, "content_type": kind.mime(), "size": upload.bytes,
            });
            let change = Change {
                action: "upload.signed",
                resource: "upload",
                resource_id: upload.id.as_str(),
                before: None,
                after: Some(&after.to_string()),
            };
            caller.record(&mut tx, change).await?;
            let headers = UploadHeaders {
                content_type: kind.mime().to_owned(),
                content_length: upload.bytes.to_string(),
            };
            Answer::new(&UploadBody {
                upload: UploadView {
                    id: upload.id.clone(),
                    url: files::upload_url(app, &upload),
                    method: "PUT",
                    headers,
                    storage_path: path,
                    expires_at: Instant(upload.expires_at),
                },
            })
        })
        .await
}

fn acceptable(app: &App, wanted: &UploadRequest) -> Result<Kind, Problem> {
    let kind = wanted.content_type.kind();
    let limits = intake::limits(app);
    let limit = if kind.is_image() { limits.image_bytes } else { limits.video_bytes };
    if wanted.size.0.unsigned_abs() > limit {
        let message = format!("at most {limit} bytes for this type");
        return Err(Problem::invalid_field("size", "media_too_large", message));
    }
    Ok(kind)
}
