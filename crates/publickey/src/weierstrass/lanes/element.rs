//! The elements of a field that the formulas work on, one in each of eight lanes.

use core::arch::x86_64::*;

/// Lanes of a vector.
pub(super) const LANES: usize = 8;

/// Eight elements.
///
/// A product, and what was carried or folded, is an operand of multiplications. A sum or a difference has limbs of any size and sign: it is carried or
/// folded before.
///
/// # Safety
/// Every function: the processor has AVX-512F and IFMA.
pub(super) trait Field: Copy {
    /// A number below the prime, in 64-bit limbs.
    type Number;

    unsafe fn zero() -> Self;
    unsafe fn one() -> Self;
    /// Returns the curve's coefficient b.
    unsafe fn b() -> Self;
    /// Takes a number for each lane.
    unsafe fn new(numbers: &[Self::Number; LANES]) -> Self;
    /// Takes limbs as the tables of base points have them: those of a number in the form of one at a time.
    unsafe fn of_table(limbs: &[__m512i]) -> Self;
    /// Returns the number of each lane.
    unsafe fn numbers(&self) -> [Self::Number; LANES];
    /// Adds limb by limb.
    unsafe fn plus(&self, other: &Self) -> Self;
    /// Subtracts limb by limb.
    unsafe fn minus(&self, other: &Self) -> Self;
    /// Shifts each limb left.
    unsafe fn times_power<const POWER: u32>(&self) -> Self;
    /// Returns three times the element, limb by limb.
    unsafe fn triple(&self) -> Self;
    /// Makes an operand of a sum, which is not negative and less than four times what a product may be.
    unsafe fn carry(&self) -> Self;
    /// Makes an operand of any value.
    unsafe fn fold(&self) -> Self;
    /// Returns `self`, or `other` in the lanes of the mask.
    unsafe fn select(&self, other: &Self, mask: __mmask8) -> Self;
    /// Returns a mask of the lanes that hold zero.
    unsafe fn zero_mask(&self) -> __mmask8;
    unsafe fn mul(&self, other: &Self) -> Self;
    /// Returns `self * other + a * b`, with one reduction.
    unsafe fn mul_add(&self, other: &Self, a: &Self, b: &Self) -> Self;
    unsafe fn square(&self) -> Self;
}

/// Gives a type that has limbs in a field `0` the functions of [`Field`] that do the same with each limb, and implements that trait by the type's own functions of
/// the same names.
macro_rules! field {
    ([$($parameters:tt)*] $type:ty, $number:ty) => {
        impl $($parameters)* $type {
            #[inline]
            #[target_feature(enable = "avx512f,avx512ifma")]
            pub(super) fn plus(&self, other: &Self) -> Self {
                let mut sum = *self;
                for i in 0..sum.0.len() {
                    sum.0[i] = _mm512_add_epi64(self.0[i], other.0[i]);
                }
                sum
            }

            #[inline]
            #[target_feature(enable = "avx512f,avx512ifma")]
            pub(super) fn minus(&self, other: &Self) -> Self {
                let mut difference = *self;
                for i in 0..difference.0.len() {
                    difference.0[i] = _mm512_sub_epi64(self.0[i], other.0[i]);
                }
                difference
            }

            #[inline]
            #[target_feature(enable = "avx512f,avx512ifma")]
            pub(super) fn times_power<const POWER: u32>(&self) -> Self {
                let mut product = *self;
                for i in 0..product.0.len() {
                    product.0[i] = _mm512_slli_epi64::<POWER>(self.0[i]);
                }
                product
            }

            #[inline]
            #[target_feature(enable = "avx512f,avx512ifma")]
            pub(super) fn triple(&self) -> Self {
                self.times_power::<1>().plus(self)
            }

            #[inline]
            #[target_feature(enable = "avx512f,avx512ifma")]
            pub(super) fn select(&self, other: &Self, mask: __mmask8) -> Self {
                let mut chosen = *self;
                for i in 0..chosen.0.len() {
                    chosen.0[i] = _mm512_mask_mov_epi64(self.0[i], mask, other.0[i]);
                }
                chosen
            }
        }

        impl $($parameters)* $crate::weierstrass::lanes::element::Field for $type {
            type Number = $number;

            field!(@ zero() -> Self);
            field!(@ one() -> Self);
            field!(@ b() -> Self);
            field!(@ new(numbers: &[$number; LANES]) -> Self);
            field!(@ of_table(limbs: &[__m512i]) -> Self);
            field!(@ &self numbers() -> [$number; LANES]);
            field!(@ &self plus(other: &Self) -> Self);
            field!(@ &self minus(other: &Self) -> Self);
            field!(@ &self triple() -> Self);
            field!(@ &self carry() -> Self);
            field!(@ &self fold() -> Self);
            field!(@ &self select(other: &Self, mask: __mmask8) -> Self);
            field!(@ &self zero_mask() -> __mmask8);
            field!(@ &self mul(other: &Self) -> Self);
            field!(@ &self mul_add(other: &Self, a: &Self, b: &Self) -> Self);
            field!(@ &self square() -> Self);

            #[inline]
            #[target_feature(enable = "avx512f,avx512ifma")]
            unsafe fn times_power<const POWER: u32>(&self) -> Self {
                Self::times_power::<POWER>(self)
            }
        }
    };
    (@ $name:ident($($argument:ident: $type:ty),*) -> $result:ty) => {
        #[inline]
        #[target_feature(enable = "avx512f,avx512ifma")]
        unsafe fn $name($($argument: $type),*) -> $result {
            Self::$name($($argument),*)
        }
    };
    (@ &self $name:ident($($argument:ident: $type:ty),*) -> $result:ty) => {
        #[inline]
        #[target_feature(enable = "avx512f,avx512ifma")]
        unsafe fn $name(&self, $($argument: $type),*) -> $result {
            Self::$name(self, $($argument),*)
        }
    };
}
pub(super) use field;
