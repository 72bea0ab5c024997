//! A step of lanes, and what a message is padded with.
//!
//! # Safety
//! As in `mod.rs`.
#![allow(unsafe_code)]

use crate::hash::chain::{Chaining, length_fits};
use crate::hash::words::{Word, Words};

/// A step of `N` lanes.
pub(crate) trait Step<const WORDS: usize, const N: usize> {
    type Word: Word;
    type Words: Words<N, Word = Self::Word>;

    /// The least number of messages for which the kernel is faster than the direct kernel.
    const LIVE: usize;

    /// Folds a block of every lane in, from where it lies.
    ///
    /// # Safety
    /// The processor has the kernel's features, and from each of `from` a block can be read.
    unsafe fn step(state: &mut [Self::Words; WORDS], from: &[*const u8; N]);
}

/// A compression function for `N` lanes.
pub(crate) trait LaneKernel<const WORDS: usize, const N: usize>: Step<WORDS, N> {
    /// True if words are read from a message with the lowest byte first.
    const LITTLE_ENDIAN: bool;

    /// The least number of messages for which the kernel is faster than the next one in its row.
    const FEWEST: usize;

    /// Folds one block of every lane in, given as words, which are left in any state.
    ///
    /// # Safety
    /// The processor has the kernel's features.
    unsafe fn fold(state: &mut [Self::Words; WORDS], block: &mut [Self::Words; 16]);
}

/// Returns the number of blocks that a message of `len` bytes is padded to.
#[inline(always)]
pub(super) fn padded<S: Chaining, const BLOCK: usize>(len: usize) -> usize {
    // The padding has the byte that ends the message and the length, if the hash has one.
    len / BLOCK + if length_fits::<S, BLOCK>(len % BLOCK) { 1 } else { 2 }
}

/// The end of a message at 128, and zeros for two blocks before and after it.
pub(super) static PAD: [u8; 384] = {
    let mut pad = [0; 384];
    pad[128] = 0x80;
    pad
};

/// Pads the rest of a message behind its whole blocks, and returns the number of blocks.
#[inline(always)]
pub(super) fn pad<S: Chaining, const BLOCK: usize>(
    last: &mut [[u8; BLOCK]; 2],
    data: &[u8],
    before: usize,
) -> usize {
    let tail = data.as_chunks::<BLOCK>().1;
    let count = padded::<S, BLOCK>(tail.len());
    *last = [[0; BLOCK]; 2];
    let bytes = last.as_flattened_mut();
    bytes[..tail.len()].copy_from_slice(tail);
    bytes[tail.len()] = S::END;
    S::write_length(&mut last[count - 1], (before + data.len()) as u64);
    count
}

/// Clears the words: chaining values may be those of a key, and blocks come from messages.
#[inline(always)]
pub(super) unsafe fn wipe<K: Words<N>, const N: usize>(words: &mut [K]) {
    for word in words.iter_mut() {
        // SAFETY: the caller's.
        *word = unsafe { K::splat(K::Word::default()) };
    }
    zeroize::optimization_barrier(words);
}
