//! The size of a queue, and the pace of a thread that serves several.

use std::time::Duration;

/// The size of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The number of operations that may be in flight; rounded up to a power of two, at most 65536.
    pub depth: usize,
    /// Bytes of arena for buffers.
    pub arena_bytes: u32,
    /// The number of keys it may hold.
    pub key_slots: usize,
    /// The queue's share of an accelerator that serves several.
    pub weight: u32,
}

impl Default for Config {
    fn default() -> Self {
        Config { depth: 256, arena_bytes: 8 << 20, key_slots: 64, weight: 1 }
    }
}

impl Config {
    pub(super) fn depth(&self) -> usize {
        self.depth.next_power_of_two().clamp(1, 1 << 16)
    }
}

/// The pace of an accelerator's thread.
#[derive(Clone, Copy, Debug)]
pub struct ThreadConfig {
    /// The processor it is pinned to.
    pub cpu: Option<usize>,
    /// The time for which it looks at empty rings before it sleeps. Waking it costs its client a system call.
    pub spin: Duration,
    /// The time for which an operation may wait for others to fill lanes with.
    pub flush_deadline: Duration,
}

impl Default for ThreadConfig {
    fn default() -> Self {
        ThreadConfig { cpu: None, spin: Duration::from_micros(50), flush_deadline: Duration::ZERO }
    }
}
