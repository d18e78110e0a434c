//! `make bench`: the service beside a bare one, in one run on one machine, as ratios.

mod bare;
mod creates;
mod disk;
mod footprint;
mod growth;
mod load;
mod one_commit;
mod postgres;
mod process;
mod publish;
mod reads;
mod reference;
mod report;
mod request;
mod seed;
mod service;
mod store;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;
use tokio::runtime::Runtime;

use crate::{
    load::Pace,
    postgres::Server,
    publish::Amounts,
    store::{Engine, Store, Workshop},
};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Measures Campanile beside a bare axum server on the same machine and prints ratios:
///
/// 1. GET /whoami and GET /posts (50 of 100,000 posts) against a bare axum route that returns
///    the very same bytes.
///
/// 2. The same list in a store of 1,000 and in one of 1,000,000 posts.
///
/// 3. POST /posts with 1 and with 32 clients, against a server that commits every request by
///    itself; on the disk that is there, and as if its syncs took five milliseconds longer.
///
/// 4. Publishing with 1,000,000 posts queued: the cost of a claim; from the due time to the first
///    byte at a server on this machine, at a steady pace and in a burst; and a backlog to a
///    platform that does nothing, against BullMQ and graphile-worker with jobs that do nothing.
///
/// 5. Idle memory, time from start to the first answer, size of the binary.
///
/// Contenders take turns in short rounds, and medians are shown with the CPU time that the
/// server spent on a request. Each line ends with its target and whether it was met; a target
/// that was not met does not make the run fail. Needs wrk, and the release build of campanile
/// beside this program.
#[derive(Parser, Debug)]
#[command(name = "campanile-bench", version, max_term_width = 100)]
struct Options {
    /// Shorter rounds, 100,000 posts instead of 1,000,000 in the largest store, and 50,000 queued.
    #[arg(long)]
    quick: bool,

    /// A PostgreSQL server on which databases may be created; without one its lines are left out.
    #[arg(long, env = "CAMPANILE_BENCH_POSTGRES", hide_env_values = true, value_name = "URL")]
    postgres: Option<String>,

    /// Where scripts/rivals.sh has installed other queues; without it they are left out.
    #[arg(long, env = "CAMPANILE_BENCH_RIVALS", value_name = "FOLDER")]
    rivals: Option<PathBuf>,

    /// Only these parts: reads, growth, creates, publish, footprint.
    #[arg(long, value_delimiter = ',', value_name = "PARTS")]
    only: Vec<Part>,

    /// Where the stores are made; it should lie on the kind of disk that will be used for real.
    /// [default: beside this program]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,

    /// What this program starts itself as, to measure against.
    #[arg(long, hide = true, value_name = "FILE")]
    one_commit: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Reads,
    Growth,
    Creates,
    Publish,
    Footprint,
}

/// Posts that are there before publishing is measured.
const PUBLISHED: usize = 10;
const FEW: usize = 1_000;
const MANY: usize = 100_000;
const MOST: usize = 1_000_000;

impl Options {
    fn wants(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }

    fn most(&self) -> usize {
        if self.quick { MANY } else { MOST }
    }

    fn amounts(&self) -> Amounts {
        if self.quick {
            Amounts { queued: 50_000, steady_seconds: 5, burst: 5_000, drained: 10_000, rounds: 1 }
        } else {
            Amounts { queued: MOST, steady_seconds: 30, burst: 20_000, drained: 50_000, rounds: 3 }
        }
    }

    fn pace(&self) -> Pace {
        if self.quick {
            Pace { rounds: 3, round: Duration::from_secs(1) }
        } else {
            Pace { rounds: 5, round: Duration::from_secs(2) }
        }
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = match &options.one_commit {
        Some(file) => one_commit::serve(file),
        None => run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nothing more can be measured: {}", with_reasons(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn with_reasons(error: &(dyn std::error::Error + 'static)) -> String {
    let reasons = std::iter::successors(Some(error), |error| error.source());
    reasons.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn run(options: &Options) -> Outcome {
    load::require_wrk()?;
    let runtime = Runtime::new()?;
    let server = options.postgres.as_deref().map(Server::new).transpose()?;
    let workshop = Workshop::open(options.folder.as_deref(), server)?;
    let pace = options.pace();
    report::head(&pace);
    if workshop.postgres.is_none() {
        println!("No PostgreSQL was named (--postgres), so its lines are left out.");
    }
    if options.rivals.is_none() {
        println!("No other queues are installed (--rivals), so their lines are left out.");
    }

    let engines = workshop.engines();
    let only_publish = options.only == [Part::Publish];
    let many = stores(&workshop, &runtime, &engines, if only_publish { FEW } else { MANY })?;
    if options.wants(Part::Reads) {
        reads::measure(&runtime, &many, &pace)?;
    }
    if options.wants(Part::Growth) {
        let few = stores(&workshop, &runtime, &engines, FEW)?;
        // A quick run's largest store is the one that is there already.
        let most = match options.most() {
            MANY => Vec::new(),
            most => stores(&workshop, &runtime, &engines, most)?,
        };
        let most = if most.is_empty() { &many } else { &most };
        growth::measure(&few, most, &pace)?;
    }
    if options.wants(Part::Creates) {
        creates::measure(&workshop, &many, &pace)?;
    }
    if options.wants(Part::Publish) {
        let fresh = stores(&workshop, &runtime, &engines, PUBLISHED)?;
        let rivals = options.rivals.as_deref();
        publish::measure(&runtime, &workshop, &fresh, &options.amounts(), rivals)?;
    }
    if options.wants(Part::Footprint) {
        footprint::measure(&workshop, &many, &pace)?;
    }
    Ok(())
}

/// One store of this size per engine.
fn stores<'w>(
    workshop: &'w Workshop,
    runtime: &Runtime,
    engines: &[Engine],
    posts: usize,
) -> Outcome<Vec<Store<'w>>> {
    engines.iter().map(|engine| Store::prepare(workshop, runtime, *engine, posts)).collect()
}
