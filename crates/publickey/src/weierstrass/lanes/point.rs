//! Eight points side by side, by the formulas of one at a time.
//!
//! Ref. as in [`point`](super::super::point).
//!
//! # Safety
//! The functions of a [`Field`] need AVX-512F and IFMA, which every function here has.
#![allow(unsafe_code)]

use core::arch::x86_64::__mmask8;

use super::element::Field;

/// Affine points.
#[derive(Clone, Copy)]
pub(super) struct Affine<F> {
    pub(super) x: F,
    pub(super) y: F,
}

/// Points in homogeneous coordinates.
#[derive(Clone, Copy)]
pub(super) struct Projective<F> {
    pub(super) x: F,
    pub(super) y: F,
    pub(super) z: F,
}

/// Points in Jacobian coordinates, (X/Z^2, Y/Z^3).
#[derive(Clone, Copy)]
pub(super) struct Jacobian<F> {
    pub(super) x: F,
    pub(super) y: F,
    pub(super) z: F,
}

impl<F: Field> Jacobian<F> {
    /// Returns the identity in each lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn identity() -> Self {
        // SAFETY: the features are this function's own.
        unsafe { Jacobian { x: F::one(), y: F::one(), z: F::zero() } }
    }

    /// Takes affine points.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn new(points: &Affine<F>) -> Self {
        // SAFETY: the features are this function's own.
        unsafe { Jacobian { x: points.x, y: points.y, z: F::one() } }
    }

    /// Returns `self + other`. No point may be the identity, the other one, or its negative; the result is wrong there.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn add_affine(&self, other: &Affine<F>) -> Self {
        // SAFETY: the features are this function's own.
        unsafe {
            let square = self.z.square();
            let h = other.x.mul(&square).minus(&self.x).fold();
            let r = other.y.mul(&self.z).mul(&square).minus(&self.y).fold();
            let hh = h.square();
            let (hhh, v) = (h.mul(&hh), self.x.mul(&hh));
            let x = r.square().minus(&hhh.plus(&v.times_power::<1>())).fold();
            let y = r.mul_add(&v.minus(&x).fold(), &self.y, &F::zero().minus(&hhh).fold());
            Jacobian { x, y, z: self.z.mul(&h) }
        }
    }

    /// Returns `self`, or `other` in the lanes of the mask.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn select(&self, other: &Self, mask: __mmask8) -> Self {
        // SAFETY: the features are this function's own.
        unsafe {
            Jacobian {
                x: self.x.select(&other.x, mask),
                y: self.y.select(&other.y, mask),
                z: self.z.select(&other.z, mask),
            }
        }
    }

    /// Returns the points in homogeneous coordinates.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn projective(&self) -> Projective<F> {
        // SAFETY: the features are this function's own.
        unsafe { Projective { x: self.x.mul(&self.z), y: self.y, z: self.z.square().mul(&self.z) } }
    }
}

impl<F: Field> Affine<F> {
    /// Changes the sign of y in the lanes of the mask.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn negate_if(&mut self, mask: __mmask8) {
        // SAFETY: the features are this function's own.
        unsafe {
            self.y = self.y.select(&F::zero().minus(&self.y).fold(), mask);
        }
    }
}

impl<F: Field> Projective<F> {
    /// Returns the identity in each lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn identity() -> Self {
        // SAFETY: the features are this function's own.
        unsafe { Projective { x: F::zero(), y: F::one(), z: F::zero() } }
    }

    /// Returns `self + other`.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn add(&self, other: &Self) -> Self {
        // SAFETY: the features are this function's own.
        unsafe {
            let xx = self.x.mul(&other.x);
            let yy = self.y.mul(&other.y);
            let zz = self.z.mul(&other.z);
            let xy =
                self.x.plus(&self.y).carry().mul(&other.x.plus(&other.y).carry()).minus(&xx.plus(&yy)).fold();
            let yz =
                self.y.plus(&self.z).carry().mul(&other.y.plus(&other.z).carry()).minus(&yy.plus(&zz)).fold();
            let xz =
                self.x.plus(&self.z).carry().mul(&other.x.plus(&other.z).carry()).minus(&xx.plus(&zz)).fold();
            Self::combine(&xx, &yy, &zz, &xy, &yz, &xz)
        }
    }

    /// Returns `self + other`.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn add_affine(&self, other: &Affine<F>) -> Self {
        // SAFETY: the features are this function's own.
        unsafe {
            let xx = self.x.mul(&other.x);
            let yy = self.y.mul(&other.y);
            let xy =
                self.x.plus(&self.y).carry().mul(&other.x.plus(&other.y).carry()).minus(&xx.plus(&yy)).fold();
            let yz = other.y.mul(&self.z).plus(&self.y).carry();
            let xz = other.x.mul(&self.z).plus(&self.x).carry();
            Self::combine(&xx, &yy, &self.z, &xy, &yz, &xz)
        }
    }

    /// Computes a sum from the products of the coordinates. `v` and `w` are here with both signs, because a product can only be added
    /// to another. All operands are below four times the prime, and so the coordinates are below twice.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn combine(xx: &F, yy: &F, zz: &F, xy: &F, yz: &F, xz: &F) -> Self {
        // SAFETY: the features are this function's own.
        unsafe {
            let b = F::b();
            let zz3 = zz.triple();
            let u = xz.minus(&b.mul(zz)).triple();
            let minus_v = zz3.plus(xx).minus(&b.mul(xz)).triple().fold();
            let w = xx.triple().minus(&zz3);
            let (minus_w, w) = (F::zero().minus(&w).fold(), w.fold());
            let (less, more) = (yy.minus(&u).fold(), yy.plus(&u).fold());
            Projective {
                x: xy.mul_add(&more, yz, &minus_v),
                y: more.mul_add(&less, &minus_w, &minus_v),
                z: yz.mul_add(&less, xy, &w),
            }
        }
    }

    /// Returns `self`, or `other` in the lanes of the mask.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn select(&self, other: &Self, mask: __mmask8) -> Self {
        // SAFETY: the features are this function's own.
        unsafe {
            Projective {
                x: self.x.select(&other.x, mask),
                y: self.y.select(&other.y, mask),
                z: self.z.select(&other.z, mask),
            }
        }
    }

    /// Doubles the points `times` times, in Jacobian coordinates.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn double_times(&self, times: usize) -> Self {
        // SAFETY: the features are this function's own.
        unsafe {
            // Lanes with the identity become (1 : 1 : 0).
            let identity = self.z.zero_mask();
            let mut x = self.x.mul(&self.z).select(&F::one(), identity);
            let mut y = self.y.mul(&self.z.square()).select(&F::one(), identity);
            let mut z = self.z;
            for _ in 0..times {
                let delta = z.square();
                let gamma = y.square();
                let beta = x.mul(&gamma);
                let alpha = x.minus(&delta).fold().mul(&x.plus(&delta).carry()).triple().fold();
                let beta4 = beta.times_power::<2>();
                z = y.mul(&z).times_power::<1>().fold();
                x = alpha.square().minus(&beta4.times_power::<1>()).fold();
                let gamma8 = gamma.square().times_power::<3>();
                y = alpha.mul(&beta4.minus(&x).fold()).minus(&gamma8).fold();
            }
            Jacobian { x, y, z }.projective()
        }
    }
}
