//! What is durable: the flow, who holds it, and the token that every store has to show.

use campanile_model::time::Millis;

use super::{peer::Slot, world::LEASE};
use crate::Flow;

pub(super) struct Record {
    pub(super) flow: Flow,
    /// Grows when somebody moves the post to another time.
    pub(super) generation: u32,
    pub(super) token: u64,
    pub(super) claimed_at: Millis,
    holder: Option<Holder>,
}

struct Holder {
    runner: usize,
    life: u32,
    lease_until: Millis,
}

impl Record {
    pub(super) fn new(flow: Flow) -> Self {
        Self { flow, generation: 0, token: 0, claimed_at: 0, holder: None }
    }

    pub(super) fn slot(&self) -> Slot {
        Slot { generation: self.generation, part: self.flow.part }
    }

    /// From when on this runner may take the flow into its hands.
    pub(super) fn claimable_at(&self, runner: usize, life: u32) -> Millis {
        match &self.holder {
            None => self.flow.next_at,
            Some(holder) if holder.runner == runner && holder.life != life => 0,
            Some(holder) => holder.lease_until,
        }
    }

    pub(super) fn hand_to(&mut self, runner: usize, life: u32, now: Millis) -> u64 {
        self.token += 1;
        self.claimed_at = now;
        self.holder = Some(Holder { runner, life, lease_until: now + LEASE });
        self.token
    }

    /// Takes the claim from whoever has it: its next store does not count.
    pub(super) fn fence(&mut self) {
        self.token += 1;
        self.holder = None;
    }

    pub(super) fn release(&mut self, token: u64) {
        if self.token == token {
            self.holder = None;
        }
    }

    pub(super) fn lease_left(&self, now: Millis) -> Millis {
        self.holder.as_ref().map_or(0, |holder| holder.lease_until - now)
    }

    pub(super) fn renew(&mut self, token: u64, until: Millis) {
        if let Some(holder) = self.holder.as_mut().filter(|_| self.token == token) {
            holder.lease_until = holder.lease_until.max(until);
        }
    }

    /// A dead runner renews nothing any more.
    pub(super) fn shorten_lease(&mut self, runner: usize, until: Millis) {
        if let Some(holder) = self.holder.as_mut().filter(|holder| holder.runner == runner) {
            holder.lease_until = holder.lease_until.min(until);
        }
    }
}
