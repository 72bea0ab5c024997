//! Eight coefficients in a register of AVX2.
//!
//! # Safety
//! The promise of [`Vector`] holds here too: the caller has AVX2.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use crate::lattice::transpose;
use crate::mldsa::coding;
use crate::mldsa::kernel::kernel;
use crate::mldsa::poly::{N, Poly};
use crate::mldsa::tables::Q;
use crate::mldsa::vector::Vector;

kernel!(pub(in crate::mldsa) OPS: [target_feature(enable = "avx2")] Numbers, Numbers, sample sample_vartime);

/// The coefficients.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Numbers(pub(super) __m256i);

/// The products of the coefficients with even and with odd numbers.
#[derive(Clone, Copy)]
pub(super) struct Products {
    even: __m256i,
    odd: __m256i,
}

impl Vector for Numbers {
    const POLYS: usize = 1;
    type Products = Products;

    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        // SAFETY: the caller's, as in every function here.
        unsafe { Numbers(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut i32) {
        // SAFETY: the caller's.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn load_each(from: *const Poly, at: usize) -> Self {
        // SAFETY: the caller's.
        unsafe { Self::load(from.cast::<i32>().add(at)) }
    }

    #[inline(always)]
    unsafe fn store_each(self, to: *mut Poly, at: usize) {
        // SAFETY: the caller's.
        unsafe { self.store(to.cast::<i32>().add(at)) }
    }

    #[inline(always)]
    unsafe fn splat(number: i32) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_set1_epi32(number)) }
    }

    #[inline(always)]
    unsafe fn each(numbers: &[i32; 8]) -> Self {
        // SAFETY: the caller's.
        unsafe { Self::load(numbers.as_ptr()) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_add_epi32(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_sub_epi32(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn mul_low(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_mullo_epi32(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_and_si256(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_or_si256(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn greater(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_cmpgt_epi32(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn shift_right<const BITS: i32>(self) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_srai_epi32::<BITS>(self.0)) }
    }

    #[inline(always)]
    unsafe fn products(self, other: Self) -> Products {
        // SAFETY: the caller's.
        unsafe {
            let odd = [_mm256_srli_epi64::<32>(self.0), _mm256_srli_epi64::<32>(other.0)];
            Products { even: _mm256_mul_epi32(self.0, other.0), odd: _mm256_mul_epi32(odd[0], odd[1]) }
        }
    }

    #[inline(always)]
    unsafe fn products_of_low(products: Products, other: Self) -> Products {
        // SAFETY: the caller's.
        unsafe {
            Products {
                even: _mm256_mul_epi32(products.even, other.0),
                odd: _mm256_mul_epi32(products.odd, _mm256_srli_epi64::<32>(other.0)),
            }
        }
    }

    #[inline(always)]
    unsafe fn add_products(products: Products, others: Products) -> Products {
        // SAFETY: the caller's.
        unsafe {
            Products {
                even: _mm256_add_epi64(products.even, others.even),
                odd: _mm256_add_epi64(products.odd, others.odd),
            }
        }
    }

    #[inline(always)]
    unsafe fn sub_products(products: Products, others: Products) -> Products {
        // SAFETY: the caller's.
        unsafe {
            Products {
                even: _mm256_sub_epi64(products.even, others.even),
                odd: _mm256_sub_epi64(products.odd, others.odd),
            }
        }
    }

    #[inline(always)]
    unsafe fn high_halves(products: Products) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(_mm256_blend_epi32::<0xaa>(_mm256_srli_epi64::<32>(products.even), products.odd)) }
    }

    #[inline(always)]
    unsafe fn pair<const BITS: i32>(self) -> Self {
        // SAFETY: the caller's.
        unsafe {
            let first = _mm256_blend_epi32::<0xaa>(self.0, _mm256_setzero_si256());
            // The second number, at its place behind the first.
            let second = _mm256_sll_epi64(_mm256_srli_epi64::<32>(self.0), _mm_cvtsi32_si128(BITS));
            Numbers(_mm256_or_si256(first, second))
        }
    }

    #[inline(always)]
    unsafe fn fields<const BITS: usize>(from: *const u8) -> Self {
        // SAFETY: the caller's: there are `BITS` bytes. The second sixteen are the last ones.
        unsafe {
            let low = _mm_loadu_si128(from.cast());
            let high = _mm_loadu_si128(from.add(BITS - 16).cast());
            let both = _mm256_set_m128i(high, low);
            let [places, shifts] = const { field_places(BITS) };
            let numbers = _mm256_shuffle_epi8(both, Self::each(&places).0);
            let numbers = _mm256_srlv_epi32(numbers, Self::each(&shifts).0);
            Numbers(_mm256_and_si256(numbers, _mm256_set1_epi32((1 << BITS) - 1)))
        }
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
}

/// The places of the bytes of each of eight numbers, four numbers from the first of 16 bytes and four to the last, and by how many bits the numbers
/// are shifted there.
const fn field_places(bits: usize) -> [[i32; 8]; 2] {
    let mut all = [[0; 8]; 2];
    let mut i = 0;
    while i < 8 {
        let bit = bits * i;
        let first = if i < 4 { bit / 8 } else { bit / 8 - (bits - 16) } as i32;
        all[0][i] = first | (first + 1) << 8 | (first + 2) << 16 | ((first + 3) & 15) << 24;
        all[1][i] = (bit % 8) as i32;
        i += 1;
    }
    all
}

/// For eight bits, the places of those that are set.
static PLACES: [[u8; 8]; 256] = {
    let mut places = [[0; 8]; 256];
    let mut bits = 0;
    while bits < 256 {
        let (mut at, mut bit) = (0, 0);
        while bit < 8 {
            if bits >> bit & 1 == 1 {
                places[bits][at] = bit as u8;
                at += 1;
            }
            bit += 1;
        }
        bits += 1;
    }
    places
};

/// Takes 8 numbers of 23 bits at a time, and moves those below q to the front.
#[target_feature(enable = "avx2")]
pub(super) fn sample_vartime(bytes: &[u8], poly: &mut Poly, have: usize) -> usize {
    let mut have = have;
    let mut rest = bytes;
    let spread = _mm256_setr_epi8(
        0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1, 4, 5, 6, -1, 7, 8, 9, -1, 10, 11, 12, -1, 13,
        14, 15, -1,
    );
    // A vector is written whole.
    while let Some((now, later)) = rest.split_first_chunk::<24>()
        && have + 8 <= N
    {
        // SAFETY: sixteen bytes from 0 on, and from 8 on, are inside the 24.
        let both = unsafe {
            let low = _mm_loadu_si128(now.as_ptr().cast());
            let high = _mm_loadu_si128(now.as_ptr().add(8).cast());
            _mm256_set_m128i(high, low)
        };
        let numbers = _mm256_and_si256(_mm256_shuffle_epi8(both, spread), _mm256_set1_epi32(0x7f_ffff));
        let good = _mm256_cmpgt_epi32(_mm256_set1_epi32(Q), numbers);
        let bits = _mm256_movemask_ps(_mm256_castsi256_ps(good)) as u32;
        // SAFETY: the table has 256 rows, and there is room for a whole vector behind what there was.
        unsafe {
            let places = _mm256_cvtepu8_epi32(_mm_loadl_epi64(PLACES[bits as usize].as_ptr().cast()));
            let front = _mm256_permutevar8x32_epi32(numbers, places);
            _mm256_storeu_si256(poly.0.as_mut_ptr().add(have).cast(), front);
        }
        have += bits.count_ones() as usize;
        rest = later;
    }
    coding::sample_vartime(rest, poly, have)
}
