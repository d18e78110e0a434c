//! PostgreSQL: a small pool, statements prepared once, and as few round trips as possible.

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use futures_util::future;
use tokio_postgres::{NoTls, Statement, error::SqlState, types::ToSql};

use super::{
    DEADLINE, Result, Row, StoreError, Value,
    batch::{self, Columns},
    boxed,
    value::OwnedValue,
};

const OLDEST_SERVER: i64 = 150_000;
const CONNECTIONS: usize = 32;

pub(crate) type Lent = Object;

pub(crate) struct Postgres {
    pool: Pool,
}

impl Postgres {
    pub(super) async fn open(url: &str) -> Result<Self> {
        let mut config: tokio_postgres::Config = url.parse().map_err(|error| {
            StoreError::Refused(format!("the database URL cannot be used: {error}"))
        })?;
        config.connect_timeout(DEADLINE).application_name("campanile").options(
            "-c statement_timeout=5000 -c lock_timeout=4000 \
             -c idle_in_transaction_session_timeout=10000 -c synchronous_commit=on",
        );
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(config, NoTls, recycling);
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(DEADLINE))
            .create_timeout(Some(DEADLINE))
            .build()
            .map_err(|error| StoreError::Unavailable(boxed(error)))?;
        let postgres = Self { pool };
        postgres.check_version().await?;
        Ok(postgres)
    }

    async fn check_version(&self) -> Result<()> {
        let mut version = 0;
        let mut client = self.lend().await?;
        let sql = "SELECT current_setting('server_version_num')::bigint";
        each(&mut client, sql, &[], &mut |row| {
            version = row.int(0)?;
            Ok(())
        })
        .await?;
        if version < OLDEST_SERVER {
            return Err(StoreError::Refused(format!(
                "PostgreSQL {} is too old: 15 or newer is needed",
                version / 10_000
            )));
        }
        Ok(())
    }

    pub(super) async fn lend(&self) -> Result<Lent> {
        self.pool.get().await.map_err(|error| StoreError::Unavailable(boxed(error)))
    }

    pub(super) async fn begin(&self) -> Result<Transaction> {
        let client = self.lend().await?;
        Ok(Transaction { client: Some(client), begun: false, deferred: Vec::new() })
    }
}

/// A statement that waits for company.
enum Deferred {
    Once(&'static str, Vec<OwnedValue>),
    Each(Statement, Vec<Vec<OwnedValue>>),
}

/// A transaction that opens with its first statement.
pub struct Transaction {
    client: Option<Lent>,
    begun: bool,
    deferred: Vec<Deferred>,
}

impl Transaction {
    pub(super) async fn each(
        &mut self,
        sql: &str,
        params: &[Value<'_>],
        take: &mut (dyn FnMut(&Row<'_>) -> Result<()> + Send),
    ) -> Result<()> {
        let (client, opening, deferred) = self.unsent()?;
        let statement = client.prepare_cached(sql).await.map_err(judge)?;
        let bound = bind(params);
        let query = client.query(&statement, &bound);
        let (opened, sent, rows) =
            future::join3(open(client, opening), send(client, &deferred), query).await;
        opened?;
        sent?;
        rows.map_err(judge)?.iter().try_for_each(|row| take(&Row::Postgres(row)))
    }

    pub(super) async fn execute(&mut self, sql: &str, params: &[Value<'_>]) -> Result<u64> {
        let (client, opening, deferred) = self.unsent()?;
        let statement = client.prepare_cached(sql).await.map_err(judge)?;
        let bound = bind(params);
        let change = client.execute(&statement, &bound);
        let (opened, sent, changed) =
            future::join3(open(client, opening), send(client, &deferred), change).await;
        opened?;
        sent?;
        changed.map_err(judge)
    }

    /// One statement for all sets; the answer is the places of those that changed a row.
    pub(super) async fn execute_each(
        &mut self,
        sql: &str,
        sets: &[Vec<Value<'_>>],
    ) -> Result<Vec<u64>> {
        let (client, opening, deferred) = self.unsent()?;
        let statement = batch::prepare(client, sql).await?;
        let columns = Columns::new(&statement, sets);
        let bound = columns.bind();
        let query = client.query(&statement, &bound);
        let (opened, sent, rows) =
            future::join3(open(client, opening), send(client, &deferred), query).await;
        opened?;
        sent?;
        let mut changed = vec![0; sets.len()];
        for row in rows.map_err(judge)? {
            let place: i64 = row.try_get(0).map_err(judge)?;
            let place = usize::try_from(place).ok().and_then(|place| place.checked_sub(1));
            if let Some(changed) = place.and_then(|place| changed.get_mut(place)) {
                *changed = 1;
            }
        }
        Ok(changed)
    }

    pub(super) async fn push_each(
        &mut self,
        sql: &'static str,
        sets: &[Vec<Value<'_>>],
    ) -> Result<()> {
        // Prepared now: whoever has to prepare first would be overtaken by the commit.
        let statement = batch::prepare(self.client()?, sql).await?;
        let owned = sets.iter().map(|set| set.iter().map(OwnedValue::from).collect());
        self.deferred.push(Deferred::Each(statement, owned.collect()));
        Ok(())
    }

    pub(super) async fn push(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<()> {
        self.client()?.prepare_cached(sql).await.map_err(judge)?;
        let owned = params.iter().map(OwnedValue::from).collect();
        self.deferred.push(Deferred::Once(sql, owned));
        Ok(())
    }

    pub(super) async fn lock(&mut self, what: &str) -> Result<()> {
        let sql = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))::text";
        self.each(sql, &[Value::Text(what)], &mut |_| Ok(())).await
    }

    pub(super) async fn script(&mut self, sql: &str) -> Result<()> {
        let (client, opening, deferred) = self.unsent()?;
        open(client, opening).await?;
        send(client, &deferred).await?;
        client.batch_execute(sql).await.map_err(judge)
    }

    pub(super) async fn prepare(&mut self, sql: &str) -> Result<()> {
        self.client()?.prepare(sql).await.map(|_| ()).map_err(judge)
    }

    pub(super) async fn commit(mut self) -> Result<()> {
        if !self.begun && self.deferred.is_empty() {
            self.forget();
            return Ok(());
        }
        let (client, opening, deferred) = self.unsent()?;
        let end = client.batch_execute("COMMIT");
        let (opened, sent, ended) =
            future::join3(open(client, opening), send(client, &deferred), end).await;
        // A failed statement turns the commit behind it into a rollback.
        self.forget();
        opened?;
        sent?;
        ended.map_err(judge)
    }

    pub(super) async fn rollback(mut self) -> Result<()> {
        if self.begun {
            self.client()?.batch_execute("ROLLBACK").await.map_err(judge)?;
        }
        self.forget();
        Ok(())
    }

    fn client(&self) -> Result<&Lent> {
        self.client.as_ref().ok_or_else(ended)
    }

    /// What has to go out before, or together with, the next statement.
    fn unsent(&mut self) -> Result<(&Lent, bool, Vec<Deferred>)> {
        let opening = !std::mem::replace(&mut self.begun, true);
        let deferred = std::mem::take(&mut self.deferred);
        Ok((self.client.as_ref().ok_or_else(ended)?, opening, deferred))
    }

    /// Gives the connection back to the pool: the transaction is over.
    fn forget(&mut self) {
        self.client = None;
    }
}

impl Drop for Transaction {
    /// A transaction that was dropped half-way ends with its connection.
    fn drop(&mut self) {
        if let (Some(client), true) = (self.client.take(), self.begun) {
            drop(Object::take(client));
        }
    }
}

async fn open(client: &Lent, opening: bool) -> Result<()> {
    if opening { client.batch_execute("BEGIN").await.map_err(judge) } else { Ok(()) }
}

/// Sends all statements before it waits for the first answer.
async fn send(client: &Lent, deferred: &[Deferred]) -> Result<()> {
    if deferred.is_empty() {
        return Ok(());
    }
    let each = deferred.iter().map(async |deferred| match deferred {
        Deferred::Once(sql, owned) => {
            let statement = client.prepare_cached(sql).await.map_err(judge)?;
            let values: Vec<_> = owned.iter().map(OwnedValue::borrow).collect();
            client.execute(&statement, &bind(&values)).await.map_err(judge)
        }
        Deferred::Each(statement, owned) => {
            let sets: Vec<Vec<_>> =
                owned.iter().map(|set| set.iter().map(OwnedValue::borrow).collect()).collect();
            let columns = Columns::new(statement, &sets);
            client.execute(statement, &columns.bind()).await.map_err(judge)
        }
    });
    for outcome in future::join_all(each).await {
        outcome?;
    }
    Ok(())
}

pub(super) async fn each(
    client: &mut Lent,
    sql: &str,
    params: &[Value<'_>],
    take: &mut (dyn FnMut(&Row<'_>) -> Result<()> + Send),
) -> Result<()> {
    let statement = client.prepare_cached(sql).await.map_err(judge)?;
    let rows = client.query(&statement, &bind(params)).await.map_err(judge)?;
    rows.iter().try_for_each(|row| take(&Row::Postgres(row)))
}

pub(super) async fn script(client: &mut Lent, sql: &str) -> Result<()> {
    client.batch_execute(sql).await.map_err(judge)
}

pub(super) async fn prepare(client: &mut Lent, sql: &str) -> Result<()> {
    client.prepare(sql).await.map(|_| ()).map_err(judge)
}

fn bind<'v>(params: &'v [Value<'v>]) -> Vec<&'v (dyn ToSql + Sync)> {
    params.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

fn ended() -> StoreError {
    StoreError::Refused("the transaction has already ended".to_owned())
}

pub(super) fn judge(error: tokio_postgres::Error) -> StoreError {
    if error.is_closed() {
        return StoreError::Unavailable(boxed(error));
    }
    match error.code() {
        Some(&SqlState::UNIQUE_VIOLATION) => StoreError::Taken,
        Some(
            &SqlState::T_R_SERIALIZATION_FAILURE
            | &SqlState::T_R_DEADLOCK_DETECTED
            | &SqlState::QUERY_CANCELED
            | &SqlState::LOCK_NOT_AVAILABLE
            | &SqlState::ADMIN_SHUTDOWN,
        ) => StoreError::Unavailable(boxed(error)),
        _ => StoreError::Database(boxed(error)),
    }
}
