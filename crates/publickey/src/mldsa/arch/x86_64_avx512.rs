//! Sixteen coefficients in a register of AVX-512: of one polynomial, or eight of each of two where the transform works.
//!
//! # Safety
//! The promise of [`Vector`] holds here too: the caller has AVX-512F, BW and VL.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use super::x86_64_avx2;
use crate::lattice::transpose;
use crate::mldsa::kernel::kernel;
use crate::mldsa::poly::Poly;
use crate::mldsa::vector::Vector;

kernel!(
    pub(in crate::mldsa) OPS: [target_feature(enable = "avx512f,avx512bw,avx512vl")] Numbers, x86_64_avx2::Numbers,
    sample x86_64_avx2::sample_vartime
);

/// The coefficients.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Numbers(__m512i);

/// The products of the coefficients with even and with odd numbers.
#[derive(Clone, Copy)]
struct Products {
    even: __m512i,
    odd: __m512i,
}

/// The odd numbers of 16.
const ODD: __mmask16 = 0xaaaa;

/// Puts two registers of AVX2 together.
#[inline(always)]
unsafe fn both(first: __m256i, second: __m256i) -> Numbers {
    // SAFETY: the caller's, as in every function here.
    unsafe { Numbers(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second)) }
}

impl Vector for Numbers {
    const POLYS: usize = 2;
    type Products = Products;

    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_loadu_si512(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut i32) {
        // SAFETY: the caller's.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn load_each(from: *const Poly, at: usize) -> Self {
        // SAFETY: the caller's; there are two polynomials.
        unsafe {
            let first = _mm256_loadu_si256(from.cast::<i32>().add(at).cast());
            both(first, _mm256_loadu_si256(from.add(1).cast::<i32>().add(at).cast()))
        }
    }

    #[inline(always)]
    unsafe fn store_each(self, to: *mut Poly, at: usize) {
        // SAFETY: the caller's; there are two polynomials.
        unsafe {
            _mm256_storeu_si256(to.cast::<i32>().add(at).cast(), _mm512_castsi512_si256(self.0));
            let second = _mm512_extracti64x4_epi64::<1>(self.0);
            _mm256_storeu_si256(to.add(1).cast::<i32>().add(at).cast(), second);
        }
    }

    #[inline(always)]
    unsafe fn splat(number: i32) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_set1_epi32(number)) }
    }

    #[inline(always)]
    unsafe fn each(numbers: &[i32; 8]) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_broadcast_i64x4(_mm256_loadu_si256(numbers.as_ptr().cast()))) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_add_epi32(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_sub_epi32(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn mul_low(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_mullo_epi32(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_and_si512(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_or_si512(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn greater(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_maskz_set1_epi32(_mm512_cmpgt_epi32_mask(self.0, other.0), -1)) }
    }

    #[inline(always)]
    unsafe fn shift_right<const BITS: i32>(self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_sra_epi32(self.0, _mm_cvtsi32_si128(BITS))) }
    }

    #[inline(always)]
    unsafe fn products(self, other: Self) -> Products {
        // SAFETY: the caller's.
        unsafe {
            let odd = [_mm512_srli_epi64::<32>(self.0), _mm512_srli_epi64::<32>(other.0)];
            Products { even: _mm512_mul_epi32(self.0, other.0), odd: _mm512_mul_epi32(odd[0], odd[1]) }
        }
    }

    #[inline(always)]
    unsafe fn products_of_low(products: Products, other: Self) -> Products {
        // SAFETY: the caller's.
        unsafe {
            Products {
                even: _mm512_mul_epi32(products.even, other.0),
                odd: _mm512_mul_epi32(products.odd, _mm512_srli_epi64::<32>(other.0)),
            }
        }
    }

    #[inline(always)]
    unsafe fn add_products(products: Products, others: Products) -> Products {
        // SAFETY: the caller's.
        unsafe {
            Products {
                even: _mm512_add_epi64(products.even, others.even),
                odd: _mm512_add_epi64(products.odd, others.odd),
            }
        }
    }

    #[inline(always)]
    unsafe fn sub_products(products: Products, others: Products) -> Products {
        // SAFETY: the caller's.
        unsafe {
            Products {
                even: _mm512_sub_epi64(products.even, others.even),
                odd: _mm512_sub_epi64(products.odd, others.odd),
            }
        }
    }

    #[inline(always)]
    unsafe fn high_halves(products: Products) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm512_mask_blend_epi32(ODD, _mm512_srli_epi64::<32>(products.even), products.odd)) }
    }

    #[inline(always)]
    unsafe fn pair<const BITS: i32>(self) -> Self {
        // SAFETY: the caller's.
        unsafe {
            let first = _mm512_mask_blend_epi32(ODD, self.0, _mm512_setzero_si512());
            // The second number, at its place behind the first.
            let second = _mm512_sll_epi64(_mm512_srli_epi64::<32>(self.0), _mm_cvtsi32_si128(BITS));
            Numbers(_mm512_or_si512(first, second))
        }
    }

    #[inline(always)]
    unsafe fn fields<const BITS: usize>(from: *const u8) -> Self {
        // SAFETY: the caller's: there are `2 * BITS` bytes.
        unsafe {
            let first = x86_64_avx2::Numbers::fields::<BITS>(from);
            let second = x86_64_avx2::Numbers::fields::<BITS>(from.add(BITS));
            both(first.0, second.0)
        }
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
}
