//! One connection type over SQLite and PostgreSQL.
//!
//! Store functions are written once: the same SQL text, `$n` parameters, the
//! same row type. [`Conn::dialect`] is the only fork, and `grep dialect()` lists its uses.

mod batch;
mod postgres;
mod row;
mod sqlite;
mod value;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use campanile_model::time::Millis;

pub use row::Row;
pub use sqlite::MINIMUM_SQLITE;
pub use value::Value;

/// The parameters of one statement, in the order of `$1, $2, …`.
#[macro_export]
macro_rules! params {
    ($($value:expr),* $(,)?) => { &[$($crate::db::Value::from($value)),*] };
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("a record with this key already exists")]
    Taken,
    #[error("the store is busy or cannot be reached")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the store refused a statement")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("{0}")]
    Refused(String),
}

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Where the rows live.
#[derive(Clone, Debug)]
pub enum Location {
    Sqlite(PathBuf),
    Postgres(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    pub fn pick<T>(self, sqlite: T, postgres: T) -> T {
        match self {
            Self::Sqlite => sqlite,
            Self::Postgres => postgres,
        }
    }
}

/// The store: cheap to clone, shared by every request.
#[derive(Clone)]
pub struct Db {
    engine: Engine,
    identity_epoch: Arc<AtomicU64>,
}

#[derive(Clone)]
enum Engine {
    Sqlite(Arc<sqlite::Sqlite>),
    Postgres(Arc<postgres::Postgres>),
}

impl Db {
    pub async fn open(location: &Location) -> Result<Self> {
        let engine = match location {
            Location::Sqlite(path) => Engine::Sqlite(Arc::new(sqlite::Sqlite::open(path)?)),
            Location::Postgres(url) => {
                Engine::Postgres(Arc::new(postgres::Postgres::open(url).await?))
            }
        };
        Ok(Self { engine, identity_epoch: Arc::default() })
    }

    pub fn dialect(&self) -> Dialect {
        match self.engine {
            Engine::Sqlite(_) => Dialect::Sqlite,
            Engine::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Whether other processes may use the store at the same time.
    pub fn is_shared(&self) -> bool {
        self.dialect() == Dialect::Postgres
    }

    /// Goes up with every committed change to users, brands, keys and sessions, before the
    /// answer to that change leaves. SQLite has one process, which knows; PostgreSQL is asked.
    pub async fn identity_epoch(&self) -> Result<u64> {
        match &self.engine {
            Engine::Sqlite(_) => Ok(self.identity_epoch.load(Ordering::SeqCst)),
            Engine::Postgres(_) => {
                let mut conn = self.read().await?;
                let sql = "SELECT value FROM identity_epoch";
                Ok(conn.count(sql, &[]).await?.unsigned_abs())
            }
        }
    }

    /// A connection for reading what is committed.
    pub async fn read(&self) -> Result<Conn> {
        match &self.engine {
            Engine::Sqlite(sqlite) => Ok(Conn::Sqlite(sqlite.read().await?)),
            Engine::Postgres(postgres) => Ok(Conn::Postgres(postgres.lend().await?)),
        }
    }

    /// Runs `work` in a transaction: kept when it answers `Ok`, undone when it answers `Err`.
    ///
    /// Either way this returns only when everything that `work` saw is durable, so no answer
    /// can rest on rows that a crash would take back. On SQLite many transactions share one
    /// fsync. After an error inside PostgreSQL the rest of the transaction is void, so work
    /// prefers `ON CONFLICT DO NOTHING` and a look at the count to catching [`StoreError::Taken`].
    pub async fn write<T, E, F>(&self, work: F) -> std::result::Result<T, E>
    where
        F: AsyncFnOnce(Tx) -> std::result::Result<T, E>,
        E: From<StoreError>,
    {
        let (tx, end) = self.begin().await?;
        match work(tx).await {
            Ok(value) => end.commit().await.map(|()| value).map_err(E::from),
            Err(error) => {
                end.rollback().await?;
                Err(error)
            }
        }
    }

    /// A transaction to be ended by hand, for work that is wrapped in more work.
    pub async fn begin(&self) -> Result<(Tx, End)> {
        let conn = match &self.engine {
            Engine::Sqlite(sqlite) => Conn::SqliteTx(sqlite.begin().await?),
            Engine::Postgres(postgres) => Conn::PostgresTx(postgres.begin().await?),
        };
        let state = State { conn, changes: 0, audited: false, identity_changed: false };
        let slot = Arc::new(Mutex::new(None));
        let end = End { slot, identity_epoch: self.identity_epoch.clone() };
        Ok((Tx { state: Some(state), end: end.clone() }, end))
    }

    /// How many transactions were begun since the start, and how many commits they shared.
    /// `None` on PostgreSQL, which groups commits by itself and does not tell.
    pub fn work_done(&self) -> Option<(u64, u64)> {
        match &self.engine {
            Engine::Sqlite(sqlite) => Some(sqlite.work_done()),
            Engine::Postgres(_) => None,
        }
    }

    /// A consistent copy of the whole SQLite file, made beside running work.
    pub fn sqlite_backup(&self, target: &std::path::Path) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.backup(target),
            Engine::Postgres(_) => Err(StoreError::Refused(
                "this store is PostgreSQL: take backups with pg_dump".to_owned(),
            )),
        }
    }

    /// Waits until what was committed so far is on the disk and stops the store's threads.
    pub async fn close(&self) {
        if let Engine::Sqlite(sqlite) = &self.engine {
            sqlite.close().await;
        }
    }
}

/// A connection, inside or outside a transaction.
pub enum Conn {
    Sqlite(sqlite::Reader),
    SqliteTx(sqlite::Turn),
    Postgres(postgres::Lent),
    PostgresTx(postgres::Transaction),
}

impl Conn {
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) | Self::SqliteTx(_) => Dialect::Sqlite,
            Self::Postgres(_) | Self::PostgresTx(_) => Dialect::Postgres,
        }
    }

    /// Calls `take` for each row, without collecting them first.
    pub async fn each(
        &mut self,
        sql: &str,
        params: &[Value<'_>],
        mut take: impl FnMut(&Row<'_>) -> Result<()> + Send,
    ) -> Result<()> {
        match self {
            Self::Sqlite(reader) => sqlite::each(reader.connection()?, sql, params, &mut take),
            Self::SqliteTx(turn) => sqlite::each(turn.connection()?, sql, params, &mut take),
            Self::Postgres(lent) => postgres::each(lent, sql, params, &mut take).await,
            Self::PostgresTx(tx) => tx.each(sql, params, &mut take).await,
        }
    }

    pub async fn all<T: Send>(
        &mut self,
        sql: &str,
        params: &[Value<'_>],
        read: impl Fn(&Row<'_>) -> Result<T> + Send + Sync,
    ) -> Result<Vec<T>> {
        let mut rows = Vec::new();
        self.each(sql, params, |row| {
            rows.push(read(row)?);
            Ok(())
        })
        .await?;
        Ok(rows)
    }

    /// The first row, if there is one.
    pub async fn optional<T: Send>(
        &mut self,
        sql: &str,
        params: &[Value<'_>],
        read: impl Fn(&Row<'_>) -> Result<T> + Send + Sync,
    ) -> Result<Option<T>> {
        let mut found = None;
        self.each(sql, params, |row| {
            if found.is_none() {
                found = Some(read(row)?);
            }
            Ok(())
        })
        .await?;
        Ok(found)
    }

    /// The first column of the first row, `0` where there is none.
    pub async fn count(&mut self, sql: &str, params: &[Value<'_>]) -> Result<i64> {
        Ok(self.optional(sql, params, |row| row.int(0)).await?.unwrap_or(0))
    }

    /// When the oldest transaction that still runs began, or now. `None` on SQLite, whose one
    /// writer commits in the order in which it wrote.
    pub(crate) async fn oldest_transaction(&mut self) -> Result<Option<Millis>> {
        const SQL: &str = "
            SELECT CAST(extract(epoch FROM least(min(xact_start), now())) * 1000 AS BIGINT)
              FROM pg_stat_activity WHERE datname = current_database()";
        match self.dialect() {
            Dialect::Sqlite => Ok(None),
            Dialect::Postgres => self.count(SQL, &[]).await.map(Some),
        }
    }

    /// What time it is for a database that others use as well; `None` on SQLite, which is ours.
    pub async fn server_time(&mut self) -> Result<Option<Millis>> {
        const SQL: &str = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";
        match self.dialect() {
            Dialect::Sqlite => Ok(None),
            Dialect::Postgres => self.count(SQL, &[]).await.map(Some),
        }
    }

    /// Runs statements that take no parameters, such as a migration.
    pub(crate) async fn script(&mut self, sql: &str) -> Result<()> {
        match self {
            Self::Sqlite(reader) => sqlite::script(reader.connection()?, sql),
            Self::SqliteTx(turn) => sqlite::script(turn.connection()?, sql),
            Self::Postgres(lent) => postgres::script(lent, sql).await,
            Self::PostgresTx(tx) => tx.script(sql).await,
        }
    }

    /// Asks the engine whether it understands the statement; nothing is run.
    pub async fn prepare(&mut self, sql: &str) -> Result<()> {
        match self {
            Self::Sqlite(reader) => sqlite::prepare(reader.connection()?, sql),
            Self::SqliteTx(turn) => sqlite::prepare(turn.connection()?, sql),
            Self::Postgres(lent) => postgres::prepare(lent, sql).await,
            Self::PostgresTx(tx) => tx.prepare(sql).await,
        }
    }

    async fn execute(&mut self, sql: &str, params: &[Value<'_>]) -> Result<u64> {
        match self {
            Self::SqliteTx(turn) => sqlite::execute(turn.connection()?, sql, params),
            Self::PostgresTx(tx) => tx.execute(sql, params).await,
            Self::Sqlite(_) | Self::Postgres(_) => Err(needs_transaction()),
        }
    }
}

fn needs_transaction() -> StoreError {
    StoreError::Refused("writes need a transaction".to_owned())
}

/// A transaction. Reads see its own writes.
///
/// Work gets it by value, since a borrowed one would make the work's future impossible to move
/// between threads; when it is dropped its state goes back to [`End`], which commits or undoes.
pub struct Tx {
    /// Absent only while being dropped.
    state: Option<State>,
    end: End,
}

struct State {
    conn: Conn,
    changes: u64,
    audited: bool,
    identity_changed: bool,
}

impl Tx {
    /// Changes rows and says how many.
    pub async fn execute(&mut self, sql: &str, params: &[Value<'_>]) -> Result<u64> {
        let state = self.state();
        let changed = state.conn.execute(sql, params).await?;
        state.changes += changed;
        Ok(changed)
    }

    /// Runs one statement for each set of parameters and says how many rows each changed, 0 or 1.
    /// PostgreSQL gets it as a single one, so no two sets may mean the same row.
    pub async fn execute_each(
        &mut self,
        sql: &'static str,
        sets: &[Vec<Value<'_>>],
    ) -> Result<Vec<u64>> {
        if sets.is_empty() {
            return Ok(Vec::new());
        }
        let state = self.state();
        let changed = match &mut state.conn {
            Conn::PostgresTx(tx) => tx.execute_each(sql, sets).await?,
            Conn::SqliteTx(turn) => sqlite::execute_each(turn.connection()?, sql, sets)?,
            Conn::Sqlite(_) | Conn::Postgres(_) => return Err(needs_transaction()),
        };
        state.changes += changed.iter().sum::<u64>();
        Ok(changed)
    }

    /// [`Tx::execute_each`] where nobody needs to know what was changed.
    pub async fn push_each(&mut self, sql: &'static str, sets: &[Vec<Value<'_>>]) -> Result<()> {
        if sets.is_empty() {
            return Ok(());
        }
        let state = self.state();
        state.changes += sets.len() as u64;
        match &mut state.conn {
            Conn::PostgresTx(tx) => tx.push_each(sql, sets).await,
            Conn::SqliteTx(turn) => sqlite::execute_each(turn.connection()?, sql, sets).map(|_| ()),
            Conn::Sqlite(_) | Conn::Postgres(_) => Err(needs_transaction()),
        }
    }

    /// Changes rows whose count nobody needs. PostgreSQL gets them together with the next
    /// statement or the commit, so they cost no round trip of their own.
    pub async fn push(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<()> {
        let state = self.state();
        state.changes += 1;
        match &mut state.conn {
            Conn::PostgresTx(tx) => tx.push(sql, params).await,
            conn => conn.execute(sql, params).await.map(|_| ()),
        }
    }

    /// Makes transactions that name the same thing take turns until they end.
    /// SQLite has a single writer, so there it is a matter of course.
    pub async fn take_turns_on(&mut self, what: &str) -> Result<()> {
        match &mut self.state().conn {
            Conn::PostgresTx(tx) => tx.lock(what).await,
            _ => Ok(()),
        }
    }

    /// Lets transactions that share run side by side, while none that takes turns does.
    pub async fn share_turns_on(&mut self, what: &str) -> Result<()> {
        const SQL: &str = "SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))::text";
        match &mut self.state().conn {
            Conn::PostgresTx(tx) => tx.push(SQL, &[Value::Text(what)]).await,
            _ => Ok(()),
        }
    }

    /// Said by the audit log when it has written its entry in this transaction.
    pub(crate) fn mark_audited(&mut self) {
        self.state().audited = true;
    }

    /// Said by whoever changes what a credential may do: nobody may go by a remembered answer.
    pub(crate) fn mark_identity_changed(&mut self) {
        self.state().identity_changed = true;
    }

    /// Whether rows were changed without a word in the audit log.
    pub fn is_unaudited(&mut self) -> bool {
        let state = self.state();
        state.changes > 0 && !state.audited
    }

    fn state(&mut self) -> &mut State {
        self.state.as_mut().expect("a Tx holds its state until it is dropped")
    }
}

impl std::ops::Deref for Tx {
    type Target = Conn;
    fn deref(&self) -> &Conn {
        &self.state.as_ref().expect("a Tx holds its state until it is dropped").conn
    }
}

impl std::ops::DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.state().conn
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        *self.end.slot() = self.state.take();
    }
}

/// Ends a transaction once the work has dropped its [`Tx`].
#[derive(Clone)]
pub struct End {
    slot: Arc<Mutex<Option<State>>>,
    identity_epoch: Arc<AtomicU64>,
}

impl End {
    fn slot(&self) -> MutexGuard<'_, Option<State>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The transaction once more, for what has to go in after the work.
    pub fn reopen(&self) -> Result<Tx> {
        let state = self.slot().take().ok_or_else(kept)?;
        Ok(Tx { state: Some(state), end: self.clone() })
    }

    /// Returns once what was written is durable.
    pub async fn commit(self) -> Result<()> {
        let state = self.slot().take().ok_or_else(kept)?;
        if !state.identity_changed {
            return self.end(state).await;
        }
        // A request that is dropped while it waits for the disk is committed all the same, so
        // what follows must not depend on its patience.
        let ending = tokio::spawn(async move { self.end(state).await });
        ending.await.map_err(|error| StoreError::Unavailable(boxed(error)))?
    }

    async fn end(self, state: State) -> Result<()> {
        match state.conn {
            Conn::SqliteTx(turn) => turn.commit().await?,
            Conn::PostgresTx(mut tx) => {
                if state.identity_changed {
                    tx.push("UPDATE identity_epoch SET value = value + 1", &[]).await?;
                }
                tx.commit().await?;
            }
            Conn::Sqlite(_) | Conn::Postgres(_) => {}
        }
        if state.identity_changed {
            self.identity_epoch.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Undoes what was written, and returns once what was read is durable.
    pub async fn rollback(self) -> Result<()> {
        let state = self.slot().take();
        match state.map(|state| state.conn) {
            Some(Conn::SqliteTx(turn)) => turn.rollback().await,
            Some(Conn::PostgresTx(tx)) => tx.rollback().await,
            _ => Ok(()),
        }
    }
}

fn kept() -> StoreError {
    StoreError::Refused("the work kept its transaction".to_owned())
}

/// No statement and no wait for a connection may take longer.
const DEADLINE: Duration = Duration::from_secs(5);

pub(crate) fn boxed(
    error: impl std::error::Error + Send + Sync + 'static,
) -> Box<dyn std::error::Error + Send + Sync> {
    Box::new(error)
}
