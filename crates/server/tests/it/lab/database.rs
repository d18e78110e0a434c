//! A fresh PostgreSQL database for each lab.

use std::{
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use tokio_postgres::NoTls;

/// Names the server to make databases on; without it the harness starts one.
const SERVER: &str = "CAMPANILE_TEST_POSTGRES";

pub(super) struct Database {
    pub(super) url: String,
    name: String,
}

impl Database {
    pub(super) fn create() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("campanile_{}_{number}", std::process::id());
        // An earlier run that was killed may have left one of the same name.
        execute(&[
            format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"),
            format!("CREATE DATABASE {name} TEMPLATE template0"),
        ])
        .expect("a new database");

        let (server, query) = server().split_once('?').unwrap_or((server(), ""));
        let (server, _) = server.rsplit_once('/').expect("a URL that names a database");
        let mark = if query.is_empty() { "" } else { "?" };
        Self { url: format!("{server}/{name}{mark}{query}"), name }
    }

    pub(super) fn tamper(&self, statement: &str) -> u64 {
        run(&self.url, statement).expect("a statement that PostgreSQL takes")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let dropped = execute(&[format!("DROP DATABASE {} WITH (FORCE)", self.name)]);
        if let Err(error) = dropped {
            eprintln!("the database {} remains: {error}", self.name);
        }
    }
}

/// One statement at a time: none of these may run inside a transaction.
fn execute(statements: &[String]) -> Result<(), tokio_postgres::Error> {
    statements.iter().try_for_each(|statement| run(server(), statement).map(drop))
}

/// How many rows the statement touched.
fn run(url: &str, statement: &str) -> Result<u64, tokio_postgres::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        let connection = tokio::spawn(connection);
        let touched = client.execute(statement, &[]).await?;
        drop(client);
        connection.await.expect("the connection ends with its client")?;
        Ok(touched)
    })
}

fn server() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| {
        #[expect(clippy::disallowed_methods, reason = "not a setting of the service")]
        std::env::var(SERVER).unwrap_or_else(|_| start_server())
    })
}

fn start_server() -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/postgres.sh");
    let output = Command::new(script).arg("start").output().expect("scripts/postgres.sh");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "scripts/postgres.sh start: {errors}");
    let printed = String::from_utf8_lossy(&output.stdout);
    printed.lines().last().expect("a URL as the last line").to_owned()
}
