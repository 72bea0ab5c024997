//! Eight objects side by side with AVX2: a block or a message a lane.
//!
//! Ref. RFC 8439 §2.3, §2.5.
//!
//! # Safety
//! The functions of the table have the features in their `target_feature` attribute, for which the
//! table's row asks, and instantiate [`Side`] methods under it. Loads are inside strings and arrays.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::poly1305::{BLOCK, filled_up};
use super::super::side_by_side::{Blocks, OneTimeKeys, Side, State, Strings, WIDEST, lanes_row};
use super::super::vector::SIGMA;
use super::limbs26::{Factor, GROUP, Limbs, add, factor, join, multiply, reduce, split};
use super::x86_64_avx2::{Avx2, Vector};
use super::ymm::{self, Ymm};
use crate::Crossover;

lanes_row!(Avx2, Crossover(&[(256, 5), (512, 6), (1024, 8), (usize::MAX, usize::MAX)]), "avx2,bmi2");

/// Lanes.
const WIDTH: usize = ymm::WIDE;

/// Groups of messages whose MACs run side by side.
const SETS: usize = WIDTH / GROUP;

/// The message of a group in each lane of the limbs, in the order in which unpacking leaves them.
const MESSAGE_OF_LANE: [usize; GROUP] = [0, 2, 1, 3];

/// Eight MACs, four a set, in limbs of 26 bits, not carried after their last product.
pub(in super::super) struct Macs {
    h: [Limbs; SETS],
    r: [Factor; SETS],
}

impl Side for Avx2 {
    const WIDTH: usize = WIDTH;

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
        // SAFETY: the caller has the features.
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
#[target_feature(enable = "avx2")]
fn blocks(state: &State, blocks: &mut Blocks) {
    let mut start = [Vector::of(_mm256_setzero_si256()); 16];
    for i in 0..4 {
        start[i] = Vector::of(_mm256_set1_epi32(SIGMA[i] as i32));
    }
    for row in 0..3 {
        for i in 0..4 {
            start[4 + 4 * row + i] = Vector::of(_mm256_set1_epi32(state.rows[row][0][i] as i32));
        }
        if row == 2 || !state.one_key {
            let words = turn(&state.rows[row]);
            for i in 0..4 {
                start[4 + 4 * row + i] = Vector::of(words[i]);
            }
        }
    }
    // SAFETY: the features are this function's; eight blocks are sixteen vectors.
    unsafe {
        let x = ymm::from_columns(start);
        for i in 0..x.len() {
            _mm256_storeu_si256(blocks.as_mut_ptr().cast::<__m256i>().add(i), x[i]);
        }
    }
}

/// The rows of eight lanes, those of every fourth lane together, as columns.
#[inline]
#[target_feature(enable = "avx2")]
fn turn(rows: &[[u32; 4]; WIDEST]) -> [__m256i; 4] {
    let rows = rows.as_ptr().cast::<__m256i>();
    // SAFETY: four vectors of two rows each.
    unsafe {
        let [a, b, c, d] = [
            _mm256_loadu_si256(rows),
            _mm256_loadu_si256(rows.add(1)),
            _mm256_loadu_si256(rows.add(2)),
            _mm256_loadu_si256(rows.add(3)),
        ];
        ymm::quads([Vector::of(a), Vector::of(b), Vector::of(c), Vector::of(d)])
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn macs(keys: &OneTimeKeys) -> Macs {
    const CLAMP: u128 = 0x0fff_fffc_0fff_fffc_0fff_fffc_0fff_ffff;
    let zero = _mm256_setzero_si256();
    let mut macs = Macs { h: [[zero; 5]; SETS], r: [[zero; 9]; SETS] };
    for set in 0..SETS {
        let mut group = [[0; BLOCK]; GROUP];
        for i in 0..GROUP {
            let (halves, _) = keys[set * GROUP + i].as_chunks::<BLOCK>();
            group[i] = (u128::from_le_bytes(halves[0]) & CLAMP).to_le_bytes();
        }
        let mut limbs = split(group.as_flattened());
        // The bit that marks a block is taken off again.
        limbs[4] = _mm256_andnot_si256(_mm256_set1_epi64x(1 << 24), limbs[4]);
        macs.r[set] = factor(limbs);
    }
    macs
}

/// See [`Side::absorb`].
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn absorb<const ALL: bool>(macs: &mut Macs, strings: &Strings<'_>, at: usize) {
    for set in 0..SETS {
        let (mut group, mut present) = ([[0; BLOCK]; GROUP], [0; GROUP]);
        for lane in 0..GROUP {
            let i = MESSAGE_OF_LANE[lane];
            let string = strings[set * GROUP + i];
            let rest = string.get(at..).unwrap_or(&[]);
            if let Some(block) = rest.first_chunk() {
                group[i] = *block;
            } else if !ALL && !rest.is_empty() {
                group[i] = filled_up(rest).to_le_bytes();
            }
            present[lane] = -i64::from(!rest.is_empty());
        }
        let h = macs.h[set];
        // The carries come right before the product, so that the compiler sees that 32 bits are
        // enough.
        let next = multiply(reduce(add(h, split(group.as_flattened()))), &macs.r[set]);
        let [a, b, c, d] = present;
        let present = _mm256_set_epi64x(d, c, b, a);
        for i in 0..5 {
            macs.h[set][i] = if ALL { next[i] } else { _mm256_blendv_epi8(h[i], next[i], present) };
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn accumulators(macs: &Macs) -> [[u64; 3]; WIDEST] {
    let mut accumulators = [[0; 3]; WIDEST];
    for set in 0..SETS {
        let carried = reduce(macs.h[set]);
        let mut limbs = [[0; GROUP]; 5];
        for i in 0..5 {
            // SAFETY: four words of an array.
            unsafe { _mm256_storeu_si256(limbs[i].as_mut_ptr().cast(), carried[i]) };
        }
        for lane in 0..GROUP {
            let message = set * GROUP + MESSAGE_OF_LANE[lane];
            let mut own = [0; 5];
            for i in 0..5 {
                own[i] = limbs[i][lane];
            }
            accumulators[message] = join(own);
        }
    }
    accumulators
}
