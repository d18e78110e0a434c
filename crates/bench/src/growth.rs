//! The same list in a small and in a large store.

use crate::{
    Outcome,
    load::{Pace, race},
    reads::{CONNECTIONS, LIST},
    report::{Target, line, number, section},
    service::{Log, Service},
    store::Store,
};

/// Each size is a store of its own: within one store all brands share the depth of its trees.
pub(crate) fn measure(few: &[Store<'_>], most: &[Store<'_>], pace: &Pace) -> Outcome {
    section("The same list in a small and in a large store, 32 connections");
    for (small, large) in few.iter().zip(most) {
        let services = (Service::start(small, Log::Info)?, Service::start(large, Log::Info)?);
        let speeds = race(
            &[
                small.contender(&services.0, LIST, CONNECTIONS),
                large.contender(&services.1, LIST, CONNECTIONS),
            ],
            pace,
        )?;
        let [little, much] = speeds.as_slice() else { return Err("a contender is missing".into()) };
        let detail = format!(
            "{} posts: {}; {}: {}",
            number(large.posts as f64),
            much.shown(),
            number(small.posts as f64),
            little.shown()
        );
        let slower = little.times(much);
        line(&format!("list, {}", large.engine), &detail, slower, " x", Target::AtMost(1.3));
        services.0.stop()?;
        services.1.stop()?;
    }
    Ok(())
}
