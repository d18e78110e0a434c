//! One run, from the first start to the verdict.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use crate::{
    Outcome,
    client::Client,
    database::Database,
    diary::Entry,
    killer::Killer,
    ledger::Ledger,
    now,
    options::{Flaw, Options},
    process::{Process, Role},
    report,
    settle::{Shown, settle},
    setup::{self, Platforms},
    verdict::{self, Promise, Verdict},
    world::World,
};

/// Says whether the run ended as it should have.
pub(crate) fn run(options: &Options) -> Outcome<bool> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let seed = options.seed.unwrap_or_else(|| now().unsigned_abs() % 1_000_000);
        let folder = tempfile::Builder::new().prefix("kill-loop-").tempdir()?;
        println!("{} kills, seed {seed}, in {}", options.kills, folder.path().display());
        let database = match &options.postgres {
            Some(server) => Some(Database::create(server).await?),
            None => None,
        };
        let verdict = trial(options, seed, folder.path(), database.as_ref()).await;
        let is_good = verdict.as_ref().is_ok_and(|verdict| conclude(options, seed, verdict));
        if !is_good {
            println!("\nwhat the run left is in {}", folder.keep().display());
        } else if let Some(database) = database {
            database.remove().await?;
        }
        verdict.map(|_| is_good)
    })
}

fn conclude(options: &Options, seed: u64, verdict: &Verdict) -> bool {
    if let Some(flaw) = options.flaw {
        let noticed = expected(flaw).iter().map(|promise| verdict.count(*promise)).sum::<usize>();
        println!("\n{} was noticed {noticed} times", flaw.name());
        return noticed > 0;
    }
    if !verdict.broken.is_empty() {
        let Options { kills, clients, accounts, runners, .. } = options;
        let (first, last) = match options.postgres {
            Some(_) => ("--on-postgres ", format!(" --runners {runners}")),
            None => ("", String::new()),
        };
        println!(
            "\nrepeat it with: scripts/kill-loop.sh {first}--kills {kills} --seed {seed} \
             --clients {clients} --accounts {accounts}{last}"
        );
    }
    verdict.broken.is_empty()
}

/// How a planted bug shows.
fn expected(flaw: Flaw) -> &'static [Promise] {
    match flaw {
        Flaw::IntentAfterCall | Flaw::RetryOnTimeout => &[Promise::NeverDoubled],
        Flaw::NoFencing => &[Promise::CanceledIsTrue, Promise::NeverEarly, Promise::NeverStale],
    }
}

async fn trial(
    options: &Options,
    seed: u64,
    folder: &Path,
    database: Option<&Database>,
) -> Outcome<Verdict> {
    let started = Instant::now();
    let Scene { platforms, world, killer, roles } =
        set_scene(options, seed, folder, database).await?;
    let mut clients = JoinSet::new();
    for number in 0..options.clients {
        clients.spawn(Client::new(world.clone(), number).work());
    }
    let _alive = tokio::select! {
        alive = haunt(&killer, &roles, &world, started) => alive?,
        noticed = notice(options.flaw, &world, &platforms.ledger) => {
            let kills = killer.deaths().values().sum::<u32>();
            println!("{:>5} s: noticed after {kills} kills", started.elapsed().as_secs());
            return noticed;
        }
    };
    platforms.calm_down().await?;
    clients.join_all().await;
    println!("{:>5} s: the last kill is over", started.elapsed().as_secs());

    let patience = if options.flaw.is_some() { 25 } else { options.patience };
    let diary = world.diary();
    let shown = settle(&world, &diary, Duration::from_secs(patience)).await;
    println!("{:>5} s: nothing more is waited for", started.elapsed().as_secs());
    let ledger = Ledger::read(&platforms.ledger)?;
    let verdict = judge(&world, &diary, &ledger, &shown, database.is_none());
    print(options, &verdict, &ledger, &killer.deaths());
    let never = report::never_happened(&killer.deaths(), &ledger);
    if options.flaw.is_none() && options.kills >= ENOUGH && !never.is_empty() {
        return Err(format!("it proves too little: {}", never.join(", ")).into());
    }
    Ok(verdict)
}

/// Everybody who takes part in a run.
struct Scene {
    platforms: Platforms,
    world: Arc<World>,
    killer: Arc<Killer>,
    roles: Vec<Role>,
}

async fn set_scene(
    options: &Options,
    seed: u64,
    folder: &Path,
    database: Option<&Database>,
) -> Outcome<Scene> {
    let platforms = Platforms::start(folder, seed).await?;
    let url = database.map(|database| database.url.as_str());
    let (service, origin) = setup::service(options, folder, &platforms, url)?;
    let roles = match database {
        None => vec![Role::Whole],
        Some(_) => {
            let runners = (0..options.runners).map(Role::Runner);
            std::iter::once(Role::Server).chain(runners).collect()
        }
    };
    let (api, connections) =
        setup::connect(&service, roles[0], &origin, &platforms, options.accounts).await?;
    let world = Arc::new(World::new(api, seed, connections));
    let killer = Arc::new(Killer::new(Arc::new(service), seed, options.kills));
    Ok(Scene { platforms, world, killer, roles })
}

/// A run of so many kills has to meet everything that it is there for.
const ENOUGH: u32 = 200;

fn print(
    options: &Options,
    verdict: &Verdict,
    ledger: &Ledger,
    deaths: &BTreeMap<&'static str, u32>,
) {
    report::deaths(deaths);
    report::troubles(ledger);
    report::outcomes(verdict, ledger);
    report::promises(verdict);
    if options.flaw.is_none() {
        report::examples(verdict);
    }
}

/// Ends as soon as a planted bug shows in what went out; never without one.
async fn notice(flaw: Option<Flaw>, world: &World, ledger: &Path) -> Outcome<Verdict> {
    let Some(flaw) = flaw else { return std::future::pending().await };
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        // Read first: what is in the diary by then is complete, and so is what is judged by it.
        let diary = world.diary();
        let mut broken = verdict::judge_sent(&diary, &Ledger::read(ledger)?);
        broken.retain(|(promise, _)| expected(flaw).contains(promise));
        if let Some((_, example)) = broken.first() {
            println!("{example}");
            return Ok(Verdict { broken, ..Verdict::default() });
        }
    }
}

fn judge(world: &World, diary: &[Entry], ledger: &Ledger, shown: &Shown, alone: bool) -> Verdict {
    let mut verdict = verdict::judge(diary, ledger, shown, &world.connections);
    let (late, to_blame) = verdict::late(diary, ledger, shown);
    if alone {
        let to_blame = to_blame.into_iter().map(|what| (Promise::NeverLate, what));
        verdict.broken.extend(to_blame);
    }
    let failed = world.api.troubles().into_iter();
    verdict.broken.extend(failed.map(|trouble| (Promise::AlwaysAnswered, trouble)));
    let (requests, repeated) = world.api.counts();
    println!("\n{} posts, {requests} requests, {repeated} of them repeated", diary.len());
    println!("{late} jobs started more than a minute late without a failure");
    verdict
}

/// Kills every process until it is enough, then lets the clients come to their end.
async fn haunt(
    killer: &Arc<Killer>,
    roles: &[Role],
    world: &Arc<World>,
    started: Instant,
) -> Outcome<Vec<Process>> {
    let mut haunted = JoinSet::new();
    for role in roles.iter().copied() {
        let killer = killer.clone();
        haunted.spawn(async move { killer.haunt(role).await });
    }
    let mut alive = Vec::new();
    let mut minutes = tokio::time::interval(Duration::from_secs(60));
    minutes.tick().await;
    loop {
        tokio::select! {
            ended = haunted.join_next() => match ended {
                Some(process) => alive.push(process??),
                None => break,
            },
            _ = minutes.tick() => {
                let (kills, posts) = (killer.deaths().values().sum::<u32>(), world.diary().len());
                println!("{:>5} s: {kills} kills, {posts} posts", started.elapsed().as_secs());
            }
        }
    }
    world.stop.store(true, Ordering::Relaxed);
    Ok(alive)
}
