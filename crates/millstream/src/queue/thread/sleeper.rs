//! The sleepers that an accelerator's thread wakes when completions have come.

use std::sync::{Mutex, PoisonError};
use std::task::Waker;
use std::thread::Thread;

/// A thread or a task that waits for completions.
pub(super) enum Sleeper {
    Thread(Thread),
    Task(Waker),
}

/// The place for the one who sleeps for a queue.
#[derive(Default)]
pub(super) struct Bed(Mutex<Option<Sleeper>>);

impl Bed {
    pub(super) fn lie_down(&self, sleeper: Sleeper) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(sleeper);
    }

    pub(super) fn wake(&self) {
        // Not under the lock: a waker is somebody else's code.
        let sleeper = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match sleeper {
            Some(Sleeper::Thread(thread)) => thread.unpark(),
            Some(Sleeper::Task(waker)) => waker.wake(),
            None => {}
        }
    }
}
