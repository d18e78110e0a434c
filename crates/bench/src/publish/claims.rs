//! A claim must cost the same however many posts wait for their time.

use campanile_model::time::{DAY, Millis};
use tokio::runtime::Runtime;

use super::{
    Amounts, now,
    platform::Kind,
    press::{CLAIMED, Press},
};
use crate::{
    Outcome,
    report::{Target, line, median, number},
};

const FEW: usize = 10_000;

pub(super) fn measure(runtime: &Runtime, press: &Press<'_>, amounts: &Amounts) -> Outcome {
    let due = now();
    let claimed = usize::try_from(CLAIMED)?;
    runtime.block_on(press.plan(Kind::Noop, claimed, |_| due))?;
    let few = with_queued(runtime, press, FEW)?;
    let many = with_queued(runtime, press, amounts.queued - FEW)?;
    let detail = format!(
        "taking up {CLAIMED}: {} µs with {} queued, {} µs with {}",
        number(few.round()),
        number(FEW as f64),
        number(many.round()),
        number(amounts.queued as f64)
    );
    let name = format!("claim, {}", press.store.engine);
    line(&name, &detail, many / few, " x", Target::AtMost(1.5));
    // Those that were claimed again and again go now: they would be late in what comes next.
    runtime.block_on(press.publish(Kind::Noop, 0, |_| due))?;
    Ok(())
}

/// Queues more posts for the days to come.
fn with_queued(runtime: &Runtime, press: &Press<'_>, more: usize) -> Outcome<f64> {
    let (engine, tomorrow) = (press.store.engine, now() + DAY);
    eprintln!("queueing {} posts on {engine} ...", number(more as f64));
    let at = |number: usize| tomorrow + Millis::try_from(number).unwrap_or(0) * 100;
    runtime.block_on(press.plan(Kind::Noop, more, at))?;
    press.settle()?;
    Ok(median(runtime.block_on(press.claim())?))
}
