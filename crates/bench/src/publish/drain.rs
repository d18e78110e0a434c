//! A backlog of posts to a platform that does nothing, beside other queues with as little to do.

use std::path::Path;

use tokio::runtime::Runtime;

use super::{
    Amounts,
    platform::Kind,
    press::Press,
    rivals::{Rival, Rivals},
};
use crate::{
    Outcome,
    report::{Target, line, median, median_ratio, number},
    store::Workshop,
};

pub(super) fn measure(
    runtime: &Runtime,
    workshop: &Workshop,
    presses: &[Press<'_>],
    amounts: &Amounts,
    folder: Option<&Path>,
) -> Outcome {
    let rivals = folder.and_then(|folder| match Rivals::start(folder, workshop) {
        Ok(rivals) => Some(rivals),
        Err(error) => {
            println!("  The other queues cannot be started, so they are left out: {error}");
            None
        }
    });
    let mut ours: Vec<_> = presses.iter().map(|press| (press, Vec::new())).collect();
    let mut theirs: Vec<_> =
        rivals.iter().flat_map(Rivals::all).map(|rival| (rival, Vec::new())).collect();
    for round in 0..amounts.rounds {
        eprintln!("draining, round {} of {} ...", round + 1, amounts.rounds);
        // In turns: a machine that gets slower or faster does so for both.
        let own_first = round.is_multiple_of(2);
        if own_first {
            drain_ours(runtime, &mut ours, amounts)?;
        }
        if let Some(rivals) = &rivals {
            drain_theirs(rivals, &mut theirs, amounts);
        }
        if !own_first {
            drain_ours(runtime, &mut ours, amounts)?;
        }
    }
    for (press, rates) in &ours {
        print(press, rates, &theirs, amounts);
    }
    Ok(())
}

/// Per second, round by round.
type Rates = Vec<f64>;

fn drain_ours(runtime: &Runtime, ours: &mut [(&Press<'_>, Rates)], amounts: &Amounts) -> Outcome {
    for (press, rates) in ours {
        rates.push(runtime.block_on(drain(press, amounts.drained))?);
    }
    Ok(())
}

async fn drain(press: &Press<'_>, count: usize) -> Outcome<f64> {
    let due = press.soon(count);
    let published = press.publish(Kind::Noop, count, |_| due).await?;
    if published.arrivals.len() != count {
        // A speed with posts missing in it would mean nothing.
        return Err(format!("{} of {count} posts were called", published.arrivals.len()).into());
    }
    Ok(count as f64 / published.seconds)
}

/// One that fails is left out from then on.
fn drain_theirs(rivals: &Rivals, theirs: &mut Vec<(Rival, Rates)>, amounts: &Amounts) {
    theirs.retain_mut(|(rival, rates)| match rivals.drain(rival, amounts.drained) {
        Ok(rate) => {
            rates.push(rate);
            true
        }
        Err(error) => {
            println!("  {} is left out: {error}", rival.name);
            false
        }
    });
}

fn print(press: &Press<'_>, rates: &[f64], theirs: &[(Rival, Rates)], amounts: &Amounts) {
    let engine = press.store.engine;
    let rate = median(rates.to_vec());
    let detail = format!("{} due at once", number(amounts.drained as f64));
    line(&format!("whole publishes, {engine}"), &detail, rate, "/s", Target::None);
    for (rival, others) in theirs {
        let detail = format!("{}: {}/s", rival.name, number(median(others.clone()).round()));
        let times = median_ratio(rates, others);
        line(&format!("publishes : jobs, {engine}"), &detail, times, " x", rival.target);
    }
}
