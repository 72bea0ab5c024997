//! A grant as its accelerator knows it, and on its way from one accelerator to another.

use std::fmt;

use millstream_cwq::AlgorithmSet;

use crate::kept::SharedKeyMemory;
use crate::slab::Id;
use crate::slots::KeySlots;
use crate::stats::QueueStats;

/// Names one of an accelerator's grants: an arena and the keys for what lies in it. After the grant was removed it names
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GrantId(pub(crate) Id);

/// Names one of an accelerator's queues. After the queue was removed it names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueueId(pub(crate) Id);

/// The rights of a grant.
#[derive(Clone)]
pub struct GrantConfig {
    /// The most keys that it may hold, up to 65536.
    pub key_slots: usize,
    /// The algorithms it may use, with keys in slots or carried, and without keys.
    pub algorithms: AlgorithmSet,
    /// The memory for its keys, or the heap by default. Keys that words carry are the client's own, and are always on the
    /// heap.
    pub key_memory: Option<SharedKeyMemory>,
    /// The grant's name in tracepoints.
    pub label: u64,
    /// True when its signatures may use presignatures: see [`Accelerator::keep_presignatures`](crate::Accelerator::keep_presignatures).
    pub presigns: bool,
}

impl GrantConfig {
    /// Allows any algorithm, and that many keys on the heap.
    pub fn new(key_slots: usize) -> Self {
        GrantConfig {
            key_slots,
            algorithms: AlgorithmSet::all(),
            key_memory: None,
            label: 0,
            presigns: false,
        }
    }
}

impl fmt::Debug for GrantConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrantConfig")
            .field("key_slots", &self.key_slots)
            .field("algorithms", &self.algorithms)
            .field("key_memory", &self.key_memory.as_ref().map_or("heap", |_| "given"))
            .field("label", &self.label)
            .field("presigns", &self.presigns)
            .finish()
    }
}

pub(crate) struct Grant<A> {
    pub(crate) arena: A,
    pub(crate) keys: KeySlots,
    /// The algorithms it may use; `None` allows all. It is in a box because each word asks whether there is one, and a set is compared
    /// in more than one piece.
    pub(crate) policy: Option<Box<AlgorithmSet>>,
    pub(crate) label: u64,
    /// True when its signatures may use presignatures.
    pub(crate) presigns: bool,
    /// The grant's queues, in the order in which they were added.
    pub(crate) queues: Vec<Id>,
    /// True when no more of its words are taken.
    pub(crate) paused: bool,
    pub(crate) calm: Calm,
}

/// The queues of a grant that had nothing to do for some steps, and do not sleep.
#[derive(Default)]
pub(crate) struct Calm {
    pub(crate) queues: Vec<u32>,
    /// The place of the queue that is looked at next.
    pub(crate) turn: usize,
    /// True when the accelerator lists the grant among those that have calm queues.
    pub(crate) listed: bool,
}

/// Returns the policy for a set of algorithms. Most grants may use all, and need no check.
pub(crate) fn policy(algorithms: AlgorithmSet) -> Option<Box<AlgorithmSet>> {
    (algorithms != AlgorithmSet::all()).then(|| Box::new(algorithms))
}

/// The positions of a queue's rings, at which another accelerator goes on.
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
    /// The queue's share.
    pub weight: u32,
    /// The positions at which its rings go on.
    pub position: Position,
    /// The counts so far.
    pub stats: QueueStats,
}

/// A grant that an accelerator gave up, for another to go on with.
#[derive(Debug)]
pub struct Released {
    /// The grant's queues, in the order in which they were added.
    pub queues: Vec<(QueueId, MovedQueue)>,
    /// The grant's keys: see [`KeySlots::into_moved`].
    pub keys: KeySlots,
}
