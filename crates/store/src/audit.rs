//! Rows of `audit_log`: who did what, in the transaction that did it, sealed into a chain.

use campanile_model::{
    ids::{AuditId, BrandId, UserId, WorkspaceId},
    time::Millis,
};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::{
    db::{Conn, Db, Result, Row, Tx},
    page::{Page, Window},
    params,
};

/// Who acts, through which door, in which request.
#[derive(Clone, Debug)]
pub struct Actor {
    pub workspace: WorkspaceId,
    pub brand: Option<BrandId>,
    pub user: Option<UserId>,
    /// `key`, `session`, `upload`, `cli` or `system`.
    pub door: &'static str,
    pub credential: Option<String>,
    pub request_id: String,
    pub ip: Option<String>,
}

/// What was done to which thing. States are JSON without secrets.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// `noun.verb`, such as `post.created`.
    pub action: &'static str,
    pub resource: &'static str,
    pub resource_id: &'a str,
    pub before: Option<&'a str>,
    pub after: Option<&'a str>,
}

pub async fn record(tx: &mut Tx, actor: &Actor, change: Change<'_>, now: Millis) -> Result<()> {
    const SQL: &str = "
        INSERT INTO audit_log (workspace_id, id, brand_id, user_id, door, credential_id,
                               request_id, ip, action, resource, resource_id, before, after,
                               created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
    tx.push(
        SQL,
        params![
            &actor.workspace,
            &AuditId::new(now),
            actor.brand.as_ref(),
            actor.user.as_ref(),
            actor.door,
            actor.credential.as_deref(),
            &actor.request_id,
            actor.ip.as_deref(),
            change.action,
            change.resource,
            change.resource_id,
            change.before,
            change.after,
            now
        ],
    )
    .await?;
    tx.mark_audited();
    Ok(())
}

#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub action: Option<String>,
    pub resource: Option<String>,
    pub resource_id: Option<String>,
    pub user_id: Option<String>,
    pub brand_id: Option<String>,
    pub from: Option<Millis>,
    pub to: Option<Millis>,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub id: AuditId,
    pub brand: Option<String>,
    pub user: Option<String>,
    pub door: String,
    pub credential: Option<String>,
    pub request_id: String,
    pub ip: Option<String>,
    pub action: String,
    pub resource: String,
    pub resource_id: String,
    pub before: Option<String>,
    pub after: Option<String>,
    pub created_at: Millis,
    pub seal: Option<i64>,
}

const COLUMNS: &str = "a.id, a.brand_id, a.user_id, a.door, a.credential_id, a.request_id, a.ip,
    a.action, a.resource, a.resource_id, a.before, a.after, a.created_at, a.seal";

fn read(row: &Row<'_>) -> Result<Entry> {
    Ok(Entry {
        id: row.id(0)?,
        brand: row.optional_text(1)?,
        user: row.optional_text(2)?,
        door: row.text(3)?,
        credential: row.optional_text(4)?,
        request_id: row.text(5)?,
        ip: row.optional_text(6)?,
        action: row.text(7)?,
        resource: row.text(8)?,
        resource_id: row.text(9)?,
        before: row.optional_text(10)?,
        after: row.optional_text(11)?,
        created_at: row.int(12)?,
        seal: row.optional_int(13)?,
    })
}

/// Entries of the workspace that concern no brand, or one that `viewer` is a member of.
const SEEN: &str = "(w.brand_id IS NULL OR EXISTS (
        SELECT 1 FROM memberships m WHERE m.user_id = $2 AND m.brand_id = w.brand_id))";

/// The statements of [`list`]; public to the test that prepares them.
pub fn list_statements() -> (String, String) {
    let window = format!(
        "SELECT w.* FROM audit_log w
          WHERE w.workspace_id = $1 AND w.id < $3 AND w.id >= $4 AND {SEEN}
          ORDER BY w.id DESC LIMIT {}",
        Window::WIDTH
    );
    let rows = format!(
        "SELECT {COLUMNS} FROM ({window}) a
          WHERE (CAST($6 AS TEXT) IS NULL OR a.action = $6)
            AND (CAST($7 AS TEXT) IS NULL OR a.resource = $7)
            AND (CAST($8 AS TEXT) IS NULL OR a.resource_id = $8)
            AND (CAST($9 AS TEXT) IS NULL OR a.user_id = $9)
            AND (CAST($10 AS TEXT) IS NULL OR a.brand_id = $10)
          ORDER BY a.id DESC LIMIT $5"
    );
    let edge = format!(
        "SELECT min(edge.id) FROM ({}) edge HAVING count(*) = {}",
        window.replace("w.*", "w.id"),
        Window::WIDTH
    );
    (rows, edge)
}

/// One page of entries, newest first, and the id below which the next one starts.
pub async fn list(
    conn: &mut Conn,
    workspace: &WorkspaceId,
    viewer: &UserId,
    filter: &Filter,
    page: &Page,
) -> Result<(Vec<Entry>, Option<String>)> {
    let above = page
        .below
        .clone()
        .or_else(|| filter.to.map(|to| AuditId::floor(to.saturating_add(1)).as_str().to_owned()));
    let above = above.as_deref().unwrap_or("audit_~");
    let floor = filter.from.map(|from| AuditId::floor(from).as_str().to_owned());
    let floor = floor.as_deref().unwrap_or("");
    let (rows, edge) = list_statements();
    let params = params![
        workspace,
        viewer,
        above,
        floor,
        page.limit + 1,
        filter.action.as_deref(),
        filter.resource.as_deref(),
        filter.resource_id.as_deref(),
        filter.user_id.as_deref(),
        filter.brand_id.as_deref()
    ];
    let mut window = Window::new(page.limit);
    let mut entries = Vec::new();
    conn.each(&rows, params, |row| {
        if window.admits(row.str(0)?) {
            entries.push(read(row)?);
        }
        Ok(())
    })
    .await?;
    if window.next.is_none() {
        let edge = conn.optional(&edge, &params[..4], |row| row.optional_text(0)).await?;
        return Ok((entries, edge.flatten()));
    }
    Ok((entries, window.next))
}

/// How many entries one link of the chain covers at most.
const LARGEST_SEAL: i64 = 2000;

/// Seals what is not sealed yet, one link at a time. Done beside the work, in batches, so that
/// an entry costs no more for being in the chain.
///
/// The chain is keyed: without `key`, which the store does not hold, it cannot be made anew.
pub async fn seal(db: &Db, key: &[u8; 32], now: Millis) -> Result<u64> {
    let mut sealed = 0;
    loop {
        let batch = db.write(async |mut tx| seal_batch(&mut tx, key, now).await).await?;
        sealed += batch;
        if batch < LARGEST_SEAL as u64 {
            return Ok(sealed);
        }
    }
}

async fn seal_batch(tx: &mut Tx, key: &[u8; 32], now: Millis) -> Result<u64> {
    const LAST: &str = "SELECT number, hash FROM audit_seals ORDER BY number DESC LIMIT 1";
    // An entry that commits late on PostgreSQL simply goes into a later link.
    const MARK: &str = "
        UPDATE audit_log SET seal = $1 /* every tenant: one chain covers them all */
         WHERE seal IS NULL AND (workspace_id, id) IN (
               SELECT workspace_id, id FROM audit_log WHERE seal IS NULL ORDER BY id LIMIT $2)";
    const LINK: &str = "
        INSERT INTO audit_seals (number, entries, previous, hash, created_at)
        VALUES ($1, $2, $3, $4, $5)";
    tx.take_turns_on("audit chain").await?;
    let last =
        tx.optional(LAST, params![], |row| Ok((row.int(0)?, row.bytes(1)?.to_vec()))).await?;
    let (number, previous) = last.unwrap_or((0, vec![0; 32]));
    let marked = tx.execute(MARK, params![number + 1, LARGEST_SEAL]).await?;
    if marked > 0 {
        let (entries, hash) = hash_link(tx, key, number + 1, &previous).await?;
        tx.push(LINK, params![number + 1, entries, &previous, &hash, now]).await?;
    }
    Ok(marked)
}

/// The hash over the link before and every entry of this one, in order.
async fn hash_link(
    conn: &mut Conn,
    key: &[u8; 32],
    number: i64,
    previous: &[u8],
) -> Result<(i64, [u8; 32])> {
    let sql = format!(
        "SELECT {COLUMNS}, a.workspace_id FROM audit_log a
          WHERE a.seal = $1 /* every tenant: one chain covers them all */ ORDER BY a.id"
    );
    let mut hash = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    hash.update(previous);
    hash.update(&number.to_be_bytes());
    let mut entries = 0;
    conn.each(&sql, params![number], |row| {
        entries += 1;
        for column in (0..12).chain([14]) {
            let text = row.optional_str(column)?;
            // The length keeps two columns from being read as one.
            let length = text.map_or(u64::MAX, |text| text.len() as u64);
            hash.update(&length.to_be_bytes());
            hash.update(text.unwrap_or_default().as_bytes());
        }
        hash.update(&row.int(12)?.to_be_bytes());
        Ok(())
    })
    .await?;
    Ok((entries, hash.finalize().into_bytes().into()))
}

/// What a look at the whole chain found.
#[derive(Debug, PartialEq, Eq)]
pub enum Chain {
    Whole { links: i64, entries: i64, unsealed: i64 },
    Broken { link: i64, why: &'static str },
}

/// Recomputes every link. An entry that was changed, removed or slipped in breaks the chain.
pub async fn verify(conn: &mut Conn, key: &[u8; 32]) -> Result<Chain> {
    const LINKS: &str = "SELECT number, entries, previous, hash FROM audit_seals ORDER BY number";
    const UNSEALED: &str =
        "SELECT count(*) FROM audit_log WHERE seal IS NULL /* every tenant: one chain */";
    const STRAY: &str = "
        SELECT count(*) FROM audit_log /* every tenant: one chain */
         WHERE seal IS NOT NULL AND seal NOT IN (SELECT number FROM audit_seals)";
    let links = conn
        .all(LINKS, params![], |row| {
            Ok((row.int(0)?, row.int(1)?, row.bytes(2)?.to_vec(), row.bytes(3)?.to_vec()))
        })
        .await?;
    let (mut last, mut previous, mut total) = (0, vec![0; 32], 0);
    for (number, entries, claimed_previous, claimed) in links {
        let broken = |why| Ok(Chain::Broken { link: number, why });
        if number != last + 1 {
            return broken("a link before it is missing");
        }
        if claimed_previous != previous {
            return broken("it does not continue the link before it");
        }
        let (found, hash) = hash_link(conn, key, number, &previous).await?;
        if found != entries {
            return broken("entries were removed or added");
        }
        if claimed != hash {
            return broken("an entry was changed");
        }
        (last, previous, total) = (number, claimed, total + entries);
    }
    if conn.count(STRAY, params![]).await? > 0 {
        return Ok(Chain::Broken { link: last + 1, why: "a link is missing at the end" });
    }
    let unsealed = conn.count(UNSEALED, params![]).await?;
    Ok(Chain::Whole { links: last, entries: total, unsealed })
}
