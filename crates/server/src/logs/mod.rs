//! Logs: for people on a terminal, as JSON lines everywhere else.

mod lines;
mod outbox;

use std::io::IsTerminal;

pub(crate) use outbox::flush;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{Layer, filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

pub(crate) fn start(level: LevelFilter) {
    // Libraries speak when something is wrong; we speak at the level that was asked for.
    let filter = Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_target("campanile", level)
        .with_target("campanile_store", level)
        .with_target("campanile_connect", level);
    let registry = tracing_subscriber::registry();
    if std::io::stderr().is_terminal() {
        let layer =
            tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
        registry.with(layer.with_filter(filter)).init();
    } else {
        outbox::start();
        registry.with(lines::JsonLines.with_filter(filter)).init();
    }
}
