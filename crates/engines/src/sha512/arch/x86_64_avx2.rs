//! The schedule of SHA-512 with AVX2.
//!
//! Ref. FIPS 180-4 §6.4.2.
//!
//! # Safety
//! Loads and stores go through references to arrays of their size; the rounds read inside the schedule.
#![allow(unsafe_code)]

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::x86_64_rounds::{compress, round, sixteen_rounds};
use crate::Row;
use crate::hash::chain;
use crate::sha512::{BLOCK, CompressOps, K, State};

pub(crate) const ROW: Row<CompressOps> =
    chain::row("x86_64-avx2", REQUIRES, compress, "scalar rounds; the schedule of two blocks in vectors");

compress!("avx2,bmi1,bmi2", sigma0, sigma1);

/// Returns the words of two blocks, two of each in a register. The words of `second` are in the upper
/// half.
#[target_feature(enable = "avx2")]
pub(super) fn load(first: &[u8; BLOCK], second: &[u8; BLOCK]) -> [__m256i; 8] {
    let swap = _mm256_broadcastsi128_si256(_mm_set_epi64x(0x0809_0a0b_0c0d_0e0f, 0x0001_0203_0405_0607));
    let mut w = [swap; 8];
    for i in 0..8 {
        let (low, high) = (first.as_ptr().cast::<__m128i>(), second.as_ptr().cast::<__m128i>());
        // SAFETY: `16 * i + 16 <= 128`.
        let bytes = unsafe { _mm256_loadu2_m128i(high.add(i), low.add(i)) };
        w[i] = _mm256_shuffle_epi8(bytes, swap);
    }
    w
}

/// Writes two words of each block, with the constants of their rounds added.
///
/// # Safety
/// `line` may be written and `k` read.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn store(line: *mut __m256i, w: __m256i, k: *const __m128i) {
    // SAFETY: as above.
    unsafe {
        let k = _mm256_broadcastsi128_si256(_mm_loadu_si128(k));
        _mm256_storeu_si256(line, _mm256_add_epi64(w, k));
    }
}

#[target_feature(enable = "avx2")]
fn sigma0(w: __m256i) -> __m256i {
    let x = rotate::<1, 63>(w);
    // A rotation by a whole byte is one shuffle.
    let y = _mm256_shuffle_epi8(
        w,
        _mm256_broadcastsi128_si256(_mm_set_epi64x(0x080f_0e0d_0c0b_0a09, 0x0007_0605_0403_0201)),
    );
    _mm256_xor_si256(_mm256_xor_si256(x, y), _mm256_srli_epi64::<7>(w))
}

#[target_feature(enable = "avx2")]
fn sigma1(w: __m256i) -> __m256i {
    let (x, y) = (rotate::<19, 45>(w), rotate::<61, 3>(w));
    _mm256_xor_si256(_mm256_xor_si256(x, y), _mm256_srli_epi64::<6>(w))
}

/// Rotates to the right by `N` bits; `M` is `64 - N`.
#[target_feature(enable = "avx2")]
fn rotate<const N: i32, const M: i32>(w: __m256i) -> __m256i {
    _mm256_xor_si256(_mm256_srli_epi64::<N>(w), _mm256_slli_epi64::<M>(w))
}
