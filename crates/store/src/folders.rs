//! Rows of `content_folders`, and the paths that posts and media carry.

use campanile_model::{folder::Tree, label::FolderPath, time::Millis};

use crate::{
    db::{Conn, Result, Tx},
    params,
    tenant::Tenant,
};

#[derive(Clone, Debug)]
pub struct Folder {
    pub path: FolderPath,
    pub created_at: Millis,
}

/// Keeps everybody else from filing into the tree or changing its shape until the end of the
/// transaction. Many may file into it at once.
pub async fn hold(tx: &mut Tx, tenant: &Tenant, tree: Tree) -> Result<()> {
    tx.take_turns_on(&tree_name(tenant, tree)).await
}

fn tree_name(tenant: &Tenant, tree: Tree) -> String {
    format!("folders|{}|{}", tenant.brand(), tree.as_str())
}

/// All folders of a tree in the order of their paths.
pub async fn list(conn: &mut Conn, tenant: &Tenant, tree: Tree) -> Result<Vec<Folder>> {
    const SQL: &str = "
        SELECT path, created_at FROM content_folders WHERE brand_id = $1 AND scope = $2
         ORDER BY path";
    let mut folders = Vec::new();
    conn.each(SQL, params![tenant.brand(), tree.as_str()], |row| {
        if let Ok(path) = FolderPath::parse(row.str(0)?) {
            folders.push(Folder { path, created_at: row.int(1)? });
        }
        Ok(())
    })
    .await?;
    Ok(folders)
}

pub async fn find(
    conn: &mut Conn,
    tenant: &Tenant,
    tree: Tree,
    path: &FolderPath,
) -> Result<Option<Folder>> {
    const SQL: &str = "
        SELECT created_at FROM content_folders WHERE brand_id = $1 AND scope = $2 AND path = $3";
    let params = params![tenant.brand(), tree.as_str(), path.as_str()];
    let created_at = conn.optional(SQL, params, |row| row.int(0)).await?;
    Ok(created_at.map(|created_at| Folder { path: path.clone(), created_at }))
}

pub async fn count(conn: &mut Conn, tenant: &Tenant, tree: Tree) -> Result<i64> {
    const SQL: &str = "SELECT count(*) FROM content_folders WHERE brand_id = $1 AND scope = $2";
    conn.count(SQL, params![tenant.brand(), tree.as_str()]).await
}

/// More would be no order.
pub const MOST: i64 = 10_000;

/// Makes the folder and all above it that are missing, and keeps others from removing or
/// moving them until the transaction ends. `false` when there would be too many.
pub async fn ensure(
    tx: &mut Tx,
    tenant: &Tenant,
    tree: Tree,
    path: &FolderPath,
    now: Millis,
) -> Result<bool> {
    const SQL: &str = "
        INSERT INTO content_folders (brand_id, scope, path, created_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT DO NOTHING";
    tx.share_turns_on(&tree_name(tenant, tree)).await?;
    if find(tx, tenant, tree, path).await?.is_some() {
        return Ok(true);
    }
    if count(tx, tenant, tree).await? >= MOST {
        return Ok(false);
    }
    for level in path.lineage() {
        tx.push(SQL, params![tenant.brand(), tree.as_str(), level, now]).await?;
    }
    Ok(true)
}

/// Whether the folder holds nothing: no folder, no post, no media item.
pub async fn is_empty(
    conn: &mut Conn,
    tenant: &Tenant,
    tree: Tree,
    path: &FolderPath,
) -> Result<bool> {
    const FOLDERS: &str = "
        SELECT 1 FROM content_folders
         WHERE brand_id = $1 AND scope = $2 AND path >= $3 AND path < $4 LIMIT 1";
    const POSTS: &str = "SELECT 1 FROM posts WHERE brand_id = $1 AND folder_path = $2 LIMIT 1";
    const MEDIA: &str =
        "SELECT 1 FROM media_items WHERE brand_id = $1 AND folder_path = $2 LIMIT 1";
    let (from, to) = beneath(path);
    let params = params![tenant.brand(), tree.as_str(), &from, &to];
    let folders = conn.optional(FOLDERS, params, |_| Ok(())).await?;
    let content = match tree {
        Tree::Posts => POSTS,
        Tree::Media => MEDIA,
    };
    let params = params![tenant.brand(), path.as_str()];
    let content = conn.optional(content, params, |_| Ok(())).await?;
    Ok(folders.is_none() && content.is_none())
}

/// How many folders were there to be removed: one or none.
pub async fn delete(tx: &mut Tx, tenant: &Tenant, tree: Tree, path: &FolderPath) -> Result<u64> {
    const SQL: &str =
        "DELETE FROM content_folders WHERE brand_id = $1 AND scope = $2 AND path = $3";
    tx.execute(SQL, params![tenant.brand(), tree.as_str(), path.as_str()]).await
}

/// The deepest path under the folder in bytes and levels, to know whether a move still fits.
pub async fn longest_beneath(
    conn: &mut Conn,
    tenant: &Tenant,
    tree: Tree,
    path: &FolderPath,
) -> Result<(usize, usize)> {
    const SQL: &str = "
        SELECT path FROM content_folders
         WHERE brand_id = $1 AND scope = $2 AND path >= $3 AND path < $4";
    let (from, to) = beneath(path);
    let (mut bytes, mut levels) = (path.as_str().len(), path.as_str().split('/').count());
    conn.each(SQL, params![tenant.brand(), tree.as_str(), &from, &to], |row| {
        let found = row.str(0)?;
        bytes = bytes.max(found.len());
        levels = levels.max(found.split('/').count());
        Ok(())
    })
    .await?;
    Ok((bytes, levels))
}

/// Moves the folder and everything beneath it: folders, posts or media items.
pub async fn relocate(
    tx: &mut Tx,
    tenant: &Tenant,
    tree: Tree,
    old: &FolderPath,
    new: &FolderPath,
) -> Result<()> {
    const FOLDERS: &str = "
        UPDATE content_folders SET path = $4 || substr(path, $5)
         WHERE brand_id = $1 AND scope = $2 AND (path = $3 OR (path >= $6 AND path < $7))";
    const POSTS: &str = "
        UPDATE posts SET folder_path = $3 || substr(folder_path, $4)
         WHERE brand_id = $1 AND (folder_path = $2 OR (folder_path >= $5 AND folder_path < $6))";
    const MEDIA: &str = "
        UPDATE media_items SET folder_path = $3 || substr(folder_path, $4)
         WHERE brand_id = $1 AND (folder_path = $2 OR (folder_path >= $5 AND folder_path < $6))";
    let (from, to) = beneath(old);
    let (brand, old, new) = (tenant.brand(), old.as_str(), new.as_str());
    // Where the rest of a path begins, counted in characters from one.
    let rest = i64::try_from(old.chars().count()).unwrap_or(i64::MAX) + 1;
    let params = params![brand, tree.as_str(), old, new, rest, &from, &to];
    tx.execute(FOLDERS, params).await?;
    let content = match tree {
        Tree::Posts => POSTS,
        Tree::Media => MEDIA,
    };
    tx.execute(content, params![brand, old, new, rest, &from, &to]).await?;
    Ok(())
}

/// The range of paths that begin with `path/`: `0` is the character after the slash.
fn beneath(path: &FolderPath) -> (String, String) {
    (format!("{}/", path.as_str()), format!("{}0", path.as_str()))
}
