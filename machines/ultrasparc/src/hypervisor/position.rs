//! Queues of either type: their numbers, and how far each was read.

use crate::spu::WORD_BYTES;

/// Types of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum QueueType {
    /// Modular arithmetic.
    Mau = 1,
    /// Control words.
    Cwq = 2,
}

/// Device interrupt numbers of a core's two queues.
pub(super) fn mau_devino(core: usize) -> u64 {
    0x20 + core as u64
}

pub(super) fn cwq_devino(core: usize) -> u64 {
    0x40 + core as u64
}

/// The place of a guest's queue, and how far the guest knows that it was worked through.
pub(super) struct Position {
    /// Real and physical address.
    pub real: u64,
    pub physical: u64,
    pub entries: u64,
    /// The strand to interrupt: the one that configured the queue.
    pub strand: usize,
    /// Offset of the first entry that is not finished, as the guest is told.
    pub head: u64,
    /// Offset of the first entry that the guest has not seen.
    marker: u64,
    interrupting: bool,
}

impl Position {
    pub fn new(real: u64, physical: u64, entries: u64, strand: usize) -> Position {
        Position { real, physical, entries, strand, head: 0, marker: 0, interrupting: false }
    }

    /// Bytes of the queue.
    pub fn bytes(&self) -> u64 {
        self.entries * WORD_BYTES
    }

    /// The offset of the entry after the one at `offset`.
    pub fn after(&self, offset: u64) -> u64 {
        (offset + WORD_BYTES) % self.bytes()
    }

    /// True if an entry begins at the offset.
    pub fn has(&self, offset: u64) -> bool {
        offset.is_multiple_of(WORD_BYTES) && offset < self.bytes()
    }

    pub fn interrupt(&mut self) {
        self.interrupting = true;
    }

    /// Notes that the guest has seen all entries before that one.
    pub fn mark(&mut self, offset: u64) {
        self.marker = offset;
        self.interrupting &= self.head != offset;
    }

    pub fn asserts(&self, strand: usize) -> bool {
        self.interrupting && self.strand == strand && self.head != self.marker
    }
}
