//! Publishing: how late, how many at once, and what a look at the queue costs.

mod noop;
mod press;

use std::time::Instant;

use campanile_model::time::{DAY, Millis, SECOND};
use tokio::runtime::Runtime;

use self::{noop::micros, press::Press};
use crate::{
    Outcome,
    report::{self, Target},
    store::Store,
};

/// How much of each there is.
pub(crate) struct Amounts {
    pub(crate) queued: usize,
    pub(crate) steady_seconds: usize,
    pub(crate) burst: usize,
    pub(crate) drained: usize,
}

/// Due per second while lateness is measured.
const STEADY: usize = 200;

pub(crate) fn measure(runtime: &Runtime, stores: &[Store<'_>], amounts: &Amounts) -> Outcome {
    report::section(&format!(
        "Publish to a platform that does nothing, intent and outcome durable, {} queued for later",
        report::number(amounts.queued as f64)
    ));
    for store in stores {
        runtime.block_on(measure_store(store, amounts))?;
    }
    Ok(())
}

async fn measure_store(store: &Store<'_>, amounts: &Amounts) -> Outcome {
    let engine = store.engine;
    let press = Press::open(store).await?;
    press.plan(10_000, |number| now() + DAY + later(number)).await?;
    let few = press.look().await?;
    press.plan(amounts.queued, |number| now() + DAY + later(number)).await?;
    let many = press.look().await?;
    let detail = format!("{few:.0} µs with 10,000 queued, {many:.0} µs with all");
    let name = format!("one look, {engine}");
    report::line(&name, &detail, many / few, " x", Target::AtMost(1.5));
    steady(store, &press, amounts).await?;
    burst(store, &press, amounts).await?;
    drain(store, &press, amounts).await?;
    press.engine.db.close().await;
    Ok(())
}

fn later(number: usize) -> Millis {
    Millis::try_from(number).unwrap_or(0) * 100
}

fn now() -> Millis {
    micros() / 1000
}

async fn steady(store: &Store<'_>, press: &Press, amounts: &Amounts) -> Outcome {
    let count = STEADY * amounts.steady_seconds;
    let begin = now() + 5 * SECOND + later(count / 2000);
    let gap = SECOND as f64 / STEADY as f64;
    let at = |number: usize| begin + (number as f64 * gap) as Millis;
    press.plan(count, at).await?;
    let (running, stop) = press.start();
    press.wait(at(count)).await?;
    drop(stop);
    running.await?;
    let mut lateness = press.noop.lateness();
    lateness.sort_by(f64::total_cmp);
    let share = |share: f64| {
        let index = (lateness.len() as f64 * share) as usize;
        lateness.get(index.min(lateness.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
    };
    let detail = format!("{} posts, {STEADY} due per second, {} called", count, lateness.len());
    let engine = store.engine;
    for (name, figure, most) in [
        ("lateness p50", share(0.5), 10.0),
        ("lateness p99", share(0.99), 50.0),
        ("lateness max", share(1.0), 500.0),
    ] {
        report::line(&format!("{name}, {engine}"), &detail, figure, " ms", Target::AtMost(most));
    }
    let earliest = lateness.first().copied().unwrap_or(f64::NAN);
    report::line(
        &format!("earliest, {engine}"),
        "never early",
        earliest,
        " ms",
        Target::AtLeast(0.0),
    );
    Ok(())
}

async fn burst(store: &Store<'_>, press: &Press, amounts: &Amounts) -> Outcome {
    let begin = now() + 5 * SECOND + later(amounts.burst / 2000);
    let at = |number: usize| begin + (number * 1000 / amounts.burst) as Millis;
    press.plan(amounts.burst, at).await?;
    let (running, stop) = press.start();
    press.wait(begin + SECOND).await?;
    drop(stop);
    running.await?;
    let lateness = press.noop.lateness();
    let slowest = lateness.iter().copied().fold(0.0, f64::max);
    let rate = amounts.burst as f64 / (1.0 + slowest / 1000.0);
    let detail =
        format!("{} due in one second, the last starts {slowest:.0} ms late", amounts.burst);
    let name = format!("burst, {}", store.engine);
    report::line(&name, &detail, rate, "/s", Target::AtLeast(2500.0));
    Ok(())
}

async fn drain(store: &Store<'_>, press: &Press, amounts: &Amounts) -> Outcome {
    let due = now();
    press.plan(amounts.drained, |_| due).await?;
    let started = Instant::now();
    let (running, stop) = press.start();
    press.wait(due).await?;
    let took = started.elapsed().as_secs_f64();
    drop(stop);
    running.await?;
    let detail = format!("{} due at once, {} called", amounts.drained, press.noop.count());
    press.noop.lateness();
    let name = format!("whole publishes, {}", store.engine);
    report::line(&name, &detail, amounts.drained as f64 / took, "/s", Target::None);
    Ok(())
}
