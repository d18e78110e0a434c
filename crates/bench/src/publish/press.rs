//! The engine on a store, with accounts on a platform that does nothing.

use std::{sync::Arc, time::Duration};

use campanile_connect::{
    Blobs, Http, Policy,
    platforms::{Endpoints, Platforms, Secret},
};
use campanile_engine::{Accounts, Engine, Keeper};
use campanile_model::{
    ids::{ConnectionId, PostId},
    post::{Draft, PostStatus},
    publish::ConnectionStatus,
    time::{Clock, Millis},
};
use campanile_store::{
    Db, StoreError, Tx,
    connections::{self, Connection},
    posts::{self, Post},
    publish::{jobs, queue},
    tenant::Tenant,
};
use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use tokio::{sync::oneshot, task::JoinHandle};

use super::noop::{Noop, micros};
use crate::{Outcome, seed, store::Store};

const ACCOUNTS: usize = 100;
const BATCH: usize = 1_000;

struct Now;

impl Clock for Now {
    fn now(&self) -> Millis {
        micros() / 1000
    }
}

/// The service's own cipher: every publish opens a secret.
struct Safe(XChaCha20Poly1305);

impl Keeper for Safe {
    fn seal(&self, context: &str, plain: &[u8]) -> Result<Vec<u8>, String> {
        let payload = Payload { msg: plain, aad: context.as_bytes() };
        self.0.encrypt(&XNonce::from([7; 24]), payload).map_err(|error| error.to_string())
    }

    fn open(&self, context: &str, sealed: &[u8]) -> Result<Vec<u8>, String> {
        let payload = Payload { msg: sealed, aad: context.as_bytes() };
        self.0.decrypt(&XNonce::from([7; 24]), payload).map_err(|error| error.to_string())
    }
}

pub(super) struct Press {
    pub(super) engine: Arc<Engine>,
    pub(super) noop: Noop,
    tenant: Arc<Tenant>,
    accounts: Vec<ConnectionId>,
}

impl Press {
    pub(super) async fn open(store: &Store<'_>) -> Outcome<Self> {
        let db = Db::open(&store.location()).await?;
        let tenant = seed::tenant(&db, &store.key).await?;
        let noop = Noop::default();
        let cipher = XChaCha20Poly1305::new(&[3; 32].into());
        let engine = Arc::new(Engine {
            platforms: Platforms::new(&Endpoints::default(), vec![Arc::new(noop.clone())]),
            http: Http::new(Policy::default()),
            blobs: Blobs::open("file:media", &store.folder)?,
            accounts: Accounts::new(Arc::new(Safe(cipher))),
            bell: tokio::sync::Notify::new(),
            clock: Arc::new(Now),
            db,
        });
        let mut press = Self { engine, noop, tenant, accounts: Vec::new() };
        press.connect().await?;
        Ok(press)
    }

    async fn connect(&mut self) -> Outcome {
        let now = Now.now();
        for number in 0..ACCOUNTS {
            let mut connection = Connection {
                id: ConnectionId::new(now),
                brand: self.tenant.brand().clone(),
                platform: "noop".to_owned(),
                remote_id: number.to_string(),
                identity: number.to_string(),
                handle: number.to_string(),
                server: String::new(),
                details: "{}".to_owned(),
                status: ConnectionStatus::Connected,
                scopes: String::new(),
                secret: Vec::new(),
                secret_version: 1,
                created_by: self.tenant.user().clone(),
                created_at: now,
                updated_at: now,
            };
            let secret = Secret("a token of usual length, forty characters".to_owned().into());
            connection.secret = self.engine.accounts.seal(&connection, &secret)?;
            let insert = async |mut tx: Tx| connections::insert(&mut tx, &connection).await;
            self.engine.db.write(insert).await?;
            self.accounts.push(connection.id);
        }
        Ok(())
    }

    /// Schedules posts with one account each; `at` says when each is due.
    pub(super) async fn plan(&self, count: usize, at: impl Fn(usize) -> Millis) -> Outcome {
        for start in (0..count).step_by(BATCH) {
            let numbers = start..count.min(start + BATCH);
            let write = async |mut tx: Tx| {
                for number in numbers {
                    self.plan_one(&mut tx, number, at(number)).await?;
                }
                Ok::<_, StoreError>(())
            };
            self.engine.db.write(write).await?;
        }
        Ok(())
    }

    async fn plan_one(&self, tx: &mut Tx, number: usize, at: Millis) -> Result<(), StoreError> {
        let (now, tenant) = (Now.now(), &*self.tenant);
        let account = self.accounts[number % self.accounts.len()].clone();
        let target = serde_json::json!([{ "connection_id": account }]);
        let targets = serde_json::from_value(target).unwrap_or_default();
        let post = Post {
            id: PostId::new(now),
            brand: tenant.brand().clone(),
            status: PostStatus::Scheduled,
            folder_path: None,
            scheduled_at: Some(at),
            published_at: None,
            created_by: tenant.user().clone(),
            created_at: now,
            updated_at: now,
            draft: Draft { targets, ..seed::draft(number) },
        };
        posts::insert(tx, tenant, &post, &post.texts()?).await?;
        let accounts = [(account, "noop".to_owned())];
        jobs::insert(tx, tenant, &post.id, &accounts, at, now).await?;
        Ok(())
    }

    /// Runs the engine until the answer is dropped.
    pub(super) fn start(&self) -> (JoinHandle<()>, oneshot::Sender<()>) {
        let (sender, stop) = oneshot::channel();
        let running = campanile_engine::run(self.engine.clone(), async {
            let _ = stop.await;
        });
        (tokio::spawn(running), sender)
    }

    /// Waits until no job that was due by `until` is open any more.
    pub(super) async fn wait(&self, until: Millis) -> Outcome {
        loop {
            let mut conn = self.engine.db.read().await?;
            let open = jobs::times(&mut conn, &self.tenant, 0, until).await?;
            drop(conn);
            if open.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// What one look at the queue costs, in microseconds, when nothing is due.
    pub(super) async fn look(&self) -> Outcome<f64> {
        const TIMES: u32 = 200;
        let started = std::time::Instant::now();
        for _ in 0..TIMES {
            let now = Now.now();
            self.engine
                .db
                .write(async |mut tx: Tx| queue::due(&mut tx, now, 20, &[]).await)
                .await?;
        }
        Ok(started.elapsed().as_micros() as f64 / f64::from(TIMES))
    }
}
