//! Connected accounts in use: their secrets, who is busy with them, and how long they rest.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use campanile_connect::platforms::{Account, Draft, Platform, Secret};
use campanile_model::{
    ids::ConnectionId,
    publish::{Class, Failure, Safety},
    time::{MINUTE, Millis, SECOND},
};
use campanile_store::{StoreError, connections, connections::Connection, outbox};
use serde_json::json;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use zeroize::Zeroizing;

use crate::Engine;

/// Encrypts secrets for one row, and opens them again.
pub trait Keeper: Send + Sync {
    fn seal(&self, context: &str, plain: &[u8]) -> Result<Vec<u8>, String>;
    fn open(&self, context: &str, sealed: &[u8]) -> Result<Vec<u8>, String>;
}

/// What is known of accounts besides their rows.
pub struct Accounts {
    keeper: Arc<dyn Keeper>,
    known: Mutex<HashMap<ConnectionId, Known>>,
    removals: Notify,
}

#[derive(Default)]
struct Known {
    places: Option<Arc<Semaphore>>,
    /// The platform wants to be left alone until then.
    rests_until: Millis,
    /// When a late post of the account was last started.
    caught_up_at: Millis,
    /// It was removed here.
    is_gone: bool,
    /// When what is remembered of its server was last read again.
    refreshed_at: Millis,
}

/// Late posts of one account start so far apart at least: an outage must not end in a flood.
const CATCH_UP_GAP: Millis = 2 * SECOND;

/// What is remembered of an account's server is not read again sooner.
const REFRESH_GAP: Millis = 10 * MINUTE;

/// Whoever renews a secret has so long.
const RENEWAL: Millis = MINUTE;

/// The place in the store that a secret belongs to: it opens nowhere else.
pub fn context(connection: &Connection) -> String {
    format!("connections|secret|{}|{}", connection.brand, connection.id)
}

impl Accounts {
    pub fn new(keeper: Arc<dyn Keeper>) -> Self {
        Self { keeper, known: Mutex::default(), removals: Notify::new() }
    }

    pub fn seal(&self, connection: &Connection, secret: &Secret) -> Result<Vec<u8>, String> {
        self.keeper.seal(&context(connection), secret.0.as_bytes())
    }

    pub fn open(&self, connection: &Connection) -> Result<(Account, Secret), Failure> {
        let damaged = |why: String| Failure::new(Class::Auth, "secret_unreadable", why);
        let plain = self.keeper.open(&context(connection), &connection.secret).map_err(damaged)?;
        let text = String::from_utf8(plain).map_err(|error| damaged(error.to_string()))?;
        let account = Account {
            remote_id: connection.remote_id.clone(),
            handle: connection.handle.clone(),
            server: connection.server.clone(),
            details: serde_json::from_str(&connection.details).unwrap_or_default(),
        };
        Ok((account, Secret(Zeroizing::new(text))))
    }

    /// The places of an account: so many of its posts may be on their way at once.
    pub(crate) fn places(&self, id: &ConnectionId, at_once: usize) -> Arc<Semaphore> {
        self.with(id, |known| {
            known.places.get_or_insert_with(|| Arc::new(Semaphore::new(at_once))).clone()
        })
    }

    pub(crate) fn try_enter(
        &self,
        id: &ConnectionId,
        at_once: usize,
    ) -> Option<OwnedSemaphorePermit> {
        self.places(id, at_once).try_acquire_owned().ok()
    }

    /// Leaves the account alone for a while: it asked for that.
    pub(crate) fn rest(&self, id: &ConnectionId, until: Millis) {
        self.with(id, |known| known.rests_until = known.rests_until.max(until));
    }

    /// When the account may be used next. A late post also keeps its distance to the one before.
    pub(crate) fn free_at(&self, id: &ConnectionId, late: bool, now: Millis) -> Millis {
        self.with(id, |known| {
            let mut free = known.rests_until;
            if late {
                free = free.max(known.caught_up_at + CATCH_UP_GAP);
                if free <= now {
                    known.caught_up_at = now;
                }
            }
            free
        })
    }

    /// Whether what is remembered of the account's server may be read again now; if so, others
    /// have to wait a while.
    pub(crate) fn begin_refresh(&self, id: &ConnectionId, now: Millis) -> bool {
        self.with(id, |known| {
            let may_begin = now >= known.refreshed_at + REFRESH_GAP;
            if may_begin {
                known.refreshed_at = now;
            }
            may_begin
        })
    }

    /// Says that the account was removed: no call that begins from now on uses it.
    pub fn forget(&self, id: &ConnectionId) {
        self.with(id, |known| known.is_gone = true);
        self.removals.notify_waiters();
    }

    /// Does something unless the account is removed, or until it is; `None` then. Only for what
    /// may be broken off anywhere.
    pub(crate) async fn unless_gone<T>(
        &self,
        id: &ConnectionId,
        doing: impl Future<Output = T>,
    ) -> Option<T> {
        let gone = async {
            loop {
                // Made before the look, so that no removal is missed in between.
                let removal = self.removals.notified();
                if self.with(id, |known| known.is_gone) {
                    return;
                }
                removal.await;
            }
        };
        tokio::select! {
            biased;
            () = gone => None,
            done = doing => Some(done),
        }
    }

    fn with<T>(&self, id: &ConnectionId, act: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        act(known.entry(id.clone()).or_default())
    }
}

/// An account that can be used.
pub struct Opened {
    pub platform: Arc<dyn Platform>,
    pub connection: Connection,
    pub account: Account,
    pub secret: Secret,
    /// When that was.
    pub at: Millis,
}

impl Opened {
    /// Opens the account, or says why it cannot be used.
    pub fn new(engine: &Engine, connection: Connection) -> Result<Self, Failure> {
        let Some(platform) = engine.platforms.find(&connection.platform).cloned() else {
            let message = "this version does not know the account's platform";
            return Err(Failure::new(Class::MissingContent, "platform_gone", message));
        };
        let (account, secret) = engine.accounts.open(&connection)?;
        Ok(Self { platform, connection, account, secret, at: engine.now() })
    }

    pub(crate) fn safety(&self) -> Safety {
        self.platform.safety(&self.account)
    }

    /// Whether the secret is about to expire.
    pub(crate) fn is_stale(&self, now: Millis) -> bool {
        self.platform.renew_before(&self.secret).is_some_and(|last| now >= last)
    }

    /// Why the account would not take the draft: limits may have changed since it was planned.
    pub(crate) fn refusal(&self, draft: &Draft) -> Option<Failure> {
        let breaches = self.platform.check(&self.account, draft);
        let first = breaches.first()?;
        let all: Vec<_> =
            breaches.iter().map(|breach| format!("{}: {}", breach.field, breach.message)).collect();
        Some(Failure::new(Class::Rejected, first.code, all.join("; ")))
    }
}

/// Whether an account that was opened a while ago is still connected.
pub(crate) async fn is_connected(engine: &Engine, opened: &Opened) -> Result<bool, StoreError> {
    let connection = &opened.connection;
    if engine.accounts.with(&connection.id, |known| known.is_gone) {
        return Ok(false);
    }
    // Whoever asked the store just now need not ask again.
    if engine.now() - opened.at < SECOND {
        return Ok(true);
    }
    let mut conn = engine.db.read().await?;
    connections::exists(&mut conn, &connection.brand, &connection.id).await
}

/// What came of renewing a secret.
pub(crate) enum Renewal {
    /// There is a newer one in the store, ours or somebody else's.
    Renewed,
    Failed(Failure),
}

/// Renews an account's secret: one at a time, and stored before anybody uses it.
pub(crate) async fn renew(
    engine: &Engine,
    platform: &dyn Platform,
    connection: &Connection,
) -> Result<Renewal, StoreError> {
    let now = engine.now();
    let until = now + RENEWAL;
    let ours = async |mut tx: campanile_store::Tx| {
        connections::begin_renewal(&mut tx, connection, until, now).await
    };
    if !engine.db.write(ours).await? {
        return wait_for_other(engine, connection).await;
    }
    let (account, secret) = match engine.accounts.open(connection) {
        Ok(opened) => opened,
        Err(failure) => return Ok(Renewal::Failed(failure)),
    };
    match platform.renew(&engine.http, &account, &secret, now).await {
        Ok(fresh) => {
            let sealed = engine.accounts.seal(connection, &fresh).map_err(StoreError::Refused)?;
            let keep = async |mut tx: campanile_store::Tx| {
                connections::renew(&mut tx, connection, &sealed, engine.now()).await
            };
            engine.db.write(keep).await?;
            Ok(Renewal::Renewed)
        }
        Err(failure) => {
            if failure.class == Class::Auth {
                expire(engine, connection).await?;
            }
            Ok(Renewal::Failed(failure))
        }
    }
}

/// Somebody else is renewing, or has: its result counts for us too.
async fn wait_for_other(engine: &Engine, connection: &Connection) -> Result<Renewal, StoreError> {
    for _ in 0..100 {
        let mut conn = engine.db.read().await?;
        let found = connections::find(&mut conn, &connection.brand, &connection.id).await?;
        drop(conn);
        match found {
            Some(found) if found.secret_version == connection.secret_version => {
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
            _ => return Ok(Renewal::Renewed),
        }
    }
    let message = "the account's token is being renewed, which takes long";
    Ok(Renewal::Failed(Failure::new(Class::Transient, "renewal_pending", message)))
}

/// Notes that the account has to be connected again, and tells so once.
pub(crate) async fn expire(engine: &Engine, connection: &Connection) -> Result<(), StoreError> {
    let now = engine.now();
    engine
        .db
        .write(async |mut tx| {
            if connections::expire(&mut tx, connection, now).await? {
                let payload = json!({
                    "connection_id": connection.id, "platform": connection.platform,
                    "handle": connection.handle,
                });
                let event = outbox::Event {
                    brand: &connection.brand,
                    kind: "connection.expired",
                    resource_id: connection.id.as_str(),
                    payload: payload.to_string(),
                };
                outbox::put(&mut tx, &[event], now).await?;
            }
            Ok(())
        })
        .await
}
