//! Four elements of a field side by side, in limbs of 48 bits.
//!
//! Comments here give the bound of a limb in units of 2^48. A difference has a multiple of the prime added to it whose limbs are above those that are
//! taken away.
//!
//! # Safety
//! The processor has AVX-512F, VL and IFMA, because the functions of the row are entered with these features. Loads are of whole arrays.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use zeroize::Zeroize;

use super::super::super::field::Element;
pub(super) use super::super::x86_64_solinas::Prime;
use super::super::x86_64_solinas::{BITS, Columns, element as of_limbs, limb_of, multiple_of_prime};

/// Elements side by side.
pub(super) const LANES: usize = 4;

/// Four elements, one in each lane.
pub(super) struct Fours<M, const N: usize, const L: usize>([__m256i; L], core::marker::PhantomData<M>);

impl<M, const N: usize, const L: usize> Clone for Fours<M, N, L> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<M, const N: usize, const L: usize> Copy for Fours<M, N, L> {}

impl<M: Prime<N, L>, const N: usize, const L: usize> Fours<M, N, L> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
    fn of(limbs: [__m256i; L]) -> Self {
        Fours(limbs, core::marker::PhantomData)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
    pub(super) fn zero() -> Self {
        Self::of([_mm256_setzero_si256(); L])
    }

    /// Takes an element for each lane.
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
    pub(super) fn new(elements: &[Element<M, N>; LANES]) -> Self {
        let mut numbers = elements.map(|element| element.number());
        let mut rows = [[0i64; LANES]; L];
        for (i, row) in rows.iter_mut().enumerate() {
            for (limb, number) in row.iter_mut().zip(&numbers) {
                *limb = limb_of(number, i);
            }
        }
        let mut fours = Self::zero();
        for i in 0..L {
            // SAFETY: see the head of this file.
            fours.0[i] = unsafe { _mm256_loadu_si256(rows[i].as_ptr().cast()) };
        }
        numbers.zeroize();
        rows.zeroize();
        fours
    }

    /// Returns the element of each lane.
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
    pub(super) fn elements(&self) -> [Element<M, N>; LANES] {
        let mut rows = [[0u64; LANES]; L];
        for i in 0..L {
            // SAFETY: see the head of this file.
            unsafe { _mm256_storeu_si256(rows[i].as_mut_ptr().cast(), self.0[i]) };
        }
        let mut elements = [Element::ZERO; LANES];
        for (lane, element) in elements.iter_mut().enumerate() {
            let mut limbs = [0; L];
            for i in 0..L {
                limbs[i] = rows[i][lane];
            }
            *element = of_limbs::<M, N, L>(&limbs);
            limbs.zeroize();
        }
        rows.zeroize();
        elements
    }

    /// Adds limb by limb, and so the bounds.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
    pub(super) fn plus(&self, other: &Self) -> Self {
        let mut sum = *self;
        for i in 0..L {
            sum.0[i] = _mm256_add_epi64(self.0[i], other.0[i]);
        }
        sum
    }

    /// Subtracts an element with a bound of `Q` - 1, and adds `Q` to the bound.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
    pub(super) fn minus<const Q: u32>(&self, other: &Self) -> Self {
        let mut difference = *self;
        let zero = const { multiple_of_prime::<M, N, L>(((Q as i64) << BITS) + (1 << 16)) };
        for i in 0..L {
            let from = _mm256_add_epi64(self.0[i], _mm256_set1_epi64x(zero[i]));
            difference.0[i] = _mm256_sub_epi64(from, other.0[i]);
        }
        difference
    }

    /// Returns the lanes in another order, which has two bits for each of them, from lane 0 on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
    pub(super) fn permute<const ORDER: i32>(&self) -> Self {
        let mut permuted = *self;
        for i in 0..L {
            permuted.0[i] = _mm256_permute4x64_epi64::<ORDER>(self.0[i]);
        }
        permuted
    }

    /// Returns `self`, or `other` in the lanes of a set, which has two bits for each lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
    pub(super) fn blend<const SET: i32>(&self, other: &Self) -> Self {
        let mut blended = *self;
        for i in 0..L {
            blended.0[i] = _mm256_blend_epi32::<SET>(self.0[i], other.0[i]);
        }
        blended
    }

    /// Returns `self`, or `other` in the lanes of the mask.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
    pub(super) fn select(&self, other: &Self, mask: __mmask8) -> Self {
        let mut chosen = *self;
        for i in 0..L {
            chosen.0[i] = _mm256_mask_mov_epi64(self.0[i], mask, other.0[i]);
        }
        chosen
    }

    /// Returns the products, whose bound is one.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
    pub(super) fn mul(&self, other: &Self) -> Self {
        // SAFETY: see the head of this file.
        Self::of(unsafe { Columns::new(&self.0, &other.0).reduce::<M, N>() })
    }
}

#[cfg(test)]
impl<M: Prime<N, L>, const N: usize, const L: usize> Fours<M, N, L> {
    /// Takes the same limbs for each lane.
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
    pub(super) fn splat(limbs: &[i64; L]) -> Self {
        let mut fours = Self::zero();
        for (vector, limb) in fours.0.iter_mut().zip(limbs) {
            *vector = _mm256_set1_epi64x(*limb);
        }
        fours
    }

    /// Returns the greatest of all limbs, as numbers without a sign.
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
    pub(super) fn highest_limb(&self) -> u64 {
        let mut limbs = [0; LANES];
        let mut highest = 0;
        for vector in self.0 {
            // SAFETY: see the head of this file.
            unsafe { _mm256_storeu_si256(limbs.as_mut_ptr().cast(), vector) };
            highest = limbs.into_iter().fold(highest, u64::max);
        }
        highest
    }
}
