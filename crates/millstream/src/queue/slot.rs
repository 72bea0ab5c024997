//! The record of an operation in flight.

use super::Ticket;
use super::buffers::{Buffers, Cold};
use crate::heap::Buffer;

/// Records what a queue keeps of an operation in flight.
#[derive(Default)]
pub(super) struct Slot {
    /// The ticket of its operation, or of its next one, as a number.
    tag: u64,
    /// The first eight bytes of the control word: what is done, and how long its small parts are.
    pub(super) shape: u64,
    /// One number, written whole and read whole: bytes that were written one by one can't be read together without a wait.
    state: State,
    pub(super) source: Option<Buffer>,
    pub(super) destination: Option<Buffer>,
    pub(super) cold: Cold,
}

/// The state of an operation in flight: flags, and above them the length of the tag that it makes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct State(u32);

impl State {
    const LIVE: u32 = 1;
    const DETACHED: u32 = 1 << 1;
    const HAS_STATE: u32 = 1 << 2;
    const MAKES_NONCE: u32 = 1 << 3;
    /// The place of the tag's length.
    const TAG: u32 = 8;

    /// Makes the state of an operation that begins.
    #[inline(always)]
    pub(super) fn live(tag_len: u8, has_state: bool, makes_nonce: bool) -> Self {
        let mut state = State::LIVE | u32::from(tag_len) << State::TAG;
        if has_state {
            state |= State::HAS_STATE;
        }
        if makes_nonce {
            state |= State::MAKES_NONCE;
        }
        State(state)
    }

    #[inline(always)]
    fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }

    /// Returns the bytes of the tag that it makes.
    #[inline(always)]
    pub(super) fn tag_len(self) -> u8 {
        (self.0 >> State::TAG) as u8
    }

    /// Returns true when nobody waits for the operation: its end is not told.
    #[inline(always)]
    pub(super) fn is_detached(self) -> bool {
        self.has(State::DETACHED)
    }

    /// Returns true when a mid-state comes with the operation's end.
    #[inline(always)]
    pub(super) fn has_state(self) -> bool {
        self.has(State::HAS_STATE)
    }

    /// Returns true when a nonce comes with the operation's end.
    #[inline(always)]
    pub(super) fn makes_nonce(self) -> bool {
        self.has(State::MAKES_NONCE)
    }
}

impl Slot {
    /// Makes the free slot of that number.
    pub(super) fn numbered(slot: u32) -> Self {
        Slot { tag: u64::from(slot), ..Slot::default() }
    }

    /// Returns the ticket of the operation, or of the next one.
    #[inline(always)]
    pub(super) fn ticket(&self) -> Ticket {
        Ticket::from_bits(self.tag)
    }

    /// Returns true while an operation is in flight here.
    #[inline(always)]
    pub(super) fn is_live(&self) -> bool {
        self.state.has(State::LIVE)
    }

    /// Returns true while the operation that the ticket names is in flight here.
    #[inline(always)]
    pub(super) fn holds(&self, ticket: Ticket) -> bool {
        self.is_live() && self.ticket() == ticket
    }

    /// Returns true when the operation that a completion names is in flight here, and all that its end takes with it are its two
    /// buffers and a tag.
    #[inline(always)]
    pub(super) fn is_plain(&self, tag: u64) -> bool {
        const FLAGS: u32 = (1 << State::TAG) - 1;
        (self.tag == tag) & (self.state.0 & FLAGS == State::LIVE) & self.cold.is_none()
    }

    /// Says that nobody waits for the operation that is in flight here.
    pub(super) fn detach(&mut self) {
        if self.is_live() {
            self.state.0 |= State::DETACHED;
        }
    }

    /// Begins an operation.
    #[inline(always)]
    pub(super) fn begin(&mut self, shape: u64, state: State) {
        (self.shape, self.state) = (shape, state);
    }

    /// Ends the operation. Returns the state that it had.
    #[inline(always)]
    pub(super) fn end(&mut self) -> State {
        self.tag = Ticket::from_bits(self.tag).next().to_bits();
        std::mem::take(&mut self.state)
    }

    #[inline(always)]
    pub(super) fn take_buffers(&mut self) -> Buffers {
        Buffers { source: self.source.take(), destination: self.destination.take(), cold: self.cold.take() }
    }
}
