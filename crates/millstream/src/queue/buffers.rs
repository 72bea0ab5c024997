//! The buffers that go with a request, and come back with its end or its refusal.

use std::fmt;

use crate::heap::Buffer;
use crate::refusal::Refusal;

/// The buffers that go with a request, and come back with its end.
#[derive(Debug, Default)]
pub struct Buffers {
    /// The input.
    pub source: Option<Buffer>,
    /// The output.
    pub destination: Option<Buffer>,
    pub(super) cold: Option<Box<ColdParts>>,
}

/// Holds what few requests have. The parts are in a box of their own because a request is moved often.
#[derive(Debug, Default)]
pub(super) struct ColdParts {
    /// More input.
    pub(super) more: Vec<Buffer>,
    /// Copies that live as long as the operation: keys that the request carries, an initialisation vector or associated
    /// data too long for its place, a gather list.
    pub(super) extra: Vec<Buffer>,
    /// The mid-state after a piece of a message.
    pub(super) state: Vec<u8>,
}

impl Buffers {
    /// Returns the buffer beside whose bytes an initialisation vector and a tag lie.
    #[inline(always)]
    pub(super) fn home(&self) -> Option<&Buffer> {
        self.destination.as_ref().or(self.source.as_ref())
    }

    pub(super) fn state(&self) -> &[u8] {
        self.cold.as_ref().map_or(&[], |cold| cold.state.as_slice())
    }

    /// Returns more input, which is read after `source` as if it were one with it.
    #[inline(always)]
    pub fn more(&self) -> &[Buffer] {
        self.cold.as_ref().map_or(&[], |cold| cold.more.as_slice())
    }

    /// Takes the buffers of more input out.
    pub fn take_more(&mut self) -> Vec<Buffer> {
        self.cold.take().map_or_else(Vec::new, |cold| cold.more)
    }
}

/// A request that was not taken: the reason, and its buffers.
#[derive(Debug)]
pub struct Refused {
    /// The reason.
    pub why: Refusal,
    /// The buffers that went with the request.
    pub buffers: Buffers,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl std::error::Error for Refused {}
