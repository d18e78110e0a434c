//! What is remembered of an account's server, such as its limits, grows old. It is read again
//! beside the work: no post waits for it, and what it brings counts from then on.

use std::sync::Arc;

use campanile_store::{Tx, connections, connections::Connection};
use serde_json::Value;

use crate::{Engine, Opened};

/// Has it read again if it is too old.
pub fn when_stale(engine: &Arc<Engine>, opened: &Opened) {
    let skill = opened.platform.remembering();
    if skill.is_some_and(|skill| skill.is_stale(&opened.account, engine.now())) {
        begin(engine, opened);
    }
}

/// Has it read again, unless that was done a moment ago.
pub(crate) fn begin(engine: &Arc<Engine>, opened: &Opened) {
    let Opened { platform, connection, account, .. } = opened;
    let may_begin = || engine.accounts.begin_refresh(&connection.id, engine.now());
    if platform.remembering().is_none() || !may_begin() {
        return;
    }
    let (engine, platform) = (engine.clone(), platform.clone());
    let (connection, account) = (connection.clone(), account.clone());
    tokio::spawn(async move {
        let Some(skill) = platform.remembering() else { return };
        if let Some(details) = skill.read(&engine.http, &account, engine.now()).await {
            keep(&engine, &connection, &details).await;
        }
    });
}

async fn keep(engine: &Engine, connection: &Connection, details: &Value) {
    let details = details.to_string();
    let keep = async |mut tx: Tx| connections::keep_details(&mut tx, connection, &details).await;
    if let Err(error) = engine.db.write(keep).await {
        // The next post has it read again.
        let error = &error as &dyn std::error::Error;
        tracing::warn!(error, connection = %connection.id, "what a server allows is not kept");
    }
}
