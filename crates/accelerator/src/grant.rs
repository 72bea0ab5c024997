//! What an accelerator knows of a grant, and a grant on its way from one accelerator to another.

use std::fmt;

use millstream_cwq::AlgorithmSet;

use crate::kept::SharedKeyMemory;
use crate::slab::Id;
use crate::slots::KeySlots;
use crate::stats::QueueStats;

/// One of an accelerator's grants: an arena and the keys for what lies in it. After the grant was removed it names
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GrantId(pub(crate) Id);

/// One of an accelerator's queues. After the queue was removed it names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueueId(pub(crate) Id);

/// What a grant may do.
#[derive(Clone)]
pub struct GrantConfig {
    /// How many keys it may hold, at most 65536.
    pub key_slots: usize,
    /// The algorithms it may use, with keys in slots or carried, and without keys.
    pub algorithms: AlgorithmSet,
    /// Where its keys live; on the heap if nothing is said. Keys that words carry are the client's own, and are on the
    /// heap always.
    pub key_memory: Option<SharedKeyMemory>,
    /// Its name in tracepoints.
    pub label: u64,
}

impl GrantConfig {
    /// Any algorithm, and that many keys on the heap.
    pub fn new(key_slots: usize) -> Self {
        GrantConfig { key_slots, algorithms: AlgorithmSet::all(), key_memory: None, label: 0 }
    }
}

impl fmt::Debug for GrantConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrantConfig")
            .field("key_slots", &self.key_slots)
            .field("algorithms", &self.algorithms)
            .field("key_memory", &self.key_memory.as_ref().map_or("heap", |_| "given"))
            .field("label", &self.label)
            .finish()
    }
}

pub(crate) struct Grant<A> {
    pub(crate) arena: A,
    pub(crate) keys: KeySlots,
    /// The algorithms it may use; none said, all.
    pub(crate) policy: Option<AlgorithmSet>,
    pub(crate) label: u64,
    /// Its queues, in the order in which they were added.
    pub(crate) queues: Vec<Id>,
    /// Whether no more of its words are taken.
    pub(crate) paused: bool,
    pub(crate) calm: Calm,
}

/// The queues of a grant that had nothing to do for some steps and do not sleep.
#[derive(Default)]
pub(crate) struct Calm {
    pub(crate) queues: Vec<u32>,
    /// Which of them is looked at next.
    pub(crate) turn: usize,
    /// Whether its grant is among those that have some.
    pub(crate) listed: bool,
}

/// The policy that a set of algorithms is. Most grants may use all, and need no look at them.
pub(crate) fn policy(algorithms: AlgorithmSet) -> Option<AlgorithmSet> {
    (algorithms != AlgorithmSet::all()).then_some(algorithms)
}

/// How far a queue's rings have come: where another accelerator goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Words taken.
    pub submissions: u64,
    /// Completions published.
    pub completions: u64,
}

/// A queue on its way to another accelerator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MovedQueue {
    /// Its share.
    pub weight: u32,
    /// Where its rings go on.
    pub position: Position,
    /// What was counted so far.
    pub stats: QueueStats,
}

/// A grant that an accelerator gave up, for another to go on with.
#[derive(Debug)]
pub struct Released {
    /// Its queues, in the order in which they were added.
    pub queues: Vec<(QueueId, MovedQueue)>,
    /// Its keys: see [`KeySlots::into_moved`].
    pub keys: KeySlots,
}
