//! A PostgreSQL database for one run.

use tokio_postgres::NoTls;
use url::Url;

use crate::Outcome;

pub(crate) struct Database {
    server: String,
    name: String,
    pub(crate) url: String,
}

impl Database {
    pub(crate) async fn create(server: &str) -> Outcome<Self> {
        let name = format!("campanile_trial_{}", std::process::id());
        let mut url = Url::parse(server)?;
        url.set_path(&name);
        let database = Self { server: server.to_owned(), name, url: url.into() };
        database.execute("DROP DATABASE IF EXISTS", "WITH (FORCE)").await?;
        database.execute("CREATE DATABASE", "TEMPLATE template0").await?;
        Ok(database)
    }

    /// Drops it; a run that found something keeps it instead.
    pub(crate) async fn remove(self) -> Outcome {
        self.execute("DROP DATABASE IF EXISTS", "WITH (FORCE)").await
    }

    async fn execute(&self, verb: &str, how: &str) -> Outcome {
        let (client, connection) = tokio_postgres::connect(&self.server, NoTls).await?;
        let connection = tokio::spawn(connection);
        client.batch_execute(&format!("{verb} {} {how}", self.name)).await?;
        drop(client);
        connection.await??;
        Ok(())
    }
}
