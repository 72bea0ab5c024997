//! Polynomials, and room for them that is cleared.

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

/// The work of one call, which is cleared when it is over.
pub(super) struct Work<T: Copy> {
    values: Vec<T>,
    zero: T,
}

impl<T: Copy> Work<T> {
    pub(super) fn new(zero: T, len: usize) -> Self {
        Work { values: vec![zero; len], zero }
    }
}

impl<T: Copy> std::ops::Deref for Work<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T: Copy> std::ops::DerefMut for Work<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

impl<T: Copy> Drop for Work<T> {
    fn drop(&mut self) {
        wipe(&mut self.values, self.zero);
    }
}

/// Clears values in whole vectors.
pub(super) fn wipe<T: Copy>(values: &mut [T], zero: T) {
    values.fill(zero);
    zeroize::optimization_barrier(&*values);
}
