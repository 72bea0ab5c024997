//! The permutation itself, for constructions that keep states of their own: one state, or several side by side.
//!
//! # Safety
//! Each call through the table's functions is covered by the [`Bound`] it goes through. A [`States`] is aligned for every
//! vector that has a word of each state.
#![allow(unsafe_code)]

use std::fmt;

use millstream_cpu::{FeatureSet, Features};
use zeroize::Zeroize;

use super::{arch, permutation, portable};
use crate::{AlgorithmInfo, Bound, Kernel, Row, Standing, Table, Timing};

/// The words of a state.
pub const WORDS: usize = permutation::WORDS;

/// `N` states side by side: word `i` of the state in lane `l` is `words[i][l]`. The standard's lane A\[x, y\] is the word
/// `x + 5 * y`.
#[derive(Clone, Zeroize)]
#[repr(C, align(64))]
pub struct States<const N: usize> {
    /// The words.
    pub words: [[u64; N]; WORDS],
}

impl<const N: usize> States<N> {
    /// States of zeros, with which every sponge begins.
    pub const ZERO: Self = States { words: [[0; N]; WORDS] };
}

impl<const N: usize> fmt::Debug for States<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{N} states of Keccak")
    }
}

/// The functions of a kernel.
#[derive(Debug)]
pub struct KeccakOps {
    /// The most states that the kernel permutes in one pass.
    pub(crate) width: usize,
    pub(crate) one: unsafe fn(&mut States<1>),
    pub(crate) four: unsafe fn(&mut States<4>),
    pub(crate) eight: unsafe fn(&mut States<8>),
}

/// The kernels of the permutation, best first.
pub static KECCAK: Table<KeccakOps> = Table::new(
    AlgorithmInfo {
        name: "keccak-f1600",
        standing: Standing::Current,
        standard: "FIPS 202 §3.3",
        key_bits: &[],
    },
    ROWS,
    known_answer,
);

static ROWS: &[Row<KeccakOps>] = &[
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx512_lanes::states_row(),
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx2_lanes::states_row(),
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_bmi::states_row(),
    #[cfg(target_arch = "aarch64")]
    arch::aarch64_ce::states_row(),
    row("portable", FeatureSet::EMPTY, PORTABLE, "plain words, one state after another"),
];

const PORTABLE: KeccakOps = KeccakOps { width: 1, one, four: in_turn, eight: in_turn };

fn one(states: &mut States<1>) {
    portable::permute(states.words.as_flattened_mut());
}

fn in_turn<const N: usize>(states: &mut States<N>) {
    one_by_one(states, portable::permute);
}

/// Describes a row.
pub(crate) const fn row(
    name: &'static str,
    requires: FeatureSet,
    ops: KeccakOps,
    note: &'static str,
) -> Row<KeccakOps> {
    Row { kernel: Kernel { name, requires, timing: Timing::Constant, note }, ops }
}

/// Permutes states one after another, with a function that takes the words of one.
#[inline(always)]
pub(crate) fn one_by_one<const N: usize>(states: &mut States<N>, permute: impl Fn(&mut [u64])) {
    let mut words = [0; WORDS];
    for lane in 0..N {
        for i in 0..WORDS {
            words[i] = states.words[i][lane];
        }
        permute(&mut words);
        for i in 0..WORDS {
            states.words[i][lane] = words[i];
        }
    }
    words.zeroize();
}

/// The first words of the permuted state of zeros, of the Keccak team's published intermediate values.
const OF_ZEROS: [u64; 5] = [
    0xf125_8f79_40e1_dde7,
    0x84d5_ccf9_33c0_478a,
    0xd598_261e_a65a_a9ee,
    0xbd15_4730_6f80_494d,
    0x8b28_4e05_6253_d057,
];

fn known_answer(kernel: Bound<KeccakOps>) -> bool {
    let keccak = Keccak { kernel };
    let (mut one, mut four, mut eight) = (States::<1>::ZERO, States::<4>::ZERO, States::<8>::ZERO);
    keccak.permute_one(&mut one);
    keccak.permute_four(&mut four);
    keccak.permute_eight(&mut eight);
    let right = |i: usize| {
        let word = OF_ZEROS[i];
        one.words[i] == [word] && four.words[i] == [word; 4] && eight.words[i] == [word; 8]
    };
    (0..OF_ZEROS.len()).all(right)
}

/// The permutation Keccak-f\[1600\], bound to a kernel.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::sha3::{Keccak, States};
///
/// let keccak = Keccak::new(Features::hardware());
/// let (mut one, mut four) = (States::<1>::ZERO, States::<4>::ZERO);
/// keccak.permute_one(&mut one);
/// keccak.permute_four(&mut four);
/// assert_eq!(four.words[24], [one.words[24][0]; 4]);
/// ```
#[derive(Clone, Copy)]
pub struct Keccak {
    kernel: Bound<KeccakOps>,
}

impl Keccak {
    /// Takes the fastest kernel that `features` allow.
    #[inline]
    pub fn new(features: Features) -> Self {
        Keccak { kernel: KECCAK.best(features) }
    }

    /// Takes the given kernel.
    #[inline]
    pub fn with_kernel(kernel: Bound<KeccakOps>) -> Self {
        Keccak { kernel }
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Returns the most states that the kernel permutes in one pass: 1, 4 or 8.
    #[inline]
    pub fn width(&self) -> usize {
        self.kernel.ops().width
    }

    /// Permutes a state.
    #[inline]
    pub fn permute_one(&self, state: &mut States<1>) {
        // SAFETY: `self.kernel` is bound.
        unsafe { (self.kernel.ops().one)(state) }
    }

    /// Permutes four states.
    #[inline]
    pub fn permute_four(&self, states: &mut States<4>) {
        // SAFETY: `self.kernel` is bound.
        unsafe { (self.kernel.ops().four)(states) }
    }

    /// Permutes eight states.
    #[inline]
    pub fn permute_eight(&self, states: &mut States<8>) {
        // SAFETY: `self.kernel` is bound.
        unsafe { (self.kernel.ops().eight)(states) }
    }
}

impl fmt::Debug for Keccak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kernel().name)
    }
}
