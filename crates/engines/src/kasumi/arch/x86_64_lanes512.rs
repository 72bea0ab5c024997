//! KASUMI on 64 messages with AVX-512 and GFNI: FI is look-ups of 128 entries by VPERMI2B and affine
//! maps by GF2P8AFFINEQB, for 64 words at once.
//!
//! Ref. TS 35.202 §4.5; Intel SDM, VPERMI2B and GF2P8AFFINEQB.
//!
//! # Safety
//! `REQUIRES` of the direct kernel names the features of every function here; the row's `Bound` is
//! the witness.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::job::{F8Job, F9Job};
use super::super::side_by_side;
use super::super::sliced::{Plane, Word};
use super::stage::{FIRST, SECOND, Stage, stage};

/// The fewest live lanes for which this kernel is as fast as the direct one.
const FEWEST: usize = 3;

#[derive(Clone, Copy)]
struct Plane64(__m512i);

const FIRST_LOW: i32 = stage(true).v_constant[0] as u8 as i32;
const FIRST_HIGH: i32 = stage(true).v_constant[1] as u8 as i32;
const SECOND_LOW: i32 = stage(false).v_constant[0] as u8 as i32;
const SECOND_HIGH: i32 = stage(false).v_constant[1] as u8 as i32;

/// Looks up 128 entries by the low seven bits of each byte.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi")]
fn look_up(table: &'static [u8; 128], index: __m512i) -> __m512i {
    // SAFETY: both halves of a table of 128 bytes.
    let [a, b] = unsafe {
        [_mm512_loadu_si512(table.as_ptr().cast()), _mm512_loadu_si512(table[64..].as_ptr().cast())]
    };
    _mm512_permutex2var_epi8(a, index, b)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0x96>(a, b, c)
}

/// Computes one stage of FI: the low byte and the high byte of its output, with a key added. `t` has
/// seven bits of S9's input under `u`, and `s` S7's input under `v`.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi,gfni")]
fn substitute<const V_LOW: i32, const V_HIGH: i32>(
    stage: &'static Stage,
    [t, s]: [__m512i; 2],
    key: [__m512i; 2],
) -> [__m512i; 2] {
    let [u_low, u_high] = [matrix(stage.u[0]), matrix(stage.u[1])];
    let [v_low, v_high] = [matrix(stage.v[0]), matrix(stage.v[1])];
    let u = _mm512_movepi8_mask(t);
    let v = _mm512_movepi8_mask(s);
    let by_u = _mm512_maskz_gf2p8affine_epi64_epi8::<0>(u, t, u_low);
    let by_v = _mm512_maskz_gf2p8affine_epi64_epi8::<V_LOW>(v, t, v_low);
    let low = xor3(xor3(s, key[0], by_u), by_v, look_up(&stage.nine_low, t));
    let by_u = _mm512_maskz_gf2p8affine_epi64_epi8::<0>(u, t, u_high);
    let by_v = _mm512_maskz_gf2p8affine_epi64_epi8::<V_HIGH>(v, t, v_high);
    let nine_high = xor3(by_u, by_v, look_up(&stage.nine_high, t));
    [low, xor3(nine_high, key[1], look_up(&stage.seven_high, s))]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn matrix(m: u64) -> __m512i {
    _mm512_set1_epi64(m as i64)
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi,gfni")]
fn fi([high, low]: Word<Plane64>, ki: Word<Plane64>) -> Word<Plane64> {
    let zero = _mm512_setzero_si512();
    let [low, high] = substitute::<FIRST_LOW, FIRST_HIGH>(&FIRST, [high.0, low.0], [ki[1].0, ki[0].0]);
    let [low, high] = substitute::<SECOND_LOW, SECOND_HIGH>(&SECOND, [low, high], [zero; 2]);
    [Plane64(high), Plane64(low)]
}

/// The GF2P8AFFINEQB matrix that changes nothing: row `i` is byte `7 - i`.
const IDENTITY: u64 = 0x0102_0408_1020_4080;

impl Plane for Plane64 {
    const BYTES: usize = 64;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's.
        unsafe { Plane64(_mm512_loadu_si512(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller's.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn splat(byte: u8) -> Self {
        // SAFETY: the caller's features; so below.
        unsafe { Plane64(_mm512_set1_epi8(byte as i8)) }
    }

    #[inline(always)]
    unsafe fn xor(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { Plane64(_mm512_xor_si512(self.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn and(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { Plane64(_mm512_and_si512(self.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn or(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { Plane64(_mm512_or_si512(self.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn sub(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { Plane64(_mm512_sub_epi8(self.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn is_zero(self) -> Self {
        // SAFETY: as above.
        unsafe { Plane64(_mm512_movm_epi8(_mm512_testn_epi8_mask(self.0, self.0))) }
    }

    #[inline(always)]
    unsafe fn interleave_low(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { Plane64(_mm512_unpacklo_epi8(self.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn interleave_high(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { Plane64(_mm512_unpackhi_epi8(self.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn shift(self, next: Self, bits: u32) -> Self {
        // SAFETY: as above.
        unsafe {
            let below = _mm512_set1_epi64((IDENTITY << (8 * (8 - bits))) as i64);
            let below = _mm512_gf2p8affine_epi64_epi8::<0>(next.0, below);
            let shifted = if bits == 1 {
                _mm512_add_epi8(self.0, self.0)
            } else {
                let matrix = _mm512_set1_epi64((IDENTITY >> (8 * bits)) as i64);
                _mm512_gf2p8affine_epi64_epi8::<0>(self.0, matrix)
            };
            Plane64(_mm512_xor_si512(shifted, below))
        }
    }

    #[inline(always)]
    unsafe fn fi(x: Word<Self>, ki: Word<Self>) -> Word<Self> {
        // SAFETY: as above.
        unsafe { fi(x, ki) }
    }
}

#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
pub(in super::super) fn f8(jobs: &mut [&mut F8Job<'_>]) {
    // SAFETY: this function has the features.
    unsafe { side_by_side::f8::<Plane64, 64>(jobs, FEWEST) }
}

#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
pub(in super::super) fn f9(jobs: &mut [&mut F9Job<'_>]) {
    // SAFETY: this function has the features.
    unsafe { side_by_side::f9::<Plane64, 64>(jobs, FEWEST) }
}
