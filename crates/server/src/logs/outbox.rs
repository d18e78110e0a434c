//! Lines on their way to standard error, written in batches by a thread of their own.

use std::{
    io::Write,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Lines wait this long at most. Warnings and errors do not wait.
const PATIENCE: Duration = Duration::from_millis(100);
const FULL: usize = 64 * 1024;
/// When the reader of the log stands still, requests do not: lines beyond this are dropped.
const OVERFULL: usize = 8 << 20;

static WAITING: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static WAKE: Condvar = Condvar::new();

fn waiting() -> MutexGuard<'static, Vec<u8>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the thread that writes.
pub(super) fn start() {
    let written = std::thread::Builder::new().name("log".to_owned()).spawn(|| {
        loop {
            let guard = WAKE.wait_timeout_while(waiting(), PATIENCE, |lines| lines.len() < FULL);
            drop(guard);
            flush();
        }
    });
    if let Err(error) = written {
        eprintln!("campanile: no thread for the log: {error}");
    }
}

pub(super) fn send(line: &str, urgent: bool) {
    let mut lines = waiting();
    if lines.len() < OVERFULL {
        lines.extend_from_slice(line.as_bytes());
    }
    let full = lines.len() >= FULL;
    drop(lines);
    if urgent {
        flush();
    } else if full {
        WAKE.notify_one();
    }
}

/// Writes what waits. Lines keep their order: whoever writes holds the output.
pub(crate) fn flush() {
    let mut output = std::io::stderr().lock();
    let lines = std::mem::take(&mut *waiting());
    if !lines.is_empty() {
        // A log that nobody takes is no reason to stop.
        let _ = output.write_all(&lines);
    }
}
