//! Publishing: what a claim costs, how late posts start, how many at once, and how fast a
//! backlog goes, beside what others offer for such work.

mod arrivals;
mod claims;
mod copies;
mod drain;
mod peer;
mod platform;
mod press;
mod rivals;
mod timely;

use std::path::Path;

use campanile_model::time::Millis;
use tokio::runtime::Runtime;

use self::{arrivals::micros, peer::Peer, press::Press};
use crate::{
    Outcome,
    report::{number, section},
    store::{Store, Workshop},
};

/// How much of each there is.
pub(crate) struct Amounts {
    pub(crate) queued: usize,
    pub(crate) steady_seconds: usize,
    pub(crate) burst: usize,
    /// In one round. They have to go within a minute: what is later than that is held back by
    /// the engine, so that an outage does not end in a flood.
    pub(crate) drained: usize,
    pub(crate) rounds: usize,
}

/// `rivals` is the folder in which other queues are installed.
pub(crate) fn measure(
    runtime: &Runtime,
    workshop: &Workshop,
    stores: &[Store<'_>],
    amounts: &Amounts,
    rivals: Option<&Path>,
) -> Outcome {
    section(&format!(
        "Publish, intent and outcome durable, with {} posts queued for later",
        number(amounts.queued as f64)
    ));
    let peer = Peer::start()?;
    let mut presses = Vec::new();
    for store in stores {
        let press = runtime.block_on(Press::open(store, &peer))?;
        claims::measure(runtime, &press, amounts)?;
        runtime.block_on(timely::steady(&press, amounts))?;
        runtime.block_on(timely::burst(&press, amounts))?;
        presses.push(press);
    }
    drain::measure(runtime, workshop, &presses, amounts, rivals)?;
    for press in presses {
        runtime.block_on(press.close());
    }
    Ok(())
}

fn now() -> Millis {
    micros() / 1000
}
