//! The free cache lines of an arena, in blocks of 2^k lines.
//!
//! A program takes and gives back buffers of the same few sizes over and over. So a block that comes back is kept in a list of
//! its size, last in, first out, and is the next that goes out: its lines are still in the cache, and no block is merged with its
//! neighbour to be split again. When no block of a size can be had otherwise, the lists go back to the allocator, which merges
//! what lies together.

use buddy_system_allocator::FrameAllocator;

/// The sizes of blocks: 2^0 to 2^26 lines, which is an arena of 4 GiB.
const SIZES: usize = 27;

/// The most blocks that a list keeps.
const KEPT: usize = 256;

/// The free lines, and the blocks that are lent.
pub(super) struct Free {
    /// Blocks that came back, by size: the number of each one's first line.
    kept: [Vec<u32>; SIZES],
    lines: FrameAllocator<32>,
    /// Blocks that were ever lent; it wraps.
    lent: u32,
}

impl Free {
    pub(super) fn new(lines: usize) -> Self {
        let mut free = FrameAllocator::new();
        free.add_frame(0, lines);
        Free { kept: [const { Vec::new() }; SIZES], lines: free, lent: 0 }
    }

    /// Lends a block of 2^`size` lines, which begins at a multiple of that. Returns the number of its first line.
    #[inline]
    pub(super) fn lend(&mut self, size: usize) -> Option<u32> {
        self.lent = self.lent.wrapping_add(1);
        match self.kept.get_mut(size)?.pop() {
            Some(first) => Some(first),
            None => self.lend_anew(size),
        }
    }

    #[cold]
    fn lend_anew(&mut self, size: usize) -> Option<u32> {
        let mut first = self.lines.alloc(1 << size);
        if first.is_none() {
            self.merge();
            first = self.lines.alloc(1 << size);
        }
        // An arena has fewer than 2^26 lines.
        first.map(|first| first as u32)
    }

    /// Takes a block back, which is zero.
    #[inline]
    pub(super) fn take_back(&mut self, first: u32, size: usize) {
        match self.kept.get_mut(size) {
            Some(kept) if kept.len() < KEPT => kept.push(first),
            _ => self.lines.dealloc(first as usize, 1 << size),
        }
    }

    /// Gives the blocks of all lists back to the allocator.
    fn merge(&mut self) {
        for (size, kept) in self.kept.iter_mut().enumerate() {
            for first in kept.drain(..) {
                self.lines.dealloc(first as usize, 1 << size);
            }
        }
    }

    /// Returns one of so many places in turn, evenly. Buffers of one size would all begin in the same few sets of the cache, and
    /// lanes work on many at once.
    #[inline(always)]
    pub(super) fn spread(&self, places: u32) -> u32 {
        // The golden ratio: whatever the number of places, those that follow each other lie far apart.
        ((u64::from(self.lent.wrapping_mul(0x9e37_79b9)) * u64::from(places)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_back_last_goes_out_first_and_everything_merges() {
        let mut free = Free::new(64);
        let blocks: Vec<u32> = (0..16).map(|_| free.lend(2).unwrap()).collect();
        assert_eq!(free.lend(0), None);
        for block in &blocks {
            assert!(block.is_multiple_of(4));
            free.take_back(*block, 2);
        }
        assert_eq!((free.lend(2), free.lend(2)), (Some(blocks[15]), Some(blocks[14])));
        assert_eq!(free.lend(6), None, "two are lent");
        free.take_back(blocks[15], 2);
        free.take_back(blocks[14], 2);
        assert_eq!(free.lend(6), Some(0));
        assert_eq!((free.lend(0), free.lend(26), free.lend(27)), (None, None, None));
    }

    #[test]
    fn a_list_keeps_no_more_than_its_bound() {
        let mut free = Free::new(1024);
        let blocks: Vec<u32> = (0..1024).map(|_| free.lend(0).unwrap()).collect();
        for block in blocks {
            free.take_back(block, 0);
        }
        assert_eq!(free.kept[0].len(), KEPT);
        assert_eq!(free.lend(10), Some(0));
    }

    #[test]
    fn places_are_spread_evenly() {
        let mut free = Free::new(64);
        for places in 1..=8_u32 {
            let mut counts = vec![0; places as usize];
            for _ in 0..1000 * places {
                let block = free.lend(0).unwrap();
                counts[free.spread(places) as usize] += 1;
                free.take_back(block, 0);
            }
            assert!(counts.iter().all(|count| (990..=1010).contains(count)), "{counts:?}");
        }
    }
}
