//! The counts of an accelerator.

use millstream_cwq::Status;

/// The counts of a queue since it was added, wherever it has moved since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueStats {
    /// Operations that ended, with success or not.
    pub operations: u64,
    /// Bytes of source of the operations that succeeded.
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
    /// Returns how many operations ended with a status.
    pub fn ended_with(&self, status: Status) -> u64 {
        match status {
            Status::Ok => self.operations - self.failures.iter().sum::<u64>(),
            status => self.failures[status.index()],
        }
    }
}

/// The fill of lanes: operations that engines executed, and the number of calls. Operations of a kind go in one call, if
/// they were held together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// Operations that were executed.
    pub operations: u64,
    /// Calls that executed them.
    pub calls: u64,
}

impl Filled {
    /// Returns how many operations ran side by side, on average.
    pub fn mean(&self) -> f64 {
        self.operations as f64 / self.calls.max(1) as f64
    }

    pub(crate) fn add(&mut self, other: Filled) {
        self.operations += other.operations;
        self.calls += other.calls;
    }
}
