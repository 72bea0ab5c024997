//! Private memory for objects that can't be worked on where they lie.
//!
//! New memory is zero, and it is not cleared between words: each word gets a place of its own and fills it with what it
//! reads, and only that is written back after the engine has worked on it. So nothing of one word can get into another's
//! output, even if they are of different clients, and clearing waits until there is time.
//!
//! The memory grows with what is staged, unless it was reserved: then it is there from the beginning, and keeps its size.

use std::ops::Range;

use zeroize::optimization_barrier;

/// The bytes of a cache line. Places begin in lines of their own.
const LINE: usize = 64;

/// The most bytes that are kept for later when the memory is wiped.
const KEPT_BYTES: usize = 2 << 20;

/// Bytes that are given out front to back.
pub(crate) struct Staging {
    memory: Vec<u8>,
    /// The offset of the first cache line.
    skip: usize,
    /// Bytes given out, in whole lines.
    given: usize,
    /// The most that were given out since it was wiped.
    used: usize,
    /// True when the memory neither grows nor is given up.
    reserved: bool,
}

impl Default for Staging {
    fn default() -> Self {
        Staging::new()
    }
}

impl Staging {
    pub(crate) const fn new() -> Self {
        Staging { memory: Vec::new(), skip: 0, given: 0, used: 0, reserved: false }
    }

    /// Reserves so many bytes, and never takes more. The objects that are staged at a time must fit: see [`Staging::room`].
    pub(crate) fn reserved(bytes: usize) -> Self {
        let memory = vec![0; bytes];
        let skip = memory.as_ptr().align_offset(LINE).min(LINE);
        Staging { memory, skip, given: 0, used: 0, reserved: true }
    }

    /// Returns how many bytes there are.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.memory.len()
    }

    /// Returns how many bytes the next place may have.
    #[inline(always)]
    pub(crate) fn room(&self) -> usize {
        if self.reserved {
            (self.memory.len() - self.skip - self.given).saturating_sub(2 * LINE)
        } else {
            usize::MAX
        }
    }

    /// Returns how many bytes are given out.
    #[inline(always)]
    pub(crate) fn given(&self) -> usize {
        self.given
    }

    /// Gives out a place for so many bytes, and returns where it begins.
    #[inline(always)]
    pub(crate) fn give(&mut self, bytes: usize) -> usize {
        let at = self.given;
        // Each place gets a line more than it needs. Places whose size is a power of two would all begin in the same few
        // sets of the cache.
        self.given += (bytes + LINE).next_multiple_of(LINE);
        if self.skip + self.given > self.memory.len() {
            self.grow();
        }
        at
    }

    /// Moves what was given out to bigger memory, and wipes the old memory before it is freed.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut bigger = vec![0; (self.given + LINE).next_power_of_two()];
        let skip = bigger.as_ptr().align_offset(LINE).min(LINE);
        let old = self.memory.get_mut(self.skip..).unwrap_or_default();
        let len = old.len().min(self.given);
        bigger[skip..skip + len].copy_from_slice(&old[..len]);
        old.fill(0);
        optimization_barrier(&*old);
        (self.memory, self.skip) = (bigger, skip);
    }

    /// Returns the bytes of a place.
    #[inline(always)]
    pub(crate) fn get(&mut self, place: Range<usize>) -> &mut [u8] {
        &mut self.memory[self.skip + place.start..self.skip + place.end]
    }

    /// Frees every place.
    #[inline(always)]
    pub(crate) fn take_back(&mut self) {
        self.used = self.used.max(self.given);
        self.given = 0;
    }

    /// Zeroes what was given out and taken back, and gives up memory that was needed for big objects only.
    pub(crate) fn wipe(&mut self) {
        self.take_back();
        if self.used == 0 {
            return;
        }
        let used = std::mem::take(&mut self.used);
        let used = self.get(0..used);
        used.fill(0);
        optimization_barrier(&*used);
        if self.memory.len() > KEPT_BYTES && !self.reserved {
            *self = Staging::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_begin_in_lines_and_are_their_own() {
        let mut staging = Staging::new();
        let lens = [0, 1, 63, 64, 65, 8192, 1 << 20, 3];
        let places = lens.map(|len| {
            let at = staging.give(len);
            staging.get(at..at + len).fill(len as u8 | 1);
            at
        });
        for (at, len) in places.into_iter().zip(lens) {
            let place = staging.get(at..at + len);
            assert!(len == 0 || place.as_ptr().addr().is_multiple_of(64));
            assert!(place.iter().all(|byte| *byte == len as u8 | 1), "kept when it grew");
        }
    }

    #[test]
    fn what_is_reserved_neither_moves_nor_goes() {
        let mut staging = Staging::reserved(3 << 20);
        let memory = staging.memory.as_ptr();
        assert!((3 << 20) - staging.room() <= 3 * LINE);
        for _ in 0..2 {
            let room = staging.room();
            let at = staging.give(room);
            staging.get(at..at + room).fill(7);
            assert_eq!(staging.room(), 0);
            staging.wipe();
            assert!(!staging.memory.contains(&7));
        }
        assert_eq!((staging.memory.as_ptr(), staging.memory.len()), (memory, 3 << 20));
    }

    #[test]
    fn what_is_wiped_is_zero_and_big_memory_goes() {
        let mut staging = Staging::new();
        for len in [1000, 3 << 20] {
            for _ in 0..2 {
                let at = staging.give(len);
                staging.get(at..at + len).fill(7);
                staging.take_back();
            }
            assert!(staging.memory.contains(&7));
            staging.wipe();
            assert!(!staging.memory.contains(&7) && staging.memory.len() <= KEPT_BYTES);
        }
    }
}
