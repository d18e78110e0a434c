//! Logs: for people on a terminal, as JSON lines everywhere else.

mod lines;
mod outbox;

use std::{io::IsTerminal, sync::OnceLock};

pub(crate) use lines::RequestLine;
pub(crate) use outbox::flush;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{Layer, filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

/// Whether requests are written as JSON lines; not set where people read.
static AS_LINES: OnceLock<bool> = OnceLock::new();

/// Notes a request that was answered.
pub(crate) fn request(line: &RequestLine<'_>) {
    match AS_LINES.get() {
        Some(true) => line.write(),
        Some(false) => {}
        None => tracing::info!(
            "{} {} {} {}µs {} {} {}",
            line.status,
            line.method,
            line.route,
            line.duration_us,
            line.user.unwrap_or("-"),
            line.brand.unwrap_or("-"),
            line.request_id,
        ),
    }
}

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
        let _ = AS_LINES.set(level >= LevelFilter::INFO);
        registry.with(lines::JsonLines.with_filter(filter)).init();
    }
}
