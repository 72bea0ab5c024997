//! The ring: entries of `W` words from one producer to one consumer, in memory that both see.
//!
//! Indices run freely and wrap at 2^64; an entry lies at its index modulo the capacity. Each side
//! keeps its own index to itself, writes it out for the other, and never reads it back. It checks the index
//! that it reads of the other side, so a peer that writes nonsense causes a [`Corrupt`] error and nothing
//! worse. Entries are read word by word, once.
//!
//! Pushing and popping are wait-free. A consumer that has nothing to do may say that it goes to sleep;
//! after [`Producer::publish`], [`Producer::must_wake`] tells whether to wake it. The ring leaves the means to its users.
//!
//! | words from the beginning | contents |
//! | --- | --- |
//! | 0 | the producer's index: entries published |
//! | 8 | the consumer's index: entries taken |
//! | 16 | 1 while the consumer sleeps |
//! | 24 | the entries |

use std::fmt;
use std::ops::Deref;

pub use crate::batch::{Reader, Writer};
use crate::sync::{AtomicU64, Ordering, fence};

/// A word of a ring's memory: an atomic of the standard library, or of the model checker.
pub type Word = AtomicU64;

/// Word offsets within the ring. Words that different sides write have cache lines of their own.
const PUBLISHED: usize = 0;
const TAKEN: usize = 8;
const ASLEEP: usize = SLEEP_WORD;
const ENTRIES: usize = 24;

/// The offset of the word that is 1 while the consumer sleeps, for users that have a ring's memory and neither of its sides.
pub const SLEEP_WORD: usize = 16;

/// The most entries a ring may have.
pub const MAX_CAPACITY: usize = 1 << 20;

/// Makes the words of an empty ring for `capacity` entries of `W` words.
///
/// # Panics
/// When `capacity` is not a power of two or more than [`MAX_CAPACITY`].
pub fn memory<const W: usize>(capacity: usize) -> Vec<AtomicU64> {
    assert!(capacity.is_power_of_two() && capacity <= MAX_CAPACITY, "a power of two, at most 2^20");
    (0..words::<W>(capacity)).map(|_| AtomicU64::new(0)).collect()
}

/// Returns how many words a ring for `capacity` entries of `W` words takes.
pub const fn words<const W: usize>(capacity: usize) -> usize {
    ENTRIES + capacity * W
}

/// The memory is not a ring's: its size is not right, or the peer wrote an impossible index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt;

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the ring's memory is not a ring, or its other side wrote an impossible index")
    }
}

impl std::error::Error for Corrupt {}

/// The reason why nothing was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushError {
    /// The ring is full: take what has come back, then push again.
    Full,
    /// See [`Corrupt`].
    Corrupt,
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PushError::Full => f.write_str("the ring is full: take what has come back, then push again"),
            PushError::Corrupt => Corrupt.fmt(f),
        }
    }
}

impl std::error::Error for PushError {}

/// Returns the entries of a ring.
#[inline(always)]
fn entries<const W: usize>(memory: &[AtomicU64]) -> &[[AtomicU64; W]] {
    memory.get(ENTRIES..).unwrap_or_default().as_chunks().0
}

/// Returns the offset of the entry with that index.
#[inline(always)]
fn place_of<const W: usize>(index: u64, mask: u64) -> usize {
    // The index is cut to 32 bits, which any capacity has, so that the compiler sees that nothing wraps.
    ENTRIES + (index & mask) as u32 as usize * W
}

/// Returns the capacity of a ring in that many words.
fn capacity<const W: usize>(words: usize) -> Result<u64, Corrupt> {
    let entries = words.checked_sub(ENTRIES).ok_or(Corrupt)?;
    let capacity = entries / W;
    let whole = entries.is_multiple_of(W) && capacity.is_power_of_two() && capacity <= MAX_CAPACITY;
    if whole { Ok(capacity as u64) } else { Err(Corrupt) }
}

/// The side that pushes. There is one for each ring.
#[derive(Debug)]
pub struct Producer<M, const W: usize> {
    memory: M,
    mask: u64,
    /// Entries pushed, published or not.
    pushed: u64,
    /// Entries published.
    published: u64,
    /// Entries that the consumer had taken at the last refresh.
    taken: u64,
}

impl<M: Deref<Target = [AtomicU64]>, const W: usize> Producer<M, W> {
    /// Makes the producer of an empty ring.
    ///
    /// # Errors
    /// [`Corrupt`] when the memory is not that of a ring of such entries.
    pub fn new(memory: M) -> Result<Self, Corrupt> {
        let mask = capacity::<W>(memory.len())? - 1;
        Ok(Producer { memory, mask, pushed: 0, published: 0, taken: 0 })
    }

    /// Goes on where another producer left off: at its [`Producer::position`].
    ///
    /// # Errors
    /// As [`Producer::new`].
    pub fn resume(memory: M, pushed: u64) -> Result<Self, Corrupt> {
        let capacity = capacity::<W>(memory.len())?;
        // The ring may be full. The consumer's index is believed only after `refresh` has checked it.
        let taken = pushed.wrapping_sub(capacity);
        Ok(Producer { memory, mask: capacity - 1, pushed, published: pushed, taken })
    }

    /// Returns how many entries were ever pushed. Another producer goes on there, once all of them are published.
    pub fn position(&self) -> u64 {
        self.pushed
    }

    /// Returns how many entries the ring holds.
    pub fn capacity(&self) -> usize {
        self.mask as usize + 1
    }

    /// Returns for how many entries there is room at least. It reads the consumer's index when no room is known.
    ///
    /// # Errors
    /// [`Corrupt`] when the consumer's index is impossible.
    #[inline]
    pub fn room(&mut self) -> Result<usize, Corrupt> {
        self.room_for(1)
    }

    /// Returns the same, and reads the consumer's index already when less room than that is known.
    ///
    /// # Errors
    /// As [`Producer::room`].
    #[inline]
    pub fn room_for(&mut self, entries: usize) -> Result<usize, Corrupt> {
        if self.known_room() < entries {
            match self.refresh() {
                Ok(()) | Err(PushError::Full) => {}
                Err(PushError::Corrupt) => return Err(Corrupt),
            }
        }
        Ok(self.known_room())
    }

    /// Returns for how many entries there was room at the last refresh.
    #[inline(always)]
    fn known_room(&self) -> usize {
        // No more entries than the capacity are ever pushed and not taken.
        (self.mask + 1).wrapping_sub(self.pushed.wrapping_sub(self.taken)) as usize
    }

    /// Writes one entry, which the consumer sees after the next [`Producer::publish`].
    ///
    /// # Errors
    /// [`PushError::Full`]; [`PushError::Corrupt`].
    #[inline]
    pub fn push(&mut self, entry: &[u64; W]) -> Result<(), PushError> {
        if self.pushed.wrapping_sub(self.taken) > self.mask {
            self.refresh()?;
        }
        let at = place_of::<W>(self.pushed, self.mask);
        let Some(slots) = self.memory.get(at..at + W) else { return Err(PushError::Corrupt) };
        for (slot, word) in slots.iter().zip(entry) {
            // Relaxed: the consumer reads it only after the index that `publish` stores.
            slot.store(*word, Ordering::Relaxed);
        }
        self.pushed = self.pushed.wrapping_add(1);
        Ok(())
    }

    /// Writes many entries, for as many as there is room at the last refresh.
    #[inline(always)]
    pub fn writer(&mut self) -> Writer<'_, W> {
        let Producer { memory, mask, pushed, taken, .. } = self;
        let full = taken.wrapping_add(*mask + 1);
        Writer { entries: entries(memory), mask: *mask, at: *pushed, full, pushed }
    }

    /// Reads how far the consumer has come.
    #[cold]
    fn refresh(&mut self) -> Result<(), PushError> {
        // Acquire pairs with the release in `Consumer::release`: the consumer has read its entries
        // before we write there again.
        let taken = self.memory[TAKEN].load(Ordering::Acquire);
        // A consumer can't take more than was published, nor give entries back.
        if taken.wrapping_sub(self.taken) > self.published.wrapping_sub(self.taken) {
            return Err(PushError::Corrupt);
        }
        self.taken = taken;
        if self.pushed.wrapping_sub(taken) > self.mask { Err(PushError::Full) } else { Ok(()) }
    }

    /// Returns the place of the entry that is pushed after `ahead` others. A caller may prefetch it, because a consumer on
    /// another core has the line.
    #[inline(always)]
    pub fn place(&self, ahead: u64) -> &[Word] {
        let at = place_of::<W>(self.pushed.wrapping_add(ahead), self.mask);
        self.memory.get(at..at + W).unwrap_or_default()
    }

    /// Returns how many entries were pushed and not yet published.
    #[inline]
    pub fn unpublished(&self) -> u64 {
        self.pushed.wrapping_sub(self.published)
    }

    /// Shows the consumer the entries that were pushed.
    #[inline]
    pub fn publish(&mut self) {
        if self.published != self.pushed {
            self.published = self.pushed;
            // Release pairs with the acquire in `Consumer::refresh`: the entries come with the index.
            self.memory[PUBLISHED].store(self.pushed, Ordering::Release);
        }
    }

    /// Returns true when the consumer sleeps and must be woken, after [`Producer::publish`]. It answers `true` once
    /// for each time the consumer went to sleep.
    ///
    /// A producer whose consumer never sleeps need not call it, and saves a full fence.
    #[inline]
    pub fn must_wake(&mut self) -> bool {
        // Pairs with the fence in `Consumer::sleep`: either we see that it sleeps, or it sees our index. Both sides store
        // first and then load what the other stored. Without the fences each load could pass the store before it:
        //
        //   producer: loads ASLEEP = 0       consumer: loads PUBLISHED, no entry
        //   producer: stores PUBLISHED       consumer: stores ASLEEP = 1, and sleeps
        //
        // The entry is in the ring then, the consumer sleeps, and nobody wakes it.
        fence(Ordering::SeqCst);
        self.memory[ASLEEP].load(Ordering::Relaxed) != 0
            && self.memory[ASLEEP].swap(0, Ordering::Relaxed) != 0
    }

    /// Returns true when the consumer is seen to sleep. It may overlook one that has just gone to sleep.
    /// [`Producer::must_wake`] is certain, but waits until all earlier writes are on their way.
    #[inline]
    pub fn sees_sleeper(&self) -> bool {
        self.memory[ASLEEP].load(Ordering::Relaxed) != 0
    }

    /// Returns the word that is 1 while the consumer sleeps. The consumer waits on it, and is woken on it.
    pub fn sleep_word(&self) -> &AtomicU64 {
        &self.memory[ASLEEP]
    }

    /// Returns the ring's memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }
}

/// The side that pops. There is one for each ring.
#[derive(Debug)]
pub struct Consumer<M, const W: usize> {
    memory: M,
    mask: u64,
    /// Entries popped, given back or not.
    popped: u64,
    /// Entries given back.
    released: u64,
    /// Entries that the producer had published at the last refresh.
    published: u64,
}

impl<M: Deref<Target = [AtomicU64]>, const W: usize> Consumer<M, W> {
    /// Makes the consumer of an empty ring.
    ///
    /// # Errors
    /// [`Corrupt`] when the memory is not that of a ring of such entries.
    pub fn new(memory: M) -> Result<Self, Corrupt> {
        let mask = capacity::<W>(memory.len())? - 1;
        Ok(Consumer { memory, mask, popped: 0, released: 0, published: 0 })
    }

    /// Goes on where another consumer left off: at its [`Consumer::position`].
    ///
    /// # Errors
    /// As [`Consumer::new`].
    pub fn resume(memory: M, popped: u64) -> Result<Self, Corrupt> {
        let mask = capacity::<W>(memory.len())? - 1;
        Ok(Consumer { memory, mask, popped, released: popped, published: popped })
    }

    /// Returns how many entries were ever popped. Another consumer goes on there, once all of them are released.
    pub fn position(&self) -> u64 {
        self.popped
    }

    /// Returns how many entries the ring holds.
    pub fn capacity(&self) -> usize {
        self.mask as usize + 1
    }

    /// Returns how many entries are there to pop.
    ///
    /// # Errors
    /// [`Corrupt`] when the producer's index is impossible.
    #[inline]
    pub fn ready(&mut self) -> Result<usize, Corrupt> {
        if self.popped == self.published {
            self.refresh()?;
        }
        Ok(self.published.wrapping_sub(self.popped) as usize)
    }

    /// Reads how far the producer has come.
    #[inline]
    fn refresh(&mut self) -> Result<(), Corrupt> {
        // Acquire pairs with the release in `Producer::publish`: the entries come with the index.
        let published = self.memory[PUBLISHED].load(Ordering::Acquire);
        // An index is impossible when it shows more entries than fit, or fewer than there were.
        let new = published.wrapping_sub(self.released);
        if new > self.mask + 1 || new < self.popped.wrapping_sub(self.released) {
            return Err(Corrupt);
        }
        self.published = published;
        Ok(())
    }

    /// Reads the next of the entries that were there at the last refresh. It does not look for others, as [`Consumer::pop`] does.
    #[inline(always)]
    pub fn pop_known(&mut self) -> Option<[u64; W]> {
        let entry = self.peek(0)?;
        self.popped = self.popped.wrapping_add(1);
        Some(entry)
    }

    /// Reads the next entry, if there is one. Its place is the producer's again after the next
    /// [`Consumer::release`].
    ///
    /// # Errors
    /// [`Corrupt`] when the producer's index is impossible.
    #[inline]
    pub fn pop(&mut self) -> Result<Option<[u64; W]>, Corrupt> {
        if self.ready()? == 0 {
            return Ok(None);
        }
        let at = place_of::<W>(self.popped, self.mask);
        let slots = self.memory.get(at..at + W).ok_or(Corrupt)?;
        let mut entry = [0; W];
        for (word, slot) in entry.iter_mut().zip(slots) {
            // Each word is read just once, so later writes of the peer are not seen.
            *word = slot.load(Ordering::Relaxed);
        }
        self.popped = self.popped.wrapping_add(1);
        Ok(Some(entry))
    }

    /// Returns true when there were more entries at the last refresh.
    #[inline(always)]
    pub fn knows_more(&self) -> bool {
        self.popped != self.published
    }

    /// Reads many of the entries that were there at the last refresh.
    #[inline(always)]
    pub fn reader(&mut self) -> Reader<'_, W> {
        let Consumer { memory, mask, popped, published, .. } = self;
        Reader { entries: entries(memory), mask: *mask, at: *popped, until: *published, popped }
    }

    /// Returns how many entries were ever popped.
    #[inline(always)]
    pub fn popped(&self) -> u64 {
        self.popped
    }

    /// Returns the entry that will be popped after `ahead` others, if it was there at the last refresh. A peer may change
    /// what it has published, so another entry may come when it is popped.
    #[inline(always)]
    pub fn peek(&self, ahead: u64) -> Option<[u64; W]> {
        if ahead >= self.published.wrapping_sub(self.popped) {
            return None;
        }
        let at = place_of::<W>(self.popped.wrapping_add(ahead), self.mask);
        let slots = self.memory.get(at..at + W)?;
        let mut entry = [0; W];
        for (word, slot) in entry.iter_mut().zip(slots) {
            *word = slot.load(Ordering::Relaxed);
        }
        Some(entry)
    }

    /// Gives the places of the popped entries back to the producer.
    #[inline]
    pub fn release(&mut self) {
        if self.released != self.popped {
            self.released = self.popped;
            // Release pairs with the acquire in `Producer::refresh`.
            self.memory[TAKEN].store(self.popped, Ordering::Release);
        }
    }

    /// Says that the consumer goes to sleep, unless there is something to pop. A caller who gets `true`
    /// must wait until a producer wakes it, which does so when its [`Producer::must_wake`] says so, and call
    /// [`Consumer::wake`] when it goes on.
    ///
    /// # Errors
    /// [`Corrupt`] when the producer's index is impossible.
    pub fn sleep(&mut self) -> Result<bool, Corrupt> {
        self.memory[ASLEEP].store(1, Ordering::Relaxed);
        // Pairs with the fence in `Producer::must_wake`, which shows the interleaving that both forbid.
        fence(Ordering::SeqCst);
        let nothing = self.ready();
        if nothing != Ok(0) {
            self.wake();
        }
        Ok(nothing? == 0)
    }

    /// Says that the consumer is awake.
    pub fn wake(&mut self) {
        self.memory[ASLEEP].store(0, Ordering::Relaxed);
    }

    /// Returns the word that is 1 while the consumer sleeps. The consumer waits on it, and is woken on it.
    pub fn sleep_word(&self) -> &AtomicU64 {
        &self.memory[ASLEEP]
    }

    /// Returns how many entries there are to pop now, for reports. It changes nothing.
    ///
    /// # Errors
    /// [`Corrupt`] when the producer's index is impossible.
    pub fn waiting(&self) -> Result<usize, Corrupt> {
        let waiting = self.memory[PUBLISHED].load(Ordering::Relaxed).wrapping_sub(self.popped);
        if waiting > self.mask + 1 { Err(Corrupt) } else { Ok(waiting as usize) }
    }

    /// Returns the ring's memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }
}
