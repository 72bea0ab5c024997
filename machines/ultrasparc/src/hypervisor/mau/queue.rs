//! A guest's queue of modular arithmetic.

use super::super::position::Position;

/// A guest's queue.
pub(in super::super) struct MauQueue {
    pub position: Position,
    /// Offset of the first entry that is free.
    pub tail: u64,
    /// True while the entry at the head is in the unit.
    pub running: bool,
    /// True while the control word queue is disabled for a store.
    pub stopped_cwq: bool,
}

impl MauQueue {
    pub fn new(position: Position) -> MauQueue {
        MauQueue { position, tail: 0, running: false, stopped_cwq: false }
    }

    pub fn is_busy(&self) -> bool {
        self.running || self.position.head != self.tail
    }
}
