//! Elements of a prime field, in Montgomery form where the prime has no better one.

use std::marker::PhantomData;
use std::ops::{Add, Mul, Neg, Sub};

use zeroize::Zeroize;

use super::limbs;

/// A prime of `N` limbs, and its multiplication.
///
/// Numbers are kept as `a * R` modulo the prime, always below it. `R` is 2^(64 N), or 1 for a prime that needs no such
/// form.
pub(crate) trait Modulus<const N: usize>: Copy + 'static {
    /// The prime.
    const MODULUS: [u64; N];
    /// -1/prime modulo 2^64.
    const INVERSE: u64 = limbs::negative_inverse(Self::MODULUS[0]);
    /// `R`, which is the number one.
    const ONE: [u64; N] = limbs::power_of_two(64 * N, &Self::MODULUS);
    /// `R` squared.
    const SQUARE: [u64; N] = limbs::power_of_two(128 * N, &Self::MODULUS);

    /// Returns `a * b / R`.
    #[inline(always)]
    fn multiply(a: &[u64; N], b: &[u64; N]) -> [u64; N] {
        limbs::montgomery_multiply(a, b, &Self::MODULUS, Self::INVERSE)
    }

    /// Returns `a * a / R`.
    #[inline(always)]
    fn square(a: &[u64; N]) -> [u64; N] {
        Self::multiply(a, a)
    }

    /// Returns `a + b`.
    #[inline(always)]
    fn add(a: &[u64; N], b: &[u64; N]) -> [u64; N] {
        limbs::add_modulo(a, b, &Self::MODULUS)
    }

    /// Returns `a - b`.
    #[inline(always)]
    fn subtract(a: &[u64; N], b: &[u64; N]) -> [u64; N] {
        limbs::subtract_modulo(a, b, &Self::MODULUS)
    }

    /// Returns `1 / a` modulo the prime, or zero for zero, of a number that is below the prime.
    fn invert(a: &[u64; N]) -> [u64; N];
}

/// An element of the field of integers modulo `M`.
pub(crate) struct Element<M, const N: usize>(pub(crate) [u64; N], PhantomData<M>);

impl<M: Modulus<N>, const N: usize> Element<M, N> {
    pub(crate) const ZERO: Self = Element([0; N], PhantomData);
    pub(crate) const ONE: Self = Element(M::ONE, PhantomData);

    /// Takes limbs that are in the form of the field already.
    #[inline(always)]
    pub(crate) const fn from_raw(limbs: [u64; N]) -> Self {
        Element(limbs, PhantomData)
    }

    /// Takes any number of `N` limbs and reduces it.
    #[inline(always)]
    pub(crate) fn new(number: &[u64; N]) -> Self {
        Element::from_raw(M::multiply(number, &M::SQUARE))
    }

    /// Returns the number, which is below the prime.
    #[inline(always)]
    pub(crate) fn number(&self) -> [u64; N] {
        let mut one = [0; N];
        one[0] = 1;
        M::multiply(&self.0, &one)
    }

    #[inline(always)]
    pub(crate) fn square(&self) -> Self {
        Element::from_raw(M::square(&self.0))
    }

    #[inline(always)]
    pub(crate) fn double(self) -> Self {
        self + self
    }

    #[inline(always)]
    pub(crate) fn triple(self) -> Self {
        self.double() + self
    }

    /// Returns a mask of ones for zero.
    #[inline(always)]
    pub(crate) fn zero_mask(&self) -> u64 {
        limbs::zero_mask(&self.0)
    }

    /// Returns `self`, or `other` if the mask is all ones.
    #[inline(always)]
    pub(crate) fn select(&self, other: &Self, mask: u64) -> Self {
        Element::from_raw(limbs::select(&self.0, &other.0, mask))
    }

    /// Squares `times` times.
    #[inline]
    pub(crate) fn square_times(&self, times: usize) -> Self {
        let mut power = *self;
        for _ in 0..times {
            power = power.square();
        }
        power
    }

    /// Returns 1/self, or zero for zero.
    pub(crate) fn invert(&self) -> Self {
        let mut inverse = M::invert(&self.0);
        // The element is a R, and its inverse 1 / (a R); two multiplications by R squared make R / a of that.
        let result = Element::new(&M::multiply(&inverse, &M::SQUARE));
        inverse.zeroize();
        result
    }

    /// Inverts many elements with one inversion, in constant time. None of them may be zero.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(crate) fn invert_all<const LEN: usize>(elements: &mut [Self; LEN]) {
        // Each product is of all elements before it.
        let mut products = [Element::ONE; LEN];
        let mut product = Element::ONE;
        for (before, element) in products.iter_mut().zip(&*elements) {
            *before = product;
            product = product * *element;
        }
        let mut inverse = product.invert();
        for (before, element) in products.iter_mut().zip(elements).rev() {
            let next = inverse * *element;
            *element = inverse * *before;
            inverse = next;
            before.zeroize();
        }
        product.zeroize();
        inverse.zeroize();
    }

    /// Returns self^exponent. The time depends on the exponent, which is never a secret here, and not on `self`.
    pub(crate) fn power(&self, exponent: &[u64; N]) -> Self {
        const WINDOW: usize = 4;
        let mut powers = [Element::ONE; 1 << WINDOW];
        for i in 1..powers.len() {
            powers[i] = powers[i - 1] * *self;
        }
        let mut result = Element::ONE;
        for i in (0..64 / WINDOW * N).rev() {
            let digit = exponent[i * WINDOW / 64] >> (i * WINDOW % 64) & 0xf;
            result = result.square_times(WINDOW);
            if digit != 0 {
                result = result * powers[digit as usize];
            }
        }
        powers.iter_mut().for_each(Zeroize::zeroize);
        result
    }

    /// Returns a root of a square, for a prime that is 3 modulo 4; of another element, something else.
    pub(crate) fn root(&self) -> Self {
        // (p + 1) / 4 = (p - 3) / 4 + 1
        let mut exponent = M::MODULUS;
        for i in 0..N {
            let above = if i + 1 < N { exponent[i + 1] } else { 0 };
            exponent[i] = exponent[i] >> 2 | above << 62;
        }
        self.power(&exponent) * *self
    }
}

impl<M: Modulus<N>, const N: usize> Add for Element<M, N> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Element::from_raw(M::add(&self.0, &other.0))
    }
}

impl<M: Modulus<N>, const N: usize> Sub for Element<M, N> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Element::from_raw(M::subtract(&self.0, &other.0))
    }
}

impl<M: Modulus<N>, const N: usize> Neg for Element<M, N> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Element::ZERO - self
    }
}

impl<M: Modulus<N>, const N: usize> Mul for Element<M, N> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Element::from_raw(M::multiply(&self.0, &other.0))
    }
}

impl<M, const N: usize> Clone for Element<M, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<M, const N: usize> Copy for Element<M, N> {}

impl<M, const N: usize> Zeroize for Element<M, N> {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl<M: Modulus<N>, const N: usize> PartialEq for Element<M, N> {
    /// Compares in constant time.
    fn eq(&self, other: &Self) -> bool {
        (*self - *other).zero_mask() != 0
    }
}
