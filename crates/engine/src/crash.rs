//! Named points between two durable steps, at which a test can make the process die.

use std::sync::OnceLock;

/// The name of the point, from the environment.
pub const VARIABLE: &str = "CAMPANILE_CRASH_AT";

/// Every point, in the order in which a publish passes them.
pub const POINTS: [&str; 6] =
    ["claimed", "prepared", "before-call", "after-call", "before-outcome", "after-outcome"];

/// Dies here, without a farewell, if that was asked for.
pub fn point(name: &str) {
    static WANTED: OnceLock<Option<String>> = OnceLock::new();
    #[expect(clippy::disallowed_methods, reason = "no setting: only tests make a service die")]
    let wanted = WANTED.get_or_init(|| std::env::var(VARIABLE).ok());
    if wanted.as_deref() == Some(name) {
        std::process::abort();
    }
}
