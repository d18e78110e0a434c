//! `kill-loop`: shows on the built service that no post is lost and that none goes out twice.
//!
//! Doubles of social networks run in a process of their own and write down, durably, every post
//! they accept. Clients plan, edit, move, cancel and delete posts over HTTP while the service is
//! killed again and again. In the end what the service says is held against what is written.

mod api;
mod chance;
mod client;
mod database;
mod diary;
mod doubles;
mod killer;
mod ledger;
mod options;
mod process;
mod report;
mod run;
mod settle;
mod setup;
mod verdict;
mod world;

use std::{process::ExitCode, time::UNIX_EPOCH};

use campanile_model::time::Millis;
use clap::Parser;

use crate::options::{Command, Options};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The machine's clock, which the service and the doubles go by as well.
fn now() -> Millis {
    let since = UNIX_EPOCH.elapsed().unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}

/// 0 when every promise was kept, 1 when one was broken, 2 when the run came to nothing.
fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = match &options.command {
        Some(Command::Doubles(doubles)) => doubles::serve(doubles).map(|()| true),
        None => run::run(&options),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("the run came to nothing: {error}");
            ExitCode::from(2)
        }
    }
}
