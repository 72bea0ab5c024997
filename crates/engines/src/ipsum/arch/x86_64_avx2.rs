//! The IP checksum with AVX2: 32-bit words added into 64-bit lanes, four vectors a step.
//!
//! # Safety
//! The functions have the features in their `target_feature` attribute, for which the table's row
//! asks. Loads and stores are inside the data.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::{Ops, portable};
use crate::InOut;

pub(in super::super) const OPS: Ops = Ops { sum, copy };

/// Bytes in a vector.
const VECTOR: usize = 32;
/// Bytes in a step.
const STEP: usize = 4 * VECTOR;

#[target_feature(enable = "avx2")]
fn sum(data: &[u8]) -> u64 {
    let (steps, rest) = data.split_at(data.len() / STEP * STEP);
    // SAFETY: nothing is written.
    let words = unsafe { pass::<false>(steps.as_ptr(), std::ptr::null_mut(), steps.len()) };
    words + fold(portable::sum(rest))
}

#[target_feature(enable = "avx2")]
fn copy(data: InOut<'_>) -> u64 {
    let (mut steps, rest) = data.split_blocks(STEP);
    // SAFETY: input and output are `len` bytes each.
    let words = unsafe { pass::<true>(steps.input_ptr(), steps.output_ptr(), steps.len()) };
    words + fold(portable::copy(rest))
}

/// Folds a sum to a number below 2^33, which can be added without a carry.
#[inline(always)]
fn fold(sum: u64) -> u64 {
    (sum >> 32) + (sum & 0xffff_ffff)
}

/// Returns the sum of `len` bytes, which are whole steps. If `COPY`, they are also copied to
/// `output`.
///
/// # Safety
/// `input` can be read for `len` bytes, and with `COPY` `output` be written.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn pass<const COPY: bool>(input: *const u8, output: *mut u8, len: usize) -> u64 {
    let mut sums = [_mm256_setzero_si256(); 4];
    let mut at = 0;
    while at < len {
        for i in 0..4 {
            // SAFETY: a whole step is left.
            unsafe {
                let x = _mm256_loadu_si256(input.add(at + i * VECTOR).cast());
                if COPY {
                    _mm256_storeu_si256(output.add(at + i * VECTOR).cast(), x);
                }
                sums[i] = add_words(sums[i], x);
            }
        }
        at += STEP;
    }
    let sum = _mm256_add_epi64(_mm256_add_epi64(sums[0], sums[1]), _mm256_add_epi64(sums[2], sums[3]));
    let sum = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
    // A lane holds less than 2^33 times the number of steps, and no buffer is long enough for a
    // carry here.
    (_mm_cvtsi128_si64(sum) as u64) + (_mm_extract_epi64::<1>(sum) as u64)
}

/// Adds both 32-bit halves of each lane.
#[inline]
#[target_feature(enable = "avx2")]
fn add_words(sum: __m256i, x: __m256i) -> __m256i {
    let low = _mm256_blend_epi32::<0b1010_1010>(x, _mm256_setzero_si256());
    _mm256_add_epi64(_mm256_add_epi64(sum, low), _mm256_srli_epi64::<32>(x))
}
