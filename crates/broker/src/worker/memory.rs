//! The memory that a worker shares with its clients, and the memory it shares with nobody.
//!
//! # Safety
//! A [`SharedArena`] is a part of a mapping that lives as long as it. A [`KeyRegions`] hands out places of regions that live as
//! long as it, and gives each back to the region it lies in.
#![allow(unsafe_code)]

use std::alloc::Layout;
use std::fmt;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use millstream_accelerator::{Arena, KeyMemory};
use millstream_protocol::STATE_LIVE;
use millstream_shm::{Mapping, SecretMemory, Words};

use crate::progress;

/// A client's arena. The client may write anywhere in it at any moment.
///
/// Output is not handed over with [`Mapping::share`]: that costs this side more than it saves the client. Objects of
/// 256 bytes to 8 KB, 32 in flight, passed at 0.9 to 0.5 of the rate with it at any size from which on it was done.
#[derive(Clone, Debug)]
pub(super) struct SharedArena {
    mapping: Arc<Mapping>,
    len: u32,
    hand: Hand,
}

impl SharedArena {
    /// The first `len` bytes of a mapping; none where it has fewer.
    pub(super) fn new(mapping: Arc<Mapping>, len: u32, hand: Hand) -> Option<Self> {
        (mapping.len() >= len as usize).then_some(SharedArena { mapping, len, hand })
    }
}

/// Shows whose arena is about to be touched, and knows whether it may be.
///
/// A client can make a touch of its arena take as long as the kernel takes to make a hole in it, and one turn may touch thousands of its
/// pages. So the broker sees whose they are, ends that grant, and says so in its state page, which needs no other thread
/// of this process: the rest of the turn leaves the arena alone.
#[derive(Clone, Debug)]
pub(super) struct Hand {
    grant: u64,
    /// The state page, which only the broker writes.
    state: Words,
    /// None where the broker has not said where to show it.
    page: Option<Words>,
}

/// The most bytes that are copied at a touch.
const TOUCH: usize = 16 << 10;

impl Hand {
    /// Makes the hand of a grant, from its state page and the page for progress.
    pub(super) fn new(grant: u64, state: Words, page: Option<Words>) -> Self {
        Hand { grant, state, page }
    }

    #[inline]
    fn is_gone(&self) -> bool {
        self.state[0].load(Ordering::Relaxed) != STATE_LIVE
    }

    /// Returns true when the arena may be touched, and shows that.
    #[inline]
    fn may_touch(&self) -> bool {
        if self.is_gone() {
            return false;
        }
        if let Some(page) = &self.page {
            progress::touch(page, self.grant);
        }
        true
    }
}

// SAFETY: `new` has checked that the mapping has as many bytes, and it is kept as long as this. It is never exclusive.
unsafe impl Arena for SharedArena {
    #[inline]
    fn base(&self) -> NonNull<u8> {
        self.mapping.base()
    }

    #[inline]
    fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    fn exclusive(&self) -> bool {
        false
    }

    #[inline]
    fn prefetch(&self, at: u32, len: u32) {
        self.mapping.prefetch(at as usize, len as usize, false);
    }

    #[inline]
    fn prefetch_write(&self, at: u32, len: u32) {
        self.mapping.prefetch(at as usize, len as usize, true);
    }

    #[inline]
    fn is_gone(&self) -> bool {
        self.hand.is_gone()
    }

    /// The time of a signature on hashes is not that of the client's memory.
    #[inline]
    fn rest(&self) {
        if let Some(page) = &self.hand.page {
            progress::leave(page);
        }
    }

    /// An arena that is gone reads as zeros.
    #[inline]
    fn read(&self, at: u32, out: &mut [u8]) {
        let mut at = at as usize;
        for out in out.chunks_mut(TOUCH) {
            match self.hand.may_touch() {
                true => self.mapping.read(at, out),
                false => out.fill(0),
            }
            at += out.len();
        }
    }

    #[inline]
    fn write(&self, at: u32, bytes: &[u8]) {
        let mut at = at as usize;
        for bytes in bytes.chunks(TOUCH) {
            if self.hand.may_touch() {
                self.mapping.write(at, bytes);
            }
            at += bytes.len();
        }
    }
}

/// The memory for the keys of all grants. It grows: each region is as large as those before it together.
pub(super) struct KeyRegions {
    regions: Mutex<Vec<SecretMemory>>,
    /// Bytes that were promised.
    reserved: Mutex<usize>,
    /// The most bytes there may ever be.
    most: usize,
    /// The bytes that keys have on the heap.
    beside: AtomicUsize,
    /// The most of them.
    most_beside: usize,
    hidden: bool,
}

/// Bytes of the first region.
const FIRST_REGION: usize = 64 * 1024;

impl KeyRegions {
    /// Memory that grows to at most that many bytes.
    ///
    /// # Errors
    /// When not even the first of it can be had.
    pub(super) fn new(most: usize) -> io::Result<Self> {
        let first = SecretMemory::new(FIRST_REGION.min(most.max(1)))?;
        let hidden = first.is_hidden();
        Ok(KeyRegions::of(first, most, hidden))
    }

    /// All of it at once, hidden, and none of it there before it is used.
    ///
    /// # Errors
    /// When there is no hidden memory, or so much may not be locked.
    pub(super) fn whole(bytes: usize) -> io::Result<Self> {
        let all = SecretMemory::hidden(bytes)?;
        Ok(KeyRegions::of(all, bytes, true))
    }

    fn of(first: SecretMemory, most: usize, hidden: bool) -> Self {
        let (regions, reserved) = (Mutex::new(vec![first]), Mutex::new(0));
        KeyRegions { regions, reserved, most, beside: AtomicUsize::new(0), most_beside: most, hidden }
    }

    /// Lets keys have so many bytes on the heap together.
    pub(super) fn with_beside(self, bytes: usize) -> Self {
        KeyRegions { most_beside: bytes, ..self }
    }

    /// Returns the kind of memory, as reports have it.
    pub(super) fn kind(&self) -> &'static str {
        if self.hidden { "memfd_secret" } else { "locked memory" }
    }

    /// Returns true when nobody else can read it, not even root.
    pub(super) fn is_hidden(&self) -> bool {
        self.hidden
    }

    fn regions(&self) -> MutexGuard<'_, Vec<SecretMemory>> {
        self.regions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Promises so many bytes, in pieces of one size, and sees to it that they can be had; whether they can.
    pub(super) fn reserve(&self, bytes: usize) -> bool {
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(all) = reserved.checked_add(bytes).filter(|all| *all <= self.most) else { return false };
        let mut regions = self.regions();
        while regions.iter().map(|region| region.range().1).sum::<usize>() < all {
            if self.grow(&mut regions).is_none() {
                return false;
            }
        }
        *reserved = all;
        true
    }

    /// Takes a promise back.
    pub(super) fn give_up(&self, bytes: usize) {
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        *reserved = reserved.saturating_sub(bytes);
    }

    /// Another region; none where the limit, or the system's, is reached. What was hidden does not go on unhidden.
    fn grow(&self, regions: &mut Vec<SecretMemory>) -> Option<()> {
        let held: usize = regions.iter().map(|region| region.range().1).sum();
        let more = held.min(self.most.checked_sub(held)?);
        if more == 0 {
            return None;
        }
        let region = SecretMemory::new(more).ok()?;
        (region.is_hidden() || !self.hidden).then(|| regions.push(region))
    }
}

// SAFETY: each place comes from one region, which hands it out once, and goes back to that one. Regions are never given up.
unsafe impl KeyMemory for KeyRegions {
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        let mut regions = self.regions();
        // The newest is the largest, and the emptiest.
        let found = regions.iter().rev().find_map(|region| region.allocate(layout));
        if found.is_some() {
            return found;
        }
        self.grow(&mut regions)?;
        regions.last()?.allocate(layout)
    }

    fn charge(&self, bytes: usize) -> bool {
        let fits = |held: usize| held.checked_add(bytes).filter(|all| *all <= self.most_beside);
        self.beside.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    fn discharge(&self, bytes: usize) {
        self.beside.fetch_sub(bytes, Ordering::Relaxed);
    }

    unsafe fn free(&self, at: NonNull<u8>, layout: Layout) {
        let regions = self.regions();
        let of = regions.iter().find(|region| {
            let (base, len) = region.range();
            at.addr() >= base.addr() && at.addr().get() - base.addr().get() < len
        });
        if let Some(region) = of {
            // SAFETY: it lies in this region, so it came from it; the rest is as the caller says.
            unsafe { region.free(at, layout) }
        }
    }
}

impl fmt::Debug for KeyRegions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyRegions({} of {}, {})", self.regions().len(), self.most, self.kind())
    }
}

#[cfg(test)]
mod tests {
    use millstream_protocol::{PROGRESS_TOUCHES, PROGRESS_WORDS, PROGRESS_WORDS_OF, STATE_REVOKED};

    use super::*;

    #[test]
    fn it_grows_to_its_limit_and_takes_back() {
        let memory = KeyRegions::new(4 * FIRST_REGION).unwrap();
        let layout = Layout::from_size_align(4096, 64).unwrap();
        let places: Vec<_> = std::iter::from_fn(|| memory.allocate(layout)).collect();
        assert_eq!(places.len(), 4 * FIRST_REGION / 4096);
        assert_eq!(memory.regions().len(), 3);
        for place in &places {
            // SAFETY: from this memory, with this layout, used no more.
            unsafe { memory.free(*place, layout) };
        }
        let again = std::iter::from_fn(|| memory.allocate(layout)).count();
        assert_eq!((again, memory.regions().len()), (places.len(), 3));
    }

    #[test]
    fn an_arena_is_inside_its_mapping_and_left_alone_when_its_grant_has_ended() {
        let mapping = Mapping::private(8192).unwrap();
        let words = |count| Mapping::private(4096).unwrap().words(0, count).unwrap();
        let (state, page) = (words(1), words(PROGRESS_WORDS));
        let hand = || Hand::new(7, state.clone(), Some(page.clone()));
        assert!(SharedArena::new(mapping.clone(), 8193, hand()).is_none());
        let arena = SharedArena::new(mapping, 5000, hand()).unwrap();
        arena.write(1000, &[7; 4000]);
        let mut out = [0; 4000];
        arena.read(1000, &mut out);
        assert_eq!((out, arena.len(), arena.exclusive(), arena.is_gone()), ([7; 4000], 5000, false, false));
        let shown = || [PROGRESS_WORDS_OF, PROGRESS_TOUCHES].map(|word| page[word].load(Ordering::Relaxed));
        assert_eq!(shown(), [7, 2]);
        arena.rest();
        assert_eq!(shown(), [0, 2], "what takes long now is not the memory");
        arena.write(0, &[7]);
        assert_eq!(shown(), [7, 3]);
        state[0].store(STATE_REVOKED, Ordering::Relaxed);
        arena.write(1000, &[8; 4000]);
        arena.read(1000, &mut out);
        assert_eq!((out, arena.is_gone(), shown()), ([0; 4000], true, [7, 3]));
        arena.mapping.read(1000, &mut out);
        assert_eq!(out, [7; 4000]);
    }
}
