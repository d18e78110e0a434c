//! What one publish will say, fixed before the call.

use campanile_model::{
    publish::{Class, Failure},
    time::Millis,
};
use serde::{Deserialize, Serialize};

use crate::platforms::Operation;

#[derive(Serialize, Deserialize)]
pub(super) struct Frozen {
    /// What the call names.
    pub container: String,
    /// The post is found by its words, as a container does not say what it became.
    pub text: String,
    pub due: Millis,
}

impl Frozen {
    pub(super) fn read(json: &str) -> Result<Self, Failure> {
        serde_json::from_str(json).map_err(|error| unusable(&error))
    }

    pub(super) fn write(&self) -> Result<String, Failure> {
        serde_json::to_string(self).map_err(|error| unusable(&error))
    }
}

fn unusable(error: &serde_json::Error) -> Failure {
    Failure::new(Class::Rejected, "unreadable_preparation", error.to_string())
}

/// Every part of a thread answers the one before it.
pub(super) fn parent<'a>(operation: &'a Operation<'_>) -> Result<Option<&'a str>, Failure> {
    match (operation.part, operation.previous.last()) {
        (0, _) => Ok(None),
        (_, Some(receipt)) => Ok(Some(&receipt.remote_id)),
        (_, None) => {
            let message = "the part before this one is not known";
            Err(Failure::new(Class::MissingContent, "thread_broken", message))
        }
    }
}
