//! The way of commands from other threads to an accelerator's thread.
//!
//! The model checker runs this file as well: `crates/cwq/tests/loom_mailbox.rs` includes it, with its own atomics in place of
//! those of [`super::sync`].

use super::sync::{AtomicBool, Mutex, Ordering, PoisonError, sync_channel};

/// A piece of work to do between two turns of the accelerator.
type Command<T> = Box<dyn FnOnce(&mut T) + Send>;

/// The two ways in which an accelerator's thread ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The thread first does what clients have submitted.
    Finish,
    /// The thread first does what it has taken.
    Now,
}

/// Wakes a thread that sleeps.
pub trait Bell {
    /// Rings. A thread that is about to sleep sees that, too.
    fn ring(&self);
}

/// Carries commands to an accelerator's thread, which has a `T`. The thread looks whether there are any with one load.
pub struct Mailbox<T, B> {
    letters: Mutex<Letters<T>>,
    told: AtomicBool,
    closed: AtomicBool,
    bell: B,
}

/// The commands that were not obeyed yet, and the end if one is wanted.
struct Letters<T> {
    commands: Vec<Command<T>>,
    end: Option<End>,
}

impl<T, B: Bell> Mailbox<T, B> {
    /// Makes an empty mailbox of the thread that the bell wakes.
    pub fn new(bell: B) -> Self {
        let letters = Mutex::new(Letters { commands: Vec::new(), end: None });
        Mailbox { letters, told: AtomicBool::new(false), closed: AtomicBool::new(false), bell }
    }

    /// Has something done, and waits for what comes of it; none when the thread has ended.
    pub fn ask<R: Send + 'static>(&self, command: impl FnOnce(&mut T) -> R + Send + 'static) -> Option<R> {
        let (reply, answer) = sync_channel(1);
        self.tell(|letters| {
            letters.commands.push(Box::new(move |hosted: &mut T| {
                // The thread that asked waits below.
                let _ = reply.send(command(hosted));
            }));
        });
        answer.recv().ok()
    }

    /// Ends the thread.
    pub fn end(&self, how: End) {
        self.tell(|letters| letters.end = Some(how));
    }

    /// Leaves a letter, unless the thread has ended: then a command is dropped, and with it the way of its answer.
    fn tell(&self, write: impl FnOnce(&mut Letters<T>)) {
        {
            let mut letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
            if self.closed.load(Ordering::Relaxed) {
                return;
            }
            write(&mut letters);
        }
        self.told.store(true, Ordering::Release);
        // The thread may sleep. Letters are rare enough to ring for each.
        self.bell.ring();
    }

    /// Returns true when there is anything to do.
    #[inline(always)]
    pub fn is_told(&self) -> bool {
        self.told.load(Ordering::Acquire)
    }

    /// Returns what there is to do, once.
    pub(crate) fn take(&self) -> (Vec<Command<T>>, Option<End>) {
        self.told.store(false, Ordering::Relaxed);
        let mut letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut letters.commands), letters.end)
    }

    /// Says that the thread has ended. Whoever waits for an answer, or asks from now on, gets none.
    pub fn close(&self) {
        let left = {
            let mut letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
            self.closed.store(true, Ordering::Release);
            std::mem::take(&mut letters.commands)
        };
        // Not under the lock: what commands own may have something to say to this mailbox when it goes.
        drop(left);
    }

    /// Returns true when the thread has ended.
    #[inline(always)]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Returns what wakes the thread.
    #[inline(always)]
    pub fn bell(&self) -> &B {
        &self.bell
    }
}
