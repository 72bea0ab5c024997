//! The IP checksum with AVX-512: 32-bit words added into 64-bit lanes, four vectors a step; the end
//! of the data is a masked load.
//!
//! # Safety
//! The functions have the features in their `target_feature` attribute, for which the table's row
//! asks. Loads and stores are inside the data or masked off.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::Ops;
use crate::InOut;

pub(in super::super) const OPS: Ops = Ops { sum, copy };

/// Bytes in a vector.
const VECTOR: usize = 64;

#[target_feature(enable = "avx512f,avx512bw")]
fn sum(data: &[u8]) -> u64 {
    // SAFETY: nothing is written.
    unsafe { pass::<false>(data.as_ptr(), std::ptr::null_mut(), data.len()) }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn copy(mut data: InOut<'_>) -> u64 {
    // SAFETY: input and output are `len` bytes each.
    unsafe { pass::<true>(data.input_ptr(), data.output_ptr(), data.len()) }
}

/// Returns the sum of `len` bytes. If `COPY`, they are also copied to `output`.
///
/// # Safety
/// `input` can be read for `len` bytes, and with `COPY` `output` be written.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn pass<const COPY: bool>(input: *const u8, output: *mut u8, len: usize) -> u64 {
    let mut sums = [_mm512_setzero_si512(); 4];
    let mut at = 0;
    // SAFETY: `at` stays so far from `len` as the loads are wide, or they are masked.
    unsafe {
        while len - at >= 4 * VECTOR {
            for i in 0..4 {
                let x = _mm512_loadu_si512(input.add(at + i * VECTOR).cast());
                if COPY {
                    _mm512_storeu_si512(output.add(at + i * VECTOR).cast(), x);
                }
                sums[i] = add_words(sums[i], x);
            }
            at += 4 * VECTOR;
        }
        let mut i = 0;
        while at < len {
            let mask = u64::MAX >> (VECTOR - (len - at).min(VECTOR));
            let x = _mm512_maskz_loadu_epi8(mask, input.add(at).cast());
            if COPY {
                _mm512_mask_storeu_epi8(output.add(at).cast(), mask, x);
            }
            sums[i] = add_words(sums[i], x);
            at += VECTOR;
            i += 1;
        }
    }
    let sum = _mm512_add_epi64(_mm512_add_epi64(sums[0], sums[1]), _mm512_add_epi64(sums[2], sums[3]));
    // A lane holds less than 2^33 times the number of steps, and no buffer is long enough for a
    // carry here.
    _mm512_reduce_add_epi64(sum) as u64
}

/// Adds both 32-bit halves of each lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn add_words(sum: __m512i, x: __m512i) -> __m512i {
    let low = _mm512_and_si512(x, _mm512_set1_epi64(0xffff_ffff));
    _mm512_add_epi64(_mm512_add_epi64(sum, low), _mm512_srli_epi64::<32>(x))
}
