//! How a worker shows that it gets on: counters in a page that its broker reads without asking.
//!
//! The broker makes the page, the worker writes to it, and nobody waits for anybody. What it says is a worker's own word: it can make
//! the broker patient for a while ([`crate::crew`] says for how long), and have it end grants of that worker, and no more.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use millstream_protocol::{PROGRESS_BYTES, PROGRESS_GRANT, PROGRESS_STEPS, PROGRESS_TURNS, PROGRESS_WORDS};
use millstream_shm::{Mapping, Memory, Words};

use crate::link::Shared;

/// The broker's side.
pub(crate) struct Watch {
    /// Until the worker was sent it.
    memory: Option<Shared>,
    page: Words,
    /// What the counters were when last looked at: turns of the accelerator, steps of the control thread.
    seen: (u64, u64),
    pub(crate) looked: Instant,
    /// When either was last seen to have changed, and when the second was.
    pub(crate) moved: Instant,
    pub(crate) stepped: Instant,
}

impl Watch {
    /// A page of zeros.
    ///
    /// # Errors
    /// The system's: no memory, no descriptors.
    pub(crate) fn new() -> io::Result<Self> {
        let memory = Memory::new("millstream progress", PROGRESS_BYTES)?;
        memory.commit()?;
        let page =
            Mapping::read_only(&memory)?.words(0, PROGRESS_WORDS).ok_or(io::ErrorKind::InvalidInput)?;
        memory.seal()?;
        let now = Instant::now();
        let memory: Option<Shared> = Some(Arc::new(memory));
        Ok(Watch { memory, page, seen: (0, 0), looked: now, moved: now, stepped: now })
    }

    /// The page, once, for the worker.
    pub(crate) fn take_memory(&mut self) -> Option<Shared> {
        self.memory.take()
    }

    /// Looks at the counters.
    pub(crate) fn look(&mut self, now: Instant) {
        let (turns, steps) = self.seen;
        self.seen = (
            self.page[PROGRESS_TURNS].load(Ordering::Relaxed),
            self.page[PROGRESS_STEPS].load(Ordering::Relaxed),
        );
        self.looked = now;
        if self.seen.1 != steps {
            self.stepped = now;
        }
        if self.seen != (turns, steps) {
            self.moved = now;
        }
    }

    /// The grant that the control thread has in hand, as it says.
    pub(crate) fn in_hand(&self) -> Option<u64> {
        Some(self.page[PROGRESS_GRANT].load(Ordering::Relaxed)).filter(|grant| *grant != 0)
    }
}

/// A word of the page that one thread of the worker counts in.
pub(crate) struct Counter {
    /// None until the broker has said where.
    page: Option<Words>,
    word: usize,
    count: u64,
}

impl Counter {
    /// For the accelerator's thread.
    pub(crate) fn of_turns() -> Self {
        Counter { page: None, word: PROGRESS_TURNS, count: 0 }
    }

    /// For the control thread.
    pub(crate) fn of_steps() -> Self {
        Counter { page: None, word: PROGRESS_STEPS, count: 0 }
    }

    /// Shows it there from now on.
    pub(crate) fn show(&mut self, page: Words) {
        self.page = Some(page);
    }

    /// One more.
    #[inline(always)]
    pub(crate) fn step(&mut self) {
        if let Some(page) = &self.page {
            self.count = self.count.wrapping_add(1);
            page[self.word].store(self.count, Ordering::Relaxed);
        }
    }

    /// One more, for a grant; with 0, for none.
    pub(crate) fn step_for(&mut self, grant: u64) {
        if let Some(page) = &self.page {
            page[PROGRESS_GRANT].store(grant, Ordering::Relaxed);
        }
        self.step();
    }
}

/// The page that came with the order.
///
/// # Errors
/// The system's; [`io::ErrorKind::InvalidData`] where it is none.
pub(crate) fn received(page: OwnedFd) -> io::Result<Words> {
    let page = Memory::received(page)?;
    Mapping::shared(&page)?.words(0, PROGRESS_WORDS).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_either_thread_counts_is_seen() {
        let mut watch = Watch::new().unwrap();
        let memory = watch.take_memory().unwrap();
        let page = received(memory.as_fd().as_fd().try_clone_to_owned().unwrap()).unwrap();
        let (mut turns, mut steps) = (Counter::of_turns(), Counter::of_steps());
        turns.step();
        turns.show(page.clone());
        steps.show(page);
        let begin = watch.moved;
        let after = |seconds| begin + Duration::from_secs(seconds);
        watch.look(after(1));
        assert_eq!((watch.moved, watch.stepped), (begin, begin), "nothing was shown");
        turns.step();
        watch.look(after(2));
        assert_eq!((watch.moved, watch.stepped, watch.in_hand()), (after(2), begin, None));
        steps.step_for(7);
        watch.look(after(3));
        assert_eq!((watch.moved, watch.stepped, watch.in_hand()), (after(3), after(3), Some(7)));
        steps.step_for(0);
        watch.look(after(4));
        watch.look(after(5));
        assert_eq!((watch.moved, watch.looked, watch.in_hand()), (after(4), after(5), None));
    }
}
