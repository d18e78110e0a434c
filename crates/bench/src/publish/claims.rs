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
/// Between two posts of those that are queued.
const GAP: Millis = 100;

pub(super) fn measure(runtime: &Runtime, press: &Press<'_>, amounts: &Amounts) -> Outcome {
    let due = now();
    let claimed = usize::try_from(CLAIMED)?;
    runtime.block_on(press.plan(Kind::Noop, claimed, |_| due))?;
    let tomorrow = due + DAY;
    let at = |number: usize| tomorrow + Millis::try_from(number).unwrap_or(0) * GAP;
    runtime.block_on(press.plan(Kind::Noop, FEW, at))?;
    let few = claim(runtime, press)?;
    eprintln!("queueing {} posts on {} ...", number(amounts.queued as f64), press.store.engine);
    let again = amounts.queued / FEW - 1;
    runtime.block_on(press.plan_again(tomorrow, again, at(FEW) - tomorrow))?;
    let many = claim(runtime, press)?;
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

/// The tenth that was fastest: minutes lie between the two that are compared, and other work may
/// have come or gone.
fn claim(runtime: &Runtime, press: &Press<'_>) -> Outcome<f64> {
    press.settle()?;
    let mut times = runtime.block_on(press.claim())?;
    times.sort_by(f64::total_cmp);
    times.truncate(times.len() / 10);
    Ok(median(times))
}
