//! What the service takes before it does anything: memory, time to start, room on the disk.

use std::{fs, time::Duration};

use crate::{
    Outcome,
    load::{Pace, race},
    process::resident_megabytes,
    reads::{CONNECTIONS, LIST},
    report::{Target, line, median, section},
    service::{Log, Service},
    store::{Store, Workshop},
};

const STARTS: usize = 9;
const MEMORY: Target = Target::AtMost(40.0);

pub(crate) fn measure(workshop: &Workshop, stores: &[Store<'_>], pace: &Pace) -> Outcome {
    section("Memory, start and size, on a store of 100,000 posts or more");
    for store in stores {
        memory(store, pace)?;
    }
    for store in stores {
        start(store)?;
    }
    let bytes = fs::metadata(&workshop.binary)?.len();
    line("binary", "on the disk", bytes as f64 / 1e6, " MB", Target::AtMost(40.0));
    Ok(())
}

fn memory(store: &Store<'_>, pace: &Pace) -> Outcome {
    let engine = store.engine;
    let service = Service::start(store, Log::Info)?;
    let fresh = resident_megabytes(service.pid())?;
    std::thread::sleep(idle_time(pace));
    let idle = resident_megabytes(service.pid())?;
    let detail = format!("{} s after the start; at once {fresh:.1} MB", idle_time(pace).as_secs());
    line(&format!("idle memory, {engine}"), &detail, idle, " MB", MEMORY);
    race(&[store.contender(&service, LIST, CONNECTIONS)], pace)?;
    let worked = resident_megabytes(service.pid())?;
    let detail = "after lists for 32 connections";
    line(&format!("memory after work, {engine}"), detail, worked, " MB", Target::None);
    service.stop()
}

fn idle_time(pace: &Pace) -> Duration {
    pace.round * 5
}

fn start(store: &Store<'_>) -> Outcome {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let service = Service::start(store, Log::Info)?;
        times.push(service.ready_after.as_secs_f64() * 1e3);
        service.stop()?;
    }
    let slowest = times.iter().copied().fold(0.0, f64::max);
    let detail = format!("spawn to first health answer; slowest of {STARTS}: {slowest:.0} ms");
    let name = format!("start, {}", store.engine);
    line(&name, &detail, median(times), " ms", Target::AtMost(150.0));
    Ok(())
}
