//! Thirty-two coefficients in a register of AVX-512: of one polynomial, or sixteen of each of two where the transform works.
//!
//! # Safety
//! The promise of [`Vector`] holds here too: the caller has AVX-512F, BW and VL.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use super::{x86_64_avx2, x86_64_bits as bits};
use crate::lattice::transpose;
use crate::mlkem::kernel::kernel;
use crate::mlkem::poly::Poly;
use crate::mlkem::vector::Vector;

kernel!(
    pub(in crate::mlkem) OPS: [target_feature(enable = "avx512f,avx512bw,avx512vl")] Numbers, x86_64_avx2::Numbers,
    sample x86_64_avx2::sample_vartime
);

/// The coefficients.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Numbers(__m512i);

/// The odd numbers of 32.
const ODD: __mmask32 = 0xaaaa_aaaa;

impl Vector for Numbers {
    const POLYS: usize = 2;

    #[inline(always)]
    unsafe fn load(from: *const i16) -> Self {
        // SAFETY: the caller's, as in every function here.
        unsafe { Numbers(_mm512_loadu_si512(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut i16) {
        // SAFETY: the caller's.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn load_each(from: *const Poly, at: usize) -> Self {
        // SAFETY: the caller's; there are two polynomials.
        unsafe {
            let first = _mm256_loadu_si256(from.cast::<i16>().add(at).cast());
            let second = _mm256_loadu_si256(from.add(1).cast::<i16>().add(at).cast());
            Numbers(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second))
        }
    }

    #[inline(always)]
    unsafe fn store_each(self, to: *mut Poly, at: usize) {
        // SAFETY: the caller's; there are two polynomials.
        unsafe {
            _mm256_storeu_si256(to.cast::<i16>().add(at).cast(), _mm512_castsi512_si256(self.0));
            let second = _mm512_extracti64x4_epi64::<1>(self.0);
            _mm256_storeu_si256(to.add(1).cast::<i16>().add(at).cast(), second);
        }
    }

    #[inline(always)]
    unsafe fn splat(number: i16) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_set1_epi16(number)) }
    }

    #[inline(always)]
    unsafe fn each(numbers: &[i16; 16]) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_broadcast_i64x4(_mm256_loadu_si256(numbers.as_ptr().cast()))) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_add_epi16(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_sub_epi16(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn mul_low(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_mullo_epi16(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn mul_high(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_mulhi_epi16(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn mul_round(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_mulhrs_epi16(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_and_si512(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn greater(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_movm_epi16(_mm512_cmpgt_epi16_mask(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn mul_pairs(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_madd_epi16(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn add_32(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_add_epi32(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn low_halves(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_mask_blend_epi16(ODD, self.0, _mm512_slli_epi32::<16>(other.0))) }
    }

    #[inline(always)]
    unsafe fn high_halves(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_mask_blend_epi16(ODD, _mm512_srli_epi32::<16>(self.0), other.0)) }
    }

    #[inline(always)]
    unsafe fn swap_pairs(self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_or_si512(_mm512_slli_epi32::<16>(self.0), _mm512_srli_epi32::<16>(self.0))) }
    }

    #[inline(always)]
    unsafe fn transpose(rows: &mut [Self; 8]) {
        let mut registers = rows.map(|row| row.0);
        // SAFETY: the caller's.
        unsafe { transpose::avx512(&mut registers) };
        for i in 0..8 {
            rows[i].0 = registers[i];
        }
    }

    #[inline(always)]
    unsafe fn pack<const D: usize>(self, out: *mut u8) {
        // SAFETY: the caller's: there are `4 * D` bytes.
        unsafe {
            let shift = |x, bits: usize| _mm512_sll_epi64(x, _mm_cvtsi32_si128(bits as i32));
            // Four numbers in each 64 bits.
            let first = _mm512_and_si512(self.0, _mm512_set1_epi64(0xffff_ffff));
            let fours = _mm512_or_si512(first, shift(_mm512_srli_epi64::<32>(self.0), 2 * D));
            let eights = if D.is_multiple_of(2) {
                _mm512_shuffle_epi8(fours, each_part(&const { bits::joined(D) }))
            } else {
                let low = _mm512_or_si512(fours, shift(_mm512_shuffle_epi32::<0x4e>(fours), 4 * D));
                let high = _mm512_srl_epi64(fours, _mm_cvtsi32_si128(64 - 4 * D as i32));
                _mm512_mask_blend_epi64(0xaa, low, high)
            };
            bits::write::<D>(_mm512_castsi512_si128(eights), out);
            bits::write::<D>(_mm512_extracti32x4_epi32::<1>(eights), out.add(D));
            bits::write::<D>(_mm512_extracti32x4_epi32::<2>(eights), out.add(2 * D));
            bits::write::<D>(_mm512_extracti32x4_epi32::<3>(eights), out.add(3 * D));
        }
    }

    #[inline(always)]
    unsafe fn unpack<const D: usize>(from: *const u8) -> Self {
        // SAFETY: the caller's: there are `4 * D` bytes.
        unsafe {
            let both =
                |at| _mm256_set_m128i(bits::read::<D>(from.add(at + D)), bits::read::<D>(from.add(at)));
            let eights = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(both(0)), both(2 * D));
            if D == 11 {
                let four = |(places, shifts): (bits::Places, [i32; 4])| {
                    let words = _mm512_shuffle_epi8(eights, each_part(&places));
                    let words = _mm512_srlv_epi32(words, each_part(&shifts));
                    _mm512_and_si512(words, _mm512_set1_epi32((1 << D) - 1))
                };
                let [first, second] = [const { bits::in_words(D, 0) }, const { bits::in_words(D, 4) }];
                return Numbers(_mm512_packus_epi32(four(first), four(second)));
            }
            let (places, factors) = const { bits::in_halves(D) };
            let halves = _mm512_shuffle_epi8(eights, each_part(&places));
            let top = _mm512_mullo_epi16(halves, each_part(&factors));
            Numbers(_mm512_srl_epi16(top, _mm_cvtsi32_si128(16 - D as i32)))
        }
    }
}

/// Repeats 16 bytes in each part.
#[inline(always)]
unsafe fn each_part<T>(numbers: &T) -> __m512i {
    const { assert!(size_of::<T>() == 16) };
    // SAFETY: the caller's; there are 16 bytes.
    unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(std::ptr::from_ref(numbers).cast())) }
}
