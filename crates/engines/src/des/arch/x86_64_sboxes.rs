//! One block or two at a time, with the S-boxes' truth tables in registers: the rounds, for each tier that looks tables up its own
//! way.
//!
//! Ref. FIPS 46-3, "Enciphering".
//!
//! # Safety
//! Inlined into entry points of processors with AVX2.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use crate::des::serial;
use crate::des::wiring::Groups;

/// Four words, one for each of four S-boxes, as a register.
pub(super) type Lanes = [u64; 4];

/// A half block in the form that the eight S-boxes take: each lane begins with the six bits of one.
pub(super) type Expanded = [__m256i; 2];

/// A tier's way to look up the S-boxes.
pub(super) trait Sboxes {
    /// Applies E: turns a half block, given twice in every lane, into the S-boxes' inputs.
    unsafe fn expand(half: __m256i) -> Expanded;
    /// Turns the S-boxes' inputs back into the half block.
    unsafe fn contract(half: Expanded) -> u32;
    /// Applies the S-boxes and P.
    unsafe fn f(input: Expanded) -> __m256i;
}

#[inline(always)]
pub(super) unsafe fn register(lanes: Lanes) -> __m256i {
    // SAFETY: see the head of this file; so below.
    unsafe { _mm256_setr_epi64x(lanes[0] as i64, lanes[1] as i64, lanes[2] as i64, lanes[3] as i64) }
}

/// Takes `N` blocks side by side through all rounds. A round mostly waits for its own results, so a second block costs
/// little.
#[inline(always)]
pub(super) unsafe fn several<S: Sboxes, const N: usize>(keys: &[Groups], blocks: [u64; N]) -> [u64; N] {
    // SAFETY: as above.
    unsafe {
        let mut l = [[_mm256_setzero_si256(); 2]; N];
        let mut r = l;
        for n in 0..N {
            let (left, right) = serial::initial(blocks[n]);
            l[n] = S::expand(_mm256_set1_epi32(left as i32));
            r[n] = S::expand(_mm256_set1_epi32(right as i32));
        }
        for sixteen in keys.as_chunks::<16>().0 {
            for key in sixteen.as_chunks::<2>().0 {
                rounds::<S, N>(&mut l, &r, key[0]);
                rounds::<S, N>(&mut r, &l, key[1]);
            }
            (l, r) = (r, l);
        }
        let mut out = blocks;
        for n in 0..N {
            out[n] = serial::last((S::contract(l[n]), S::contract(r[n])));
        }
        out
    }
}

/// One round of each block.
#[inline(always)]
unsafe fn rounds<S: Sboxes, const N: usize>(l: &mut [Expanded; N], r: &[Expanded; N], key: Groups) {
    // SAFETY: as above.
    unsafe {
        let [a, b, c, d, e, f, g, h] = key.to_ne_bytes();
        let key = [
            _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(i32::from_le_bytes([a, b, c, d]))),
            _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(i32::from_le_bytes([e, f, g, h]))),
        ];
        for n in 0..N {
            let f = S::f([_mm256_xor_si256(r[n][0], key[0]), _mm256_xor_si256(r[n][1], key[1])]);
            let f = S::expand(f);
            l[n] = [_mm256_xor_si256(l[n][0], f[0]), _mm256_xor_si256(l[n][1], f[1])];
        }
    }
}
