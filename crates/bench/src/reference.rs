//! The one-commit server as a process of its own, so that it can be given another disk.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::{Outcome, disk, load::Contender, one_commit, store::Store};

/// A running reference; stopped when dropped.
pub(crate) struct Reference {
    child: Child,
    address: SocketAddr,
}

impl Reference {
    /// Starts it on a copy of the store's database.
    pub(crate) fn start(store: &Store<'_>, file: &Path) -> Outcome<Self> {
        std::fs::copy(store.file(), file)?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--one-commit").arg(file).stdout(Stdio::piped());
        disk::slow_down(&mut command, store.slow_disk.as_deref());
        let mut child = command.spawn()?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        match line.trim().parse() {
            Ok(address) => Ok(Self { child, address }),
            Err(_) => {
                let _ = child.kill();
                Err("the one-commit server does not start".into())
            }
        }
    }

    pub(crate) fn contender(&self) -> Contender {
        Contender {
            address: self.address,
            path: one_commit::PATH.to_owned(),
            key: String::new(),
            connections: 1,
            script: None,
            pid: self.child.id(),
        }
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
