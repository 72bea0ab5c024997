//! Four elements of a field side by side, in limbs of 48 bits.
//!
//! A product has limbs below 2^48 + 2^14, and an operand of a multiplication limbs below 2^52, so that sums and differences need no
//! carries between multiplications. Comments here give the bound of a limb in units of 2^48. The product of the bounds of two
//! factors is at most 64. A difference has a multiple of the prime added to it whose limbs are above those that are taken away.
//!
//! Ref. J. A. Solinas, "Generalized Mersenne numbers", 1999 (the folding of the upper limbs); SP 800-186 §G.1.
//!
//! # Safety
//! The processor has AVX-512F, VL and IFMA, because the functions of the row are entered with these features. Loads are of whole arrays.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use zeroize::Zeroize;

use super::super::super::field::{Element, Modulus};
use super::super::super::limbs::{add, subtract, times_power_of_two};
use super::super::super::primes::{P384Field, P521Field};
use super::super::x86_64_adx::Field as P256Field;

/// Elements side by side.
pub(super) const LANES: usize = 4;
/// Bits of a limb.
pub(super) const BITS: usize = 48;
const MASK: i64 = (1 << BITS) - 1;

/// A prime of `N` 64-bit limbs by the value of 2^(48 `L`) modulo it: the sum over all limbs of a sign times 2^(48 i), and another
/// sign times 2^(48 i + [`SHIFT`](Prime::SHIFT)).
pub(super) trait Prime<const N: usize, const L: usize>: Modulus<N> {
    /// The signs without the shift.
    const PLAIN: [i8; L];
    /// The signs with the shift.
    const SHIFTED: [i8; L];
    /// The bits of the shift.
    const SHIFT: usize;
}

impl Prime<4, 6> for P256Field {
    // 2^288 is -2^192 - 2^128 - 2^96 + 2^32 + 1.
    const PLAIN: [i8; 6] = [1, 0, -1, 0, -1, 0];
    const SHIFTED: [i8; 6] = [1, 0, -1, 0, 0, 0];
    const SHIFT: usize = 32;
}

impl Prime<6, 8> for P384Field {
    // 2^384 is 2^128 + 2^96 - 2^32 + 1.
    const PLAIN: [i8; 8] = [1, 0, 1, 0, 0, 0, 0, 0];
    const SHIFTED: [i8; 8] = [-1, 0, 1, 0, 0, 0, 0, 0];
    const SHIFT: usize = 32;
}

impl Prime<9, 11> for P521Field {
    // 2^528 is 2^7.
    const PLAIN: [i8; 11] = [0; 11];
    const SHIFTED: [i8; 11] = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    const SHIFT: usize = 7;
}

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
            // The limbs below the highest fit in N words with their carries.
            let (mut low, mut highest, mut carry) = ([0; N], [0; N], 0u128);
            let mut bits = 0;
            let mut words = low.iter_mut();
            for row in &rows[..L - 1] {
                carry += u128::from(row[lane]) << bits;
                bits += BITS;
                if bits >= 64
                    && let Some(word) = words.next()
                {
                    *word = carry as u64;
                    carry >>= 64;
                    bits -= 64;
                }
            }
            for word in words {
                *word = carry as u64;
                carry >>= 64;
            }
            highest[0] = rows[L - 1][lane];
            let weight = const { power_of_two::<M, N>(BITS * (L - 1)) };
            *element = Element::new(&low) + Element::new(&highest) * Element::new(&weight);
            low.zeroize();
            highest.zeroize();
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
        let (mut low, mut high) = ([_mm256_setzero_si256(); L], [_mm256_setzero_si256(); L]);
        macro_rules! columns {
            ($($k:literal)+) => {$(
                if $k < L {
                    low[$k] = column::<$k, L>(&self.0, &other.0);
                } else if $k < 2 * L {
                    high[$k - L] = column::<$k, L>(&self.0, &other.0);
                }
            )+};
        }
        columns!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21);
        macro_rules! fold {
            ($($k:literal)+) => {$(
                if $k < L {
                    fold::<M, $k, N, L>(&mut low, &mut high);
                }
            )+};
        }
        fold!(10 9 8 7 6 5 4 3 2 1 0);
        Self::of(carry::<M, N, L>(low))
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

/// Returns a column of a product: the low halves of the limbs' products that begin there, and the high halves, which begin four bits above the
/// limb, of those before.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
fn column<const K: usize, const L: usize>(a: &[__m256i; L], b: &[__m256i; L]) -> __m256i {
    let (mut low, mut high) = (_mm256_setzero_si256(), _mm256_setzero_si256());
    for i in 0..L {
        if i <= K && K - i < L {
            low = _mm256_madd52lo_epu64(low, a[i], b[K - i]);
        }
        if i < K && K - 1 - i < L {
            high = _mm256_madd52hi_epu64(high, a[i], b[K - 1 - i]);
        }
    }
    _mm256_add_epi64(low, _mm256_slli_epi64::<4>(high))
}

/// Adds the upper column `K` to those that it counts for as much as.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
fn fold<M: Prime<N, L>, const K: usize, const N: usize, const L: usize>(
    low: &mut [__m256i; L],
    high: &mut [__m256i; L],
) {
    let plain = high[K];
    // The shifted column is in two parts, of which the second belongs to the next limb.
    let rest = BITS - M::SHIFT;
    let mask = _mm256_set1_epi64x((1 << rest) - 1);
    let first = shift_left(_mm256_and_si256(plain, mask), M::SHIFT);
    let second = _mm256_srav_epi64(plain, _mm256_set1_epi64x(rest as i64));
    for i in 0..L {
        let at = K + i;
        add_signed(low, high, at, plain, M::PLAIN[i]);
        add_signed(low, high, at, first, M::SHIFTED[i]);
        add_signed(low, high, at + 1, second, M::SHIFTED[i]);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
fn add_signed<const L: usize>(
    low: &mut [__m256i; L],
    high: &mut [__m256i; L],
    at: usize,
    value: __m256i,
    sign: i8,
) {
    if sign != 0 {
        let column = if at < L { &mut low[at] } else { &mut high[at - L] };
        *column = match sign {
            1 => _mm256_add_epi64(*column, value),
            _ => _mm256_sub_epi64(*column, value),
        };
    }
}

/// Carries the columns of a product, each below 2^60 + 2^48 and above -2^60.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
fn carry<M: Prime<N, L>, const N: usize, const L: usize>(mut t: [__m256i; L]) -> [__m256i; L] {
    let mask = _mm256_set1_epi64x(MASK);
    // No column is negative after this.
    let zero = const { multiple_of_prime::<M, N, L>(1 << 60) };
    for i in 0..L {
        t[i] = _mm256_add_epi64(t[i], _mm256_set1_epi64x(zero[i]));
    }
    let above = _mm256_srai_epi64::<{ BITS as u32 }>(t[L - 1]);
    t[L - 1] = _mm256_and_si256(t[L - 1], mask);
    let shifted = shift_left(above, M::SHIFT);
    for i in 0..L {
        t[i] = match M::PLAIN[i] {
            1 => _mm256_add_epi64(t[i], above),
            -1 => _mm256_sub_epi64(t[i], above),
            _ => t[i],
        };
        t[i] = match M::SHIFTED[i] {
            1 => _mm256_add_epi64(t[i], shifted),
            -1 => _mm256_sub_epi64(t[i], shifted),
            _ => t[i],
        };
    }
    let mut carried = t;
    for i in 0..L {
        if i + 1 < L {
            carried[i] = _mm256_and_si256(t[i], mask);
        }
        if i > 0 {
            let carry = _mm256_srai_epi64::<{ BITS as u32 }>(t[i - 1]);
            carried[i] = _mm256_add_epi64(carried[i], carry);
        }
    }
    carried
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
fn shift_left(value: __m256i, bits: usize) -> __m256i {
    _mm256_sllv_epi64(value, _mm256_set1_epi64x(bits as i64))
}

/// Returns limb `i` of 48 bits of a number.
const fn limb_of<const N: usize>(number: &[u64; N], i: usize) -> i64 {
    let (word, shift) = (i * BITS / 64, i * BITS % 64);
    let low = if word < N { number[word] >> shift } else { 0 };
    let high = if word + 1 < N { number[word + 1] << 1 << (63 - shift) } else { 0 };
    (low | high) as i64 & MASK
}

/// Returns 2^`exponent` as a number below the prime.
const fn power_of_two<M: Modulus<N>, const N: usize>(exponent: usize) -> [u64; N] {
    let mut one = [0; N];
    one[0] = 1;
    times_power_of_two(&one, exponent, &M::MODULUS)
}

/// Returns a multiple of the prime whose limbs are at most `most`, and above that less 2^48.
const fn multiple_of_prime<M: Modulus<N>, const N: usize, const L: usize>(most: i64) -> [i64; L] {
    // The number whose limbs are all `most`, modulo the prime, is taken away.
    let mut number = [0; N];
    number[0] = most as u64;
    let (mut rest, mut i) = ([0; N], 0);
    while i < L {
        let (sum, carry) = add(&times_power_of_two(&rest, BITS, &M::MODULUS), &number);
        let (less, borrow) = subtract(&sum, &M::MODULUS);
        rest = if carry >= borrow { less } else { sum };
        i += 1;
    }
    let (mut limbs, mut i) = ([0; L], 0);
    while i < L {
        limbs[i] = most - limb_of(&rest, i);
        i += 1;
    }
    limbs
}
