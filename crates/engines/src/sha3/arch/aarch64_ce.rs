//! SHA-3 with the AArch64 extension: a word of the state in each of 25 registers.
//!
//! Ref. FIPS 202 §3.2; Arm ARM, EOR3, RAX1, XAR, BCAX.
//!
//! # Safety
//! The promise of [`Lane`] holds here too: the caller has the features `neon` and `sha3`.
#![allow(unsafe_code)]

use core::arch::aarch64::*;

use millstream_cpu::FeatureSet;

use crate::Row;
use crate::hash::{CompressOps, chain};
use crate::sha3::State;
use crate::sha3::permutation::{Lane, Single, absorb, permute_words};
use crate::sha3::states::{self, KeccakOps, States};

pub(crate) const fn row<const RATE: usize>() -> Row<CompressOps<State, RATE>> {
    chain::row(
        "aarch64-ce",
        FeatureSet::parse("neon,sha3"),
        compress,
        "a word in a register, with EOR3, RAX1, XAR and BCAX",
    )
}

#[target_feature(enable = "neon,sha3")]
fn compress<const RATE: usize>(state: &mut State, blocks: &[[u8; RATE]], last: &[[u8; RATE]]) {
    // SAFETY: the features are this function's own.
    unsafe { absorb::<Word, RATE>(state, blocks, last) }
}

pub(crate) const fn states_row() -> Row<KeccakOps> {
    states::row(
        "aarch64-ce",
        FeatureSet::parse("neon,sha3"),
        KeccakOps { width: 1, one, four: in_turn, eight: in_turn },
        "a word in a register, one state after another",
    )
}

#[target_feature(enable = "neon,sha3")]
fn one(states: &mut States<1>) {
    // SAFETY: the features are this function's own.
    unsafe { permute_words::<Word>(&mut states.words) }
}

#[target_feature(enable = "neon,sha3")]
fn in_turn<const N: usize>(states: &mut States<N>) {
    let mut state = States::<1>::ZERO;
    for lane in 0..N {
        for i in 0..states::WORDS {
            state.words[i] = [states.words[i][lane]];
        }
        one(&mut state);
        for i in 0..states::WORDS {
            states.words[i][lane] = state.words[i][0];
        }
    }
    zeroize::Zeroize::zeroize(&mut state);
}

/// A word, in both halves of a register.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Word(uint64x2_t);

impl Lane for Word {
    #[inline(always)]
    unsafe fn splat(word: u64) -> Self {
        // SAFETY: the caller's, as in every function here.
        unsafe { Word(vdupq_n_u64(word)) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Word(veorq_u64(self.0, other.0)) }
    }

    #[inline]
    #[target_feature(enable = "neon,sha3")]
    unsafe fn xor3(self, y: Self, z: Self) -> Self {
        Word(veor3q_u64(self.0, y.0, z.0))
    }

    #[inline]
    #[target_feature(enable = "neon,sha3")]
    unsafe fn xor_rotated(self, other: Self) -> Self {
        Word(vrax1q_u64(self.0, other.0))
    }

    #[inline]
    #[target_feature(enable = "neon,sha3")]
    unsafe fn xor_rotate_right<const BITS: i32>(self, other: Self) -> Self {
        Word(vxarq_u64::<BITS>(self.0, other.0))
    }

    #[inline]
    #[target_feature(enable = "neon,sha3")]
    unsafe fn chi(self, y: Self, z: Self) -> Self {
        // BCAX clears the bits of its third operand in the second.
        Word(vbcaxq_u64(self.0, z.0, y.0))
    }
}

impl Single for Word {
    #[inline(always)]
    unsafe fn word(self) -> u64 {
        // SAFETY: the caller's.
        unsafe { vgetq_lane_u64::<0>(self.0) }
    }
}
