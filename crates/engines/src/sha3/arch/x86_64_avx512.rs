//! SHA-3 of one message with AVX-512: a word of the state in each of 25 registers, for the sake of its rotation and ternary
//! logic. There are registers enough to leave the state in them.
//!
//! Ref. FIPS 202 §3.2.
//!
//! # Safety
//! The promise of [`Lane`] holds here too: the caller has AVX-512F and VL.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use millstream_cpu::FeatureSet;

use crate::Row;
use crate::hash::{CompressOps, chain};
use crate::sha3::State;
use crate::sha3::permutation::{Lane, Single, absorb, permute_words};
use crate::sha3::states::States;

pub(crate) const fn row<const RATE: usize>() -> Row<CompressOps<State, RATE>> {
    chain::row(
        "x86_64-avx512",
        FeatureSet::parse("avx512f,avx512vl"),
        compress,
        "a word in a register, with VPTERNLOGQ and VPROLQ",
    )
}

#[target_feature(enable = "avx512f,avx512vl")]
fn compress<const RATE: usize>(state: &mut State, blocks: &[[u8; RATE]], last: &[[u8; RATE]]) {
    // SAFETY: the features are this function's own.
    unsafe { absorb::<Word, RATE>(state, blocks, last) }
}

/// Permutes a state.
#[target_feature(enable = "avx512f,avx512vl")]
pub(super) fn one(states: &mut States<1>) {
    // SAFETY: the features are this function's own.
    unsafe { permute_words::<Word>(&mut states.words) }
}

/// A word, in both halves of a register.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Word(__m128i);

// Truth tables of three bits x, y, z: bit 4x + 2y + z.
const XOR3: i32 = 0x96;
/// x ^ (!y & z).
const CHI: i32 = 0xd2;

impl Lane for Word {
    #[inline(always)]
    unsafe fn splat(word: u64) -> Self {
        // SAFETY: the caller's, as in every function here.
        unsafe { Word(_mm_set1_epi64x(word as i64)) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Word(_mm_xor_si128(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn xor3(self, y: Self, z: Self) -> Self {
        // Miri does not know the instruction at this width.
        if cfg!(miri) {
            // SAFETY: the caller's.
            return unsafe { self.xor(y).xor(z) };
        }
        // SAFETY: the caller's.
        unsafe { Word(_mm_ternarylogic_epi64::<XOR3>(self.0, y.0, z.0)) }
    }

    #[inline(always)]
    unsafe fn xor_rotated(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Word(_mm_xor_si128(self.0, _mm_rol_epi64::<1>(other.0))) }
    }

    #[inline(always)]
    unsafe fn xor_rotate_right<const BITS: i32>(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Word(_mm_ror_epi64::<BITS>(_mm_xor_si128(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn chi(self, y: Self, z: Self) -> Self {
        if cfg!(miri) {
            // SAFETY: the caller's.
            return unsafe { Word(_mm_xor_si128(self.0, _mm_andnot_si128(y.0, z.0))) };
        }
        // SAFETY: the caller's.
        unsafe { Word(_mm_ternarylogic_epi64::<CHI>(self.0, y.0, z.0)) }
    }
}

impl Single for Word {
    #[inline(always)]
    unsafe fn word(self) -> u64 {
        // SAFETY: the caller's.
        unsafe { _mm_cvtsi128_si64(self.0) as u64 }
    }
}
