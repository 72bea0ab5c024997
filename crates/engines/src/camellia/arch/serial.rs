//! Camellia on one block at a time, with the low latency that CBC encryption needs.
//!
//! A half's eight bytes are arranged by the S-box that they go through: the bytes of s1, s2 and s3
//! in the low half of a vector, the bytes of s4 in the high half. P then sums bytes that shuffles
//! bring from there, half of them into the vector's low half and half into the high one. The
//! shuffles that arrange the bytes for the next round also sum the two halves.
//!
//! Ref. RFC 3713 §2.3 and §2.4.
//!
//! # Safety
//! The methods of [`Boxes`] need features; every function here passes that duty to its caller,
//! which is compiled for those features and reached through a `Bound`.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc, reason = "the head of this file says it for all")]

use std::arch::x86_64::*;

use super::super::Camellia;
use super::super::schedule::{groups, subkey};
use crate::blocks::{Block, Subkeys};

/// A way to compute the S-boxes.
pub(super) trait Boxes {
    /// Three vectors: s1 of the low half and s4 of the high half, s2 of the low, s3 of the low.
    unsafe fn boxes(x: __m128i) -> [__m128i; 3];
    unsafe fn xor3(a: __m128i, b: __m128i, c: __m128i) -> __m128i;
}

/// The shuffle index that gives zero instead of a byte.
const NONE: u8 = 0x80;

/// The places of a half's bytes once they are arranged, with the two bytes of each S-box side by
/// side.
const PLACES: [u8; 8] = [0, 2, 4, 8, 3, 5, 9, 1];

/// The S-box of each byte of a half, as an index into what [`Boxes::boxes`] returns.
const BOX: [usize; 8] = [0, 1, 2, 0, 1, 2, 0, 0];

/// The bytes that P sums for each byte of its output, counted from one as in the standard.
const SUMS: [&[usize]; 8] = [
    &[1, 3, 4, 6, 7, 8],
    &[1, 2, 4, 5, 7, 8],
    &[1, 2, 3, 5, 6, 8],
    &[2, 3, 4, 5, 6, 7],
    &[1, 2, 6, 7, 8],
    &[2, 3, 5, 7, 8],
    &[3, 4, 5, 6, 8],
    &[1, 4, 5, 6, 7],
];

/// Arranges the low half of a vector, and the high half.
const ARRANGE: [[u8; 16]; 2] = {
    let mut shuffles = [[NONE; 16]; 2];
    let mut i = 0;
    while i < 8 {
        shuffles[0][PLACES[i] as usize] = i as u8;
        shuffles[1][PLACES[i] as usize] = i as u8 + 8;
        i += 1;
    }
    shuffles
};

/// P as shuffles of the three vectors of S-boxes: two of the first (up to four terms), one of each
/// other (up to two).
const MIX: [[u8; 16]; 4] = {
    let mut shuffles = [[NONE; 16]; 4];
    let mut output = 0;
    while output < 8 {
        let mut used = [0; 3];
        let mut term = 0;
        while term < SUMS[output].len() {
            let source = SUMS[output][term] - 1;
            let slot = used[BOX[source]];
            let shuffle = if BOX[source] == 0 { slot / 2 } else { BOX[source] + 1 };
            shuffles[shuffle][output + 8 * (slot % 2)] = PLACES[source];
            used[BOX[source]] += 1;
            term += 1;
        }
        output += 1;
    }
    shuffles
};

#[inline(always)]
unsafe fn shuffle(x: __m128i, pattern: [u8; 16]) -> __m128i {
    // SAFETY: see the head of this file.
    unsafe { _mm_shuffle_epi8(x, _mm_loadu_si128(pattern.as_ptr().cast())) }
}

/// F on the sum of the halves of `x`, as a vector whose halves are to be summed.
#[inline(always)]
unsafe fn f<B: Boxes>(x: __m128i) -> [__m128i; 2] {
    // SAFETY: see the head of this file.
    unsafe {
        let arranged = _mm_xor_si128(shuffle(x, ARRANGE[0]), shuffle(x, ARRANGE[1]));
        let [s14, s2, s3] = B::boxes(arranged);
        let s23 = _mm_xor_si128(shuffle(s2, MIX[2]), shuffle(s3, MIX[3]));
        [s23, _mm_xor_si128(shuffle(s14, MIX[0]), shuffle(s14, MIX[1]))]
    }
}

#[inline(always)]
unsafe fn key(subkeys: &Subkeys<Camellia>, i: usize) -> __m128i {
    // SAFETY: eight bytes of the schedule.
    unsafe { _mm_loadl_epi64(subkeys.rows.as_ptr().cast::<u8>().add(8 * i).cast()) }
}

/// A subkey for the FL layer, as a big-endian word.
#[inline(always)]
fn word(subkeys: &Subkeys<Camellia>, i: usize) -> u64 {
    u64::from_be_bytes(subkey(subkeys, i))
}

/// The sum of a vector's halves as a big-endian word.
#[inline(always)]
unsafe fn fold(x: __m128i) -> u64 {
    // SAFETY: see the head of this file.
    unsafe { (_mm_cvtsi128_si64(_mm_xor_si128(x, _mm_srli_si128::<8>(x))) as u64).swap_bytes() }
}

#[inline(always)]
unsafe fn unfold(x: u64) -> __m128i {
    // SAFETY: see the head of this file.
    unsafe { _mm_cvtsi64_si128(x.swap_bytes() as i64) }
}

/// FL, RFC 3713 §2.4.2.
#[inline(always)]
fn fl(x: u64, key: u64) -> u64 {
    let x = x ^ (((x & key) >> 32) as u32).rotate_left(1) as u64;
    x ^ (x | key) << 32
}

/// FLINV, RFC 3713 §2.4.3.
#[inline(always)]
fn fl_inverse(x: u64, key: u64) -> u64 {
    let x = x ^ (x | key) << 32;
    x ^ (((x & key) >> 32) as u32).rotate_left(1) as u64
}

/// RFC 3713 §2.3 on one block.
#[inline(always)]
pub(super) unsafe fn crypt<B: Boxes>(subkeys: &Subkeys<Camellia>, block: Block) -> Block {
    let groups = groups(subkeys.used);
    let last = 8 * groups;
    // SAFETY: see the head of this file.
    unsafe {
        let block = _mm_loadu_si128(block.as_ptr().cast());
        let mut left = _mm_xor_si128(_mm_move_epi64(block), key(subkeys, 0));
        let mut right = _mm_xor_si128(_mm_srli_si128::<8>(block), key(subkeys, 1));
        for group in 0..groups {
            let at = 8 * group + 2;
            if group > 0 {
                left = unfold(fl(fold(left), word(subkeys, at - 2)));
                right = unfold(fl_inverse(fold(right), word(subkeys, at - 1)));
            }
            for i in (at..at + 6).step_by(2) {
                let [a, b] = f::<B>(_mm_xor_si128(left, key(subkeys, i)));
                right = B::xor3(right, a, b);
                let [a, b] = f::<B>(_mm_xor_si128(right, key(subkeys, i + 1)));
                left = B::xor3(left, a, b);
            }
        }
        let left = fold(left) ^ word(subkeys, last + 1);
        let right = fold(right) ^ word(subkeys, last);
        ((right as u128) << 64 | left as u128).to_be_bytes()
    }
}
