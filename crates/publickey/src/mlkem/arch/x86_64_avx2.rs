//! Sixteen coefficients in a register of AVX2.
//!
//! # Safety
//! The promise of [`Vector`] holds here too: the caller has AVX2.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use super::x86_64_bits as bits;
use crate::lattice::transpose;
use crate::mlkem::coding;
use crate::mlkem::kernel::kernel;
use crate::mlkem::poly::{N, Poly};
use crate::mlkem::tables::Q;
use crate::mlkem::vector::Vector;

kernel!(pub(in crate::mlkem) OPS: [target_feature(enable = "avx2")] Numbers, Numbers, sample sample_vartime);

/// The coefficients.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Numbers(__m256i);

impl Vector for Numbers {
    const POLYS: usize = 1;

    #[inline(always)]
    unsafe fn load(from: *const i16) -> Self {
        // SAFETY: the caller's, as in every function here.
        unsafe { Numbers(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut i16) {
        // SAFETY: the caller's.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn load_each(from: *const Poly, at: usize) -> Self {
        // SAFETY: the caller's.
        unsafe { Self::load(from.cast::<i16>().add(at)) }
    }

    #[inline(always)]
    unsafe fn store_each(self, to: *mut Poly, at: usize) {
        // SAFETY: the caller's.
        unsafe { self.store(to.cast::<i16>().add(at)) }
    }

    #[inline(always)]
    unsafe fn splat(number: i16) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_set1_epi16(number)) }
    }

    #[inline(always)]
    unsafe fn each(numbers: &[i16; 16]) -> Self {
        // SAFETY: the caller's.
        unsafe { Self::load(numbers.as_ptr()) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_add_epi16(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_sub_epi16(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn mul_low(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_mullo_epi16(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn mul_high(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_mulhi_epi16(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn mul_round(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_mulhrs_epi16(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_and_si256(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn greater(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_cmpgt_epi16(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn mul_pairs(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_madd_epi16(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn add_32(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_add_epi32(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn low_halves(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_blend_epi16::<0xaa>(self.0, _mm256_slli_epi32::<16>(other.0))) }
    }

    #[inline(always)]
    unsafe fn high_halves(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_blend_epi16::<0xaa>(_mm256_srli_epi32::<16>(self.0), other.0)) }
    }

    #[inline(always)]
    unsafe fn swap_pairs(self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_or_si256(_mm256_slli_epi32::<16>(self.0), _mm256_srli_epi32::<16>(self.0))) }
    }

    #[inline(always)]
    unsafe fn transpose(rows: &mut [Self; 8]) {
        let mut registers = rows.map(|row| row.0);
        // SAFETY: the caller's.
        unsafe { transpose::avx2(&mut registers) };
        for i in 0..8 {
            rows[i].0 = registers[i];
        }
    }

    #[inline(always)]
    unsafe fn pack<const D: usize>(self, out: *mut u8) {
        // SAFETY: the caller's: there are `2 * D` bytes.
        unsafe {
            let shift = |x, bits: usize| _mm256_sll_epi64(x, _mm_cvtsi32_si128(bits as i32));
            // Four numbers in each 64 bits.
            let first = _mm256_and_si256(self.0, _mm256_set1_epi64x(0xffff_ffff));
            let fours = _mm256_or_si256(first, shift(_mm256_srli_epi64::<32>(self.0), 2 * D));
            let eights = if D.is_multiple_of(2) {
                _mm256_shuffle_epi8(fours, each_part(&const { bits::joined(D) }))
            } else {
                let low = _mm256_or_si256(fours, shift(_mm256_shuffle_epi32::<0x4e>(fours), 4 * D));
                let high = _mm256_srl_epi64(fours, _mm_cvtsi32_si128(64 - 4 * D as i32));
                _mm256_blend_epi32::<0xcc>(low, high)
            };
            bits::write::<D>(_mm256_castsi256_si128(eights), out);
            bits::write::<D>(_mm256_extracti128_si256::<1>(eights), out.add(D));
        }
    }

    #[inline(always)]
    unsafe fn unpack<const D: usize>(from: *const u8) -> Self {
        // SAFETY: the caller's: there are `2 * D` bytes.
        unsafe {
            let eights = _mm256_set_m128i(bits::read::<D>(from.add(D)), bits::read::<D>(from));
            if D == 11 {
                let four = |(places, shifts): (bits::Places, [i32; 4])| {
                    let words = _mm256_shuffle_epi8(eights, each_part(&places));
                    let words = _mm256_srlv_epi32(words, each_part(&shifts));
                    _mm256_and_si256(words, _mm256_set1_epi32((1 << D) - 1))
                };
                let [first, second] = [const { bits::in_words(D, 0) }, const { bits::in_words(D, 4) }];
                return Numbers(_mm256_packus_epi32(four(first), four(second)));
            }
            let (places, factors) = const { bits::in_halves(D) };
            let halves = _mm256_shuffle_epi8(eights, each_part(&places));
            let top = _mm256_mullo_epi16(halves, each_part(&factors));
            Numbers(_mm256_srl_epi16(top, _mm_cvtsi32_si128(16 - D as i32)))
        }
    }
}

/// Repeats 16 bytes in each part.
#[inline(always)]
unsafe fn each_part<T>(numbers: &T) -> __m256i {
    const { assert!(size_of::<T>() == 16) };
    // SAFETY: the caller's; there are 16 bytes.
    unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(std::ptr::from_ref(numbers).cast())) }
}

/// For eight bits, the places of those that are set, as a shuffle of 16-bit numbers.
static PLACES: [[u8; 16]; 256] = {
    let mut places = [[0; 16]; 256];
    let mut bits = 0;
    while bits < 256 {
        let (mut at, mut bit) = (0, 0);
        while bit < 8 {
            if bits >> bit & 1 == 1 {
                places[bits][2 * at] = 2 * bit as u8;
                places[bits][2 * at + 1] = 2 * bit as u8 + 1;
                at += 1;
            }
            bit += 1;
        }
        bits += 1;
    }
    places
};

/// Takes 16 numbers of 12 bits at a time, and moves those below q to the front.
#[target_feature(enable = "avx2")]
pub(super) fn sample_vartime(bytes: &[u8], poly: &mut Poly, have: usize) -> usize {
    let mut have = have;
    let mut rest = bytes;
    let spread = _mm256_setr_epi8(
        0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11, 12, 13, 14,
        14, 15,
    );
    // Both vectors of eight numbers are written whole.
    while let Some((now, later)) = rest.split_first_chunk::<24>()
        && have + 16 <= N
    {
        // SAFETY: sixteen bytes from 0 on, and from 8 on, are inside the 24.
        let both = unsafe {
            let low = _mm_loadu_si128(now.as_ptr().cast());
            let high = _mm_loadu_si128(now.as_ptr().add(8).cast());
            _mm256_set_m128i(high, low)
        };
        let spread = _mm256_shuffle_epi8(both, spread);
        let numbers = _mm256_blend_epi16::<0xaa>(
            _mm256_and_si256(spread, _mm256_set1_epi16(0xfff)),
            _mm256_srli_epi16::<4>(spread),
        );
        let good = _mm256_cmpgt_epi16(_mm256_set1_epi16(Q), numbers);
        let good = _mm256_movemask_epi8(_mm256_packs_epi16(good, good)) as u32;
        for (eight, bits) in [
            (_mm256_castsi256_si128(numbers), good & 0xff),
            (_mm256_extracti128_si256::<1>(numbers), good >> 16 & 0xff),
        ] {
            // SAFETY: the table has 256 rows, and there is room for two whole vectors behind what there was.
            unsafe {
                let places = _mm_loadu_si128(PLACES[bits as usize].as_ptr().cast());
                let front = _mm_shuffle_epi8(eight, places);
                _mm_storeu_si128(poly.0.as_mut_ptr().add(have).cast(), front);
            }
            have += bits.count_ones() as usize;
        }
        rest = later;
    }
    coding::sample_vartime(rest, poly, have)
}
