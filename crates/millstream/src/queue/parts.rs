//! The memory of a queue.

use std::sync::Arc;

use millstream_accelerator::Accelerator;
use millstream_shm::{Mapping, Rings, Words, buffer_bytes};

use super::Config;
use crate::Error;
use crate::heap::{Buffer, Exclusive, Heap};
use crate::refusal::Refusal;

pub(super) type RingMemory = Words;

/// An accelerator in this process.
pub(super) type LocalAccelerator = Accelerator<Exclusive, RingMemory>;

/// Bytes of associated data that need no buffer of their own.
pub(super) const AAD: usize = millstream_shm::AAD_BYTES;

/// Bytes of the place for a mid-state.
pub(super) const STATE: usize = millstream_shm::STATE_PLACE_BYTES;

/// Places in the arena for associated data and for mid-states, one of each for each operation in flight. They are
/// written and read by copies only.
pub(super) struct Places {
    pub(super) aad: Buffer,
    pub(super) state: Buffer,
}

impl Places {
    /// Leaves them to a worker that may still write to them.
    pub(super) fn abandon(&mut self) {
        self.aad.abandon();
        self.state.abandon();
    }
}

/// A queue's memory, before anybody serves it.
pub(super) struct Parts {
    pub(super) heap: Arc<Heap>,
    pub(super) submissions: RingMemory,
    pub(super) completions: RingMemory,
    pub(super) places: Places,
    pub(super) depth: usize,
    /// The numbers of control words and of completions that went through the rings before.
    pub(super) position: (u64, u64),
}

impl Parts {
    /// Makes memory of this process's own.
    pub(super) fn new(config: &Config) -> Result<Self, Error> {
        let depth = config.depth();
        Parts::local(Parts::heap(config, 1, false)?, depth)
    }

    /// Makes a heap for that many queues.
    pub(super) fn heap(config: &Config, queues: usize, served: bool) -> Result<Arc<Heap>, Error> {
        let bytes = queues * Parts::places_bytes(config.depth()) + config.arena_bytes as usize;
        let bytes = u32::try_from(bytes).map_err(|_| Refusal::ArenaFull)?;
        Heap::private(bytes, served).map_err(|error| Error::Memory(error.kind()))
    }

    /// Returns the bytes of arena that a queue keeps for itself.
    fn places_bytes(depth: usize) -> usize {
        buffer_bytes(depth * AAD) + buffer_bytes(depth * STATE)
    }

    /// Makes rings of this process's own.
    pub(super) fn local(heap: Arc<Heap>, depth: usize) -> Result<Self, Error> {
        let layout = Rings::new(1, depth as u32).ok_or(Refusal::Full)?;
        let rings = Mapping::private(layout.bytes()).map_err(|error| Error::Memory(error.kind()))?;
        Parts::over(heap, &rings, layout, 0, depth, (0, 0))
    }

    /// Takes one queue's part of memory that is there.
    pub(super) fn over(
        heap: Arc<Heap>,
        rings: &Arc<Mapping>,
        layout: Rings,
        index: u32,
        depth: usize,
        position: (u64, u64),
    ) -> Result<Self, Error> {
        let place = |size: usize| heap.buffer(depth * size);
        let places = Places { aad: place(AAD)?, state: place(STATE)? };
        let ring = |(at, words)| rings.words(at, words).ok_or(Refusal::Gone);
        // The rings are twice as deep as the queue, so that there is always room to cancel.
        let submissions = ring(layout.submissions(index))?;
        let completions = ring(layout.completions(index))?;
        Ok(Parts { heap, submissions, completions, places, depth, position })
    }
}
