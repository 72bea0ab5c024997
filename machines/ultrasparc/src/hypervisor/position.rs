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

/// Device interrupt numbers.
pub(super) fn mau_devino(core: usize) -> u64 {
    0x20 + core as u64
}

pub(super) fn cwq_devino(core: usize) -> u64 {
    0x40 + core as u64
}

/// Where a guest's queue is, and how far the guest was told.
pub(super) struct Position {
    /// Real and physical address.
    pub real: u64,
    pub physical: u64,
    pub entries: u64,
    /// The strand to interrupt: who configured the queue.
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

    /// The offset after another.
    pub fn after(&self, offset: u64) -> u64 {
        (offset + WORD_BYTES) % self.bytes()
    }

    /// Whether an offset is that of an entry.
    pub fn has(&self, offset: u64) -> bool {
        offset.is_multiple_of(WORD_BYTES) && offset < self.bytes()
    }

    pub fn interrupt(&mut self) {
        self.interrupting = true;
    }

    /// The guest has seen all entries before that one.
    pub fn mark(&mut self, offset: u64) {
        self.marker = offset;
        self.interrupting &= self.head != offset;
    }

    pub fn asserts(&self, strand: usize) -> bool {
        self.interrupting && self.strand == strand && self.head != self.marker
    }
}
