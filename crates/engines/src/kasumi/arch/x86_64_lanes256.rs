//! KASUMI on 32 messages with AVX2: FI is look-ups of sixteen entries by VPSHUFB.
//!
//! A look-up of 128 entries is eight of sixteen. VPSHUFB gives zero if the top bit of an index is
//! set, and otherwise goes by its low four bits. The index is lowered by sixteen from table to
//! table, so each table takes part from its first entry on, and holds its difference to the tables
//! before.
//!
//! Ref. TS 35.202 §4.5; Intel SDM, PSHUFB.
//!
//! # Safety
//! [`REQUIRES`] names the features of every function here; the row's `Bound` is the witness.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use millstream_cpu::FeatureSet;

use super::super::job::{F8Job, F9Job};
use super::super::side_by_side;
use super::super::sliced::{Plane, Word};
use super::stage::{FIRST_NARROW, Narrow, SECOND_NARROW};

pub(in super::super) const REQUIRES: FeatureSet = FeatureSet::parse("avx2");

/// The fewest live lanes for which this kernel is as fast as the direct one.
const FEWEST: usize = 2;

#[derive(Clone, Copy)]
struct Plane32(__m256i);

/// A table of sixteen entries, for either half of a vector.
#[inline]
#[target_feature(enable = "avx2")]
fn table(entries: &'static [u8; 16]) -> __m256i {
    // SAFETY: sixteen bytes.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(entries.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx2")]
fn look_up(entries: &'static [u8; 16], index: __m256i) -> __m256i {
    _mm256_shuffle_epi8(table(entries), index)
}

/// Maps a byte by its halves, where `mask` is set.
#[inline]
#[target_feature(enable = "avx2")]
fn affine(map: &'static [[u8; 16]; 2], [low, high]: [__m256i; 2], mask: __m256i) -> __m256i {
    _mm256_and_si256(_mm256_xor_si256(look_up(&map[0], low), look_up(&map[1], high)), mask)
}

/// Computes one stage of FI: the low byte and the high byte of its output. `t` has seven bits of
/// S9's input under `u`, and `s` S7's input under `v`.
#[inline]
#[target_feature(enable = "avx2")]
fn substitute(stage: &'static Narrow, [t, s]: [__m256i; 2]) -> [__m256i; 2] {
    let zero = _mm256_setzero_si256();
    let (u, v) = (_mm256_cmpgt_epi8(zero, t), _mm256_cmpgt_epi8(zero, s));
    let nibble = _mm256_set1_epi8(0x0f);
    let halves = [_mm256_and_si256(t, nibble), _mm256_and_si256(_mm256_srli_epi16::<4>(t), nibble)];
    let mut low = _mm256_xor_si256(affine(&stage.u[0], halves, u), affine(&stage.v[0], halves, v));
    let mut high = _mm256_xor_si256(affine(&stage.u[1], halves, u), affine(&stage.v[1], halves, v));
    low = _mm256_xor_si256(low, s);
    let seven_bits = _mm256_set1_epi8(0x7f);
    let (mut nine, mut seven) = (_mm256_and_si256(t, seven_bits), _mm256_and_si256(s, seven_bits));
    let sixteen = _mm256_set1_epi8(16);
    for i in 0..8 {
        low = _mm256_xor_si256(low, look_up(&stage.nine_low[i], nine));
        let both = _mm256_xor_si256(look_up(&stage.nine_high[i], nine), look_up(&stage.seven_high[i], seven));
        high = _mm256_xor_si256(high, both);
        nine = _mm256_sub_epi8(nine, sixteen);
        seven = _mm256_sub_epi8(seven, sixteen);
    }
    [low, high]
}

#[inline]
#[target_feature(enable = "avx2")]
fn fi([high, low]: Word<Plane32>, ki: Word<Plane32>) -> Word<Plane32> {
    let [low, high] = substitute(&FIRST_NARROW, [high.0, low.0]);
    let middle = [_mm256_xor_si256(low, ki[1].0), _mm256_xor_si256(high, ki[0].0)];
    let [low, high] = substitute(&SECOND_NARROW, middle);
    [Plane32(high), Plane32(low)]
}

impl Plane for Plane32 {
    const BYTES: usize = 32;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's.
        unsafe { Plane32(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller's.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn splat(byte: u8) -> Self {
        // SAFETY: the caller's features; so below.
        unsafe { Plane32(_mm256_set1_epi8(byte as i8)) }
    }

    #[inline(always)]
    unsafe fn xor(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { Plane32(_mm256_xor_si256(self.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn and(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { Plane32(_mm256_and_si256(self.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn or(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { Plane32(_mm256_or_si256(self.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn sub(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { Plane32(_mm256_sub_epi8(self.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn is_zero(self) -> Self {
        // SAFETY: as above.
        unsafe { Plane32(_mm256_cmpeq_epi8(self.0, _mm256_setzero_si256())) }
    }

    #[inline(always)]
    unsafe fn interleave_low(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { Plane32(_mm256_unpacklo_epi8(self.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn interleave_high(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { Plane32(_mm256_unpackhi_epi8(self.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn shift(self, next: Self, bits: u32) -> Self {
        // SAFETY: as above.
        unsafe {
            let top = _mm256_set1_epi8((0xff_u8 << bits) as i8);
            let shifted = _mm256_and_si256(_mm256_sll_epi16(self.0, _mm_cvtsi32_si128(bits as i32)), top);
            let below = _mm256_srl_epi16(next.0, _mm_cvtsi32_si128(8 - bits as i32));
            Plane32(_mm256_or_si256(shifted, _mm256_andnot_si256(top, below)))
        }
    }

    #[inline(always)]
    unsafe fn fi(x: Word<Self>, ki: Word<Self>) -> Word<Self> {
        // SAFETY: as above.
        unsafe { fi(x, ki) }
    }
}

#[target_feature(enable = "avx2")]
pub(in super::super) fn f8(jobs: &mut [&mut F8Job<'_>]) {
    // SAFETY: this function has the features.
    unsafe { side_by_side::f8::<Plane32, 32>(jobs, FEWEST) }
}

#[target_feature(enable = "avx2")]
pub(in super::super) fn f9(jobs: &mut [&mut F9Job<'_>]) {
    // SAFETY: this function has the features.
    unsafe { side_by_side::f9::<Plane32, 32>(jobs, FEWEST) }
}
