//! What goes into the machine, and what comes out.

use campanile_model::{
    publish::{Failure, Receipt},
    time::Millis,
};

use crate::Flow;

#[derive(Clone, Debug)]
pub enum Event {
    /// A runner took the flow into its hands: when it is due, or from one that died.
    Claimed,
    /// Everything that can be repeated is done.
    Prepared,
    PrepareFailed(Failure),
    /// The credential was renewed after the platform refused it.
    Renewed,
    RenewFailed(Failure),
    Answered(Answer),
    Saw(Sight),
    /// Somebody does not want it any more. Only a step to `Canceled` may be answered with
    /// "canceled". With any effect but [`Effect::Nothing`] the runner that has the flow, if
    /// there is one, must lose its claim in the same transaction.
    CancelAsked,
}

/// What came of the call.
#[derive(Clone, Debug)]
pub enum Answer {
    Published(Receipt),
    /// It is certain that this call published nothing, and never will.
    Refused(Failure),
    /// It may have been published: no answer, or one that does not say.
    Unclear(Failure),
}

/// What reading the platform showed.
#[derive(Clone, Debug)]
pub enum Sight {
    Found(Receipt),
    /// The platform was read well, and the post is not there.
    Absent,
    /// It could not be read now.
    Unreadable(Failure),
    /// It cannot be found out any more.
    Unknowable(Failure),
}

/// What to do once the new state is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Prepare,
    /// The call that cannot be taken back: once, on a fresh connection.
    Call,
    Read,
    /// Renew the credential, then say [`Event::Renewed`].
    Renew,
    /// Let go until `next_at`.
    Wait,
    /// The flow has ended.
    Finish,
    /// The event has no bearing on what is being done.
    Nothing,
}

/// How an attempt ended, for the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    Published(Receipt),
    Failed { failure: Failure, repeat_is_safe: bool, retry_at: Option<Millis> },
}

#[derive(Clone, Debug)]
pub struct Step {
    pub flow: Flow,
    pub effect: Effect,
    pub ended: Option<Ended>,
}

impl Step {
    /// When somebody is to look at the flow again: at its time when it waits, else when the lease
    /// of whoever carries out the effect has ended.
    pub fn wake_at(&self, lease_ends: Millis) -> Millis {
        match self.effect {
            Effect::Wait | Effect::Finish => self.flow.next_at,
            _ => lease_ends,
        }
    }

    pub(crate) fn ending(self, ended: Ended) -> Self {
        Self { ended: Some(ended), ..self }
    }
}
