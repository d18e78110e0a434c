//! A sealed word in the store that shows whether the master key is the right one.

use campanile_store::{StoreError, settings};

use crate::{app::App, vault::VaultError};

const NAME: &str = "master_key_canary";
const WORD: &[u8] = b"campanile";

#[derive(Debug, thiserror::Error)]
pub(crate) enum CanaryError {
    #[error("the store failed")]
    Store(#[from] StoreError),
    #[error("the master key does not open what the store holds: {0}; put the old key back")]
    WrongKey(#[from] VaultError),
}

/// Opens the word, or seals it on the first start. Without the right key nothing must start:
/// it would fail later, in the middle of somebody's work.
pub(crate) async fn check(app: &App) -> Result<(), CanaryError> {
    let found = settings::find(&mut app.db.read().await?, NAME).await?;
    if let Some(sealed) = found {
        let opened = app.vault.open_sealed(NAME, &sealed)?;
        return if opened == WORD { Ok(()) } else { Err(VaultError::Damaged.into()) };
    }
    let sealed = app.vault.seal(NAME, WORD)?;
    app.db.write(async |mut tx| settings::insert(&mut tx, NAME, &sealed).await).await?;
    Ok(())
}
