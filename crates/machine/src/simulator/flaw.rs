//! Mistakes that can be planted in the world around the machine, to see that a law notices.

/// One planted mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The call is made first, and that it was to be made is stored after it.
    IntentAfterCall,
    /// A call without an answer is taken for one that failed.
    RetryWithoutReading,
    /// A store does not ask who holds the flow.
    NoFencing,
    /// One look that does not find the post counts as two.
    OneAbsence,
    /// A cancel is answered from what was read, and written later.
    CancelWithoutFencing,
}

impl Flaw {
    pub const ALL: [Self; 5] = [
        Self::IntentAfterCall,
        Self::RetryWithoutReading,
        Self::NoFencing,
        Self::OneAbsence,
        Self::CancelWithoutFencing,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::IntentAfterCall => "intent-after-call",
            Self::RetryWithoutReading => "retry-without-reading",
            Self::NoFencing => "no-fencing",
            Self::OneAbsence => "one-absence",
            Self::CancelWithoutFencing => "cancel-without-fencing",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|flaw| flaw.name() == name)
    }
}
