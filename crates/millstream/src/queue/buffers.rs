//! The buffers that go with a request, and come back with its end or its refusal.

use std::fmt;

use millstream_accelerator::explain;
use millstream_cwq::{ControlWord, Flags, Status};

use crate::Error;
use crate::heap::Buffer;
use crate::refusal::Refusal;

/// The buffers that go with a request, and come back with its end.
#[derive(Debug, Default)]
pub struct Buffers {
    /// The input; none where that lies in the destination.
    pub source: Option<Buffer>,
    /// The output.
    pub destination: Option<Buffer>,
    pub(super) cold: Cold,
}

/// The parts that few requests have, if there are any. Its drop is inlined as far as the look whether there are, so that the
/// address of what it is a part of gets nowhere, and that stays in registers.
#[derive(Debug, Default)]
pub(super) struct Cold(Option<Box<ColdParts>>);

impl Cold {
    pub(super) const NONE: Cold = Cold(None);

    #[inline(always)]
    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    #[inline(always)]
    pub(super) fn as_ref(&self) -> Option<&ColdParts> {
        self.0.as_deref()
    }

    #[inline(always)]
    pub(super) fn as_mut(&mut self) -> Option<&mut ColdParts> {
        self.0.as_deref_mut()
    }

    #[inline(always)]
    pub(super) fn take(&mut self) -> Cold {
        Cold(self.0.take())
    }

    #[cold]
    pub(super) fn get_or_insert_default(&mut self) -> &mut ColdParts {
        self.0.get_or_insert_default()
    }
}

impl Drop for Cold {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(parts) = self.0.take() {
            free(parts);
        }
    }
}

#[cold]
#[inline(never)]
fn free(parts: Box<ColdParts>) {
    drop(parts);
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
    /// The lengths of an operation that was refused because of them.
    refused: Option<Lengths>,
}

/// The lengths that an operation was given.
#[derive(Debug)]
struct Lengths {
    /// The first eight bytes of its control word, among them the lengths of its initialisation vector and tag.
    shape: u64,
    data: usize,
    /// Bytes of the key that it carried.
    key: usize,
}

impl Buffers {
    /// Asks the buffer beside whose bytes an initialisation vector and a tag lie for one of these. Each is asked for itself: one choice
    /// between their addresses would keep both, and all that they are a part of, from staying in registers.
    #[inline(always)]
    pub(super) fn at_home<'b, T: ?Sized>(&'b self, line: impl Fn(&'b Buffer) -> &'b T) -> Option<&'b T> {
        match (&self.destination, &self.source) {
            (Some(destination), _) => Some(line(destination)),
            (None, Some(source)) => Some(line(source)),
            (None, None) => None,
        }
    }

    #[inline(always)]
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
        self.cold.as_mut().map_or_else(Vec::new, |cold| std::mem::take(&mut cold.more))
    }

    /// Keeps what an operation was given, if it failed because of a length.
    #[cold]
    pub(super) fn keep_lengths(&mut self, shape: u64, status: Status) {
        if !matches!(status, Status::KeyLength | Status::IvLength | Status::MacLength | Status::DataLength) {
            return;
        }
        // Without a source, the input lies in the destination.
        let in_place = self.destination.as_ref().filter(|_| self.more().is_empty());
        let first = self.source.as_ref().or(in_place);
        let data = first.into_iter().chain(self.more()).map(|buffer| buffer.len()).sum();
        let cold = self.cold.get_or_insert_default();
        // Keys are the last that a request's copies are made of: the cipher's, then the HMAC's.
        let after = usize::from(first_words(shape).has(Flags::MAC_KEY_IN_ARENA));
        let key = cold.extra.iter().rev().nth(after).map_or(0, |key| key.len());
        cold.refused = Some(Lengths { shape, data, key });
    }

    /// Returns the error behind a status.
    #[cold]
    pub(super) fn error(&self, status: Status) -> Error {
        let refused = self.cold.as_ref().and_then(|cold| cold.refused.as_ref());
        refused
            .and_then(|given| explain(status, &first_words(given.shape), given.data, given.key))
            .map_or(Error::Operation(status), Error::Engine)
    }
}

/// Returns a control word that has its first eight bytes only.
fn first_words(shape: u64) -> ControlWord {
    ControlWord::from_words([shape, 0, 0, 0, 0, 0, 0, 0])
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
