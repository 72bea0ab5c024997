//! SHA-3 on any processor.
//!
//! Ref. FIPS 202 §3.2 and §4.
//!
//! # Safety
//! The functions of this word are safe: every processor has what they need.
#![allow(unsafe_code)]

use super::State;
use super::permutation::{self, Lane, Single, absorb};

/// Absorbs `blocks` into `state`, and then those of `last`.
#[inline(always)]
pub(crate) fn compress<const RATE: usize>(state: &mut State, blocks: &[[u8; RATE]], last: &[[u8; RATE]]) {
    // SAFETY: a word of the processor needs no feature.
    unsafe { absorb::<u64, RATE>(state, blocks, last) }
}

/// Permutes the words of a state.
#[inline(always)]
pub(crate) fn permute(words: &mut [u64]) {
    if let Some((state, _)) = words.split_first_chunk_mut() {
        // SAFETY: a word of the processor needs no feature.
        unsafe { permutation::permute::<u64>(state) }
    }
}

impl Lane for u64 {
    #[inline(always)]
    unsafe fn splat(word: u64) -> Self {
        word
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    unsafe fn xor3(self, y: Self, z: Self) -> Self {
        self ^ y ^ z
    }

    #[inline(always)]
    unsafe fn xor_rotated(self, other: Self) -> Self {
        self ^ other.rotate_left(1)
    }

    #[inline(always)]
    unsafe fn xor_rotate_right<const BITS: i32>(self, other: Self) -> Self {
        (self ^ other).rotate_right(BITS as u32)
    }

    #[inline(always)]
    unsafe fn chi(self, y: Self, z: Self) -> Self {
        self ^ (!y & z)
    }
}

impl Single for u64 {
    #[inline(always)]
    unsafe fn word(self) -> u64 {
        self
    }
}
