//! Rows of `audit_log`: who did what, in the transaction that did it, sealed into a chain.

use campanile_model::{
    ids::{AuditId, BrandId, UserId, WorkspaceId},
    time::{Millis, SECOND},
};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::{
    db::{Conn, Db, Result, Row, Tx},
    page::{Page, Window},
    params, settings,
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
    pub sealed: bool,
}

const COLUMNS: &str = "a.id, a.brand_id, a.user_id, a.door, a.credential_id, a.request_id, a.ip,
    a.action, a.resource, a.resource_id, a.before, a.after, a.created_at";

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
        sealed: row.str(0)? <= row.optional_str(13)?.unwrap_or_default(),
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
        "SELECT {COLUMNS}, (SELECT upto FROM audit_seals ORDER BY number DESC LIMIT 1)
           FROM ({window}) a
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
const LARGEST_LINK: i64 = 2000;

/// Where the head of the chain is kept, so that a chain whose last links were cut off shows it.
const HEAD: &str = "audit chain head";

/// One link: a range of ids, and a hash over the link before and every entry in the range.
struct Link {
    number: i64,
    upto: String,
    entries: i64,
    previous: Vec<u8>,
    hash: Vec<u8>,
}

impl Link {
    const COLUMNS: &str = "number, upto, entries, previous, hash";

    /// What the first link continues.
    fn root() -> Self {
        let (upto, previous, hash) = (String::new(), Vec::new(), vec![0; 32]);
        Self { number: 0, upto, entries: 0, previous, hash }
    }

    fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            number: row.int(0)?,
            upto: row.text(1)?,
            entries: row.int(2)?,
            previous: row.bytes(3)?.to_vec(),
            hash: row.bytes(4)?.to_vec(),
        })
    }
}

async fn last_link(conn: &mut Conn) -> Result<Link> {
    let sql = format!("SELECT {} FROM audit_seals ORDER BY number DESC LIMIT 1", Link::COLUMNS);
    Ok(conn.optional(&sql, params![], Link::read).await?.unwrap_or_else(Link::root))
}

/// Seals what is not sealed yet, one link at a time. Entries are only read, beside the work,
/// and a link is one row: an entry costs no more for being in the chain.
///
/// The chain is keyed: without `key`, which the store does not hold, it cannot be made anew.
pub async fn seal(db: &Db, key: &[u8; 32], now: Millis) -> Result<u64> {
    let mut sealed = 0;
    loop {
        let entries = seal_link(db, key, now).await?;
        sealed += entries.unsigned_abs();
        if entries < LARGEST_LINK {
            return Ok(sealed);
        }
    }
}

async fn seal_link(db: &Db, key: &[u8; 32], now: Millis) -> Result<i64> {
    const LINK: &str = "
        INSERT INTO audit_seals (number, upto, entries, previous, hash, created_at)
        VALUES ($1, $2, $3, $4, $5, $6)";
    let mut conn = db.read().await?;
    let settled = settled(&mut conn).await?;
    let last = last_link(&mut conn).await?;
    let link = next_link(&mut conn, key, &last, &settled).await?;
    drop(conn);
    if link.entries == 0 {
        return Ok(0);
    }
    db.write(async |mut tx| {
        tx.take_turns_on("audit chain").await?;
        if last_link(&mut tx).await?.number != last.number {
            // Another process was quicker.
            return Ok(0);
        }
        let Link { number, upto, entries, previous, hash } = &link;
        tx.push(LINK, params![*number, upto, *entries, previous, hash, now]).await?;
        settings::put(&mut tx, HEAD, &head(key, &link)).await?;
        Ok(*entries)
    })
    .await
}

/// Clocks of two servers on one store may differ by so much.
const SKEW: Millis = 2 * SECOND;

/// The id up to which no entry can appear any more: that of the oldest transaction that may
/// still commit.
async fn settled(conn: &mut Conn) -> Result<String> {
    Ok(match conn.oldest_transaction().await? {
        Some(began) => AuditId::floor(began - SKEW).into(),
        None => "audit_~".to_owned(),
    })
}

/// The link after `last`, over entries up to `upto` and no more than fit.
async fn next_link(conn: &mut Conn, key: &[u8; 32], last: &Link, upto: &str) -> Result<Link> {
    let sql = format!(
        "SELECT {COLUMNS}, a.workspace_id FROM audit_log a
          WHERE a.id > $1 AND a.id <= $2 /* every tenant: one chain covers them all */
          ORDER BY a.id LIMIT $3"
    );
    let number = last.number + 1;
    let mut hash = keyed(key);
    hash.update(&last.hash);
    hash.update(&number.to_be_bytes());
    let (mut entries, mut reached) = (0, last.upto.clone());
    conn.each(&sql, params![&last.upto, upto, LARGEST_LINK], |row| {
        entries += 1;
        reached = row.text(0)?;
        for column in (0..12).chain([13]) {
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
    let hash = hash.finalize().into_bytes().to_vec();
    Ok(Link { number, upto: reached, entries, previous: last.hash.clone(), hash })
}

fn keyed(key: &[u8; 32]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes a key of any length")
}

fn head(key: &[u8; 32], link: &Link) -> Vec<u8> {
    let mut hash = keyed(key);
    hash.update(HEAD.as_bytes());
    hash.update(&link.number.to_be_bytes());
    hash.update(&link.hash);
    hash.finalize().into_bytes().to_vec()
}

/// What a look at the whole chain found.
#[derive(Debug, PartialEq, Eq)]
pub enum Chain {
    Whole { links: i64, entries: i64, unsealed: i64 },
    Broken { link: i64, why: &'static str },
}

/// Recomputes every link. An entry that was changed, removed or slipped in breaks the chain.
pub async fn verify(conn: &mut Conn, key: &[u8; 32]) -> Result<Chain> {
    const UNSEALED: &str =
        "SELECT count(*) FROM audit_log WHERE id > $1 /* every tenant: one chain */";
    let links = format!("SELECT {} FROM audit_seals ORDER BY number", Link::COLUMNS);
    // Looked at first: a link that is made meanwhile comes after it.
    let kept = settings::find(conn, HEAD).await?;
    let (mut last, mut total, mut has_head) = (Link::root(), 0, kept.is_none());
    for link in conn.all(&links, params![], Link::read).await? {
        let broken = |why| Ok(Chain::Broken { link: link.number, why });
        if link.number != last.number + 1 {
            return broken("a link before it is missing");
        }
        if link.previous != last.hash {
            return broken("it does not continue the link before it");
        }
        let found = next_link(conn, key, &last, &link.upto).await?;
        if found.entries != link.entries || found.upto != link.upto {
            return broken("entries were removed or added");
        }
        if found.hash != link.hash {
            return broken("an entry was changed");
        }
        total += link.entries;
        has_head |= kept.as_ref().is_some_and(|kept| *kept == head(key, &link));
        last = link;
    }
    if !has_head {
        return Ok(Chain::Broken { link: last.number + 1, why: "a link is missing at the end" });
    }
    let unsealed = conn.count(UNSEALED, params![&last.upto]).await?;
    Ok(Chain::Whole { links: last.number, entries: total, unsealed })
}

/// Ids of new entries must lie above all that a link may cover, even if the clock was set back.
pub async fn stay_above(conn: &mut Conn) -> Result<()> {
    const NEWEST: &str = "SELECT max(id) FROM audit_log /* every tenant: one chain */";
    let newest = conn.optional(NEWEST, params![], |row| row.optional_text(0)).await?.flatten();
    if let Some(newest) = newest {
        AuditId::stored(&newest).stay_above();
    }
    Ok(())
}
