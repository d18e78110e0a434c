//! How long after its time the first byte of a post is at the platform's server.

use campanile_model::time::{Millis, SECOND};

use super::{Amounts, arrivals::Arrival, platform::Kind, press::Press};
use crate::{
    Outcome,
    report::{Target, line, number},
    store::Engine,
};

/// Due per second while lateness is measured.
const STEADY: usize = 200;

pub(super) async fn steady(press: &Press<'_>, amounts: &Amounts) -> Outcome {
    let count = STEADY * amounts.steady_seconds;
    let begin = press.soon(count);
    let at = |number: usize| begin + spread(number, STEADY);
    let published = press.publish(Kind::Wired, count, at).await?;
    let mut lateness: Vec<_> = published.arrivals.iter().map(Arrival::lateness).collect();
    let arrived = lateness.len();
    // One that never came is later than all others.
    lateness.resize(arrived.max(count), f64::INFINITY);
    lateness.sort_by(f64::total_cmp);
    let share = |share: f64| lateness[((lateness.len() - 1) as f64 * share).round() as usize];
    let detail = format!(
        "{STEADY} due per second, {} of {} arrived",
        number(arrived as f64),
        number(count as f64)
    );
    for (name, figure, target) in [
        ("lateness p50", share(0.5), Target::AtMost(10.0)),
        ("lateness p99", share(0.99), Target::AtMost(50.0)),
        ("lateness max", share(1.0), Target::AtMost(500.0)),
        ("earliest", share(0.0), Target::AtLeast(0.0)),
    ] {
        line(&format!("{name}, {}", press.store.engine), &detail, figure, " ms", target);
    }
    Ok(())
}

pub(super) async fn burst(press: &Press<'_>, amounts: &Amounts) -> Outcome {
    let count = amounts.burst;
    let begin = press.soon(count);
    let at = |number: usize| begin + spread(number, count);
    let published = press.publish(Kind::Wired, count, at).await?;
    let arrived = published.arrivals.len();
    let last = published.arrivals.iter().map(|arrival| arrival.at).max().unwrap_or(i64::MAX);
    let seconds = (last - begin * 1000) as f64 / 1e6;
    let detail = format!(
        "{} due in one second, {} arrived, the last after {seconds:.1} s",
        number(count as f64),
        number(arrived as f64)
    );
    let target = match press.store.engine {
        Engine::Sqlite => Target::AtLeast(2500.0),
        Engine::Postgres => Target::None,
    };
    let name = format!("burst, {}", press.store.engine);
    line(&name, &detail, arrived as f64 / seconds, "/s", target);
    Ok(())
}

/// When one of many is due that are `per_second`.
fn spread(number: usize, per_second: usize) -> Millis {
    Millis::try_from(number).unwrap_or(0) * SECOND / Millis::try_from(per_second).unwrap_or(1)
}
