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
use crate::sha3::permutation::{Lane, Single, absorb};

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
