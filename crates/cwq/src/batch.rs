//! Many entries of a ring at a time: the index stays in a register, and each entry costs one bounds check.

use crate::sync::{AtomicU64, Ordering};

/// Writes entries: see [`Producer::writer`](crate::ring::Producer::writer). What was written counts as pushed after
/// [`Writer::finish`]; without it the places are written anew.
#[derive(Debug)]
#[must_use = "what is written counts after `finish`"]
pub struct Writer<'r, const W: usize> {
    pub(crate) entries: &'r [[AtomicU64; W]],
    pub(crate) mask: u64,
    pub(crate) at: u64,
    /// The index at which the ring is full.
    pub(crate) full: u64,
    pub(crate) pushed: &'r mut u64,
}

impl<const W: usize> Writer<'_, W> {
    /// Writes one entry. Returns false, and has done nothing, when no room is known.
    #[inline(always)]
    pub fn push(&mut self, entry: &[u64; W]) -> bool {
        if self.at == self.full {
            return false;
        }
        let Some(place) = self.entries.get((self.at & self.mask) as usize) else { return false };
        for (slot, word) in place.iter().zip(entry) {
            // Relaxed: the consumer reads it only after the index that `publish` stores.
            slot.store(*word, Ordering::Relaxed);
        }
        self.at = self.at.wrapping_add(1);
        true
    }

    /// Counts what was written.
    #[inline(always)]
    pub fn finish(self) {
        *self.pushed = self.at;
    }
}

/// Reads entries: see [`Consumer::reader`](crate::ring::Consumer::reader). What was read counts as popped after
/// [`Reader::finish`]; without it the entries are still there.
#[derive(Debug)]
#[must_use = "what is read counts after `finish`"]
pub struct Reader<'r, const W: usize> {
    pub(crate) entries: &'r [[AtomicU64; W]],
    pub(crate) mask: u64,
    pub(crate) at: u64,
    /// The index of the first entry that is not there.
    pub(crate) until: u64,
    pub(crate) popped: &'r mut u64,
}

impl<const W: usize> Reader<'_, W> {
    /// Returns the next entry. A peer may change what it has published, so who reads an entry again may get another: judge and use
    /// one copy, or leave the entry to somebody who reads it anew.
    #[inline(always)]
    pub fn peek(&self) -> Option<[u64; W]> {
        if self.at == self.until {
            return None;
        }
        let place = self.entries.get((self.at & self.mask) as usize)?;
        Some(std::array::from_fn(|word| place[word].load(Ordering::Relaxed)))
    }

    /// Takes the entry that [`Reader::peek`] returned.
    #[inline(always)]
    pub fn advance(&mut self) {
        self.at = self.at.wrapping_add(u64::from(self.at != self.until));
    }

    /// Counts what was taken.
    #[inline(always)]
    pub fn finish(self) {
        *self.popped = self.at;
    }
}
