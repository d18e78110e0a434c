//! Databases of a PostgreSQL server, made for one run and dropped after it.

use std::sync::Mutex;

use tokio_postgres::NoTls;
use url::Url;

use crate::Outcome;

/// A server on which databases may be created.
pub(crate) struct Server {
    url: Url,
    made: Mutex<Vec<String>>,
}

impl Server {
    pub(crate) fn new(url: &str) -> Outcome<Self> {
        Ok(Self { url: Url::parse(url)?, made: Mutex::default() })
    }

    /// A fresh database, as the URL that reaches it.
    pub(crate) fn create(&self, purpose: &str) -> Outcome<String> {
        let name = format!("campanile_bench_{}_{purpose}", std::process::id());
        run(self.url.as_str(), &[&format!("CREATE DATABASE {name}")])?;
        let mut url = self.url.clone();
        url.set_path(&name);
        self.made.lock().map_err(|_| "another thread failed")?.push(name);
        Ok(url.into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for name in self.made.get_mut().map(std::mem::take).unwrap_or_default() {
            let drop = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
            if let Err(error) = run(self.url.as_str(), &[&drop]) {
                eprintln!("the database {name} was left behind: {error}");
            }
        }
    }
}

/// What PostgreSQL does by itself sooner or later: done now, so that it is not done in the
/// middle of a round.
pub(crate) fn settle(url: &str) -> Outcome {
    run(url, &["VACUUM ANALYZE", "CHECKPOINT"])
}

/// Runs statements one by one: some of them may not share a transaction.
fn run(url: &str, statements: &[&str]) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        let driver = tokio::spawn(connection);
        for statement in statements {
            client.batch_execute(statement).await?;
        }
        drop(client);
        driver.await??;
        Ok(())
    })
}
