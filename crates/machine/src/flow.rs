//! What is durable of the publishing to one account, and what it is judged by.

use campanile_model::{
    publish::{Safety, Stage},
    time::{MINUTE, Millis},
};

/// A start later than this after its time is called late.
pub const LATE_AFTER: Millis = MINUTE;

/// What is durable of the publishing to one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    pub stage: Stage,
    /// Parts of a thread go out one after the other; each is a call of its own.
    pub part: u32,
    pub parts: u32,
    /// Calls begun so far.
    pub attempt: u32,
    /// Failures in a row, which make the pauses longer.
    pub failures: u32,
    /// When it was to be published.
    pub due: Millis,
    /// Nothing is to be done before.
    pub next_at: Millis,
    /// When the present part was first meant to go out: the first one with its first call, a
    /// later one as soon as the part before it was out.
    pub intent_at: Option<Millis>,
    /// A call for the present part may have worked, or may still. This is when the last such
    /// call was over; as long as it is there, nothing may end as "not published".
    pub undecided_since: Option<Millis>,
    /// How often the platform was read without finding the post, once it had settled.
    pub absences: u32,
    pub late: bool,
    pub cancel: bool,
    /// Whether the credential was renewed for this try already.
    pub renewed: bool,
}

impl Flow {
    pub fn new(due: Millis, parts: u32) -> Self {
        Self {
            stage: Stage::Waiting,
            part: 0,
            parts,
            attempt: 0,
            failures: 0,
            due,
            next_at: due,
            intent_at: None,
            undecided_since: None,
            absences: 0,
            late: false,
            cancel: false,
            renewed: false,
        }
    }
}

/// What holds for this account and brand.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub safety: Safety,
    /// How late a post may start.
    pub late_window: Millis,
}

/// When something happened, and chance for whatever wants some: 0 to 999.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub now: Millis,
    pub chance: u32,
}
