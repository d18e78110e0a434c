//! What the kernel says about a process.

use std::fs;

use crate::Outcome;

/// The unit of the times in `/proc/*/stat`; fixed by the kernel's interface.
const TICKS_PER_SECOND: f64 = 100.0;

/// Seconds of CPU time, of all its threads, that the process has used so far.
pub(crate) fn cpu_seconds(pid: u32) -> Outcome<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The second field is the program's name in parentheses and may hold anything.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = |index: usize| fields.split_whitespace().nth(index).and_then(|f| f.parse().ok());
    let (user, system): (Option<f64>, Option<f64>) = (ticks(11), ticks(12));
    match (user, system) {
        (Some(user), Some(system)) => Ok((user + system) / TICKS_PER_SECOND),
        _ => Err("the kernel's process statistics cannot be read".into()),
    }
}

/// Resident memory in MB (10^6 bytes).
pub(crate) fn resident_megabytes(pid: u32) -> Outcome<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    let kibibytes: f64 = kibibytes.ok_or("the kernel tells no resident memory")?;
    Ok(kibibytes * 1024.0 / 1e6)
}

/// How many threads wanted a core during the last minute.
pub(crate) fn machine_load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}
