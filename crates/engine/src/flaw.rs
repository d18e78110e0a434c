//! Bugs on purpose, for the test that has to notice them: only in builds with the feature `flaws`.

use std::sync::OnceLock;

use campanile_machine::Answer;
use campanile_model::publish::{Class, Failure};

/// The name of the bug, from the environment.
const VARIABLE: &str = "CAMPANILE_FLAW";

/// Whether a process makes this mistake.
pub(crate) fn is_planted(name: &str) -> bool {
    static PLANTED: OnceLock<Option<String>> = OnceLock::new();
    #[expect(clippy::disallowed_methods, reason = "no setting: a service for people has no bugs")]
    let planted = PLANTED.get_or_init(|| std::env::var(VARIABLE).ok());
    planted.as_deref() == Some(name)
}

/// Takes a call that may have worked for one that did not.
pub(crate) fn misread(answer: Answer) -> Answer {
    match answer {
        Answer::Unclear(failure) if is_planted("retry-on-timeout") => {
            Answer::Refused(Failure { class: Class::Transient, ..failure })
        }
        answer => answer,
    }
}
