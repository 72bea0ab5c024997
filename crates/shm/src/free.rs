//! The list of free pieces in a memory.

use std::collections::{BTreeMap, BTreeSet};

/// Runs of free pieces, sorted by start and by length. Both lists lie on the heap, outside the memory that
/// they describe. Taking and giving back cost a look-up in each.
#[derive(Debug, Default)]
pub(crate) struct Free {
    by_begin: BTreeMap<usize, usize>,
    by_len: BTreeSet<(usize, usize)>,
}

impl Free {
    /// Makes a list of `pieces` pieces, all of them free.
    pub(crate) fn new(pieces: usize) -> Self {
        let mut free = Free::default();
        free.insert(0, pieces);
        free
    }

    fn insert(&mut self, begin: usize, len: usize) {
        if len > 0 {
            self.by_begin.insert(begin, len);
            self.by_len.insert((len, begin));
        }
    }

    fn remove(&mut self, begin: usize) -> Option<usize> {
        let len = self.by_begin.remove(&begin)?;
        self.by_len.remove(&(len, begin));
        Some(len)
    }

    /// Takes pieces of the shortest run that has enough from a multiple of `align` on, and returns where they
    /// begin.
    pub(crate) fn take(&mut self, pieces: usize, align: usize) -> Option<usize> {
        let fits = |(len, begin): &(usize, usize)| begin.next_multiple_of(align) - begin + pieces <= *len;
        let (len, begin) = self.by_len.range((pieces, 0)..).copied().find(fits)?;
        self.remove(begin);
        let at = begin.next_multiple_of(align);
        self.insert(begin, at - begin);
        self.insert(at + pieces, begin + len - at - pieces);
        Some(at)
    }

    /// Takes pieces back, and joins them to their neighbours.
    pub(crate) fn give_back(&mut self, mut begin: usize, mut pieces: usize) {
        if let Some(after) = self.remove(begin + pieces) {
            pieces += after;
        }
        if let Some((&before, &len)) = self.by_begin.range(..begin).next_back()
            && before + len == begin
        {
            self.remove(before);
            (begin, pieces) = (before, pieces + len);
        }
        self.insert(begin, pieces);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn miri_what_is_taken_is_apart_and_what_comes_back_is_whole() {
        let mut free = Free::new(1000);
        let sizes = [(25, 1), (3, 1), (163, 1), (1, 1), (43, 16), (64, 64)];
        for turn in 0..if cfg!(miri) { 1 } else { 6 } {
            let mut taken = Vec::new();
            for (pieces, align) in sizes.iter().copied().cycle().skip(turn) {
                let Some(at) = free.take(pieces, align) else { break };
                assert!(at.is_multiple_of(align));
                taken.push((at, pieces));
            }
            let mut sorted = taken.clone();
            sorted.sort_unstable();
            assert!(sorted.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
            assert!(sorted.last().is_some_and(|(at, pieces)| at + pieces <= 1000));
            // The pieces come back in another order than they were taken in.
            taken.sort_unstable_by_key(|(at, _)| at.wrapping_mul(7919) % 1009);
            for (at, pieces) in taken {
                free.give_back(at, pieces);
            }
            assert_eq!(free.by_begin.iter().collect::<Vec<_>>(), [(&0, &1000)]);
        }
    }

    #[test]
    fn places_of_one_size_fill_all_of_it() {
        let mut free = Free::new(1000);
        assert_eq!(std::iter::from_fn(|| free.take(25, 1)).count(), 40);
        free.give_back(75, 25);
        assert_eq!((free.take(26, 1), free.take(25, 1)), (None, Some(75)));
    }
}
