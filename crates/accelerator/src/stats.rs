//! What an accelerator counts.

use millstream_cwq::Status;

/// What was counted of a queue since it was added, wherever it has moved since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueStats {
    /// Operations that ended, however.
    pub operations: u64,
    /// Bytes of source of those that ended well.
    pub bytes: u64,
    /// Operations that failed, by [`Status::index`].
    pub failures: [u64; Status::COUNT],
    /// Words that are taken and not executed now.
    pub held: u64,
    /// Words in the ring now.
    pub waiting: u64,
}

impl Default for QueueStats {
    fn default() -> Self {
        QueueStats { operations: 0, bytes: 0, failures: [0; Status::COUNT], held: 0, waiting: 0 }
    }
}

impl QueueStats {
    /// How many operations ended with a status.
    pub fn ended_with(&self, status: Status) -> u64 {
        match status {
            Status::Ok => self.operations - self.failures.iter().sum::<u64>(),
            status => self.failures[status.index()],
        }
    }
}

/// How full lanes were: operations that engines executed, and in how many calls. Those of a kind go in one call, as
/// far as they were held together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// Operations that were executed.
    pub operations: u64,
    /// Calls that executed them.
    pub calls: u64,
}

impl Filled {
    /// How many operations ran side by side, on average.
    pub fn mean(&self) -> f64 {
        self.operations as f64 / self.calls.max(1) as f64
    }

    pub(crate) fn add(&mut self, other: Filled) {
        self.operations += other.operations;
        self.calls += other.calls;
    }
}
