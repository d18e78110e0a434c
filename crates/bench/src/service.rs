//! The service under test as a process of its own, configured as it would run.

use std::{
    fs::{self, File},
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::PathBuf,
    process::{Child, Command},
    time::{Duration, Instant},
};

use crate::{Outcome, disk, request, store::Store};

pub(crate) const BASE: &str = "/api/external/v1";
const PATIENCE: Duration = Duration::from_secs(30);

/// How much the service logs; a line per request is what `info` adds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Log {
    Info,
    Warn,
}

impl Log {
    fn level(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
        }
    }
}

/// A running service; stopped when dropped.
pub(crate) struct Service {
    child: Child,
    pub(crate) address: SocketAddr,
    /// From the start of the process to its first answer.
    pub(crate) ready_after: Duration,
    log: PathBuf,
}

impl Service {
    pub(crate) fn start(store: &Store<'_>, log: Log) -> Outcome<Self> {
        let address = free_address()?;
        let file = store.folder.join(format!("{}.log", address.port()));
        let output = File::create(&file)?;
        let mut command = Command::new(&store.workshop.binary);
        command
            // Away from a configuration file that may lie where the program was called.
            .current_dir(&store.folder)
            .env("CAMPANILE_LISTEN", address.to_string())
            .env("CAMPANILE_DATA_DIR", &store.folder)
            .env("CAMPANILE_DATABASE_URL", &store.url)
            .env("CAMPANILE_RATE_LIMIT", "off")
            .env("CAMPANILE_LOG", log.level())
            .stdout(output.try_clone()?)
            .stderr(output);
        disk::slow_down(&mut command, store.slow_disk.as_deref());
        let started = Instant::now();
        let child = command.spawn()?;
        let mut service = Self { child, address, ready_after: Duration::ZERO, log: file };
        service.wait(started)?;
        service.ready_after = started.elapsed();
        Ok(service)
    }

    fn wait(&mut self, started: Instant) -> Outcome {
        let health = format!("{BASE}/health");
        while started.elapsed() < PATIENCE {
            if let Ok((200, _)) = request::get(self.address, &health, None) {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                return Err(format!("campanile ended with {status}: {}", self.said()).into());
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        Err(format!("campanile does not answer: {}", self.said()).into())
    }

    /// The end of what it printed.
    fn said(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(5)..].join(" | ")
    }

    /// The key that the first start on an empty store prints.
    pub(crate) fn first_key(&self) -> Outcome<String> {
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            let text = fs::read_to_string(&self.log)?;
            let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            if let Some(key) = words.find(|word| word.starts_with("camp_live_")) {
                return Ok(key.to_owned());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(format!("campanile printed no key: {}", self.said()).into())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to finish what it does and end.
    pub(crate) fn stop(mut self) -> Outcome {
        Command::new("kill").arg("-TERM").arg(self.pid().to_string()).status()?;
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE {
            if self.child.try_wait()?.is_some() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err("campanile does not end when it is asked to".into())
    }
}

impl Drop for Service {
    /// Does nothing to a process that has ended already.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Free now; nothing else on the machine is expected to take it within the next moment.
pub(crate) fn free_address() -> Outcome<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}
