//! SM4 on one block at a time, with the low latency that CBC encryption needs.
//!
//! Each word of the block lies four times in a vector of its own, so a shuffle brings any byte of a word to any other.
//!
//! Ref. GB/T 32907-2016 §6 and §7.
//!
//! # Safety
//! The methods of a [`Sm4Plane`] need its features; every function here passes that duty to its
//! caller, which is compiled for those features and reached through a `Bound`.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc, reason = "the head of this file says it for all")]

use std::arch::x86_64::*;

use super::super::Sm4;
use super::super::sliced::Sm4Plane;
use crate::blocks::{Block, Subkeys};

/// A plane of one SSE register.
pub(super) trait Register: Sm4Plane + From<__m128i> + Into<__m128i> {}

/// GB/T 32907-2016 §7.1 on one block.
#[inline(always)]
pub(super) unsafe fn crypt<P: Register>(subkeys: &Subkeys<Sm4>, block: Block) -> Block {
    // SAFETY: see the head of this file.
    unsafe {
        let mut x = [P::splat(0); 4];
        for i in 0..4 {
            x[i] = P::splat(word(&block, i));
        }
        for row in subkeys.rows() {
            for i in 0..4 {
                let known = x[(i + 1) % 4].xor3(x[(i + 2) % 4], P::splat(word(row, i)));
                x[i] = x[i].xor(transform(known.xor(x[(i + 3) % 4])));
            }
        }
        // The output is the last four words in reverse.
        let [a, b, c, d] = [x[3].into(), x[2].into(), x[1].into(), x[0].into()];
        let halves = _mm_unpacklo_epi64(_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
        let mut out = [0; 16];
        _mm_storeu_si128(out.as_mut_ptr().cast(), halves);
        out
    }
}

/// A word as it lies in memory.
#[inline(always)]
fn word(block: &Block, i: usize) -> u32 {
    u32::from_ne_bytes(block.as_chunks().0[i])
}

/// T, §6.2: the sum of P of each byte and of the one before it, and Q of the three others.
#[inline(always)]
unsafe fn transform<P: Register>(x: P) -> P {
    // SAFETY: see the head of this file.
    unsafe {
        let [p, q] = x.boxes();
        let [one, two, three] = [AHEAD[0], AHEAD[1], AHEAD[2]];
        let near = shuffle(p, three).xor3(p, shuffle(q, one));
        near.xor3(shuffle(q, two), shuffle(q, three))
    }
}

/// The shuffles that bring the byte that is one, two or three ahead in each word.
const AHEAD: [[u8; 16]; 3] = {
    let mut shuffles = [[0; 16]; 3];
    let mut i = 0;
    while i < 48 {
        let (by, at) = (i / 16 + 1, i % 16);
        shuffles[i / 16][at] = (at / 4 * 4 + (at + by) % 4) as u8;
        i += 1;
    }
    shuffles
};

#[inline(always)]
unsafe fn shuffle<P: Register>(x: P, pattern: [u8; 16]) -> P {
    // SAFETY: see the head of this file.
    unsafe { _mm_shuffle_epi8(x.into(), _mm_loadu_si128(pattern.as_ptr().cast())).into() }
}
