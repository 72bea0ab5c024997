//! Blocks folded into a chaining value, and the padding that ends them.
//!
//! MD5, SHA-1 and SHA-2 (Merkle-Damgård) differ only in their compression function, the width of a word and the
//! order of bytes in it, so the rest is written once. The sponge of SHA-3 fits in: its state is a chaining value of 200
//! bytes, to absorb a block is to fold it, and its padding has another first byte, a bit in the last one, and no length.
//!
//! Ref. FIPS 180-4 §5.1 (padding) and §5.2 (parsing); RFC 1321 §3.1 and §3.2; FIPS 202 §4 and §5.1.
//!
//! # Safety
//! A compression function may need processor features. It is called in one place, through the
//! [`Bound`] that proves they are there.
#![allow(unsafe_code)]

use millstream_cpu::FeatureSet;
use zeroize::Zeroize;

use super::family::Hash;
use crate::{AlgorithmInfo, Bound, Kernel, Row, Standing, Table, Timing};

type Compress<S, const BLOCK: usize> = unsafe fn(state: &mut S, blocks: &[[u8; BLOCK]], last: &[[u8; BLOCK]]);

/// A compression function as a kernel of a hash provides it.
#[derive(Debug)]
pub struct CompressOps<S: 'static, const BLOCK: usize> {
    /// Folds whole blocks into the chaining value, in order: the message's own blocks, then the blocks that its end was
    /// padded to. One call takes both, so that the state stays in registers.
    pub(crate) compress: Compress<S, BLOCK>,
}

/// Folds whole blocks into a chaining value, in order and without padding. This is the bare compression function, for
/// callers that keep the chaining value elsewhere, as the instructions of a processor do.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::{hash, sha256::SHA256};
///
/// let mut state = [0; 8];
/// hash::fold(SHA256.best(Features::hardware()), &mut state, &[[0; 64]]);
/// assert_eq!(state[0], 0x7ca5_1614);
/// ```
#[inline]
pub fn fold<S, const BLOCK: usize>(
    kernel: Bound<CompressOps<S, BLOCK>>,
    state: &mut S,
    blocks: &[[u8; BLOCK]],
) {
    compress(kernel, state, blocks, &[]);
}

/// A chaining value: the words that a compression function updates.
pub(crate) trait Chaining: Copy + Default + Zeroize + 'static {
    /// The length of all words together, in bytes.
    const LEN: usize;

    /// The most bytes that a digest takes of the words.
    const OUTPUT: usize = Self::LEN;

    /// The byte that ends a message.
    const END: u8 = 0x80;

    /// True for the state of a sponge, which can absorb a part of a block, and whose padding has no length.
    const SPONGE: bool = false;

    /// Returns the chaining value with which a message begins.
    fn initial(hash: Hash) -> Self;

    /// Absorbs the first bytes of a block. Only a sponge can.
    fn mix(&mut self, _: &[u8]) {
        unreachable!("a compression function takes whole blocks")
    }

    /// Writes the words as bytes in the order of the standard, as many words as `out` has room for.
    fn write(&self, out: &mut [u8]);

    /// Reads the words from [`Chaining::LEN`] bytes that [`Chaining::write`] wrote.
    fn read(bytes: &[u8]) -> Self;

    /// Writes the length of the message, given in bytes, at the end of the last block, in bits. A sponge sets the last
    /// bit there.
    fn write_length(last_block: &mut [u8], bytes: u64);
}

/// Implements [`Chaining`] for an array of big-endian words, which the SHA functions have.
macro_rules! chaining_big_endian {
    ($word:ty, $words:literal, $length:ty, $($hash:ident $initial:ident)+) => {
        impl $crate::hash::chain::Chaining for [$word; $words] {
            const LEN: usize = size_of::<Self>();

            #[inline(always)]
            fn initial(hash: $crate::hash::Hash) -> Self {
                match hash {
                    $($crate::hash::Hash::$hash => $initial,)+
                    _ => unreachable!("{} has another compression function", hash.name()),
                }
            }

            #[inline(always)]
            fn write(&self, out: &mut [u8]) {
                for (bytes, word) in out.as_chunks_mut().0.iter_mut().zip(self) {
                    *bytes = word.to_be_bytes();
                }
            }

            fn read(bytes: &[u8]) -> Self {
                let mut words = [0; $words];
                for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
                    *word = <$word>::from_be_bytes(*bytes);
                }
                words
            }

            #[inline(always)]
            fn write_length(last_block: &mut [u8], bytes: u64) {
                let bits = <$length>::from(bytes) << 3;
                if let Some(field) = last_block.last_chunk_mut() {
                    *field = bits.to_be_bytes();
                }
            }
        }
    };
}
pub(crate) use chaining_big_endian;

/// A chaining value and the kernel that advances it.
#[derive(Debug)]
pub(crate) struct Chain<S: 'static, const BLOCK: usize> {
    pub(crate) kernel: Bound<CompressOps<S, BLOCK>>,
    pub(crate) state: S,
}

impl<S: Chaining, const BLOCK: usize> Clone for Chain<S, BLOCK> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Chaining, const BLOCK: usize> Copy for Chain<S, BLOCK> {}

/// The kernel of a hash whose messages begin with zeros, as those of a sponge do.
#[derive(Debug)]
pub(crate) struct Begin<S: 'static, const BLOCK: usize> {
    pub(crate) kernel: Bound<CompressOps<S, BLOCK>>,
}

impl<S, const BLOCK: usize> Clone for Begin<S, BLOCK> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, const BLOCK: usize> Copy for Begin<S, BLOCK> {}

impl<S: Chaining, const BLOCK: usize> Begin<S, BLOCK> {
    #[inline(always)]
    pub(crate) fn new(kernel: Bound<CompressOps<S, BLOCK>>) -> Self {
        Begin { kernel }
    }

    /// Returns the chaining value with which a message begins.
    #[inline(always)]
    pub(crate) fn chain(&self) -> Chain<S, BLOCK> {
        Chain { kernel: self.kernel, state: S::default() }
    }
}

impl<S: Chaining, const BLOCK: usize> Chain<S, BLOCK> {
    /// Returns itself, as [`Begin::chain`] returns the chaining value with which a message begins.
    #[inline(always)]
    pub(crate) fn chain(&self) -> Self {
        *self
    }

    /// Folds whole blocks in.
    #[inline(always)]
    pub(crate) fn absorb(&mut self, blocks: &[[u8; BLOCK]]) {
        compress(self.kernel, &mut self.state, blocks, &[]);
    }

    /// Returns the hash of a message whose first `before` bytes, whole blocks, are already folded in.
    #[inline(always)]
    pub(crate) fn digest(&self, before: u64, data: &[u8]) -> S {
        let (blocks, tail) = data.as_chunks::<BLOCK>();
        let mut last = [[0; BLOCK]; 2];
        let bytes = last.as_flattened_mut();
        bytes[..tail.len()].copy_from_slice(tail);
        bytes[tail.len()] = S::END;
        let count = if length_fits::<S, BLOCK>(tail.len()) { 1 } else { 2 };
        S::write_length(&mut last[count - 1], before + data.len() as u64);
        let mut state = self.state;
        compress(self.kernel, &mut state, blocks, &last[..count]);
        wipe(&mut last);
        state
    }
}

#[inline(always)]
pub(crate) fn compress<S, const BLOCK: usize>(
    kernel: Bound<CompressOps<S, BLOCK>>,
    state: &mut S,
    blocks: &[[u8; BLOCK]],
    last: &[[u8; BLOCK]],
) {
    // SAFETY: `kernel` is the proof that the features of its function are there.
    unsafe { (kernel.ops().compress)(state, blocks, last) }
}

/// Returns true if the length of a message fits behind `tail` bytes and the byte that ends them.
#[inline(always)]
pub(crate) fn length_fits<S: Chaining, const BLOCK: usize>(tail: usize) -> bool {
    tail < BLOCK - length_len::<S, BLOCK>()
}

/// Returns the bytes at the end of the last block that the length of the message takes: an eighth of a block.
#[inline(always)]
pub(crate) const fn length_len<S: Chaining, const BLOCK: usize>() -> usize {
    if S::SPONGE { 0 } else { BLOCK / 8 }
}

/// Clears blocks that may be secret, in whole registers rather than byte by byte.
#[inline(always)]
pub(crate) fn wipe<T: Copy + Default, const N: usize>(blocks: &mut [[T; N]]) {
    for block in blocks.iter_mut() {
        *block = [T::default(); N];
    }
    zeroize::optimization_barrier(blocks);
}

/// The table of a hash's kernels.
pub(crate) const fn table<S, const BLOCK: usize>(
    name: &'static str,
    standing: Standing,
    standard: &'static str,
    rows: &'static [Row<CompressOps<S, BLOCK>>],
    known_answer: fn(Bound<CompressOps<S, BLOCK>>) -> bool,
) -> Table<CompressOps<S, BLOCK>> {
    Table::new(AlgorithmInfo { name, standing, standard, key_bits: &[] }, rows, known_answer)
}

/// One row of such a table.
pub(crate) const fn row<S, const BLOCK: usize>(
    name: &'static str,
    requires: FeatureSet,
    compress: Compress<S, BLOCK>,
    note: &'static str,
) -> Row<CompressOps<S, BLOCK>> {
    Row { kernel: Kernel { name, requires, timing: Timing::Constant, note }, ops: CompressOps { compress } }
}
