//! What a run is told on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Kills the service again and again while clients use it and platforms fail, then compares what
/// it says with what the platforms wrote down. Ends with 0 when nothing was lost or doubled.
#[derive(Parser, Debug)]
#[command(name = "kill-loop", version, max_term_width = 100, args_override_self = true)]
pub(crate) struct Options {
    /// How often the service is killed.
    #[arg(long, default_value_t = 200, value_name = "NUMBER")]
    pub(crate) kills: u32,

    /// Decides what clients do and how platforms fail. [default: another one each time]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,

    /// The service, built with the feature `trial`. [default: campanile-tried, or with --flaw
    /// campanile-flawed, beside this program]
    #[arg(long, value_name = "FILE")]
    pub(crate) binary: Option<PathBuf>,

    /// Clients that use the service at the same time.
    #[arg(long, default_value_t = 24, value_name = "NUMBER")]
    pub(crate) clients: u64,

    /// Accounts on each platform. A long run needs more of them: a list in which hundreds of
    /// posts follow upon one that is looked for is not read to its end.
    #[arg(long, default_value_t = 5, value_name = "NUMBER")]
    pub(crate) accounts: usize,

    /// A PostgreSQL server on which a database may be made; without one the run is on SQLite.
    #[arg(long, value_name = "URL")]
    pub(crate) postgres: Option<String>,

    /// On PostgreSQL: processes that publish, beside one that only serves.
    #[arg(long, default_value_t = 2, requires = "postgres", value_name = "NUMBER")]
    pub(crate) runners: usize,

    /// How many seconds whatever is open may take after the last kill. A post whose next try has
    /// a later time, because several tries were killed, is counted as waiting.
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    pub(crate) patience: u64,

    /// Plants a bug, in a service built with the feature `flaws`; the run then ends with 0 when
    /// it noticed.
    #[arg(long, value_name = "NAME")]
    pub(crate) flaw: Option<Flaw>,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Flaw {
    /// The call is made before it is durable that it is meant.
    IntentAfterCall,
    /// A call without a clear answer is made again without looking.
    RetryOnTimeout,
    /// Whoever lost an entry writes to it all the same.
    NoFencing,
}

impl Flaw {
    /// As the service knows it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::IntentAfterCall => "intent-after-call",
            Self::RetryOnTimeout => "retry-on-timeout",
            Self::NoFencing => "no-fencing",
        }
    }
}

#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Command {
    /// What this program starts itself as, so that the platforms outlive the service.
    #[command(hide = true)]
    Doubles(Doubles),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Doubles {
    /// Takes the ledger.
    #[arg(long)]
    pub(crate) ledger: PathBuf,
    #[arg(long)]
    pub(crate) seed: u64,
}
