//! The engine on a store, with brands and accounts on platforms that take everything.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use campanile_connect::{
    Blobs, Http, Policy,
    platforms::{Endpoints, Platform, Platforms, Secret},
};
use campanile_engine::{Accounts, Engine, Keeper};
use campanile_model::{
    ids::{BrandId, ConnectionId, PostId},
    post::{Draft, PostStatus},
    publish::ConnectionStatus,
    time::{Clock, Millis, SECOND},
};
use campanile_store::{
    Db, StoreError, Tx,
    brands::{self, Brand},
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

use super::{
    arrivals::{Arrival, Arrivals, micros},
    copies,
    peer::Peer,
    platform::{Double, Kind},
};
use crate::{
    Outcome, disk, postgres, seed,
    store::{Engine as Database, Store},
};

/// The engine gives one brand half of its places at most.
const BRANDS: usize = 20;
/// Of each kind; a multiple of the brands.
const ACCOUNTS: usize = 100;
/// Entries that the measured claim takes up.
pub(super) const CLAIMED: i64 = 20;
/// Posts in one transaction.
const BATCH: usize = 1_000;
/// Transactions at once. Each keeps to brands of its own, as their order within a transaction
/// would make two of them wait for each other; so it has to divide the brands.
const WRITERS: usize = 4;

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

/// An account, and the brand it belongs to.
struct Place {
    tenant: Arc<Tenant>,
    kind: Kind,
    account: ConnectionId,
}

/// What became of posts that were planned and published.
pub(super) struct Published {
    pub(super) arrivals: Vec<Arrival>,
    /// From the first due time until the last outcome was durable.
    pub(super) seconds: f64,
}

pub(super) struct Press<'s> {
    pub(super) store: &'s Store<'s>,
    engine: Arc<Engine>,
    /// What planning a post has cost most, in microseconds.
    planning: AtomicU64,
    noop: Arrivals,
    wired: Arrivals,
    tenants: Vec<Arc<Tenant>>,
    places: Vec<Place>,
}

impl<'s> Press<'s> {
    pub(super) async fn open(store: &'s Store<'s>, peer: &Peer) -> Outcome<Self> {
        let db = Db::open(&store.location()).await?;
        let tenants = make_brands(&db, &store.key).await?;
        let noop = Arrivals::default();
        let doubles = [Double::Noop(noop.clone()), Double::Wired(peer.address)];
        let platforms = doubles.map(|double| Arc::new(double) as Arc<dyn Platform>).to_vec();
        let cipher = XChaCha20Poly1305::new(&[3; 32].into());
        let engine = Arc::new(Engine {
            platforms: Platforms::new(&Endpoints::default(), platforms),
            // The peer is on this machine.
            http: Http::new(Policy { allow_private: true, ..Policy::default() }),
            blobs: Blobs::open("file:media", &store.folder)?,
            accounts: Accounts::new(Arc::new(Safe(cipher))),
            bell: tokio::sync::Notify::new(),
            clock: Arc::new(Now),
            db,
        });
        let wired = peer.arrivals.clone();
        let mut press = Self {
            store,
            engine,
            planning: AtomicU64::new(0),
            noop,
            wired,
            tenants,
            places: Vec::new(),
        };
        press.connect().await?;
        Ok(press)
    }

    async fn connect(&mut self) -> Outcome {
        for kind in Kind::ALL {
            for number in 0..ACCOUNTS {
                let tenant = self.tenants[number % BRANDS].clone();
                let mut connection = connection(&tenant, kind, number);
                let secret = Secret("a token of usual length, forty characters".to_owned().into());
                connection.secret = self.engine.accounts.seal(&connection, &secret)?;
                let insert = async |mut tx: Tx| connections::insert(&mut tx, &connection).await;
                self.engine.db.write(insert).await?;
                self.places.push(Place { tenant, kind, account: connection.id });
            }
        }
        Ok(())
    }

    fn arrivals(&self, kind: Kind) -> &Arrivals {
        match kind {
            Kind::Noop => &self.noop,
            Kind::Wired => &self.wired,
        }
    }

    /// Schedules posts with one account each, over all brands in turn; `at` says when each is due.
    pub(super) async fn plan(
        &self,
        kind: Kind,
        count: usize,
        at: impl Fn(usize) -> Millis,
    ) -> Outcome {
        let started = Instant::now();
        let places: Vec<_> = self.places.iter().filter(|place| place.kind == kind).collect();
        let plan_some = async |writer: usize| {
            let mut numbers = (writer..count).step_by(WRITERS).peekable();
            while numbers.peek().is_some() {
                let batch: Vec<_> = numbers.by_ref().take(BATCH).collect();
                let write = async |mut tx: Tx| {
                    for number in batch {
                        let place = places[number % places.len()];
                        plan_one(&mut tx, place, number, at(number)).await?;
                    }
                    Ok::<_, StoreError>(())
                };
                self.engine.db.write(write).await?;
            }
            Ok::<_, StoreError>(())
        };
        tokio::try_join!(plan_some(0), plan_some(1), plan_some(2), plan_some(3))?;
        if count >= BATCH {
            let each = u64::try_from(started.elapsed().as_micros())? / u64::try_from(count)?;
            self.planning.fetch_max(each, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Plans what is due from `from` on so many times more, each time `later` than before.
    pub(super) async fn plan_again(&self, from: Millis, times: usize, later: Millis) -> Outcome {
        copies::add(&self.engine.db, from, times, later).await
    }

    /// The earliest time for which so many posts can be planned from now on.
    pub(super) fn soon(&self, count: usize) -> Millis {
        let each = 3 * self.planning.load(Ordering::Relaxed);
        let planning = each * u64::try_from(count).unwrap_or(0) / 1000;
        Now.now() + 3 * SECOND + Millis::try_from(planning).unwrap_or(0)
    }

    /// Plans posts, lets the engine publish them, and waits until all of them are done. `at`
    /// says when each is due, in order.
    pub(super) async fn publish(
        &self,
        kind: Kind,
        count: usize,
        at: impl Fn(usize) -> Millis,
    ) -> Outcome<Published> {
        let (begin, end) = (at(0), at(count.saturating_sub(1)));
        self.plan(kind, count, at).await?;
        if count > 0 && Now.now() >= begin {
            return Err("the machine is too busy: posts were due before all were planned".into());
        }
        let arrivals = self.arrivals(kind);
        arrivals.take();
        let (running, stop) = self.start();
        arrivals.wait_for(count).await;
        self.wait(end).await?;
        let seconds = (micros() - begin * 1000) as f64 / 1e6;
        drop(stop);
        running.await?;
        Ok(Published { arrivals: arrivals.take(), seconds })
    }

    /// Runs the engine until the answer is dropped.
    fn start(&self) -> (JoinHandle<()>, oneshot::Sender<()>) {
        let (sender, stop) = oneshot::channel();
        let running = campanile_engine::run(self.engine.clone(), async {
            let _ = stop.await;
        });
        (tokio::spawn(running), sender)
    }

    /// Waits until no job that was due by `until` is open any more: its outcome is durable.
    async fn wait(&self, until: Millis) -> Outcome {
        const PATIENCE: Duration = Duration::from_secs(120);
        let started = Instant::now();
        for tenant in &self.tenants {
            while !self.open_jobs(tenant, until).await?.is_empty() {
                if started.elapsed() > PATIENCE {
                    return Err("some posts were not published".into());
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        Ok(())
    }

    async fn open_jobs(&self, tenant: &Tenant, until: Millis) -> Outcome<Vec<Millis>> {
        let mut conn = self.engine.db.read().await?;
        Ok(jobs::times(&mut conn, tenant, 0, until).await?)
    }

    /// What it takes to find and lock what a claim takes up, in microseconds, each time the same
    /// entries. It is undone again, so that the disk, which costs the same always, has no part
    /// in it.
    pub(super) async fn claim(&self) -> Outcome<Vec<f64>> {
        const TIMES: usize = 500;
        let mut times = Vec::with_capacity(TIMES);
        for _ in 0..TIMES {
            let (now, started) = (Now.now(), Instant::now());
            let (mut tx, end) = self.engine.db.begin().await?;
            let found = queue::due(&mut tx, now, CLAIMED, &[]).await?.len();
            drop(tx);
            end.rollback().await?;
            times.push(started.elapsed().as_secs_f64() * 1e6);
            if i64::try_from(found).ok() != Some(CLAIMED) {
                return Err(format!("{found} posts are due instead of {CLAIMED}").into());
            }
        }
        Ok(times)
    }

    /// Gets what was planned out of the way of a measurement.
    pub(super) fn settle(&self) -> Outcome {
        if self.store.engine == Database::Postgres {
            postgres::settle(&self.store.url)?;
        }
        disk::settle()
    }

    pub(super) async fn close(&self) {
        self.engine.db.close().await;
    }
}

async fn make_brands(db: &Db, key: &str) -> Outcome<Vec<Arc<Tenant>>> {
    let first = seed::tenant(db, key).await?;
    let model = brands::find(&mut db.read().await?, &first).await?.ok_or("the brand is gone")?;
    let mut tenants = vec![first];
    for number in 1..BRANDS {
        let id = BrandId::new(Now.now());
        let brand = Brand { id, name: format!("Brand {number}"), ..model.clone() };
        let insert = async |mut tx: Tx| {
            brands::insert(&mut tx, &brand).await?;
            brands::add_member(&mut tx, &brand.id, tenants[0].user(), Now.now()).await
        };
        db.write(insert).await?;
        tenants.push(seed::tenant_of(db, key, Some(&brand.id)).await?);
    }
    Ok(tenants)
}

fn connection(tenant: &Tenant, kind: Kind, number: usize) -> Connection {
    let now = Now.now();
    Connection {
        id: ConnectionId::new(now),
        brand: tenant.brand().clone(),
        platform: kind.id().to_owned(),
        remote_id: number.to_string(),
        identity: number.to_string(),
        handle: number.to_string(),
        server: String::new(),
        details: "{}".to_owned(),
        status: ConnectionStatus::Connected,
        scopes: String::new(),
        secret: Vec::new(),
        secret_version: 1,
        created_by: tenant.user().clone(),
        created_at: now,
        updated_at: now,
    }
}

async fn plan_one(tx: &mut Tx, place: &Place, number: usize, at: Millis) -> Result<(), StoreError> {
    let (now, Place { tenant, kind, account }) = (Now.now(), place);
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
        // Publishing does not touch tags.
        draft: Draft { targets, tags: Vec::new(), ..seed::draft(number) },
    };
    posts::insert(tx, tenant, &post, &post.texts()?).await?;
    let accounts = [(account.clone(), kind.id().to_owned())];
    jobs::insert(tx, tenant, &post.id, &accounts, at, now).await?;
    Ok(())
}
