//! A point whose coordinates lie side by side in lanes, so that the multiplications of one step of a doubling or an addition are done together.
//!
//! Doublings have three such steps with the coordinate T = -3 Z^4, and additions five.
//!
//! Ref. H. Cohen, A. Miyaji, T. Ono, "Efficient elliptic curve exponentiation using mixed coordinates", 1998 (the
//! coordinates); D. Hankerson, A. Menezes, S. Vanstone, "Guide to Elliptic Curve Cryptography", 2004, §3.2.2.

use core::arch::x86_64::__mmask8;

use super::field::{Fours, Prime};

/// The point (X/Z^2, Y/Z^3). The lanes hold X, Y, Z and T, with bounds of 5, 3, 1 and 4.
pub(super) struct Point<M, const N: usize, const L: usize>(pub(super) Fours<M, N, L>);

/// A point to be added. The lanes hold X, Y, Z and Z^2, with bounds of 5, 4, 1 and 1.
pub(super) struct Addend<M, const N: usize, const L: usize>(pub(super) Fours<M, N, L>);

/// Returns the order of lanes for a permutation.
const fn order(lanes: [i32; 4]) -> i32 {
    lanes[0] | lanes[1] << 2 | lanes[2] << 4 | lanes[3] << 6
}

/// The lanes of a blend.
const LANE_0: i32 = 0b11;
const LANE_1: i32 = 0b1100;
const LANE_2: i32 = 0b11_0000;
const LANE_3: i32 = 0b1100_0000;
/// Exchanges neighbours.
const SWAP: i32 = order([1, 0, 3, 2]);

impl<M: Prime<N, L>, const N: usize, const L: usize> Point<M, N, L> {
    /// Returns `2 self`. The identity has Z = 0 and stays so.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
    pub(super) fn double(&self) -> Self {
        let point = self.0;
        // X^2, Y^2, 2 Y Z, Y^2.
        let xyyy = point.permute::<{ order([0, 1, 1, 1]) }>();
        let xyzy = xyyy.blend::<LANE_2>(&point);
        let first = xyyy.blend::<LANE_2>(&xyyy.plus(&xyyy)).mul(&xyzy);
        // With alpha = 3 X^2 + T and gamma = Y^2: alpha^2, 4 X gamma, nothing, 8 gamma^2.
        let twice = first.plus(&first);
        let alpha = twice.plus(&first).plus(&point.permute::<{ order([3, 3, 3, 3]) }>());
        let other = twice.blend::<LANE_0>(&alpha).blend::<LANE_3>(&twice.plus(&twice));
        let x = point.permute::<{ order([0, 0, 0, 0]) }>();
        let second = twice.blend::<LANE_0>(&alpha).blend::<LANE_1>(&x.plus(&x)).mul(&other);
        // The new X is alpha^2 less 8 X gamma, and 4 X gamma less that is for the new Y.
        let swapped = second.permute::<SWAP>();
        let new_x = second.minus::<3>(&swapped.plus(&swapped));
        let rest = second.plus(&second).plus(&second).minus::<2>(&swapped);
        // Nothing, alpha times that, nothing, 16 gamma^2 T.
        let factor = alpha.permute::<{ order([0, 0, 0, 0]) }>().blend::<LANE_3>(&point);
        let third = factor.mul(&rest.blend::<LANE_3>(&second.plus(&second)));
        let new_y = third.minus::<2>(&second.permute::<{ order([3, 3, 3, 3]) }>());
        Point(new_x.blend::<LANE_1>(&new_y).blend::<LANE_2>(&first).blend::<LANE_3>(&third))
    }

    /// Returns `self + other`, and the addend as a sum. The points must not be equal, nor one the other's negative, nor the identity.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
    pub(super) fn add(&self, addend: &Addend<M, N, L>) -> (Self, Self) {
        let (point, other) = (self.0, addend.0);
        // With indices of both points: U1 = X1 Z2^2, Y1 Z2, Z1^2, Y2 Z1.
        let a = point.permute::<{ order([0, 1, 2, 2]) }>();
        let b = other.permute::<{ order([3, 2, 2, 1]) }>().blend::<LANE_2>(&point);
        let first = a.mul(&b);
        // U2 = X2 Z1^2, S1 = Y1 Z2^3, Z1 Z2, S2 = Y2 Z1^3.
        let a = first.blend::<LANE_0>(&other).blend::<LANE_2>(&point);
        let b = other.permute::<{ order([3, 3, 2, 3]) }>();
        let b = b.blend::<{ LANE_0 | LANE_3 }>(&first.permute::<{ order([2, 2, 2, 2]) }>());
        let second = a.mul(&b);
        // H = U2 - U1, nothing, nothing, R = S2 - S1.
        let lesser = first.blend::<LANE_3>(&second.permute::<{ order([1, 1, 1, 1]) }>());
        let differences = second.minus::<2>(&lesser);
        // H^2, nothing, Z = Z1 Z2 H, R^2.
        let a = differences.blend::<LANE_2>(&second);
        let third = a.mul(&differences.permute::<{ order([0, 0, 0, 3]) }>());
        // H^3, V = U1 H^2, Z^2, Z2^4.
        let a = differences.blend::<LANE_1>(&first.permute::<SWAP>());
        let a = a.blend::<LANE_2>(&third).blend::<LANE_3>(&other);
        let b = third.permute::<{ order([0, 0, 2, 2]) }>().blend::<LANE_3>(&other);
        let fourth = a.mul(&b);
        // The new X is R^2 - H^3 - 2 V.
        let swapped = fourth.permute::<SWAP>();
        let square = third.permute::<{ order([3, 3, 3, 3]) }>();
        let new_x = square.minus::<4>(&fourth.plus(&swapped).plus(&swapped));
        let rest = fourth.plus(&fourth).plus(&fourth).plus(&swapped).minus::<2>(&square);
        // S1 H^3, R times V less the new X, nothing, Z^4.
        let a = second.permute::<{ order([1, 1, 1, 1]) }>();
        let a = a.blend::<LANE_1>(&differences.permute::<{ order([3, 3, 3, 3]) }>());
        let squares = fourth.permute::<{ order([2, 2, 2, 2]) }>();
        let b = fourth.blend::<LANE_1>(&rest).blend::<LANE_3>(&squares);
        let fifth = a.blend::<LANE_3>(&squares).mul(&b);
        let new_y = fifth.minus::<2>(&fifth.permute::<SWAP>());
        let sum = new_x.blend::<LANE_1>(&new_y).blend::<LANE_2>(&third);
        (Point(sum.blend::<LANE_3>(&minus_3(&fifth))), Point(other.blend::<LANE_3>(&minus_3(&fourth))))
    }

    /// Returns the point as an addend.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
    pub(super) fn addend(&self) -> Addend<M, N, L> {
        let z = self.0.permute::<{ order([2, 2, 2, 2]) }>();
        Addend(self.0.blend::<LANE_3>(&z.mul(&z)))
    }

    /// Returns `self`, or `other` if the mask has all lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
    pub(super) fn select(&self, other: &Self, mask: __mmask8) -> Self {
        Point(self.0.select(&other.0, mask))
    }
}

impl<M: Prime<N, L>, const N: usize, const L: usize> Addend<M, N, L> {
    /// Returns the addend as a point.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
    pub(super) fn point(&self) -> Point<M, N, L> {
        Point(self.0.blend::<LANE_3>(&minus_3(&self.0.mul(&self.0))))
    }

    /// Changes the sign of Y if the mask has all lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
    pub(super) fn negate_if(&mut self, mask: __mmask8) {
        self.0 = self.0.select(&Fours::zero().minus::<4>(&self.0), mask & 0b10);
    }
}

/// Returns minus three times each element, of a bound of one.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
fn minus_3<M: Prime<N, L>, const N: usize, const L: usize>(elements: &Fours<M, N, L>) -> Fours<M, N, L> {
    Fours::zero().minus::<4>(&elements.plus(elements).plus(elements))
}

/// Copies points.
macro_rules! plain {
    ($($point:ident)+) => {$(
        impl<M, const N: usize, const L: usize> Clone for $point<M, N, L> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<M, const N: usize, const L: usize> Copy for $point<M, N, L> {}
    )+};
}

plain! { Point Addend }
