//! Sixteen objects side by side with AVX-512: a block or a message a lane.
//!
//! Ref. RFC 8439 §2.3, §2.5.
//!
//! # Safety
//! The functions of the table have the features in their `target_feature` attribute, for which the
//! table's row asks, and instantiate [`Side`] methods under it. Loads are inside strings and arrays,
//! or masked off.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::poly1305::BLOCK;
use super::super::side_by_side::{Blocks, OneTimeKeys, Side, State, Strings, WIDEST, lanes_row};
use super::super::vector::{SIGMA, double_round_down};
use super::ifma::{BLOCK_OF_ELEMENT, GROUP, Limbs, add, array, join, multiply, reduce, splat, split};
use super::x86_64_avx512::{Avx512, Vector, transpose};
use crate::Crossover;
use crate::masked::readable;

lanes_row!(
    Avx512,
    Crossover(&[(256, 6), (512, 7), (1024, 9), (usize::MAX, usize::MAX)]),
    "avx512f,avx512bw,avx512vl,avx512ifma"
);

/// Groups of messages whose MACs run side by side.
const SETS: usize = WIDEST / GROUP;

/// Sixteen MACs, eight a set, in limbs of 44, 44 and 42 bits.
pub(in super::super) struct Macs {
    h: [Limbs; SETS],
    r: [Limbs; SETS],
}

impl Side for Avx512 {
    const WIDTH: usize = WIDEST;

    type Macs = Macs;

    #[inline(always)]
    unsafe fn blocks(state: &State, blocks: &mut Blocks) {
        // SAFETY: the caller has the features.
        unsafe { self::blocks(state, blocks) }
    }

    #[inline(always)]
    unsafe fn macs(keys: &OneTimeKeys) -> Macs {
        // SAFETY: the caller has the features.
        unsafe { macs(keys) }
    }

    #[inline(always)]
    unsafe fn absorb<const ALL: bool>(macs: &mut Macs, strings: &Strings<'_>, at: usize) {
        // SAFETY: the caller's.
        unsafe { absorb::<ALL>(macs, strings, at) }
    }

    #[inline(always)]
    unsafe fn accumulators(macs: &Macs) -> [[u64; 3]; WIDEST] {
        // SAFETY: the caller has the features.
        unsafe { accumulators(macs) }
    }
}

/// The lanes' blocks (§2.3).
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
fn blocks(state: &State, blocks: &mut Blocks) {
    let start = columns(state);
    let mut x = start;
    // SAFETY: the features are this function's.
    unsafe {
        for _ in 0..10 {
            double_round_down(&mut x);
        }
    }
    for i in 0..16 {
        x[i].0 = _mm512_add_epi32(x[i].0, start[i].0);
    }
    let x = transpose(x);
    for lane in 0..WIDEST {
        // SAFETY: a block's 64 bytes.
        unsafe { _mm512_storeu_si512(blocks[lane].as_mut_ptr().cast(), x[lane]) };
    }
}

/// The state of the lanes, a word a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
fn columns(state: &State) -> [Vector; 16] {
    let mut x = [Vector(_mm512_setzero_si512()); 16];
    for i in 0..4 {
        x[i] = Vector(_mm512_set1_epi32(SIGMA[i] as i32));
    }
    for row in 0..3 {
        let words =
            if row < 2 && state.one_key { repeat(&state.rows[row][0]) } else { turn(&state.rows[row]) };
        for i in 0..4 {
            x[4 + 4 * row + i] = Vector(words[i]);
        }
    }
    x
}

/// Four words, each in all lanes of a vector.
#[inline]
#[target_feature(enable = "avx512f")]
fn repeat(row: &[u32; 4]) -> [__m512i; 4] {
    let mut words = [_mm512_setzero_si512(); 4];
    for i in 0..4 {
        words[i] = _mm512_set1_epi32(row[i] as i32);
    }
    words
}

/// The rows of sixteen lanes, those of every fourth lane together, as columns.
#[inline]
#[target_feature(enable = "avx512f")]
fn turn(rows: &[[u32; 4]; WIDEST]) -> [__m512i; 4] {
    let rows = rows.as_ptr().cast::<__m512i>();
    // SAFETY: four vectors of four rows each.
    let [a, b, c, d] = unsafe {
        [
            _mm512_loadu_si512(rows),
            _mm512_loadu_si512(rows.add(1)),
            _mm512_loadu_si512(rows.add(2)),
            _mm512_loadu_si512(rows.add(3)),
        ]
    };
    let (ab_low, ab_high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let (cd_low, cd_high) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(ab_low, cd_low),
        _mm512_unpackhi_epi64(ab_low, cd_low),
        _mm512_unpacklo_epi64(ab_high, cd_high),
        _mm512_unpackhi_epi64(ab_high, cd_high),
    ]
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
fn macs(keys: &OneTimeKeys) -> Macs {
    let clamp = _mm512_set4_epi32(0x0fff_fffc, 0x0fff_fffc, 0x0fff_fffc, 0x0fff_ffff);
    let zero = _mm512_setzero_si512();
    let mut macs = Macs { h: [[zero; 3]; SETS], r: [[zero; 3]; SETS] };
    for set in 0..SETS {
        let mut r = [_mm_setzero_si128(); GROUP];
        for i in 0..GROUP {
            // SAFETY: the first half of 32 bytes.
            r[i] = unsafe { _mm_loadu_si128(keys[set * GROUP + i].as_ptr().cast()) };
        }
        let [low, high] = four_and_four(r);
        macs.r[set] = split(_mm512_and_si512(low, clamp), _mm512_and_si512(high, clamp), zero);
    }
    macs
}

/// See [`Side::absorb`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
unsafe fn absorb<const ALL: bool>(macs: &mut Macs, strings: &Strings<'_>, at: usize) {
    for set in 0..SETS {
        let mut blocks = [_mm_setzero_si128(); GROUP];
        let mut present = 0;
        for i in 0..GROUP {
            let string = strings[set * GROUP + i];
            let from = string.as_ptr().wrapping_add(at);
            // SAFETY: all strings have a block there, or what is beyond them is masked off.
            blocks[i] = unsafe {
                if ALL {
                    _mm_loadu_si128(from.cast())
                } else {
                    let n = string.len().saturating_sub(at).min(BLOCK);
                    present |= u8::from(n > 0) << lane_of(i);
                    _mm_maskz_loadu_epi8(((1u32 << n) - 1) as __mmask16, readable(from, n).cast())
                }
            };
        }
        let [low, high] = four_and_four(blocks);
        let h = macs.h[set];
        let sum = add(h, split(low, high, splat(1 << 40)));
        let next = reduce(multiply(sum, macs.r[set]));
        for i in 0..3 {
            macs.h[set][i] = if ALL { next[i] } else { _mm512_mask_mov_epi64(h[i], present, next[i]) };
        }
    }
}

/// Returns the lane of the limbs that holds a group's message: see [`BLOCK_OF_ELEMENT`].
#[inline(always)]
const fn lane_of(message: usize) -> usize {
    2 * (message % 4) + message / 4
}

/// Blocks 0 to 3, and 4 to 7.
#[inline]
#[target_feature(enable = "avx512f")]
fn four_and_four(blocks: [__m128i; GROUP]) -> [__m512i; 2] {
    let mut fours = [_mm512_setzero_si512(); 2];
    for i in 0..2 {
        let low = _mm256_set_m128i(blocks[4 * i + 1], blocks[4 * i]);
        let high = _mm256_set_m128i(blocks[4 * i + 3], blocks[4 * i + 2]);
        fours[i] = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
    }
    fours
}

#[inline]
#[target_feature(enable = "avx512f")]
fn accumulators(macs: &Macs) -> [[u64; 3]; WIDEST] {
    let mut accumulators = [[0; 3]; WIDEST];
    for set in 0..SETS {
        let [l0, l1, l2] = macs.h[set];
        let (l0, l1, l2) = (array(l0), array(l1), array(l2));
        for lane in 0..GROUP {
            let message = set * GROUP + BLOCK_OF_ELEMENT[lane] as usize;
            accumulators[message] = join([l0[lane], l1[lane], l2[lane]]);
        }
    }
    accumulators
}
