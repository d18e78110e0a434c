//! Content folders: a tree for posts and one for media.

use campanile_model::{
    decode::Instant,
    folder::{FolderMove, FolderRemoval, NewFolder, Tree},
    input,
    label::FolderPath,
    time::Millis,
};
use campanile_store::{Tx, audit::Change, folders, tenant::Tenant};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    answer::{Answer, Created, Deleted},
    caller::Caller,
    extract::{Body, Query},
    problem::{Code, Problem},
};

#[derive(Serialize, JsonSchema)]
pub(crate) struct FolderView {
    scope: Tree,
    /// The last part of the path.
    name: String,
    folder_path: FolderPath,
    /// `null` for a folder at the top.
    parent_path: Option<FolderPath>,
    created_at: Instant,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct FolderList {
    folders: Vec<FolderView>,
    /// Always `null`: a tree is listed whole.
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct FolderBody {
    folder: FolderView,
}

input! {
    pub(crate) struct FolderFilter {
        /// Which tree.
        scope: Tree,
    }
}

fn view(tree: Tree, folder: folders::Folder) -> FolderView {
    FolderView {
        scope: tree,
        name: folder.path.name().to_owned(),
        parent_path: folder.path.parent(),
        folder_path: folder.path,
        created_at: Instant(folder.created_at),
    }
}

pub(crate) async fn list(
    caller: Caller,
    Query(query): Query<FolderFilter>,
) -> Result<Answer<FolderList>, Problem> {
    caller.require(query.scope.read_scope())?;
    let mut conn = caller.app().db.read().await?;
    let found = folders::list(&mut conn, caller.tenant()?, query.scope).await?;
    let folders = found.into_iter().map(|folder| view(query.scope, folder)).collect();
    Answer::new(&FolderList { folders, next_cursor: None })
}

pub(crate) async fn create(
    caller: Caller,
    Body(new): Body<NewFolder>,
) -> Result<Created<FolderBody>, Problem> {
    let tree = new.scope;
    caller.require(tree.write_scope())?;
    let path = new_path(new)?;
    let tenant = caller.tenant()?;
    let now = caller.now();
    caller
        .write(async |mut tx| {
            folders::hold(&mut tx, tenant, tree).await?;
            if folders::find(&mut tx, tenant, tree, &path).await?.is_some() {
                return Err(exists());
            }
            ensure(&mut tx, tenant, tree, &path, now).await?;
            record(&caller, &mut tx, "folder.created", tree, None, Some(&path)).await?;
            let folder = view(tree, folders::Folder { path, created_at: now });
            Answer::new(&FolderBody { folder })
        })
        .await
}

/// Makes the folder where it is missing, for everybody who files something.
pub(crate) async fn ensure(
    tx: &mut Tx,
    tenant: &Tenant,
    tree: Tree,
    path: &FolderPath,
    now: Millis,
) -> Result<(), Problem> {
    if folders::ensure(tx, tenant, tree, path, now).await? {
        return Ok(());
    }
    let most = folders::MOST;
    Err(Problem::new(Code::LimitReached, format!("A brand may have {most} folders in each tree.")))
}

/// Either the whole path, or a name and where it goes.
fn new_path(new: NewFolder) -> Result<FolderPath, Problem> {
    let choose = "give either folder_path, or name with an optional parent_path";
    match (new.folder_path, new.name, new.parent_path) {
        (Some(path), None, None) => Ok(path),
        (None, Some(name), parent) => join("name", parent.as_ref(), &name.0),
        (None, None, _) => Err(Problem::invalid_field("folder_path", "required", choose)),
        (Some(_), _, _) => Err(Problem::invalid_field("folder_path", "conflict", choose)),
    }
}

fn join(field: &str, parent: Option<&FolderPath>, name: &str) -> Result<FolderPath, Problem> {
    if name.contains('/') {
        let message = "a name has no slash; use folder_path for a whole path";
        return Err(Problem::invalid_field(field, "invalid_folder_path", message));
    }
    let path = match parent {
        Some(parent) => format!("{}/{name}", parent.as_str()),
        None => name.to_owned(),
    };
    FolderPath::parse(&path)
        .map_err(|reason| Problem::invalid_field(field, "invalid_folder_path", reason))
}

pub(crate) async fn relocate(
    caller: Caller,
    Body(change): Body<FolderMove>,
) -> Result<Answer<FolderBody>, Problem> {
    let tree = change.scope;
    caller.require(tree.write_scope())?;
    let old = change.folder_path.clone();
    let new = moved_path(change)?;
    let tenant = caller.tenant()?;
    caller
        .write(async |mut tx| {
            folders::hold(&mut tx, tenant, tree).await?;
            let folder = folders::find(&mut tx, tenant, tree, &old).await?;
            let folder = folder.ok_or_else(Problem::not_found)?;
            if new != old {
                check_move(&mut tx, tenant, tree, &old, &new).await?;
                if let Some(parent) = new.parent() {
                    ensure(&mut tx, tenant, tree, &parent, caller.now()).await?;
                }
                folders::relocate(&mut tx, tenant, tree, &old, &new).await?;
            }
            record(&caller, &mut tx, "folder.moved", tree, Some(&old), Some(&new)).await?;
            Answer::new(&FolderBody { folder: view(tree, folders::Folder { path: new, ..folder }) })
        })
        .await
}

fn moved_path(change: FolderMove) -> Result<FolderPath, Problem> {
    match (change.new_path, change.name, change.parent_path) {
        (Some(path), None, None) => Ok(path),
        (None, None, None) => Err(Problem::invalid_field(
            "new_path",
            "required",
            "give new_path, or a new name, a new parent_path or both",
        )),
        (None, name, parent) => {
            let name = name.map_or_else(|| change.folder_path.name().to_owned(), |name| name.0);
            let parent = parent.unwrap_or_else(|| change.folder_path.parent());
            join("name", parent.as_ref(), &name)
        }
        (Some(_), _, _) => Err(Problem::invalid_field(
            "new_path",
            "conflict",
            "new_path says it all; leave name and parent_path out",
        )),
    }
}

async fn check_move(
    tx: &mut Tx,
    tenant: &Tenant,
    tree: Tree,
    old: &FolderPath,
    new: &FolderPath,
) -> Result<(), Problem> {
    if old.contains(new) {
        let message = "a folder cannot be moved into itself";
        return Err(Problem::invalid_field("new_path", "invalid_folder_path", message));
    }
    if folders::find(tx, tenant, tree, new).await?.is_some() {
        return Err(exists());
    }
    let (bytes, levels) = folders::longest_beneath(tx, tenant, tree, old).await?;
    let bytes = bytes - old.as_str().len() + new.as_str().len();
    let levels = levels - old.as_str().split('/').count() + new.as_str().split('/').count();
    if bytes > FolderPath::MOST_BYTES || levels > FolderPath::MOST_SEGMENTS {
        let message = "a folder beneath it would lie too deep or have too long a path";
        return Err(Problem::invalid_field("new_path", "invalid_folder_path", message));
    }
    Ok(())
}

pub(crate) async fn remove(
    caller: Caller,
    Body(removal): Body<FolderRemoval>,
) -> Result<Answer<Deleted>, Problem> {
    let FolderRemoval { scope: tree, folder_path: path } = removal;
    caller.require(tree.write_scope())?;
    let tenant = caller.tenant()?;
    caller
        .write(async |mut tx| {
            folders::hold(&mut tx, tenant, tree).await?;
            if folders::delete(&mut tx, tenant, tree, &path).await? == 0 {
                return Err(Problem::not_found());
            }
            if !folders::is_empty(&mut tx, tenant, tree, &path).await? {
                return Err(Problem::new(
                    Code::FolderNotEmpty,
                    "Move or delete what is in the folder first.",
                ));
            }
            record(&caller, &mut tx, "folder.deleted", tree, Some(&path), None).await?;
            Answer::new(&Deleted::YES)
        })
        .await
}

fn exists() -> Problem {
    Problem::new(Code::AlreadyExists, "A folder with this path exists; choose another name.")
}

async fn record(
    caller: &Caller,
    tx: &mut Tx,
    action: &'static str,
    tree: Tree,
    before: Option<&FolderPath>,
    after: Option<&FolderPath>,
) -> Result<(), Problem> {
    let json = |path: Option<&FolderPath>| {
        path.map(|path| serde_json::json!({ "scope": tree, "folder_path": path }).to_string())
    };
    let (was, is) = (json(before), json(after));
    let change = Change {
        action,
        resource: "folder",
        resource_id: after.or(before).map_or("", FolderPath::as_str),
        before: was.as_deref(),
        after: is.as_deref(),
    };
    caller.record(tx, change).await
}
