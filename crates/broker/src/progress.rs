//! The progress of a worker: counters in a page that its broker reads without asking.
//!
//! The broker makes the page, the worker writes to it, and neither waits for the other. The counters are only
//! the worker's own claim. They can make the broker patient for a while ([`crate::crew`] says for how long),
//! and have it end grants of that worker, but nothing else.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use millstream_protocol::{
    PROGRESS_BYTES, PROGRESS_GRANT, PROGRESS_STEPS, PROGRESS_TOUCHES, PROGRESS_TURNS, PROGRESS_WORDS,
    PROGRESS_WORDS_OF,
};
use millstream_shm::{Mapping, Memory, Words};

use crate::link::Shared;

/// The broker's side.
pub(crate) struct Watch {
    /// The page's memory, until it was sent to the worker.
    memory: Option<Shared>,
    page: Words,
    /// The counters when last looked at: turns of the accelerator, touches of clients' memory in them, and
    /// steps of the control thread.
    seen: [u64; 3],
    pub(crate) looked: Instant,
    /// The times at which any counter, and the last one, were last seen to have changed.
    pub(crate) moved: Instant,
    pub(crate) stepped: Instant,
    /// Recent looks.
    looks: VecDeque<Look>,
    /// True when anything had changed at the last look.
    changed: bool,
}

/// A look at the accelerator's thread.
struct Look {
    at: Instant,
    touches: u64,
    /// The grant whose memory made turns slow, if any.
    slowed_by: Option<u64>,
}

/// Turns that take longer than this on average are slow. Their estimated work is a hundredth of it.
const SLOW: Duration = Duration::from_millis(50);

/// The number of looks at the page in the time after which a worker is stuck, while there are orders or turns
/// are slow.
pub(crate) const LOOKS: u32 = 40;

/// The number of looks needed to tell which grant makes turns slow.
const ENOUGH: usize = 4;

impl Watch {
    /// Makes a page of zeros.
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
        Ok(Watch {
            memory,
            page,
            seen: [0; 3],
            looked: now,
            moved: now,
            stepped: now,
            looks: VecDeque::new(),
            changed: false,
        })
    }

    /// Returns the page for the worker, the first time.
    pub(crate) fn take_memory(&mut self) -> Option<Shared> {
        self.memory.take()
    }

    /// Looks at the counters.
    pub(crate) fn look(&mut self, now: Instant) {
        let [turns, _, steps] = self.seen;
        let before = std::mem::replace(
            &mut self.seen,
            [PROGRESS_TURNS, PROGRESS_TOUCHES, PROGRESS_STEPS]
                .map(|counter| self.page[counter].load(Ordering::Relaxed)),
        );
        let turned = u32::try_from(self.seen[0].wrapping_sub(turns)).unwrap_or(u32::MAX);
        let is_slow = SLOW.saturating_mul(turned) < now.saturating_duration_since(self.looked);
        let slowed_by = self.touched().filter(|_| is_slow);
        self.looks.push_back(Look { at: now, touches: self.seen[1], slowed_by });
        self.looked = now;
        if self.seen[2] != steps {
            self.stepped = now;
        }
        self.changed = self.seen != before;
        if self.changed {
            self.moved = now;
        }
    }

    /// Returns the grant whose memory the accelerator's thread is touching, as the worker says.
    fn touched(&self) -> Option<u64> {
        Some(self.page[PROGRESS_WORDS_OF].load(Ordering::Relaxed)).filter(|grant| *grant != 0)
    }

    /// Returns the grant whose memory has made turns slow at most looks during a quarter of the time after
    /// which a worker is stuck, or during half of it where the thread stood still. Of several grants, the
    /// most frequent one is returned. The looks are forgotten then, so a grant is reported once.
    pub(crate) fn slowed_by(&mut self, stuck: Duration) -> Option<u64> {
        let now = self.looked;
        let since = |look: &Look| now.saturating_duration_since(look.at);
        self.looks.retain(|look| since(look) <= stuck / 2);
        let within = |span: Duration| self.looks.iter().filter(move |look| since(look) <= span);
        let stands = |span: Duration| within(span).all(|look| look.touches == self.seen[1]);
        let span = if stands(stuck / 4) { stuck / 2 } else { stuck / 4 };
        let whole = within(span).next().is_some_and(|first| since(first) >= span / 4 * 3);
        let mut grants: Vec<u64> = within(span).filter_map(|look| look.slowed_by).collect();
        let looks = within(span).count();
        if !whole || looks < ENOUGH || 2 * grants.len() <= looks {
            return None;
        }
        grants.sort_unstable();
        let slowest = grants.chunk_by(u64::eq).max_by_key(|same| same.len())?[0];
        self.looks.retain(|look| look.slowed_by != Some(slowest));
        Some(slowest)
    }

    /// Returns how long it need not be looked at while it has no orders, as a divisor of the time after which
    /// it is stuck.
    pub(crate) fn rest(&self) -> u32 {
        match self.looks.back() {
            Some(Look { slowed_by: Some(_), .. }) => LOOKS,
            _ if self.changed => 10,
            _ => 2,
        }
    }

    /// Returns the grant that the control thread works on, as the worker says.
    pub(crate) fn in_hand(&self) -> Option<u64> {
        Some(self.page[PROGRESS_GRANT].load(Ordering::Relaxed)).filter(|grant| *grant != 0)
    }
}

/// A word of the page that one thread of the worker counts in.
pub(crate) struct Counter {
    /// None until the broker has sent the page.
    page: Option<Words>,
    word: usize,
    count: Cell<u64>,
}

impl Counter {
    /// Makes the counter of the accelerator's thread.
    pub(crate) fn of_turns() -> Self {
        Counter { page: None, word: PROGRESS_TURNS, count: Cell::new(0) }
    }

    /// Makes the counter of the control thread.
    pub(crate) fn of_steps() -> Self {
        Counter { page: None, word: PROGRESS_STEPS, count: Cell::new(0) }
    }

    /// Shows the count in this page from now on.
    pub(crate) fn show(&mut self, page: Words) {
        self.page = Some(page);
    }

    /// Counts a step.
    #[inline(always)]
    pub(crate) fn step(&self) {
        if let Some(page) = &self.page {
            self.count.set(self.count.get().wrapping_add(1));
            page[self.word].store(self.count.get(), Ordering::Relaxed);
        }
    }

    /// Counts a step in which no client's memory was touched yet.
    #[inline(always)]
    pub(crate) fn step_untouched(&self) {
        if let Some(page) = &self.page {
            leave(page);
        }
        self.step();
    }

    /// Returns the page, if there is one.
    pub(crate) fn page(&self) -> Option<Words> {
        self.page.clone()
    }

    /// Counts a step that works for a grant, or with 0 for none.
    pub(crate) fn step_for(&self, grant: u64) {
        if let Some(page) = &self.page {
            page[PROGRESS_GRANT].store(grant, Ordering::Relaxed);
        }
        self.step();
    }

    /// Waits for another thread with no grant marked as worked on, because the delay is not this grant's
    /// fault. Afterwards the grant is marked again.
    pub(crate) fn empty_handed<T>(&self, wait: impl FnOnce() -> T) -> T {
        let grant = self.page.as_ref().map_or(0, |page| page[PROGRESS_GRANT].load(Ordering::Relaxed));
        self.step_for(0);
        let awaited = wait();
        self.step_for(grant);
        awaited
    }
}

/// Shows whose memory the accelerator's thread is about to touch.
#[inline(always)]
pub(crate) fn touch(page: &Words, grant: u64) {
    page[PROGRESS_WORDS_OF].store(grant, Ordering::Relaxed);
    // This thread is the only one that counts here.
    let touches = page[PROGRESS_TOUCHES].load(Ordering::Relaxed);
    page[PROGRESS_TOUCHES].store(touches.wrapping_add(1), Ordering::Relaxed);
}

/// Shows that the accelerator's thread computes, and touches nobody's memory.
#[inline(always)]
pub(crate) fn leave(page: &Words) {
    page[PROGRESS_WORDS_OF].store(0, Ordering::Relaxed);
}

/// Maps the page that came with the order.
///
/// # Errors
/// The system's; [`io::ErrorKind::InvalidData`] where the descriptor is no such page.
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
        steps.empty_handed(|| assert_eq!(watch.in_hand(), None, "it waits for somebody else"));
        assert_eq!(watch.in_hand(), Some(7));
        steps.step_for(0);
        watch.look(after(4));
        watch.look(after(5));
        assert_eq!((watch.moved, watch.looked, watch.in_hand()), (after(4), after(5), None));
    }

    #[test]
    fn who_makes_turns_slow_is_known_and_nobody_who_is_merely_busy() {
        let mut watch = Watch::new().unwrap();
        let memory = watch.take_memory().unwrap();
        let page = received(memory.as_fd().as_fd().try_clone_to_owned().unwrap()).unwrap();
        let mut turns = Counter::of_turns();
        turns.show(page.clone());
        let (stuck, begin) = (Duration::from_secs(10), watch.looked);
        let mut now = begin;
        let mut look = |turned: u32, grants: &[u64]| {
            let mut found = Vec::new();
            for grant in grants {
                (0..turned).for_each(|_| turns.step_untouched());
                touch(&page, *grant);
                now += stuck / LOOKS;
                watch.look(now);
                found.extend(watch.slowed_by(stuck));
            }
            found
        };
        assert!(look(500, &[7; 100]).is_empty(), "its turns are short");
        assert!(look(0, &[7; 4]).is_empty(), "it may have been a moment");
        assert!(look(1, &[0; 20]).is_empty(), "nobody's memory is touched");
        assert_eq!(look(1, &[7; 8]), [7]);
        assert!(look(500, &[0; 20]).is_empty());
        let several = look(0, &[3, 4, 3, 4, 3, 4, 3, 5, 4, 4, 4, 4]);
        assert!([3, 4].iter().all(|grant| several.contains(grant)), "{several:?}");
        assert!(!several.contains(&5), "{several:?}");
    }
}
