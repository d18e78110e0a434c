//! Queues that others offer for such work, installed by `scripts/rivals.sh`.

use std::{
    fs::{self, File},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command},
    time::{Duration, Instant},
};

use serde::Deserialize;

use crate::{Outcome, report::Target, service::free_address, store::Workshop};

/// One queue in one configuration.
pub(super) struct Rival {
    pub(super) name: String,
    /// How many times as fast we are to be.
    pub(super) target: Target,
    program: &'static str,
    arguments: Vec<String>,
    /// Gets only one of so many jobs, as it would take too long otherwise.
    part: usize,
}

pub(super) struct Rivals {
    folder: PathBuf,
    durable: Redis,
    forgetful: Redis,
    /// A database on the server that we are measured on, too.
    postgres: Option<String>,
}

impl Rivals {
    pub(super) fn start(folder: &Path, workshop: &Workshop) -> Outcome<Self> {
        let program = folder.join("redis-server");
        // As durable as we are: nothing is answered before it is on the disk.
        let durable = ["--appendonly", "yes", "--appendfsync", "always"];
        let postgres = workshop.postgres.as_ref();
        Ok(Self {
            durable: Redis::start(&program, &workshop.folder("redis-durable")?, &durable)?,
            forgetful: Redis::start(&program, &workshop.folder("redis")?, &[])?,
            postgres: postgres.map(|server| server.create("graphile")).transpose()?,
            folder: folder.to_owned(),
        })
    }

    pub(super) fn all(&self) -> Vec<Rival> {
        const AHEAD: Target = Target::AtLeast(1.0);
        let bullmq = |how: &str, redis: &Redis, target| Rival {
            name: format!("BullMQ {}, 100 at once, Redis {how}", self.version("bullmq")),
            target,
            program: "bullmq.mjs",
            arguments: vec![redis.url()],
            part: 1,
        };
        let mut all = vec![
            bullmq("with AOF always", &self.durable, AHEAD),
            // Forgets jobs in a crash, which we must not.
            bullmq("without persistence", &self.forgetful, Target::None),
        ];
        for (how, form, part) in [
            ("as it comes", "default", 50),
            ("24 at once", "concurrent", 5),
            ("24 at once, local queue 500", "tuned", 1),
        ] {
            all.extend(self.postgres.iter().map(|url| Rival {
                name: format!("graphile-worker {}, {how}", self.version("graphile-worker")),
                target: AHEAD,
                program: "graphile.mjs",
                arguments: vec![url.clone(), form.to_owned()],
                part,
            }));
        }
        all
    }

    fn version(&self, package: &str) -> String {
        #[derive(Deserialize)]
        struct Manifest {
            version: String,
        }
        let file = self.folder.join("node_modules").join(package).join("package.json");
        let manifest = fs::read_to_string(file).ok();
        let manifest = manifest.and_then(|text| serde_json::from_str::<Manifest>(&text).ok());
        manifest.map_or_else(String::new, |manifest| manifest.version)
    }

    /// Jobs per second.
    pub(super) fn drain(&self, rival: &Rival, jobs: usize) -> Outcome<f64> {
        #[derive(Deserialize)]
        struct Drained {
            jobs: f64,
            seconds: f64,
        }
        let output = Command::new(self.folder.join("node"))
            .arg(self.folder.join(rival.program))
            .arg((jobs / rival.part).to_string())
            .args(&rival.arguments)
            .output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let reason = said.lines().find(|line| line.contains("Error")).unwrap_or_default();
            return Err(format!("it ended with {}: {reason}", output.status).into());
        }
        let drained: Drained = serde_json::from_slice(&output.stdout)?;
        Ok(drained.jobs / drained.seconds)
    }
}

/// A running server; stopped when dropped.
struct Redis {
    child: Child,
    address: SocketAddr,
}

impl Redis {
    fn start(program: &Path, folder: &Path, settings: &[&str]) -> Outcome<Self> {
        let address = free_address()?;
        let child = Command::new(program)
            .args(["--bind", "127.0.0.1", "--port", &address.port().to_string(), "--save", ""])
            .args(settings)
            .arg("--dir")
            .arg(folder)
            .stdout(File::create(folder.join("log"))?)
            .spawn()?;
        let redis = Self { child, address };
        redis.wait()?;
        Ok(redis)
    }

    fn wait(&self) -> Outcome {
        const PATIENCE: Duration = Duration::from_secs(10);
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if TcpStream::connect(self.address).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err("Redis does not answer".into())
    }

    fn url(&self) -> String {
        format!("redis://{}", self.address)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
