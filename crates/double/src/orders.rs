//! Orders of a test to a worker.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;

/// Orders to the worker.
#[derive(Default)]
pub struct Orders {
    /// Takes no more words.
    pub(crate) stall: AtomicBool,
    /// Takes no more requests about keys.
    pub(crate) deaf: AtomicBool,
    /// Turns since it was told something.
    pub(crate) turns: AtomicU32,
    /// Keeps the key socket when it ends, as one does that is stopped.
    pub hold: AtomicBool,
    pub(crate) revoke: AtomicBool,
    pub(crate) die: AtomicBool,
    pub(crate) finish: AtomicBool,
    /// The times that it went to sleep.
    pub sleeps: AtomicU64,
    /// Words that it took.
    pub taken: AtomicU32,
}

impl Orders {
    /// Stalls the worker from the return on, or lets it go on. A stalled worker takes no word.
    pub fn stall(&self, on: bool) {
        self.stall.store(on, Ordering::Release);
        self.obeyed();
    }

    /// The same for requests about keys.
    pub fn deafen(&self, on: bool) {
        self.deaf.store(on, Ordering::Release);
        self.obeyed();
    }

    /// The turn that goes on may have begun before the order.
    fn obeyed(&self) {
        let now = self.turns.load(Ordering::Acquire);
        while self.turns.load(Ordering::Acquire).wrapping_sub(now) < 2 {
            thread::yield_now();
        }
    }
}
