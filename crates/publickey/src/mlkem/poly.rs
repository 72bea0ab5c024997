//! Polynomials.

/// Coefficients of a polynomial.
pub(super) const N: usize = 256;

/// A polynomial's coefficients modulo q, around zero or from zero on. In the standard's order, or in that of the NTT's
/// layout, in which the coefficient `16 * (8 * h + l) + 2 * p + b` lies at `128 * h + 16 * p + 2 * l + b`.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Poly(pub(super) [i16; N]);

impl Poly {
    pub(super) const ZERO: Self = Poly([0; N]);
}

/// A transformed polynomial as a product takes it: in Montgomery form, the second coefficient of each pair times gamma, and
/// the pairs in form and swapped.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Factor {
    pub(super) straight: Poly,
    pub(super) crossed: Poly,
}

impl Factor {
    pub(super) const ZERO: Self = Factor { straight: Poly::ZERO, crossed: Poly::ZERO };
}
