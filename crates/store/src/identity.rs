//! Who holds a credential, and what they may reach.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use campanile_model::{
    ids::{BrandId, KeyId, SessionId, UserId, WorkspaceId},
    scope::Scopes,
    time::{Millis, SECOND},
};

use crate::{
    db::{Conn, Result, Row},
    params,
    tenant::Tenant,
};

/// A credential that exists, with everything a request needs to know of its holder.
#[derive(Debug)]
pub struct Identity {
    pub user: UserId,
    pub email: String,
    pub name: String,
    pub workspace: WorkspaceId,
    pub workspace_name: String,
    pub credential: Credential,
    pub expires_at: Option<Millis>,
    pub revoked: bool,
    pub disabled: bool,
    /// The brands within reach, oldest first: the first is the default.
    tenants: Vec<Arc<Tenant>>,
    last_noted: AtomicI64,
}

#[derive(Clone, Debug)]
pub enum Credential {
    Key { id: KeyId, name: String, scopes: Scopes },
    Session { id: SessionId },
}

impl Identity {
    /// The named brand, or the default one; `None` when it is not within reach.
    pub fn tenant(&self, brand: Option<&str>) -> Option<Arc<Tenant>> {
        let found = match brand {
            Some(wanted) => self.tenants.iter().find(|tenant| tenant.brand().as_str() == wanted),
            None => self.tenants.first(),
        };
        found.cloned()
    }

    /// Whether a use at `now` is worth noting: once a second is often enough.
    pub fn is_worth_noting(&self, now: Millis) -> bool {
        let last = self.last_noted.load(Ordering::Relaxed);
        let worth = now - last >= SECOND;
        if worth {
            self.last_noted.store(now, Ordering::Relaxed);
        }
        worth
    }

    pub fn credential_id(&self) -> &str {
        match &self.credential {
            Credential::Key { id, .. } => id.as_str(),
            Credential::Session { id } => id.as_str(),
        }
    }
}

/// One row per brand of the key's user, so that a request costs one round trip.
const BY_KEY: &str = "
    SELECT k.id, k.name, k.scopes, k.expires_at, k.revoked_at,
           u.id, u.email, u.name, u.disabled_at, w.id, w.name, b.id
      FROM api_keys k
      JOIN users u ON u.id = k.user_id
      JOIN workspaces w ON w.id = u.workspace_id
      LEFT JOIN memberships m ON m.user_id = u.id
      LEFT JOIN brands b ON b.id = m.brand_id AND b.deleted_at IS NULL
     WHERE k.hash = $1
     ORDER BY b.id";

const BY_SESSION: &str = "
    SELECT s.id, '', '', s.expires_at, CAST(NULL AS BIGINT),
           u.id, u.email, u.name, u.disabled_at, w.id, w.name, b.id
      FROM sessions s
      JOIN users u ON u.id = s.user_id
      JOIN workspaces w ON w.id = u.workspace_id
      LEFT JOIN memberships m ON m.user_id = u.id
      LEFT JOIN brands b ON b.id = m.brand_id AND b.deleted_at IS NULL
     WHERE s.hash = $1
     ORDER BY b.id";

pub async fn find_by_key(conn: &mut Conn, hash: &[u8; 32]) -> Result<Option<Identity>> {
    let key = |row: &Row<'_>| {
        Ok(Credential::Key {
            id: row.id(0)?,
            name: row.text(1)?,
            scopes: Scopes::from_text(row.str(2)?),
        })
    };
    find(conn, BY_KEY, hash, key).await
}

pub async fn find_by_session(conn: &mut Conn, hash: &[u8; 32]) -> Result<Option<Identity>> {
    find(conn, BY_SESSION, hash, |row| Ok(Credential::Session { id: row.id(0)? })).await
}

async fn find(
    conn: &mut Conn,
    sql: &str,
    hash: &[u8; 32],
    credential: impl Fn(&Row<'_>) -> Result<Credential> + Send + Sync,
) -> Result<Option<Identity>> {
    let mut found: Option<Identity> = None;
    conn.each(sql, params![hash], |row| {
        if found.is_none() {
            found = Some(Identity {
                user: row.id(5)?,
                email: row.text(6)?,
                name: row.text(7)?,
                workspace: row.id(9)?,
                workspace_name: row.text(10)?,
                credential: credential(row)?,
                expires_at: row.optional_int(3)?,
                revoked: row.optional_int(4)?.is_some(),
                disabled: row.optional_int(8)?.is_some(),
                tenants: Vec::new(),
                last_noted: AtomicI64::new(0),
            });
        }
        if let (Some(identity), Some(brand)) = (&mut found, row.optional_str(11)?) {
            let brand = BrandId::stored(brand);
            let tenant = Tenant::new(&identity.workspace, &brand, &identity.user);
            identity.tenants.push(Arc::new(tenant));
        }
        Ok(())
    })
    .await?;
    Ok(found)
}
