//! How the control thread has things done on the accelerator's thread.
//!
//! The model checker runs this file as well: `crates/cwq/tests/loom_mailbox.rs` includes it, with its own atomics in place of
//! those of [`super::sync`].

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use millstream_shm::Doorbell;

use super::sync::{AtomicBool, Mutex, Ordering, PoisonError, sync_channel};

/// What is done between two steps of the accelerator.
type Command<S> = Box<dyn FnOnce(&mut S) + Send>;

/// How the accelerator's thread is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// What clients have submitted is done first.
    Finish,
    /// What was taken is done first.
    Now,
}

/// Commands for the accelerator's thread, which has an `S`. Looking whether there are any costs it one load.
pub(super) struct Mailbox<S> {
    commands: Mutex<(Vec<Command<S>>, Option<End>)>,
    told: AtomicBool,
    bell: Doorbell,
}

impl<S> Mailbox<S> {
    pub(super) fn new() -> io::Result<Self> {
        let commands = Mutex::new((Vec::new(), None));
        Ok(Mailbox { commands, told: AtomicBool::new(false), bell: Doorbell::new()? })
    }

    /// Has something done, and waits for what comes of it; none when the thread has ended.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        command: impl FnOnce(&mut S) -> T + Send + 'static,
    ) -> Option<T> {
        let (reply, answer) = sync_channel(1);
        self.tell(|(commands, _)| {
            commands.push(Box::new(move |served: &mut S| {
                // Who asked waits below.
                let _ = reply.send(command(served));
            }));
        });
        answer.recv().ok()
    }

    /// Ends the thread.
    pub(super) fn end(&self, how: End) {
        self.tell(|(_, end)| *end = Some(how));
    }

    fn tell(&self, what: impl FnOnce(&mut (Vec<Command<S>>, Option<End>))) {
        what(&mut self.commands.lock().unwrap_or_else(PoisonError::into_inner));
        self.told.store(true, Ordering::Release);
        // It may sleep. This is rare enough to ring always.
        self.bell.ring();
    }

    /// Whether there is anything to do.
    #[inline(always)]
    pub(super) fn is_told(&self) -> bool {
        self.told.load(Ordering::Acquire)
    }

    /// What there is to do, once.
    pub(super) fn take(&self) -> (Vec<Command<S>>, Option<End>) {
        self.told.store(false, Ordering::Relaxed);
        let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut commands.0), commands.1)
    }
}

/// What wakes the accelerator's thread.
impl<S> AsFd for Mailbox<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
