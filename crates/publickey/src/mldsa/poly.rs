//! Polynomials.

/// Coefficients of a polynomial.
pub(super) const N: usize = 256;

/// A polynomial's coefficients modulo q, around zero or from zero on. In the standard's order, or in that of the NTT's
/// layout, in which the coefficient `64 * h + 8 * l + p` lies at `64 * h + 8 * p + l`.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Poly(pub(super) [i32; N]);

impl Poly {
    pub(super) const ZERO: Self = Poly([0; N]);
}
