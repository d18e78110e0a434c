//! The disk under the stores: how fast it is, and how to pretend that it is slow.

use std::{
    fs::{self, File},
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use crate::{Outcome, report::median};

/// Microseconds to make a page durable: the floor under every commit.
pub(crate) fn sync_time(folder: &Path) -> Outcome<f64> {
    let mut file = File::create(folder.join("page"))?;
    let mut times = Vec::new();
    for _ in 0..200 {
        let started = Instant::now();
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&[0x5a; 4096])?;
        file.sync_data()?;
        times.push(started.elapsed().as_secs_f64() * 1e6);
    }
    Ok(median(times))
}

/// Writes out what was seeded, so that the disk is not at it while something is measured.
pub(crate) fn settle() -> Outcome {
    Command::new("sync").status()?;
    Ok(())
}

/// A library that makes every sync of the process it is loaded into five milliseconds longer.
pub(crate) fn slow_library(folder: &Path) -> Outcome<PathBuf> {
    let (source, library) = (folder.join("slow_disk.c"), folder.join("slow_disk.so"));
    fs::write(&source, include_str!("slow_disk.c"))?;
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl");
    if !compiler.status()?.success() {
        return Err("the C compiler refused the slow disk".into());
    }
    Ok(library)
}

/// Adds the library to a command that is about to run.
pub(crate) fn slow_down(command: &mut Command, library: Option<&Path>) {
    if let Some(library) = library {
        command.env("LD_PRELOAD", library);
    }
}
