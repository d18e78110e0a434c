//! The service's processes: started, killed, and started again.

use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    net::{Ipv4Addr, TcpListener},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use campanile_engine::crash;
use tokio::process::{Child, Command};

use crate::Outcome;

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Everything.
    Whole,
    Server,
    Runner(usize),
}

/// How the service is started.
pub(crate) struct Service {
    pub(crate) binary: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) environment: BTreeMap<String, String>,
}

impl Service {
    pub(crate) fn start(&self, role: Role, crash_at: Option<&str>) -> Outcome<Process> {
        let open = |name: &str| -> Outcome<Stdio> {
            let file = OpenOptions::new().create(true).append(true).open(self.folder.join(name));
            Ok(Stdio::from(file?))
        };
        let (arguments, log): (&[&str], String) = match role {
            Role::Whole => (&["serve"], "serve.log".to_owned()),
            Role::Server => (&["serve", "--no-runner"], "serve.log".to_owned()),
            Role::Runner(number) => (&["runner"], format!("runner-{number}.log")),
        };
        let mut command = Command::new(&self.binary);
        command.args(arguments).current_dir(&self.folder).env_clear().envs(&self.environment);
        if let Some(point) = crash_at {
            command.env(crash::VARIABLE, point);
        }
        command.stdin(Stdio::null()).stdout(open("printed.txt")?).stderr(open(&log)?);
        Ok(Process(command.kill_on_drop(true).spawn()?))
    }

    /// The key that the first start prints.
    pub(crate) async fn first_key(&self) -> Outcome<String> {
        for _ in 0..600 {
            let printed = std::fs::read_to_string(self.folder.join("printed.txt"))?;
            let key = printed.lines().find_map(|line| line.trim().strip_prefix("key "));
            // The banner is whole when its last line is there.
            if let (Some(key), true) = (key, printed.contains("curl ")) {
                return Ok(key.trim().to_owned());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(format!("the service did not start; see {}", self.folder.display()).into())
    }
}

pub(crate) struct Process(Child);

impl Process {
    /// Ends it without a warning.
    pub(crate) async fn kill(mut self) -> Outcome<ExitStatus> {
        self.0.start_kill()?;
        Ok(self.0.wait().await?)
    }

    /// Waits for its end, for so long at most.
    pub(crate) async fn ends_within(&mut self, patience: Duration) -> Outcome<Option<ExitStatus>> {
        match tokio::time::timeout(patience, self.0.wait()).await {
            Ok(status) => Ok(Some(status?)),
            Err(_) => Ok(None),
        }
    }
}

/// Whether it died by itself at a point that was asked for.
pub(crate) fn aborted(status: ExitStatus) -> bool {
    const ABORT: i32 = 6;
    status.signal() == Some(ABORT)
}

/// Free now; nothing else on the machine is expected to take it within the next moment.
pub(crate) fn free_address() -> Outcome<String> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.to_string())
}

/// A program beside this one.
pub(crate) fn beside(name: &str) -> Outcome<PathBuf> {
    let own = std::env::current_exe()?;
    Ok(own.parent().unwrap_or(Path::new(".")).join(name))
}
