//! A whole service in a box: binary, data, database and a client that talks to it.

mod database;
mod process;
mod request;
mod socket;
mod tenant;
mod wire;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    process::{ExitStatus, Output},
    sync::Mutex,
};

use self::{database::Database, process::Process};
pub(crate) use self::{
    process::{free_port, wait_until},
    request::Request,
    socket::Socket,
    tenant::Tenant,
    wire::Reply,
};

/// The base path of the external interface.
pub(crate) const BASE_PATH: &str = "/api/external/v1";

/// Which database stands under the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

/// Runs one story on both engines: `name::sqlite` and `name::postgres`. A story takes a `Lab`
/// with the usual settings, or an `Engine` to start one with its own.
macro_rules! both {
    ($($(#[$attribute:meta])* fn $name:ident($given:ident: $kind:ty) $story:block)*) => { $(
        #[cfg(test)]
        mod $name {
            #[allow(unused_imports, clippy::allow_attributes, reason = "not every story needs them")]
            use super::*;

            fn story($given: $kind) $story

            $(#[$attribute])*
            #[test]
            fn sqlite() {
                story($crate::lab::Engine::Sqlite.into());
            }

            $(#[$attribute])*
            #[test]
            fn postgres() {
                story($crate::lab::Engine::Postgres.into());
            }
        }
    )* };
}
pub(crate) use both;

/// A started service. Dropping it ends the process and removes everything it stored.
pub(crate) struct Lab {
    pub(crate) engine: Engine,
    /// Of the account that the first start made.
    pub(crate) email: String,
    pub(crate) password: String,
    pub(crate) key: String,
    port: u16,
    environment: BTreeMap<String, String>,
    process: Mutex<Option<Process>>,
    // Declared after the process, so that they outlive it.
    database: Option<Database>,
    folder: tempfile::TempDir,
}

impl From<Engine> for Lab {
    fn from(engine: Engine) -> Self {
        Self::start(engine)
    }
}

impl Lab {
    pub(crate) fn start(engine: Engine) -> Self {
        Self::start_with(engine, &[])
    }

    /// Starts with `settings`, names and values of environment variables, over the usual ones.
    pub(crate) fn start_with(engine: Engine, settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = folder.path().join("data");
        let database = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => Some(Database::create()),
        };
        let port = free_port();

        let mut environment = BTreeMap::new();
        let mut set =
            |name: &str, value: &str| environment.insert(name.to_owned(), value.to_owned());
        set("CAMPANILE_LISTEN", &format!("127.0.0.1:{port}"));
        set("CAMPANILE_DATA_DIR", data.to_str().expect("a folder name in UTF-8"));
        set("CAMPANILE_RATE_LIMIT", "off");
        set("CAMPANILE_ALLOW_PRIVATE_NETWORKS", "true");
        set("CAMPANILE_LOG", "info");
        if let Some(database) = &database {
            set("CAMPANILE_DATABASE_URL", &database.url);
        }
        for (name, value) in settings {
            set(name, value);
        }

        let mut lab = Self {
            engine,
            email: String::new(),
            password: String::new(),
            key: String::new(),
            port,
            environment,
            process: Mutex::default(),
            database,
            folder,
        };
        lab.begin();
        wait_until("the first start has said everything", || lab.printed().contains("curl "));
        let banner = lab.printed();
        lab.email = banner_line(&banner, "e-mail");
        lab.password = banner_line(&banner, "password");
        lab.key = banner_line(&banner, "key");
        lab
    }

    /// Starts the binary and waits until it answers.
    pub(crate) fn begin(&self) {
        let started = Process::start(self.folder.path(), &self.environment, &["serve"]);
        let process = self.process().insert(started).id();
        wait_until("the service answers", || {
            let health = wire::exchange(self.port, &wire::get(&format!("{BASE_PATH}/health")));
            let exit = self.process().as_mut().and_then(Process::ended);
            assert!(
                exit.is_none(),
                "process {process} ended at its start: {exit:?}\n{}",
                self.log()
            );
            health.is_ok_and(|reply| reply.status == 200)
        });
    }

    /// Starts the binary once more with another command and the same settings.
    pub(crate) fn beside(&self, arguments: &[&str]) -> Process {
        self.beside_with(&[], arguments)
    }

    /// The same with further environment variables.
    pub(crate) fn beside_with(&self, settings: &[(&str, &str)], arguments: &[&str]) -> Process {
        let mut environment = self.environment.clone();
        environment
            .extend(settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        Process::start(self.folder.path(), &environment, arguments)
    }

    /// Asks the service to end, as an operator does, and waits for it.
    pub(crate) fn stop(&self) -> ExitStatus {
        self.process().take().expect("a running service").stop()
    }

    /// Ends the service without a warning, as a power cut does.
    pub(crate) fn kill(&self) {
        drop(self.process().take());
    }

    pub(crate) fn restart(&self) {
        self.stop();
        self.begin();
    }

    /// Everything that the service has printed on standard output, over all starts.
    pub(crate) fn printed(&self) -> String {
        process::read(&self.folder.path().join(process::PRINTED))
    }

    /// Everything that the service has logged, over all starts.
    pub(crate) fn log(&self) -> String {
        process::read(&self.folder.path().join(process::LOG))
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.environment["CAMPANILE_DATA_DIR"].clone().into()
    }

    /// The address without a path, as in `http://127.0.0.1:8080`.
    pub(crate) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Changes the store behind the service's back, which must not run, and counts the rows.
    pub(crate) fn tamper(&self, statement: &str) -> u64 {
        if let Some(database) = &self.database {
            return database.tamper(statement);
        }
        let store = rusqlite::Connection::open(self.data_dir().join("campanile.db"));
        let touched = store.and_then(|store| store.execute(statement, []));
        touched.expect("a statement that SQLite takes") as u64
    }

    /// Runs the binary with the service's settings and returns what it printed.
    pub(crate) fn cli(&self, arguments: &[&str]) -> String {
        let output = self.try_cli(arguments, &[]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {}\n{errors}", output.status);
        String::from_utf8(output.stdout).expect("text on standard output").trim().to_owned()
    }

    /// The same, with other settings on top, for commands that may fail.
    pub(crate) fn try_cli(&self, arguments: &[&str], settings: &[(&str, &str)]) -> Output {
        let mut command = process::command(self.folder.path(), &self.environment);
        command.args(arguments).envs(settings.iter().copied());
        process::run(command)
    }

    pub(crate) fn get(&self, path: &str) -> Request<'_> {
        self.request("GET", path)
    }

    pub(crate) fn post(&self, path: &str) -> Request<'_> {
        self.request("POST", path)
    }

    pub(crate) fn patch(&self, path: &str) -> Request<'_> {
        self.request("PATCH", path)
    }

    pub(crate) fn put(&self, path: &str) -> Request<'_> {
        self.request("PUT", path)
    }

    pub(crate) fn delete(&self, path: &str) -> Request<'_> {
        self.request("DELETE", path)
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> Request<'_> {
        Request::new(self, method, path)
    }

    /// What the kernel says of the running process's memory, in bytes: `VmRSS`, `VmHWM` and so on.
    pub(crate) fn memory(&self, what: &str) -> u64 {
        let process = self.process().as_ref().expect("a running service").id();
        process::memory(process, what)
    }

    /// Makes `VmHWM`, the highest `VmRSS` so far, begin anew.
    pub(crate) fn forget_peak_memory(&self) {
        let process = self.process().as_ref().expect("a running service").id();
        std::fs::write(format!("/proc/{process}/clear_refs"), "5").expect("a process of our own");
    }

    /// A connection that says and hears bytes, from 127.0.0.1.
    pub(crate) fn socket(&self) -> Socket {
        self.socket_from([127, 0, 0, 1])
    }

    /// The same from another address of this machine.
    pub(crate) fn socket_from(&self, address: [u8; 4]) -> Socket {
        Socket::open(address, self.port)
    }

    /// Sends bytes as they are, for what no well-behaved client would say.
    pub(crate) fn raw(&self, bytes: &[u8]) -> std::io::Result<Reply> {
        wire::exchange(self.port, bytes)
    }

    fn process(&self) -> std::sync::MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<_> = log.lines().collect();
            let tail = &lines[lines.len().saturating_sub(40)..];
            eprintln!("--- end of the service's log ({:?})\n{}\n---", self.engine, tail.join("\n"));
        }
    }
}

/// The value behind `name` in what the first start prints.
fn banner_line(banner: &str, name: &str) -> String {
    let value = banner.lines().find_map(|line| {
        let (word, value) = line.trim().split_once(' ')?;
        (word == name).then(|| value.trim().to_owned())
    });
    value.unwrap_or_else(|| panic!("the first start prints no {name}:\n{banner}"))
}
