//! Scalars times points, as the tiers compute them.

use super::curve::{P256, P384, P521, Params};
use super::multiply;
use super::point::{Affine, Jacobian, Projective};
use super::vartime;

/// A curve with its products, which a tier may compute in another way than with one multiplication of the field after another.
pub(crate) trait Products<const N: usize>: Params<N> {
    /// Returns `scalar` times a point, in constant time.
    fn multiply(scalar: &[u64; N], point: &Affine<Self, N>) -> Projective<Self, N> {
        multiply::point(scalar, point)
    }

    /// Returns `a` times the base point plus `b` times a point, in a time that depends on both.
    fn double_base_vartime(a: &[u64; N], b: &[u64; N], point: &Affine<Self, N>) -> Jacobian<Self, N> {
        vartime::double_base_vartime(a, b, point)
    }
}

impl Products<4> for P256 {}
impl Products<6> for P384 {}
impl Products<9> for P521 {}
