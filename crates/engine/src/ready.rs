//! What can go out at once: nothing has to be renewed, uploaded or looked up first.

use std::sync::Arc;

use campanile_machine::{Event, Moment, Rules, Step, next};
use campanile_model::{post, time::Millis};
use campanile_store::{connections::Connection, publish::Entry};

use crate::{Engine, accounts::Opened, chance, draft, operation, refresh};

/// The step after preparing, for an entry that needs no preparation: its call may then be made
/// as soon as that it was taken up is stored. Otherwise `None`, and the entry is as it was.
pub(crate) fn ready(
    engine: &Arc<Engine>,
    entry: &mut Entry,
    document: Option<&str>,
    connection: Option<&Connection>,
    late_window: Millis,
    now: Millis,
) -> Option<(Step, Opened)> {
    #[cfg(feature = "flaws")]
    if crate::flaw::is_planted("intent-after-call") {
        return None;
    }
    // A later try may have something to look up: what an earlier one did.
    if entry.flow.attempt > 0 || entry.draft.is_some() {
        return None;
    }
    let opened = Opened::new(engine, connection?.clone()).ok()?;
    let post: post::Draft = serde_json::from_str(document?).ok()?;
    let draft = draft::compose_plain(&post, draft::target(&post, &opened.connection.id)?)?;
    refresh::when_stale(engine, &opened);
    if entry.flow.part >= draft.parts() || opened.is_stale(now) || opened.refusal(&draft).is_some()
    {
        return None;
    }
    let key = operation::key(entry);
    let words = opened.platform.freeze(&opened.account, &draft, &operation::of(entry, &key))?;
    draft::freeze(entry, &draft).ok()?;
    entry.frozen = Some(words);
    let rules = Rules { safety: opened.safety(), late_window };
    let step = next(&entry.flow, Event::Prepared, &rules, Moment { now, chance: chance() });
    Some((step, opened))
}
