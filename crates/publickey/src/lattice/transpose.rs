//! Transposition of 32-bit numbers in registers.
//!
//! # Safety
//! The caller has the features that a function's name says.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

/// Transposes eight rows of eight numbers of 32 bits.
#[inline(always)]
pub(crate) unsafe fn avx2(r: &mut [__m256i; 8]) {
    let (mut t, mut u) = (*r, *r);
    // SAFETY: the caller's.
    unsafe {
        for i in 0..4 {
            t[2 * i] = _mm256_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm256_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
        }
        for i in 0..2 {
            u[4 * i] = _mm256_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
            u[4 * i + 1] = _mm256_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
            u[4 * i + 2] = _mm256_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
            u[4 * i + 3] = _mm256_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
        }
        for j in 0..4 {
            r[j] = _mm256_permute2x128_si256::<0x20>(u[j], u[4 + j]);
            r[4 + j] = _mm256_permute2x128_si256::<0x31>(u[j], u[4 + j]);
        }
    }
}

/// Does the same in the low and in the high 256 bits.
#[inline(always)]
pub(crate) unsafe fn avx512(r: &mut [__m512i; 8]) {
    let (mut t, mut u) = (*r, *r);
    // SAFETY: the caller's.
    unsafe {
        // The first or the second 128 bits of both registers' halves, so that each polynomial stays in its half.
        let first = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
        let second = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
        for i in 0..4 {
            t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
        }
        for i in 0..2 {
            u[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
            u[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
            u[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
            u[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
        }
        for j in 0..4 {
            r[j] = _mm512_permutex2var_epi64(u[j], first, u[4 + j]);
            r[4 + j] = _mm512_permutex2var_epi64(u[j], second, u[4 + j]);
        }
    }
}
