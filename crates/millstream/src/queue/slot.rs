//! The record of an operation in flight.

use super::Ticket;
use super::buffers::{Buffers, ColdParts};
use crate::heap::Buffer;

/// Records what a queue keeps of an operation in flight.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) generation: u32,
    pub(super) live: bool,
    /// True when nobody waits for the operation: its end is not told.
    pub(super) detached: bool,
    pub(super) mac_len: u8,
    pub(super) has_state: bool,
    pub(super) makes_nonce: bool,
    /// The first eight bytes of the control word: what is done, and how long its small parts are.
    pub(super) shape: u64,
    pub(super) source: Option<Buffer>,
    pub(super) destination: Option<Buffer>,
    pub(super) cold: Option<Box<ColdParts>>,
}

impl Slot {
    /// Returns true while the operation that the ticket names is in flight here.
    #[inline(always)]
    pub(super) fn holds(&self, ticket: Ticket) -> bool {
        self.live && self.generation == ticket.generation()
    }

    /// Ends the operation. Returns true when it was detached, so that nobody is told.
    #[inline(always)]
    pub(super) fn end(&mut self) -> bool {
        let detached = self.detached;
        self.live = false;
        self.detached = false;
        self.generation = self.generation.wrapping_add(1);
        detached
    }

    #[inline(always)]
    pub(super) fn take_buffers(&mut self) -> Buffers {
        Buffers { source: self.source.take(), destination: self.destination.take(), cold: self.cold.take() }
    }
}
