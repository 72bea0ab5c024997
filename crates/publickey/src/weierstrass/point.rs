//! Points, in three kinds of coordinates.
//!
//! Sums are computed in homogeneous coordinates by formulas that are complete: they hold for every pair of points, the identity
//! and equal points included, so no case depends on a secret. Doublings are computed in Jacobian coordinates, where they cost
//! less and hold for every point too, because no point of these curves has order two.
//!
//! Ref. J. Renes, C. Costello, L. Batina, "Complete addition formulas for prime order elliptic curves", 2016, algorithms
//! 4 and 5; D. J. Bernstein, "A software implementation of NIST P-224", 2001 (the doubling for a = -3).

use zeroize::Zeroize;

use super::curve::Params;
use super::field::Element;

/// The element of the coordinates' field of a curve.
pub(crate) type Coordinate<C, const N: usize> = Element<<C as Params<N>>::Field, N>;

/// The point (x, y); never the identity.
pub(crate) struct Affine<C: Params<N>, const N: usize> {
    pub(crate) x: Coordinate<C, N>,
    pub(crate) y: Coordinate<C, N>,
}

/// The point (X/Z, Y/Z), or the identity for Z = 0, where Y is not 0.
pub(crate) struct Projective<C: Params<N>, const N: usize> {
    pub(crate) x: Coordinate<C, N>,
    pub(crate) y: Coordinate<C, N>,
    pub(crate) z: Coordinate<C, N>,
}

/// The point (X/Z^2, Y/Z^3), or the identity for Z = 0, where X and Y are not 0.
pub(crate) struct Jacobian<C: Params<N>, const N: usize> {
    pub(crate) x: Coordinate<C, N>,
    pub(crate) y: Coordinate<C, N>,
    pub(crate) z: Coordinate<C, N>,
}

impl<C: Params<N>, const N: usize> Affine<C, N> {
    /// Returns x^3 - 3x + b.
    pub(crate) fn right_side(x: &Coordinate<C, N>) -> Coordinate<C, N> {
        x.square() * *x - x.triple() + C::B
    }

    /// Returns true for a point of the curve.
    pub(crate) fn is_on_curve(&self) -> bool {
        self.y.square() == Self::right_side(&self.x)
    }

    /// Changes the sign of y if the mask is all ones.
    #[inline(always)]
    pub(crate) fn negate_if(&mut self, mask: u64) {
        self.y = self.y.select(&-self.y, mask);
    }
}

impl<C: Params<N>, const N: usize> Projective<C, N> {
    pub(crate) const IDENTITY: Self = Projective { x: Element::ZERO, y: Element::ONE, z: Element::ZERO };

    /// Returns `self + other`: algorithm 4.
    #[inline]
    pub(crate) fn add(&self, other: &Self) -> Self {
        let xx = self.x * other.x;
        let yy = self.y * other.y;
        let zz = self.z * other.z;
        let xy = (self.x + self.y) * (other.x + other.y) - (xx + yy);
        let yz = (self.y + self.z) * (other.y + other.z) - (yy + zz);
        let xz = (self.x + self.z) * (other.x + other.z) - (xx + zz);
        Self::combine(xx, yy, zz, xy, yz, xz)
    }

    /// Returns `self + other` for a point that is not the identity: algorithm 5.
    #[inline]
    pub(crate) fn add_affine(&self, other: &Affine<C, N>) -> Self {
        let xx = self.x * other.x;
        let yy = self.y * other.y;
        let xy = (self.x + self.y) * (other.x + other.y) - (xx + yy);
        let yz = other.y * self.z + self.y;
        let xz = other.x * self.z + self.x;
        Self::combine(xx, yy, self.z, xy, yz, xz)
    }

    /// Computes a sum from the products of the coordinates; `xy` is x1 y2 + x2 y1, and so on.
    #[inline(always)]
    fn combine(
        xx: Coordinate<C, N>,
        yy: Coordinate<C, N>,
        zz: Coordinate<C, N>,
        xy: Coordinate<C, N>,
        yz: Coordinate<C, N>,
        xz: Coordinate<C, N>,
    ) -> Self {
        let zz3 = zz.triple();
        let u = (xz - C::B * zz).triple();
        let v = (C::B * xz - zz3 - xx).triple();
        let w = xx.triple() - zz3;
        let (less, more) = (yy - u, yy + u);
        Projective { x: xy * more - yz * v, y: more * less + w * v, z: yz * less + xy * w }
    }

    /// Returns `self`, or `other` if the mask is all ones.
    #[inline(always)]
    pub(crate) fn select(&self, other: &Self, mask: u64) -> Self {
        Projective {
            x: self.x.select(&other.x, mask),
            y: self.y.select(&other.y, mask),
            z: self.z.select(&other.z, mask),
        }
    }

    /// Doubles the point `times` times, at least once.
    #[inline]
    pub(crate) fn double_times(&self, times: usize) -> Self {
        let mut point = Jacobian::from(*self);
        for _ in 0..times {
            point = point.double();
        }
        point.into()
    }

    /// Returns the affine point, or (0, 0) for the identity.
    pub(crate) fn affine(&self) -> Affine<C, N> {
        let inverse = self.z.invert();
        Affine { x: self.x * inverse, y: self.y * inverse }
    }
}

impl<C: Params<N>, const N: usize> Jacobian<C, N> {
    /// Returns `2 self`.
    #[inline]
    pub(crate) fn double(&self) -> Self {
        let delta = self.z.square();
        let gamma = self.y.square();
        let beta = self.x * gamma;
        let alpha = ((self.x - delta) * (self.x + delta)).triple();
        let beta4 = beta.double().double();
        let x = alpha.square() - beta4.double();
        let z = (self.y + self.z).square() - gamma - delta;
        let y = alpha * (beta4 - x) - gamma.double().square().double();
        Jacobian { x, y, z }
    }
}

impl<C: Params<N>, const N: usize> From<Projective<C, N>> for Jacobian<C, N> {
    #[inline(always)]
    fn from(point: Projective<C, N>) -> Self {
        let identity = point.z.zero_mask();
        let x = (point.x * point.z).select(&Element::ONE, identity);
        let y = (point.y * point.z.square()).select(&Element::ONE, identity);
        Jacobian { x, y, z: point.z }
    }
}

impl<C: Params<N>, const N: usize> From<Jacobian<C, N>> for Projective<C, N> {
    #[inline(always)]
    fn from(point: Jacobian<C, N>) -> Self {
        Projective { x: point.x * point.z, y: point.y, z: point.z.square() * point.z }
    }
}

/// Copies and clears a point's coordinates.
macro_rules! plain {
    ($($point:ident { $($coordinate:ident),+ })+) => {$(
        impl<C: Params<N>, const N: usize> Clone for $point<C, N> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<C: Params<N>, const N: usize> Copy for $point<C, N> {}

        impl<C: Params<N>, const N: usize> Zeroize for $point<C, N> {
            fn zeroize(&mut self) {
                $(self.$coordinate.zeroize();)+
            }
        }
    )+};
}

plain! { Affine { x, y } Projective { x, y, z } Jacobian { x, y, z } }
