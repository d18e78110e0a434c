//! Load from wrk, with contenders taking turns.

use std::{net::SocketAddr, path::PathBuf, process::Command, time::Duration};

use crate::{
    Outcome,
    process::cpu_seconds,
    report::{median, median_ratio, number},
};

/// How often each contender runs, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) rounds: usize,
    pub(crate) round: Duration,
}

/// One address under load, and the process that serves it.
#[derive(Clone, Debug)]
pub(crate) struct Contender {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
    pub(crate) key: String,
    pub(crate) connections: usize,
    /// Makes the requests where they are not all the same GET.
    pub(crate) script: Option<PathBuf>,
    pub(crate) pid: u32,
}

/// How fast a contender was, round by round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Speed {
    per_second: Vec<f64>,
    /// Microseconds of the server's CPU time per request; a database's own are not in it.
    cpu: Vec<f64>,
}

impl Speed {
    pub(crate) fn per_second(&self) -> f64 {
        median(self.per_second.clone()).round()
    }

    pub(crate) fn cpu(&self) -> f64 {
        median(self.cpu.clone()).round()
    }

    /// How many times as fast as the other.
    pub(crate) fn times(&self, other: &Self) -> f64 {
        median_ratio(&self.per_second, &other.per_second)
    }

    pub(crate) fn shown(&self) -> String {
        format!("{}/s, {} µs CPU", number(self.per_second()), number(self.cpu()))
    }
}

pub(crate) fn require_wrk() -> Outcome {
    // wrk has no flag that only says its version; any start at all will do.
    match Command::new("wrk").arg("-v").output() {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("wrk cannot be run ({error}); install the package wrk").into()),
    }
}

/// Lets the contenders run in turn, forwards and backwards, so that a machine that gets slower
/// or faster in the meantime does so for all of them.
pub(crate) fn race(contenders: &[Contender], pace: &Pace) -> Outcome<Vec<Speed>> {
    let mut speeds = vec![Speed::default(); contenders.len()];
    for contender in contenders {
        run(contender, Duration::from_secs(1), &mut Speed::default())?;
    }
    for round in 0..pace.rounds {
        let mut order: Vec<usize> = (0..contenders.len()).collect();
        if !round.is_multiple_of(2) {
            order.reverse();
        }
        for index in order {
            run(&contenders[index], pace.round, &mut speeds[index])?;
        }
    }
    Ok(speeds)
}

fn run(contender: &Contender, duration: Duration, speed: &mut Speed) -> Outcome {
    let Contender { address, path, key, connections, script, pid } = contender;
    let mut command = Command::new("wrk");
    // One thread keeps 32 connections busy with ease and leaves the cores to the server.
    command.args(["-t1", "-c"]).arg(connections.to_string());
    command.arg("-d").arg(format!("{}s", duration.as_secs()));
    command.arg("-H").arg(format!("x-api-key: {key}"));
    if let Some(script) = script {
        command.arg("-s").arg(script);
    }
    let before = cpu_seconds(*pid)?;
    let output = command.arg(format!("http://{address}{path}")).output()?;
    let used = cpu_seconds(*pid)? - before;
    let text = String::from_utf8_lossy(&output.stdout);
    let done = Done::read(&text).ok_or_else(|| {
        format!("wrk said nothing usable: {text}{}", String::from_utf8_lossy(&output.stderr))
    })?;
    if let Some(trouble) = done.trouble {
        return Err(format!("{path} under load: {trouble}").into());
    }
    speed.per_second.push(done.per_second);
    speed.cpu.push(used * 1e6 / done.requests);
    Ok(())
}

/// What wrk prints at its end.
#[derive(Debug, PartialEq)]
struct Done {
    requests: f64,
    per_second: f64,
    /// A speed with failed requests in it would mean nothing.
    trouble: Option<String>,
}

impl Done {
    fn read(text: &str) -> Option<Self> {
        let lines = || text.lines().map(str::trim);
        let requests = lines().find_map(|line| line.split_once(" requests in ")?.0.parse().ok())?;
        let per_second =
            lines().find_map(|line| line.strip_prefix("Requests/sec:")?.trim().parse().ok())?;
        let trouble =
            lines().find(|line| line.starts_with("Non-2xx") || line.starts_with("Socket errors"));
        Some(Self { requests, per_second, trouble: trouble.map(str::to_owned) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_requests_are_not_taken_for_speed() {
        let text = "  2040 requests in 1.00s, 3.00MB read\nRequests/sec:   2031.50\n";

        let fine = Done { requests: 2040.0, per_second: 2031.5, trouble: None };
        assert_eq!(Done::read(text), Some(fine));
        let failed = format!("{text}  Non-2xx or 3xx responses: 7\n");
        assert!(Done::read(&failed).is_some_and(|done| done.trouble.is_some()));
        assert_eq!(Done::read("unable to connect"), None);
    }
}
