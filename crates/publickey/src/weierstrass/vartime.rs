//! Sums of products for verification, whose operands are public. The time depends on all of them.
//!
//! Ref. D. Hankerson, A. Menezes, S. Vanstone, "Guide to Elliptic Curve Cryptography", 2004, algorithms 3.35 (digits), 3.22
//! (addition in Jacobian coordinates).

use super::curve::{BaseTable, Params};
use super::digits::{self, digit};
use super::field::Element;
use super::multiply::base_multiple_vartime;
use super::point::{Affine, Jacobian};

/// The width of a digit: digits are odd and below 2^4.
const WIDTH: usize = 5;
/// The odd multiples of a point that the digits choose from.
const MULTIPLES: usize = 1 << (WIDTH - 2);
/// The places of the longest scalar's digits.
const PLACES: usize = 64 * 9 + 1;

/// Returns `a` times the base point plus `b` times a point.
pub(crate) fn double_base_vartime<C: Params<N>, const N: usize>(
    a: &[u64; N],
    b: &[u64; N],
    point: &Affine<C, N>,
) -> Jacobian<C, N> {
    let multiples = odd_multiples(point);
    let digits = sparse_digits(b);
    let mut sum = Jacobian::IDENTITY;
    for place in (0..=C::BITS).rev() {
        sum = sum.double();
        let digit = digits[place];
        if digit != 0 {
            let mut multiple = multiples[usize::from(digit.unsigned_abs()) / 2];
            multiple.y = multiple.y.select(&-multiple.y, 0u64.wrapping_sub(u64::from(digit < 0)));
            sum = sum.add_vartime(&multiple);
        }
    }
    add_base_vartime(sum, a)
}

/// Adds a scalar times the base point.
pub(crate) fn add_base_vartime<C: Params<N>, const N: usize>(
    point: Jacobian<C, N>,
    scalar: &[u64; N],
) -> Jacobian<C, N> {
    let BaseTable { window, groups, .. } = C::BASE;
    let mut sum = Jacobian::IDENTITY;
    for group in (0..groups).rev() {
        for _ in 0..if group + 1 < groups { window } else { 0 } {
            sum = sum.double();
        }
        for index in (group..digits::count(C::BITS, window)).step_by(groups) {
            let digit = digit(scalar, window, index);
            if digit.size != 0 {
                let mut multiple = base_multiple_vartime::<C, N>(index / groups, digit.size);
                multiple.negate_if(digit.negative);
                sum = sum.add_affine_vartime(&multiple);
            }
        }
    }
    sum.add_vartime(&point)
}

/// Returns the point times 1, 3, 5 and so on.
fn odd_multiples<C: Params<N>, const N: usize>(point: &Affine<C, N>) -> [Jacobian<C, N>; MULTIPLES] {
    let mut multiples = [Jacobian { x: point.x, y: point.y, z: Element::ONE }; MULTIPLES];
    let twice = multiples[0].double();
    for i in 1..MULTIPLES {
        multiples[i] = twice.add_vartime(&multiples[i - 1]);
    }
    multiples
}

/// Returns digits that are odd or zero, of which one in six is not zero on average. The sum of the digits times two to the power of
/// their place is the scalar.
fn sparse_digits<const N: usize>(scalar: &[u64; N]) -> [i8; PLACES] {
    let mut digits = [0; PLACES];
    let bit = |place: usize| scalar.get(place / 64).map_or(0, |limb| limb >> (place % 64) & 1);
    let (mut place, mut carry) = (0, 0);
    while place <= 64 * N {
        if bit(place) == carry {
            place += 1;
            continue;
        }
        let window = (0..WIDTH).fold(carry, |window, i| window + (bit(place + i) << i));
        carry = window >> (WIDTH - 1) & 1;
        digits[place] = window as i8 - ((carry as i8) << WIDTH);
        place += WIDTH;
    }
    digits
}

impl<C: Params<N>, const N: usize> Jacobian<C, N> {
    const IDENTITY: Self = Jacobian { x: Element::ONE, y: Element::ONE, z: Element::ZERO };

    /// Returns `self + other`.
    fn add_vartime(&self, other: &Self) -> Self {
        if other.z.zero_mask() != 0 {
            return *self;
        }
        if self.z.zero_mask() != 0 {
            return *other;
        }
        let (square, other_square) = (self.z.square(), other.z.square());
        let (x, other_x) = (self.x * other_square, other.x * square);
        let y = self.y * other_square * other.z;
        let other_y = other.y * square * self.z;
        self.add_scaled_vartime(x, y, other_x, other_y, self.z * other.z)
    }

    /// Returns `self + other` for a point that is not the identity.
    fn add_affine_vartime(&self, other: &Affine<C, N>) -> Self {
        if self.z.zero_mask() != 0 {
            return Jacobian { x: other.x, y: other.y, z: Element::ONE };
        }
        let square = self.z.square();
        self.add_scaled_vartime(self.x, self.y, other.x * square, other.y * square * self.z, self.z)
    }

    /// Ends an addition of two points whose coordinates were brought to the same `z`.
    #[inline(always)]
    fn add_scaled_vartime(
        &self,
        x: Element<C::Field, N>,
        y: Element<C::Field, N>,
        other_x: Element<C::Field, N>,
        other_y: Element<C::Field, N>,
        z: Element<C::Field, N>,
    ) -> Self {
        let (h, r) = (other_x - x, other_y - y);
        if h.zero_mask() != 0 {
            // The points are equal, or their sum is the identity.
            return if r.zero_mask() != 0 { self.double() } else { Jacobian::IDENTITY };
        }
        let square = h.square();
        let (cube, v) = (h * square, x * square);
        let sum_x = r.square() - cube - v.double();
        Jacobian { x: sum_x, y: r * (v - sum_x) - y * cube, z: z * h }
    }
}
