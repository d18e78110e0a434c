//! The binary as a process of its own.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{Read, Seek},
    net::TcpListener,
    path::Path,
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::atomic::{AtomicU16, Ordering},
    thread::sleep,
    time::{Duration, Instant},
};

/// Files in the lab's folder that take what the process writes.
pub(super) const PRINTED: &str = "printed.txt";
pub(super) const LOG: &str = "log.txt";

const PATIENCE: Duration = Duration::from_secs(30);

/// Dropping it ends the process without a warning.
pub(crate) struct Process(Child);

impl Process {
    pub(super) fn start(
        folder: &Path,
        environment: &BTreeMap<String, String>,
        arguments: &[&str],
    ) -> Self {
        let open = |name| {
            let file = OpenOptions::new().create(true).append(true).open(folder.join(name));
            Stdio::from(file.expect("a file in the lab's folder"))
        };
        let mut command = command(folder, environment);
        command.args(arguments).stdin(Stdio::null()).stdout(open(PRINTED)).stderr(open(LOG));
        Self(command.spawn().expect("the binary can be started"))
    }

    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().expect("a process of our own")
    }

    /// Asks it to end and waits until it has.
    pub(crate) fn stop(self) -> ExitStatus {
        // The standard library cannot send this signal, the shell can.
        let ask = format!("kill -TERM {}", self.id());
        let asked = Command::new("sh").args(["-c", &ask]).status();
        assert!(asked.expect("a shell").success(), "the service was gone already");
        self.wait()
    }

    fn wait(mut self) -> ExitStatus {
        let mut status = None;
        wait_until("the process ends", || {
            status = self.ended();
            status.is_some()
        });
        status.expect("it has ended")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Either may fail when the process has ended by itself, which is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The binary with nothing of our own environment that could change what it does.
pub(super) fn command(folder: &Path, environment: &BTreeMap<String, String>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_campanile"));
    command.current_dir(folder).env_clear().env("RUST_BACKTRACE", "1").envs(environment);
    command
}

/// Runs a command to its end. Unlike [`Command::output`] it loses patience with one that stays.
pub(super) fn run(mut command: Command) -> Output {
    let file = || tempfile::tempfile().expect("a temporary file");
    let share = |file: &File| Stdio::from(file.try_clone().expect("a second handle"));
    let (mut printed, mut complained) = (file(), file());
    command.stdin(Stdio::null()).stdout(share(&printed)).stderr(share(&complained));
    let status = Process(command.spawn().expect("the binary can be started")).wait();
    Output { status, stdout: read_back(&mut printed), stderr: read_back(&mut complained) }
}

fn read_back(file: &mut File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("a file that can be read");
    bytes
}

/// A port below those that the system hands out to clients, so that none of them takes it
/// before the service does.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = std::process::id().wrapping_mul(97);
    (0..1000)
        .map(|_| {
            let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
            10_000 + u16::try_from(first.wrapping_add(step) % 10_000).expect("less than 10,000")
        })
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a free port")
}

pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain until {what}");
        sleep(Duration::from_millis(5));
    }
}

/// One line of `/proc/<id>/status`, in bytes.
pub(super) fn memory(process: u32, what: &str) -> u64 {
    let status = read(Path::new(&format!("/proc/{process}/status")));
    let line = status.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kilobytes.and_then(|number| number.trim().parse::<u64>().ok()).expect("a line in kB") * 1024
}

pub(super) fn read(path: &Path) -> String {
    let bytes = std::fs::read(path).expect("a file in the lab's folder");
    String::from_utf8_lossy(&bytes).into_owned()
}
