//! `POST /posts` with one and with many clients, against one commit per request.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    Outcome, disk,
    load::{Contender, Pace, Speed, race},
    reference::Reference,
    report::{Target, line, section},
    service::{Log, Service},
    store::{Engine, Store, Workshop},
};

const MANY_CLIENTS: usize = 32;
const GAIN: Target = Target::AtLeast(5.0);

pub(crate) fn measure(workshop: &Workshop, stores: &[Store<'_>], pace: &Pace) -> Outcome {
    section(
        "Create a post with two or three tags, every answer after its fsync, 100,000 posts before",
    );
    let folder = workshop.folder("creates")?;
    let synced = disk::sync_time(&folder)?;
    line("the disk", "one page written and synced", synced, " µs", Target::None);
    let script = folder.join("create.lua");
    fs::write(&script, include_str!("create.lua"))?;
    let slow = match stores.iter().find(|store| store.engine == Engine::Sqlite) {
        Some(store) => Some(store.on_slow_disk(disk::slow_library(&folder)?)?),
        None => None,
    };
    on_this_disk(stores, &folder, &script, pace)?;
    slow.map_or(Ok(()), |store| on_slow_disk(&store, &folder, &script, pace))
}

fn on_this_disk(stores: &[Store<'_>], folder: &Path, script: &Path, pace: &Pace) -> Outcome {
    let mut contenders = Vec::new();
    let (mut references, mut services) = (Vec::new(), Vec::new());
    for store in stores {
        if store.engine == Engine::Sqlite {
            let reference = Reference::start(store, &folder.join("one-commit.db"))?;
            contenders.push(posting(reference.contender(), 1, script));
            contenders.push(posting(reference.contender(), MANY_CLIENTS, script));
            references.push(reference);
        }
        let service = Service::start(store, Log::Info)?;
        let ours = store.contender(&service, "/posts", 1);
        contenders.push(posting(ours.clone(), 1, script));
        contenders.push(posting(ours, MANY_CLIENTS, script));
        services.push(service);
    }
    print(&race(&contenders, pace)?)?;
    services.into_iter().try_for_each(Service::stop)
}

/// What group commit gains depends on what a commit costs, so a second disk is shown.
fn on_slow_disk(store: &Store<'_>, folder: &Path, script: &Path, pace: &Pace) -> Outcome {
    let reference = Reference::start(store, &folder.join("one-commit-slow.db"))?;
    let service = Service::start(store, Log::Info)?;
    let ours = store.contender(&service, "/posts", 1);
    let contenders =
        [posting(reference.contender(), MANY_CLIENTS, script), posting(ours, MANY_CLIENTS, script)];
    let speeds = race(&contenders, pace)?;
    let [each, ours] = speeds.as_slice() else { return Err("a contender is missing".into()) };
    let detail = format!("32 clients: {}; one commit each {}", ours.shown(), each.shown());
    line("SQLite, fsync 5 ms slower", &detail, ours.times(each), " x", GAIN);
    service.stop()
}

fn posting(contender: Contender, connections: usize, script: &Path) -> Contender {
    Contender { connections, script: Some(PathBuf::from(script)), ..contender }
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
    line("group commit, SQLite", detail, many.times(each_many), " x", GAIN);
    if let [one, many] = postgres {
        rate("PostgreSQL, 1 client", one, Target::None);
        rate("PostgreSQL, 32 clients", many, Target::AtLeast(4_000.0));
    }
    Ok(())
}
