//! `POST /posts` with one and with many clients, against one commit per request.

use std::{
    fs::{self, File},
    io::{Seek, SeekFrom, Write},
    path::Path,
    time::Instant,
};

use tokio::runtime::Runtime;

use crate::{
    Outcome,
    load::{Contender, Pace, Speed, race},
    one_commit,
    report::{Target, line, median, section},
    service::{Log, Service},
    store::{Engine, Store, Workshop},
};

const MANY_CLIENTS: usize = 32;

pub(crate) fn measure(
    runtime: &Runtime,
    workshop: &Workshop,
    stores: &[Store<'_>],
    pace: &Pace,
) -> Outcome {
    section(
        "Create a post with two or three tags, every answer after its fsync, 100,000 posts before",
    );
    let folder = workshop.folder("creates")?;
    disk(&folder)?;
    let script = folder.join("create.lua");
    fs::write(&script, include_str!("create.lua"))?;
    let with = |contender: Contender, connections: usize| Contender {
        connections,
        script: Some(script.clone()),
        ..contender
    };
    let mut services = Vec::new();
    let mut contenders = Vec::new();
    for store in stores {
        if store.engine == Engine::Sqlite {
            let reference = one_commit::start(runtime, store, &folder)?;
            contenders.extend([with(reference.clone(), 1), with(reference, MANY_CLIENTS)]);
        }
        let service = Service::start(store, Log::Info)?;
        let ours = store.contender(&service, "/posts", 1);
        contenders.extend([with(ours.clone(), 1), with(ours, MANY_CLIENTS)]);
        services.push(service);
    }
    print(&race(&contenders, pace)?)?;
    services.into_iter().try_for_each(Service::stop)
}

fn print(speeds: &[Speed]) -> Outcome {
    let [each_one, each_many, one, many, postgres @ ..] = speeds else {
        return Err("a contender is missing".into());
    };
    let rate = |name: &str, speed: &Speed, target: Target| {
        let cpu = format!("{} µs CPU", speed.cpu());
        line(name, &cpu, speed.per_second(), "/s", target);
    };
    rate("one commit each, 1 client", each_one, Target::None);
    rate("one commit each, 32 clients", each_many, Target::None);
    rate("SQLite, 1 client", one, Target::None);
    rate("SQLite, 32 clients", many, Target::AtLeast(10_000.0));
    let detail = "32 clients sharing commits : one commit each";
    line("group commit, SQLite", detail, many.times(each_many), " x", Target::AtLeast(5.0));
    if let [one, many] = postgres {
        rate("PostgreSQL, 1 client", one, Target::None);
        rate("PostgreSQL, 32 clients", many, Target::AtLeast(4_000.0));
    }
    Ok(())
}

/// What the disk takes to make a page durable: the floor under every commit.
fn disk(folder: &Path) -> Outcome {
    let mut file = File::create(folder.join("page"))?;
    let mut times = Vec::new();
    for _ in 0..200 {
        let started = Instant::now();
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&[0x5a; 4096])?;
        file.sync_data()?;
        times.push(started.elapsed().as_secs_f64() * 1e6);
    }
    line("the disk", "one page written and synced", median(times), " µs", Target::None);
    Ok(())
}
