//! DOOR. HTTP, sessions and the command line: the binary `campanile`.

mod admin;
mod answer;
mod api;
mod app;
mod background;
mod caller;
mod canary;
mod clock;
mod config;
mod control;
mod credential;
mod crowd;
mod doctor;
mod extract;
mod files;
mod guard;
mod intake;
mod limiter;
mod logs;
mod metrics;
mod openapi;
mod paging;
mod password;
mod problem;
mod reference;
mod restore;
mod route;
mod run;
mod serve;
mod start;
mod timeline;
mod vault;
mod web;
mod wire;

use std::process::ExitCode;

use admin::Request;
use config::{Cli, Command};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let outcome = config::load(&arguments).and_then(run);
    logs::flush();
    match outcome {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("campanile: {}", message.trim_end());
            ExitCode::FAILURE
        }
    }
}

/// What the command prints on standard output.
fn run(cli: Cli) -> Result<String, String> {
    let Cli { config, command } = cli;
    match command.unwrap_or(Command::Serve) {
        Command::Serve => start::serve(config).map(|()| String::new()),
        Command::Openapi => Ok(openapi::text() + "\n"),
        Command::Runner => start::runner(config).map(|()| String::new()),
        Command::Migrate => start::migrate(config),
        Command::User(command) => start::administer(config, Request::User(command)),
        Command::Brand(command) => start::administer(config, Request::Brand(command)),
        Command::Key(command) => start::administer(config, Request::Key(command)),
        Command::Backup { file } => {
            let file = std::path::absolute(&file).map_err(|error| error.to_string())?;
            start::administer(config, Request::Backup(file))
        }
        Command::Restore { file } => restore::restore(&config, &file),
        Command::Doctor => start::administer(config, Request::Doctor),
    }
}
