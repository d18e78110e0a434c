//! Stores of a given size, each with its key, made for one run.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use campanile_store::db::Location;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{
    Outcome, disk,
    load::Contender,
    postgres::{self, Server},
    report::number,
    seed,
    service::{BASE, Log, Service},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        })
    }
}

/// What all stores of a run have in common.
pub(crate) struct Workshop {
    pub(crate) binary: PathBuf,
    pub(crate) postgres: Option<Server>,
    folder: TempDir,
}

impl Workshop {
    pub(crate) fn open(folder: Option<&Path>, postgres: Option<Server>) -> Outcome<Self> {
        let own = std::env::current_exe()?;
        let beside = own.parent().ok_or("this program lies in no folder")?;
        let binary = beside.join("campanile");
        if !binary.is_file() {
            return Err("build it first: cargo build --release -p campanile".into());
        }
        // The usual folder for temporary files may be memory, where an fsync costs nothing.
        let folder = folder.unwrap_or(beside);
        let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(folder)?;
        Ok(Self { binary, postgres, folder })
    }

    pub(crate) fn engines(&self) -> Vec<Engine> {
        let mut engines = vec![Engine::Sqlite];
        engines.extend(self.postgres.as_ref().map(|_| Engine::Postgres));
        engines
    }

    /// An empty folder.
    pub(crate) fn folder(&self, name: &str) -> Outcome<PathBuf> {
        let folder = self.folder.path().join(name);
        std::fs::create_dir(&folder)?;
        Ok(folder)
    }
}

/// A store that the service has set up, with posts in its one brand.
pub(crate) struct Store<'w> {
    pub(crate) workshop: &'w Workshop,
    pub(crate) engine: Engine,
    pub(crate) posts: usize,
    pub(crate) folder: PathBuf,
    pub(crate) url: String,
    pub(crate) key: String,
    /// The library that makes its disk slow, where it is to be.
    pub(crate) slow_disk: Option<PathBuf>,
}

impl<'w> Store<'w> {
    pub(crate) fn prepare(
        workshop: &'w Workshop,
        runtime: &Runtime,
        engine: Engine,
        posts: usize,
    ) -> Outcome<Self> {
        eprintln!("seeding {} posts on {engine} ...", number(posts as f64));
        let folder = workshop.folder(&format!("{engine}-{posts}"))?;
        let url = match (engine, &workshop.postgres) {
            (Engine::Postgres, Some(server)) => server.create(&posts.to_string())?,
            _ => format!("sqlite:{}", file(&folder).display()),
        };
        let mut store =
            Self { workshop, engine, posts, folder, url, key: String::new(), slow_disk: None };
        let service = Service::start(&store, Log::Info)?;
        store.key = service.first_key()?;
        service.stop()?;
        runtime.block_on(seed::fill(&store.location(), &store.key, posts))?;
        if engine == Engine::Postgres {
            postgres::settle(&store.url)?;
        }
        disk::settle()?;
        Ok(store)
    }

    /// A copy of this SQLite store, nobody at work on it, as if it lay on a slow disk.
    pub(crate) fn on_slow_disk(&self, library: PathBuf) -> Outcome<Self> {
        let folder = self.workshop.folder("slow")?;
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                std::fs::copy(entry.path(), folder.join(entry.file_name()))?;
            }
        }
        let url = format!("sqlite:{}", file(&folder).display());
        let key = self.key.clone();
        Ok(Self { folder, url, key, slow_disk: Some(library), ..*self })
    }

    /// The database file of a SQLite store.
    pub(crate) fn file(&self) -> PathBuf {
        file(&self.folder)
    }

    pub(crate) fn location(&self) -> Location {
        match self.engine {
            Engine::Sqlite => Location::Sqlite(self.file()),
            Engine::Postgres => Location::Postgres(self.url.clone()),
        }
    }

    /// A path below the API's base on a service that runs on this store.
    pub(crate) fn contender(&self, service: &Service, path: &str, connections: usize) -> Contender {
        Contender {
            address: service.address,
            path: format!("{BASE}{path}"),
            key: self.key.clone(),
            connections,
            script: None,
            pid: service.pid(),
        }
    }
}

fn file(folder: &Path) -> PathBuf {
    folder.join("campanile.db")
}
