//! Blocks folded into the chaining values of several messages side by side, for constructions that keep chaining values of
//! their own.
//!
//! Ref. FIPS 180-4 §6.2.2 and §6.4.2.
//!
//! # Safety
//! Each call through a table's function is covered by the [`Bound`] it goes through. [`LaneWords`] are aligned for every
//! vector that has a word of each message.
#![allow(unsafe_code)]

use std::fmt;

use millstream_cpu::FeatureSet;
use zeroize::Zeroize;

use crate::{AlgorithmInfo, Bound, Kernel, Row, Standing, Table, Timing};

/// Words of `N` messages side by side: word `i` of the message in lane `l` is `words[i][l]`.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct LaneWords<W, const N: usize, const COUNT: usize> {
    /// The words.
    pub words: [[W; N]; COUNT],
}

impl<W: FoldWord, const N: usize, const COUNT: usize> LaneWords<W, N, COUNT> {
    /// Words of zeros.
    pub const ZERO: Self = LaneWords { words: [[W::ZERO; N]; COUNT] };
}

impl<W: FoldWord, const N: usize, const COUNT: usize> Zeroize for LaneWords<W, N, COUNT> {
    /// Clears the words in whole vectors.
    #[inline(always)]
    fn zeroize(&mut self) {
        *self = Self::ZERO;
        zeroize::optimization_barrier(self);
    }
}

impl<W, const N: usize, const COUNT: usize> fmt::Debug for LaneWords<W, N, COUNT> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{COUNT} words of {N} messages")
    }
}

/// A word of SHA-2.
pub trait FoldWord: Copy + Zeroize + 'static {
    /// The word zero.
    const ZERO: Self;

    /// Writes the word as SHA-2 reads it.
    fn write(self, out: &mut [u8]);
}

impl FoldWord for u32 {
    const ZERO: u32 = 0;

    #[inline(always)]
    fn write(self, out: &mut [u8]) {
        out.copy_from_slice(&self.to_be_bytes());
    }
}

impl FoldWord for u64 {
    const ZERO: u64 = 0;

    #[inline(always)]
    fn write(self, out: &mut [u8]) {
        out.copy_from_slice(&self.to_be_bytes());
    }
}

/// The chaining values of `N` messages.
pub type LaneStates<W, const N: usize> = LaneWords<W, N, 8>;

/// A block of each of `N` messages. Its words are numbers, not bytes.
pub type LaneBlocks<W, const N: usize> = LaneWords<W, N, 16>;

/// The function of a kernel.
#[derive(Debug)]
pub struct FoldOps<W: 'static, const N: usize> {
    pub(crate) fold: unsafe fn(&mut LaneStates<W, N>, &LaneBlocks<W, N>, live: usize),
}

/// A compression function for up to `N` messages, bound to a kernel.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::hash::{LaneBlocks, LaneFold, LaneStates};
/// use millstream_engines::sha256::SHA256_FOLD;
///
/// let fold = LaneFold::new(SHA256_FOLD.best(Features::hardware()));
/// let mut states = LaneStates::ZERO;
/// fold.fold(&mut states, &LaneBlocks::ZERO, 2);
/// assert_eq!(states.words[0][..2], [0x7ca5_1614; 2]);
/// ```
pub struct LaneFold<W: 'static, const N: usize> {
    kernel: Bound<FoldOps<W, N>>,
}

impl<W, const N: usize> Clone for LaneFold<W, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W, const N: usize> Copy for LaneFold<W, N> {}

impl<W, const N: usize> LaneFold<W, N> {
    /// Takes the given kernel.
    #[inline]
    pub fn new(kernel: Bound<FoldOps<W, N>>) -> Self {
        LaneFold { kernel }
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Folds a block into the chaining value of each of the first `live` lanes. The chaining values of the others are left
    /// in any state.
    #[inline]
    pub fn fold(&self, states: &mut LaneStates<W, N>, blocks: &LaneBlocks<W, N>, live: usize) {
        // SAFETY: `self.kernel` is bound.
        unsafe { (self.kernel.ops().fold)(states, blocks, live.min(N)) }
    }
}

impl<W, const N: usize> fmt::Debug for LaneFold<W, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kernel().name)
    }
}

/// The table of a hash's kernels.
pub(crate) const fn table<W, const N: usize>(
    name: &'static str,
    standard: &'static str,
    rows: &'static [Row<FoldOps<W, N>>],
    known_answer: fn(Bound<FoldOps<W, N>>) -> bool,
) -> Table<FoldOps<W, N>> {
    Table::new(
        AlgorithmInfo { name, standing: Standing::Current, standard, key_bits: &[] },
        rows,
        known_answer,
    )
}

/// One row of such a table.
pub(crate) const fn row<W, const N: usize>(
    name: &'static str,
    requires: FeatureSet,
    fold: unsafe fn(&mut LaneStates<W, N>, &LaneBlocks<W, N>, live: usize),
    note: &'static str,
) -> Row<FoldOps<W, N>> {
    Row { kernel: Kernel { name, requires, timing: Timing::Constant, note }, ops: FoldOps { fold } }
}

/// Folds the blocks of the lanes from `first` to `end` one after another, by a function that takes a chaining value and a
/// block as bytes.
#[inline(always)]
pub(crate) fn one_by_one<W: FoldWord, const N: usize, const BLOCK: usize>(
    states: &mut LaneStates<W, N>,
    blocks: &LaneBlocks<W, N>,
    first: usize,
    end: usize,
    compress: impl Fn(&mut [W; 8], &[u8; BLOCK]),
) {
    let mut block = [0; BLOCK];
    let mut state = [W::ZERO; 8];
    for lane in first..end {
        for i in 0..16 {
            blocks.words[i][lane].write(&mut block[i * size_of::<W>()..(i + 1) * size_of::<W>()]);
        }
        for i in 0..8 {
            state[i] = states.words[i][lane];
        }
        compress(&mut state, &block);
        for i in 0..8 {
            states.words[i][lane] = state[i];
        }
    }
    block.zeroize();
    state.zeroize();
}

/// Folds a block of "abc", padded, in every number of lanes. Returns true if all digests are right, given as words.
pub(crate) fn known_answer<W: FoldWord + PartialEq, const N: usize>(
    kernel: Bound<FoldOps<W, N>>,
    initial: &[W; 8],
    block: &[W; 16],
    digest: &[W; 8],
) -> bool {
    let fold = LaneFold::new(kernel);
    let (mut start, mut blocks) = (LaneStates::<W, N>::ZERO, LaneBlocks::<W, N>::ZERO);
    for i in 0..8 {
        start.words[i] = [initial[i]; N];
    }
    for i in 0..16 {
        blocks.words[i] = [block[i]; N];
    }
    (0..=N).all(|live| {
        let mut states = start.clone();
        fold.fold(&mut states, &blocks, live);
        (0..8).all(|i| states.words[i][..live].iter().all(|word| *word == digest[i]))
    })
}

/// Defines a function that folds `$lanes` lanes from `$at` on, on vectors, compiled for the row's features.
#[cfg(target_arch = "x86_64")]
macro_rules! fold_lanes {
    ($name:ident: $vector:ident $lanes:literal of $all:literal, $word:ty, $features:literal) => {
        #[target_feature(enable = $features)]
        #[inline(never)]
        fn $name(
            states: &mut $crate::hash::LaneStates<$word, $all>,
            blocks: &$crate::hash::LaneBlocks<$word, $all>,
            at: usize,
        ) {
            // SAFETY: the features are this function's own, and a vector is as long as an array of its words.
            unsafe {
                let zero = $vector::splat(0);
                let (mut state, mut block) = ([zero; 8], [zero; 16]);
                for i in 0..8 {
                    if let Some(words) = states.words[i][at..].first_chunk() {
                        state[i] = $vector::from_array(words);
                    }
                }
                for i in 0..16 {
                    if let Some(words) = blocks.words[i][at..].first_chunk() {
                        block[i] = $vector::from_array(words);
                    }
                }
                fold::<$vector, $lanes>(&mut state, &mut block);
                for i in 0..8 {
                    let words: [$word; $lanes] = std::mem::transmute(state[i]);
                    states.words[i][at..at + $lanes].copy_from_slice(&words);
                }
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use fold_lanes;
