//! The sleep of an accelerator's thread.

use std::time::Duration;

/// Puts a thread to sleep until somebody rings.
pub trait Sleep {
    /// True when a thread that was woken for nothing looks at its rings for as long as before, because clients tend to come
    /// soon after whoever woke it. False when it sleeps again at once.
    const LOOKS_AGAIN: bool;

    /// Sleeps until a bell rings, or the limit. A bell that rang before counts. The thread may wake for nothing.
    fn sleep(&mut self, limit: Option<Duration>);
}

/// The sleep of a parked thread, which [`Unpark`](crate::Unpark) wakes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Park;

impl Sleep for Park {
    const LOOKS_AGAIN: bool = true;

    fn sleep(&mut self, limit: Option<Duration>) {
        match limit {
            None => std::thread::park(),
            Some(limit) => std::thread::park_timeout(limit),
        }
    }
}
