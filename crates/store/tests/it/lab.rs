//! A migrated store of its own for each test, on either engine.

use std::{
    process::Command,
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
};

use campanile_store::{
    Db,
    db::Location,
    migrate::{self, migrate},
};

pub(crate) const NOW: i64 = 1_700_000_000_000;

pub(crate) struct Lab {
    pub(crate) db: Db,
    pub(crate) location: Location,
    folder: tempfile::TempDir,
}

/// Runs one story on both engines: `name::sqlite` and `name::postgres`.
macro_rules! both {
    ($(async fn $name:ident($lab:ident: Lab) $story:block)*) => { $(
        mod $name {
            use super::*;

            async fn story($lab: Lab) $story

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn sqlite() {
                story(Lab::sqlite().await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn postgres() {
                story(Lab::postgres().await).await;
            }
        }
    )* };
}
pub(crate) use both;

impl Lab {
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("store.db"));
        Self::open(location, folder).await
    }

    pub(crate) async fn postgres() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("store_test_{}_{count}", std::process::id());
        let server = &*SERVER;
        let (client, connection) =
            tokio_postgres::connect(server, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(&format!("DROP DATABASE IF EXISTS {name}")).await.unwrap();
        client.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        let (base, _) = server.rsplit_once('/').unwrap();
        Self::open(Location::Postgres(format!("{base}/{name}")), tempfile::tempdir().unwrap()).await
    }

    async fn open(location: Location, folder: tempfile::TempDir) -> Self {
        let db = Db::open(&location).await.unwrap();
        let outcome = migrate(&db, folder.path(), NOW).await.unwrap();
        assert_eq!(outcome, migrate::Outcome::Created);
        Self { db, location, folder }
    }

    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let Location::Postgres(url) = &self.location else { return };
        let name = url.rsplit('/').next().unwrap_or_default();
        let sql = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
        // A runtime cannot be entered from within another one, so this has a thread of its own.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let (client, connection) =
                    tokio_postgres::connect(&SERVER, tokio_postgres::NoTls).await.unwrap();
                tokio::spawn(connection);
                client.batch_execute(&sql).await.unwrap();
            });
        });
        dropped.join().unwrap();
    }
}

/// The test cluster's URL: given, or started by the project's own script.
static SERVER: LazyLock<String> = LazyLock::new(|| {
    #[expect(clippy::disallowed_methods, reason = "tests are configured by their environment")]
    if let Ok(url) = std::env::var("CAMPANILE_TEST_POSTGRES") {
        return url;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/postgres.sh");
    let output = Command::new(script).arg("start").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().last().unwrap().to_owned()
});
