//! What every request shares.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use campanile_connect::{
    Blobs, Http, Policy,
    platforms::{Platform, Platforms, sandbox::Sandbox},
};
use campanile_engine::{Accounts, Engine};
use campanile_model::{
    ids::WorkspaceId,
    time::{Clock, Millis},
};
use campanile_store::{Db, StoreError, identity, identity::Identity};

use crate::{
    clock::StoreClock, config::Config, credential::Form, crowd::Crowd, limiter::Limiter,
    metrics::Metrics, password::Passwords, timeline::StoredTimeline, vault::Vault,
};

pub(crate) type Shared = Arc<App>;

pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) public_url: String,
    pub(crate) db: Db,
    pub(crate) clock: Arc<StoreClock>,
    pub(crate) vault: Arc<Vault>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) passwords: Passwords,
    pub(crate) limiter: Limiter,
    /// Wrong credentials per address.
    pub(crate) strangers: Limiter,
    pub(crate) identities: Identities,
    pub(crate) blobs: Blobs,
    pub(crate) http: Http,
    pub(crate) metrics: Metrics,
    /// Idempotency keys whose first request is still running.
    pub(crate) running: Mutex<HashSet<String>>,
    /// When each key was last used, since the last time it was written down.
    pub(crate) uses: Mutex<HashMap<String, Millis>>,
    /// Running imports, by workspace.
    pub(crate) imports: Arc<Crowd<WorkspaceId>>,
    pub(crate) temporary: PathBuf,
}

/// Guesses at credentials per minute and address before the answer is "too many", unless
/// limits are off.
const STRANGERS_LIMIT: u32 = 60;
const IMPORTS_AT_ONCE: usize = 32;
const IMPORTS_OF_ONE: usize = 8;

impl App {
    pub(crate) fn new(
        config: Config,
        db: Db,
        clock: Arc<StoreClock>,
        vault: Vault,
    ) -> Result<Self, String> {
        let public_url = config.public_url();
        let policy = policy(&config, &public_url);
        let storage = config.storage_url.clone().unwrap_or_else(|| "file:media".to_owned());
        let blobs = Blobs::open(&storage, &config.data_dir).map_err(|error| error.to_string())?;
        let temporary = config.data_dir.join("tmp");
        std::fs::create_dir_all(&temporary)
            .map_err(|error| format!("{} cannot be made: {error}", temporary.display()))?;
        let (http, vault) = (Http::new(policy), Arc::new(vault));
        let timeline =
            StoredTimeline { db: db.clone(), clock: clock.clone(), public_url: public_url.clone() };
        let own: Vec<Arc<dyn Platform>> = vec![Arc::new(Sandbox::new(Arc::new(timeline)))];
        let engine = Arc::new(Engine {
            db: db.clone(),
            clock: clock.clone(),
            platforms: Platforms::new(&config.endpoints(), own),
            http: http.clone(),
            blobs: blobs.clone(),
            accounts: Accounts::new(vault.clone()),
            bell: tokio::sync::Notify::new(),
        });
        Ok(Self {
            engine,
            public_url,
            clock,
            vault,
            passwords: Passwords::new(),
            limiter: Limiter::new(config.rate_limit.0),
            strangers: Limiter::new(config.rate_limit.0.map(|_| STRANGERS_LIMIT)),
            identities: Identities::default(),
            blobs,
            http,
            metrics: Metrics::default(),
            running: Mutex::default(),
            uses: Mutex::default(),
            imports: Crowd::new(IMPORTS_AT_ONCE, IMPORTS_OF_ONE),
            temporary,
            db,
            config,
        })
    }

    pub(crate) fn now(&self) -> Millis {
        self.clock.now()
    }

    /// Whether clients reach the service through TLS.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.public_url.starts_with("https:")
    }

    pub(crate) fn note_use(&self, key: &str, now: Millis) {
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        match uses.get_mut(key) {
            Some(at) => *at = now,
            None => {
                uses.insert(key.to_owned(), now);
            }
        }
    }
}

fn policy(config: &Config, public_url: &str) -> Policy {
    let own = url::Url::parse(public_url).ok().and_then(|url| {
        let host = url.host_str()?.to_owned();
        // On a private network peers may share our host, though never our port.
        Some(match url.port_or_known_default() {
            Some(port) if config.allow_private_networks => format!("{host}:{port}"),
            _ => host,
        })
    });
    Policy {
        allow_private: config.allow_private_networks,
        own_hosts: own.into_iter().collect(),
        own_sockets: [config.listen].into_iter().chain(config.metrics_listen).collect(),
        ..Policy::default()
    }
}

/// Identities that were looked up before. An entry holds until anything about users, brands,
/// keys or sessions changes, so a revoked key is refused from the next request on.
#[derive(Default)]
pub(crate) struct Identities {
    known: RwLock<HashMap<[u8; 32], Known>>,
}

/// An identity, and the epoch in which it was looked up.
type Known = (u64, Arc<Identity>);

const MOST_IDENTITIES: usize = 10_000;

impl Identities {
    pub(crate) async fn find(
        &self,
        db: &Db,
        form: Form,
        hash: &[u8; 32],
    ) -> Result<Option<Arc<Identity>>, StoreError> {
        // Read before the look-up: a change in between then makes the entry stale, not true.
        let epoch = db.identity_epoch().await?;
        if let Some(identity) = self.remember(hash, epoch) {
            return Ok(Some(identity));
        }
        let mut conn = db.read().await?;
        let found = match form {
            Form::Key => identity::find_by_key(&mut conn, hash).await?,
            Form::Session => identity::find_by_session(&mut conn, hash).await?,
        };
        let found = found.map(Arc::new);
        if let Some(identity) = &found {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= MOST_IDENTITIES {
                known.clear();
            }
            known.insert(*hash, (epoch, identity.clone()));
        }
        Ok(found)
    }

    fn remember(&self, hash: &[u8; 32], epoch: u64) -> Option<Arc<Identity>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(hash).filter(|(seen, _)| *seen == epoch).map(|(_, identity)| identity.clone())
    }
}
