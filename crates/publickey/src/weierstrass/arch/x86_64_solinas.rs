//! Multiplication modulo primes by which a power of two is a short sum, in limbs of 48 bits, for vectors of several elements.
//!
//! A product has limbs below 2^48 + 2^14, and an operand of a multiplication limbs below 2^52, so that sums and differences need no
//! carries between multiplications. The product of the bounds of two factors is at most 64, in units of 2^48.
//!
//! Ref. J. A. Solinas, "Generalized Mersenne numbers", 1999 (the folding of the upper limbs); SP 800-186 §G.1.
//!
//! # Safety
//! The functions of a [`Vector`] need the features of its type: whoever names one calls from a function that has them.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use zeroize::Zeroize;

use super::super::field::{Element, Modulus};
use super::super::limbs::{add, subtract, times_power_of_two};
use super::super::primes::{P384Field, P521Field};
use super::x86_64_adx::Field as P256Field;

/// Bits of a limb.
pub(in super::super) const BITS: usize = 48;
pub(in super::super) const MASK: i64 = (1 << BITS) - 1;

/// A prime of `N` 64-bit limbs by the value of 2^(48 `L`) modulo it: the sum over all limbs of a sign times 2^(48 i), and another
/// sign times 2^(48 i + [`SHIFT`](Prime::SHIFT)).
pub(in super::super) trait Prime<const N: usize, const L: usize>: Modulus<N> {
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

/// A vector with a limb of each of several elements.
///
/// # Safety
/// Every function: the processor has the features of the type.
pub(in super::super) trait Vector: Copy {
    unsafe fn splat(number: i64) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn and(self, other: Self) -> Self;
    unsafe fn shift_left(self, bits: usize) -> Self;
    /// Shifts right, with copies of the sign.
    unsafe fn shift_right(self, bits: usize) -> Self;
    /// Adds the low, and the high, 52 bits of products of numbers of 52 bits.
    unsafe fn multiply_low(self, a: Self, b: Self) -> Self;
    unsafe fn multiply_high(self, a: Self, b: Self) -> Self;
}

macro_rules! vector {
    ($vector:ty, $splat:ident, $add:ident, $sub:ident, $and:ident, $left:ident, $right:ident, $low:ident, $high:ident) => {
        impl Vector for $vector {
            #[inline(always)]
            unsafe fn splat(number: i64) -> Self {
                // SAFETY: the caller's, as in every function here.
                unsafe { $splat(number) }
            }

            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { $add(self, other) }
            }

            #[inline(always)]
            unsafe fn sub(self, other: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { $sub(self, other) }
            }

            #[inline(always)]
            unsafe fn and(self, other: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { $and(self, other) }
            }

            #[inline(always)]
            unsafe fn shift_left(self, bits: usize) -> Self {
                // SAFETY: the caller's.
                unsafe { $left(self, $splat(bits as i64)) }
            }

            #[inline(always)]
            unsafe fn shift_right(self, bits: usize) -> Self {
                // SAFETY: the caller's.
                unsafe { $right(self, $splat(bits as i64)) }
            }

            #[inline(always)]
            unsafe fn multiply_low(self, a: Self, b: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { $low(self, a, b) }
            }

            #[inline(always)]
            unsafe fn multiply_high(self, a: Self, b: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { $high(self, a, b) }
            }
        }
    };
}

vector!(
    __m256i,
    _mm256_set1_epi64x,
    _mm256_add_epi64,
    _mm256_sub_epi64,
    _mm256_and_si256,
    _mm256_sllv_epi64,
    _mm256_srav_epi64,
    _mm256_madd52lo_epu64,
    _mm256_madd52hi_epu64
);
vector!(
    __m512i,
    _mm512_set1_epi64,
    _mm512_add_epi64,
    _mm512_sub_epi64,
    _mm512_and_si512,
    _mm512_sllv_epi64,
    _mm512_srav_epi64,
    _mm512_madd52lo_epu64,
    _mm512_madd52hi_epu64
);

/// The columns of products: those below 2^(48 `L`), and those from there on.
#[derive(Clone, Copy)]
pub(in super::super) struct Columns<V, const L: usize> {
    low: [V; L],
    high: [V; L],
}

impl<V: Vector, const L: usize> Columns<V, L> {
    /// Multiplies elements.
    #[inline(always)]
    pub(in super::super) unsafe fn new(a: &[V; L], b: &[V; L]) -> Self {
        // SAFETY: the caller's.
        unsafe {
            let mut columns = Columns { low: [V::splat(0); L], high: [V::splat(0); L] };
            macro_rules! columns {
                ($($k:literal)+) => {$(
                    if $k < L {
                        columns.low[$k] = column::<V, $k, L>(a, b);
                    } else if $k < 2 * L {
                        columns.high[$k - L] = column::<V, $k, L>(a, b);
                    }
                )+};
            }
            columns!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21);
            columns
        }
    }

    /// Adds other products. The sum of the bounds of all is at most 64.
    #[inline(always)]
    pub(in super::super) unsafe fn plus(mut self, other: &Self) -> Self {
        for i in 0..L {
            // SAFETY: the caller's.
            unsafe {
                self.low[i] = self.low[i].add(other.low[i]);
                self.high[i] = self.high[i].add(other.high[i]);
            }
        }
        self
    }

    /// Returns the limbs of the products, whose bound is one.
    #[inline(always)]
    pub(in super::super) unsafe fn reduce<M: Prime<N, L>, const N: usize>(mut self) -> [V; L] {
        // SAFETY: the caller's.
        unsafe {
            macro_rules! fold {
                ($($k:literal)+) => {$(
                    if $k < L {
                        fold::<V, M, $k, N, L>(&mut self.low, &mut self.high);
                    }
                )+};
            }
            fold!(10 9 8 7 6 5 4 3 2 1 0);
            carry::<V, M, N, L>(self.low)
        }
    }
}

/// Returns a column of a product: the low halves of the limbs' products that begin there, and the high halves, which begin four bits above the
/// limb, of those before.
#[inline(always)]
unsafe fn column<V: Vector, const K: usize, const L: usize>(a: &[V; L], b: &[V; L]) -> V {
    // SAFETY: the caller's.
    unsafe {
        let (mut low, mut high) = (V::splat(0), V::splat(0));
        for i in 0..L {
            if i <= K && K - i < L {
                low = low.multiply_low(a[i], b[K - i]);
            }
            if i < K && K - 1 - i < L {
                high = high.multiply_high(a[i], b[K - 1 - i]);
            }
        }
        low.add(high.shift_left(4))
    }
}

/// Adds the upper column `K` to those that it counts for as much as.
#[inline(always)]
unsafe fn fold<V: Vector, M: Prime<N, L>, const K: usize, const N: usize, const L: usize>(
    low: &mut [V; L],
    high: &mut [V; L],
) {
    let plain = high[K];
    // The shifted column is in two parts, of which the second belongs to the next limb.
    let rest = BITS - M::SHIFT;
    // SAFETY: the caller's.
    unsafe {
        let first = plain.and(V::splat((1 << rest) - 1)).shift_left(M::SHIFT);
        let second = plain.shift_right(rest);
        for i in 0..L {
            let at = K + i;
            add_signed(low, high, at, plain, M::PLAIN[i]);
            add_signed(low, high, at, first, M::SHIFTED[i]);
            add_signed(low, high, at + 1, second, M::SHIFTED[i]);
        }
    }
}

#[inline(always)]
unsafe fn add_signed<V: Vector, const L: usize>(
    low: &mut [V; L],
    high: &mut [V; L],
    at: usize,
    value: V,
    sign: i8,
) {
    if sign != 0 {
        let column = if at < L { &mut low[at] } else { &mut high[at - L] };
        // SAFETY: the caller's.
        *column = unsafe { if sign == 1 { column.add(value) } else { column.sub(value) } };
    }
}

/// Carries columns, each below 2^60 + 2^48 and above -2^60. Each of those that the prime's negative signs belong to is above -2^59.
#[inline(always)]
pub(in super::super) unsafe fn carry<V: Vector, M: Prime<N, L>, const N: usize, const L: usize>(
    mut t: [V; L],
) -> [V; L] {
    // No column is negative after this.
    let zero = const { multiple_of_prime::<M, N, L>(1 << 60) };
    // SAFETY: the caller's.
    unsafe {
        let mask = V::splat(MASK);
        for i in 0..L {
            t[i] = t[i].add(V::splat(zero[i]));
        }
        let above = t[L - 1].shift_right(BITS);
        t[L - 1] = t[L - 1].and(mask);
        let shifted = above.shift_left(M::SHIFT);
        for i in 0..L {
            t[i] = match M::PLAIN[i] {
                1 => t[i].add(above),
                -1 => t[i].sub(above),
                _ => t[i],
            };
            t[i] = match M::SHIFTED[i] {
                1 => t[i].add(shifted),
                -1 => t[i].sub(shifted),
                _ => t[i],
            };
        }
        let mut carried = t;
        for i in 0..L {
            if i + 1 < L {
                carried[i] = t[i].and(mask);
            }
            if i > 0 {
                carried[i] = carried[i].add(t[i - 1].shift_right(BITS));
            }
        }
        carried
    }
}

/// Returns the element of limbs that may be a little more than 48 bits.
pub(in super::super) fn element<M: Modulus<N>, const N: usize, const L: usize>(
    limbs: &[u64; L],
) -> Element<M, N> {
    // The limbs below the highest fit in N words with their carries.
    let (mut low, mut highest, mut carry) = ([0; N], [0; N], 0u128);
    let mut bits = 0;
    let mut words = low.iter_mut();
    for limb in &limbs[..L - 1] {
        carry += u128::from(*limb) << bits;
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
    highest[0] = limbs[L - 1];
    let weight = const { power_of_two::<M, N>(BITS * (L - 1)) };
    let element = Element::new(&low) + Element::new(&highest) * Element::new(&weight);
    low.zeroize();
    highest.zeroize();
    element
}

/// Returns limb `i` of 48 bits of a number.
pub(in super::super) const fn limb_of<const N: usize>(number: &[u64; N], i: usize) -> i64 {
    let (word, shift) = (i * BITS / 64, i * BITS % 64);
    let low = if word < N { number[word] >> shift } else { 0 };
    let high = if word + 1 < N { number[word + 1] << 1 << (63 - shift) } else { 0 };
    (low | high) as i64 & MASK
}

/// Returns the limbs of a number.
pub(in super::super) const fn limbs_of<const N: usize, const L: usize>(number: &[u64; N]) -> [i64; L] {
    let (mut limbs, mut i) = ([0; L], 0);
    while i < L {
        limbs[i] = limb_of(number, i);
        i += 1;
    }
    limbs
}

/// Returns 2^`exponent` as a number below the prime.
pub(in super::super) const fn power_of_two<M: Modulus<N>, const N: usize>(exponent: usize) -> [u64; N] {
    let mut one = [0; N];
    one[0] = 1;
    times_power_of_two(&one, exponent, &M::MODULUS)
}

/// Returns a multiple of the prime whose limbs are at most `most`, and above that less 2^48.
pub(in super::super) const fn multiple_of_prime<M: Modulus<N>, const N: usize, const L: usize>(
    most: i64,
) -> [i64; L] {
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
