//! SQLite: one writer whose transactions share their fsyncs, and readers beside it.
//!
//! A transaction is a savepoint inside an outer one, but for the first. Whoever ends a turn passes the seat to
//! the next in line; when nobody waits, or enough have gathered, the outer transaction is
//! committed on a thread of its own, and only then does each member learn that it is durable.
//! While one commit waits for the disk the next group forms, so load makes groups larger.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, watch};

use super::{DEADLINE, Result, Row, StoreError, Value, boxed};

/// Earlier versions can corrupt a file when two connections checkpoint at once.
pub const MINIMUM_SQLITE: i32 = 3_051_003;

/// More members would make the first of them wait too long for its answer.
const LARGEST_GROUP: usize = 256;
const READERS: usize = 8;
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
const WAL_SOFT_LIMIT: u64 = 4 << 20;
const WAL_HARD_LIMIT: u64 = 64 << 20;

pub(crate) struct Sqlite {
    line: Arc<Line>,
    readers: Arc<Readers>,
    commits: Arc<AtomicU64>,
    path: PathBuf,
}

/// The queue for the one writing connection.
struct Line {
    seat: Arc<tokio::sync::Mutex<Seat>>,
    waiting: AtomicUsize,
    turns: AtomicU64,
    committer: mpsc::Sender<Errand>,
}

enum Errand {
    Commit(OwnedMutexGuard<Seat>),
    Stop,
}

struct Seat {
    connection: Connection,
    commits: Arc<AtomicU64>,
    /// Present while the outer transaction is open.
    group: Option<Group>,
}

type Fate = Option<Result<(), String>>;

struct Group {
    fate: watch::Sender<Fate>,
    members: usize,
}

impl Sqlite {
    pub(super) fn open(path: &Path) -> Result<Self> {
        if rusqlite::version_number() < MINIMUM_SQLITE {
            return Err(StoreError::Refused(format!(
                "SQLite {} is too old: 3.51.3 or newer is needed",
                rusqlite::version()
            )));
        }
        create_private(path)?;
        let connection = connect(path, OpenFlags::default())?;
        let (committer, errands) = mpsc::channel();
        let commits = Arc::new(AtomicU64::new(0));
        let seat = Seat { connection, commits: commits.clone(), group: None };
        let seat = Arc::new(tokio::sync::Mutex::new(seat));
        let (waiting, turns) = (AtomicUsize::new(0), AtomicU64::new(0));
        let line = Arc::new(Line { seat, waiting, turns, committer });
        spawn("sqlite-commit", move || run_errands(&errands))?;
        let wal = path.to_owned();
        let checkpointer = connect(path, OpenFlags::default())?;
        let alive = Arc::downgrade(&line);
        spawn("sqlite-checkpoint", move || {
            while alive.strong_count() > 0 {
                checkpoint(&checkpointer, &wal);
                std::thread::sleep(CHECKPOINT_EVERY);
            }
        })?;
        let readers = Arc::new(Readers::open(path)?);
        Ok(Self { line, readers, commits, path: path.to_owned() })
    }

    pub(super) async fn read(&self) -> Result<Reader> {
        let permits = self.readers.permits.clone();
        let permit = tokio::time::timeout(DEADLINE, permits.acquire_owned()).await;
        let permit = permit.map_err(unavailable)?.map_err(unavailable)?;
        let connection = lock(&self.readers.idle).pop();
        Ok(Reader { connection, readers: self.readers.clone(), _permit: permit })
    }

    pub(super) async fn begin(&self) -> Result<Turn> {
        let line = self.line.clone();
        let mut seat = line.clone().wait_for_seat().await?;
        let (fate, nested) = match seat.join_group() {
            Ok(joined) => joined,
            Err(error) => {
                // Others may be in the group already: it must not stay open because of us.
                line.pass_on(seat);
                return Err(error);
            }
        };
        line.turns.fetch_add(1, Ordering::Relaxed);
        Ok(Turn { seat: Some(seat), line, fate, nested })
    }

    /// How many transactions were begun, and how many commits they shared.
    pub(super) fn work_done(&self) -> (u64, u64) {
        (self.line.turns.load(Ordering::Relaxed), self.commits.load(Ordering::Relaxed))
    }

    pub(super) fn backup(&self, target: &Path) -> Result<()> {
        let source = connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        // SQLite takes an empty file as if it were none.
        create_private(target)?;
        let target = target.to_str().ok_or_else(|| {
            StoreError::Refused("the path of the backup must be valid UTF-8".to_owned())
        })?;
        source.execute("VACUUM INTO ?1", [target]).map_err(judge)?;
        Ok(())
    }

    pub(super) async fn close(&self) {
        let seat = self.line.seat.clone().lock_owned().await;
        let mut fate = seat.group.as_ref().map(|group| group.fate.subscribe());
        let _ = self.line.committer.send(Errand::Commit(seat));
        if let Some(fate) = &mut fate {
            let _ = fate.wait_for(Option::is_some).await;
        }
        let _ = self.line.committer.send(Errand::Stop);
        let seat = self.line.seat.clone().lock_owned().await;
        // The log alone is enough to start from; a short one starts quicker.
        let _ = seat.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
}

impl Line {
    async fn wait_for_seat(self: Arc<Self>) -> Result<OwnedMutexGuard<Seat>> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let place = Place(&self);
        let seat = tokio::time::timeout(DEADLINE, self.seat.clone().lock_owned()).await;
        let seat = seat.map_err(unavailable)?;
        std::mem::forget(place);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        Ok(seat)
    }

    /// Hands the seat to whoever waits, or has the group committed when nobody does.
    fn pass_on(&self, seat: OwnedMutexGuard<Seat>) {
        let full = seat.group.as_ref().is_some_and(|group| group.members >= LARGEST_GROUP);
        if full || self.waiting.load(Ordering::SeqCst) == 0 {
            // A send fails only when the thread is gone, and then the group's fate is dropped,
            // which its members see as a failed commit.
            let _ = self.committer.send(Errand::Commit(seat));
        }
    }
}

/// A place in the line that is given up when the waiting task is dropped.
struct Place<'a>(&'a Arc<Line>);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
        // The seat may have been left to us alone: its group must not stay open for ever.
        if let Ok(seat) = self.0.seat.clone().try_lock_owned() {
            self.0.pass_on(seat);
        }
    }
}

impl Seat {
    /// Also says whether the turn is a savepoint. The first one of a group needs none, which
    /// spares SQLite from keeping a copy of every page that it changes.
    fn join_group(&mut self) -> Result<(watch::Receiver<Fate>, bool)> {
        // A full disk makes SQLite give up the whole outer transaction by itself.
        if self.group.is_some() && self.connection.is_autocommit() {
            self.settle(Err("the transaction was given up by SQLite".to_owned()));
        }
        if let Some(group) = &mut self.group {
            run(&self.connection, "SAVEPOINT turn")?;
            group.members += 1;
            return Ok((group.fate.subscribe(), true));
        }
        run(&self.connection, "BEGIN IMMEDIATE")?;
        let group = Group { fate: watch::Sender::new(None), members: 1 };
        let fate = group.fate.subscribe();
        self.group = Some(group);
        Ok((fate, false))
    }

    /// Undoes the last turn.
    fn undo(&mut self, nested: bool) -> Result<()> {
        if self.connection.is_autocommit() {
            return Ok(());
        }
        if nested {
            return run(&self.connection, "ROLLBACK TO turn")
                .and_then(|()| run(&self.connection, "RELEASE turn"));
        }
        let undone = run(&self.connection, "ROLLBACK");
        let fate = undone.as_ref().map_err(|error| format!("{error:?}"));
        self.settle(fate.copied());
        undone
    }

    fn commit_group(&mut self) {
        if self.group.is_none() {
            return;
        }
        let outcome = if self.connection.is_autocommit() {
            Err("the transaction was given up by SQLite".to_owned())
        } else {
            self.commits.fetch_add(1, Ordering::Relaxed);
            run(&self.connection, "COMMIT").map_err(|error| {
                abort_on_lost_disk(&error);
                let _ = run(&self.connection, "ROLLBACK");
                format!("{error:?}")
            })
        };
        self.settle(outcome);
    }

    fn settle(&mut self, outcome: Result<(), String>) {
        if let Some(group) = self.group.take() {
            group.fate.send_replace(Some(outcome));
        }
    }
}

fn run_errands(errands: &mpsc::Receiver<Errand>) {
    while let Ok(Errand::Commit(mut seat)) = errands.recv() {
        seat.commit_group();
    }
}

/// After a failed fsync the page cache may lie, so going on could acknowledge lost rows.
fn abort_on_lost_disk(error: &StoreError) {
    let lost = std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<rusqlite::Error>())
        .and_then(rusqlite::Error::sqlite_error)
        .is_some_and(|inner| inner.extended_code == rusqlite::ffi::SQLITE_IOERR_FSYNC);
    if lost {
        tracing::error!("the disk failed to store a commit; stopping before anything is promised");
        std::process::exit(74);
    }
}

/// One transaction's turn at the writing connection.
pub struct Turn {
    seat: Option<OwnedMutexGuard<Seat>>,
    line: Arc<Line>,
    fate: watch::Receiver<Fate>,
    /// Whether it is a savepoint, and not the group's first.
    nested: bool,
}

impl Turn {
    pub(super) fn connection(&self) -> Result<&Connection> {
        let seat = self.seat.as_ref();
        seat.map(|seat| &seat.connection)
            .ok_or_else(|| StoreError::Refused("the transaction has already ended".to_owned()))
    }

    pub(super) async fn commit(mut self) -> Result<()> {
        if let Some(seat) = self.seat.take() {
            let released = if self.nested { run(&seat.connection, "RELEASE turn") } else { Ok(()) };
            self.line.pass_on(seat);
            released?;
        }
        self.learn_fate().await
    }

    /// Undoes the turn, and waits for the group all the same: what was read in it is only
    /// true once the group is durable.
    pub(super) async fn rollback(mut self) -> Result<()> {
        self.undo()?;
        self.learn_fate().await
    }

    async fn learn_fate(&mut self) -> Result<()> {
        match self.fate.wait_for(Option::is_some).await.map_err(unavailable)?.as_ref() {
            Some(Err(reason)) => Err(StoreError::Unavailable(reason.clone().into())),
            _ => Ok(()),
        }
    }

    fn undo(&mut self) -> Result<()> {
        let Some(mut seat) = self.seat.take() else { return Ok(()) };
        let undone = seat.undo(self.nested);
        self.line.pass_on(seat);
        undone
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Err(error) = self.undo() {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "a transaction was not undone"
            );
        }
    }
}

struct Readers {
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    fn open(path: &Path) -> Result<Self> {
        let mut idle = Vec::with_capacity(READERS);
        for _ in 0..READERS {
            let connection = connect(path, OpenFlags::default())?;
            connection.pragma_update(None, "query_only", true).map_err(judge)?;
            idle.push(connection);
        }
        Ok(Self { idle: Mutex::new(idle), permits: Arc::new(Semaphore::new(READERS)) })
    }
}

/// A reading connection, given back when dropped.
pub struct Reader {
    connection: Option<Connection>,
    readers: Arc<Readers>,
    _permit: OwnedSemaphorePermit,
}

impl Reader {
    pub(super) fn connection(&self) -> Result<&Connection> {
        self.connection.as_ref().ok_or_else(|| StoreError::Refused("no reader is left".to_owned()))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            lock(&self.readers.idle).push(connection);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The file holds hashes and private texts; its logs inherit who may read it.
fn create_private(path: &Path) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let opened =
        std::fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
    opened.map(|_| ()).map_err(|error| {
        StoreError::Refused(format!("{} cannot be written: {error}", path.display()))
    })
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection> {
    let connection = Connection::open_with_flags(path, flags).map_err(judge)?;
    connection.busy_timeout(DEADLINE).map_err(judge)?;
    connection.set_prepared_statement_cache_capacity(256);
    let pragmas = "
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = FULL;
        PRAGMA foreign_keys = ON;
        PRAGMA trusted_schema = OFF;
        PRAGMA cell_size_check = ON;
        PRAGMA mmap_size = 0;
        PRAGMA temp_store = MEMORY;
        PRAGMA cache_size = -4096;
        PRAGMA journal_size_limit = 67108864;
        PRAGMA wal_autocheckpoint = 0;";
    connection.execute_batch(pragmas).map_err(judge)?;
    // Otherwise a bound LIMIT makes SQLite plan the statement anew on every call.
    let steady_plans = rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG;
    connection.set_db_config(steady_plans, true).map_err(judge)?;
    Ok(connection)
}

/// Moves the log into the main file beside running work, harder when it has grown long.
fn checkpoint(connection: &Connection, path: &Path) {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    let size = std::fs::metadata(wal).map_or(0, |file| file.len());
    let mode = match size {
        0..WAL_SOFT_LIMIT => return,
        WAL_SOFT_LIMIT..WAL_HARD_LIMIT => "PRAGMA wal_checkpoint(PASSIVE)",
        _ => "PRAGMA wal_checkpoint(TRUNCATE)",
    };
    let outcome = connection.query_row(mode, [], |_| Ok(()));
    if let Err(error) = outcome {
        tracing::warn!(error = &error as &dyn std::error::Error, "checkpoint failed");
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(body).map_err(unavailable)?;
    Ok(())
}

fn run(connection: &Connection, sql: &str) -> Result<()> {
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.execute([]))
        .map_err(judge)?;
    Ok(())
}

pub(super) fn script(connection: &Connection, sql: &str) -> Result<()> {
    connection.execute_batch(sql).map_err(judge)
}

pub(super) fn prepare(connection: &Connection, sql: &str) -> Result<()> {
    connection.prepare(sql).map(|_| ()).map_err(judge)
}

pub(super) fn each(
    connection: &Connection,
    sql: &str,
    params: &[Value<'_>],
    take: &mut dyn FnMut(&Row<'_>) -> Result<()>,
) -> Result<()> {
    let mut statement = connection.prepare_cached(sql).map_err(judge)?;
    bind(&mut statement, params)?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(judge)? {
        take(&Row::Sqlite(row))?;
    }
    Ok(())
}

pub(super) fn execute(connection: &Connection, sql: &str, params: &[Value<'_>]) -> Result<u64> {
    let mut statement = connection.prepare_cached(sql).map_err(judge)?;
    bind(&mut statement, params)?;
    let changed = statement.raw_execute().map_err(judge)?;
    Ok(changed as u64)
}

pub(super) fn execute_each(
    connection: &Connection,
    sql: &str,
    sets: &[Vec<Value<'_>>],
) -> Result<Vec<u64>> {
    let mut statement = connection.prepare_cached(sql).map_err(judge)?;
    let numbers = numbers(&statement);
    let mut changed = Vec::with_capacity(sets.len());
    for params in sets {
        bind_by(&mut statement, &numbers, params)?;
        changed.push(statement.raw_execute().map_err(judge)? as u64);
    }
    Ok(changed)
}

fn bind(statement: &mut rusqlite::Statement<'_>, params: &[Value<'_>]) -> Result<()> {
    let numbers = numbers(statement);
    bind_by(statement, &numbers, params)
}

/// To SQLite `$2` is a name, numbered by where it first stands in the text; to us it is a number.
fn numbers(statement: &rusqlite::Statement<'_>) -> Vec<usize> {
    let number = |index| {
        let name = statement.parameter_name(index);
        name.and_then(|name| name.get(1..)?.parse().ok()).unwrap_or(index)
    };
    (1..=statement.parameter_count()).map(number).collect()
}

fn bind_by(
    statement: &mut rusqlite::Statement<'_>,
    numbers: &[usize],
    params: &[Value<'_>],
) -> Result<()> {
    for (index, number) in (1..).zip(numbers) {
        let value = number.checked_sub(1).and_then(|at| params.get(at)).ok_or_else(|| {
            StoreError::Refused(format!("the statement wants ${number}, which was not given"))
        })?;
        statement.raw_bind_parameter(index, value).map_err(judge)?;
    }
    Ok(())
}

fn judge(error: rusqlite::Error) -> StoreError {
    use rusqlite::ffi;
    match error.sqlite_error().map(|inner| inner.extended_code) {
        Some(ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY) => {
            StoreError::Taken
        }
        Some(code) if matches!(code & 0xff, ffi::SQLITE_BUSY | ffi::SQLITE_FULL) => {
            StoreError::Unavailable(boxed(error))
        }
        _ => StoreError::Database(boxed(error)),
    }
}

fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Unavailable(boxed(error))
}
