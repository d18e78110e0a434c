//! What is done beside the requests: sealing the audit log, cleaning up, writing down uses.

use std::{sync::PoisonError, time::Duration};

use campanile_engine::draft;
use campanile_model::time::{DAY, HOUR, Millis};
use campanile_store::{StoreError, audit, idempotency, keys, media, users};

use crate::app::{App, Shared};

const TICK: Duration = Duration::from_secs(2);
/// In ticks: every ten seconds, every minute.
const WRITE_USES_EVERY: u64 = 5;
const SWEEP_EVERY: u64 = 30;
/// Nothing takes longer to come in.
const HALF_WAY_FOR: Duration = Duration::from_secs(3600);

/// Runs until it is dropped.
pub(crate) async fn run(app: Shared) {
    if app.config.sqlite_file().is_some() {
        // No other process can be at work: whatever is half-way was left by one that died.
        sweep_blobs_announced_before(&app, app.now()).await;
    }
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for tick in 0u64.. {
        ticks.tick().await;
        report(
            "sealing the audit log",
            audit::seal(&app.db, app.vault.audit_key(), app.now()).await,
        );
        if tick % WRITE_USES_EVERY == 0 {
            report("writing down key uses", write_uses(&app).await);
        }
        if tick % SWEEP_EVERY == 0 {
            report("sweeping", sweep(&app).await);
            sweep_temporary(&app);
            sweep_blobs(&app).await;
        }
    }
}

/// The last round before the process ends.
pub(crate) async fn finish(app: &App) {
    report("writing down key uses", write_uses(app).await);
    report("sealing the audit log", audit::seal(&app.db, app.vault.audit_key(), app.now()).await);
}

fn report<T>(what: &str, outcome: Result<T, StoreError>) {
    if let Err(error) = outcome {
        tracing::warn!(error = &error as &dyn std::error::Error, "{what} failed; will try again");
    }
}

async fn write_uses(app: &App) -> Result<(), StoreError> {
    let uses = std::mem::take(&mut *app.uses.lock().unwrap_or_else(PoisonError::into_inner));
    if uses.is_empty() {
        return Ok(());
    }
    app.db
        .write(async |mut tx| {
            for (key, at) in &uses {
                keys::touch(&mut tx, key, *at).await?;
            }
            Ok(())
        })
        .await
}

async fn sweep(app: &App) -> Result<(), StoreError> {
    let now = app.now();
    app.db
        .write(async |mut tx| {
            keys::sweep_sessions(&mut tx, now).await?;
            idempotency::sweep(&mut tx, now - DAY).await?;
            media::sweep_uploads(&mut tx, now - DAY).await?;
            users::sweep_failures(&mut tx, now - DAY).await?;
            Ok(())
        })
        .await
}

/// Files of imports and uploads that a killed process left half-way.
fn sweep_temporary(app: &App) {
    for entry in std::fs::read_dir(&app.temporary).into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|file| file.modified());
        let age = modified.ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age > HALF_WAY_FOR) {
            // Whoever was quicker has done it.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Removes objects that nothing refers to any more. The row goes after the object, so that a
/// crash in between means trying again.
pub(crate) async fn sweep_blobs(app: &App) {
    sweep_blobs_announced_before(app, app.now() - HOUR).await;
}

/// An object that was announced so long ago and never arrived will not arrive any more.
async fn sweep_blobs_announced_before(app: &App, moment: Millis) {
    if let Err(error) = try_sweep_blobs(app, moment).await {
        tracing::warn!(error = &*error, "removing stored objects failed; will try again");
    }
}

async fn try_sweep_blobs(
    app: &App,
    moment: Millis,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let doomed = media::sweepable(&mut app.db.read().await?, moment).await?;
    for (blob, workspace) in doomed {
        app.blobs.delete(&draft::blob_name(&workspace, &blob)).await?;
        app.db.write(async |mut tx| media::forget_blob(&mut tx, &workspace, &blob).await).await?;
    }
    Ok(())
}
