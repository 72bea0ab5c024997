//! The functions that a kernel has for polynomials, and the kernels of an operation.
//!
//! # Safety
//! Each call through a kernel's functions is covered by the [`Bound`] from which the [`Engine`] was made.
#![allow(unsafe_code)]

use millstream_engines::sha3::Keccak;

use super::poly::{N, Poly};
use super::set::Gamma2;
use crate::Bound;

/// The functions of a kernel: see the engine's functions of the same names.
#[derive(Clone, Copy, Debug)]
pub struct Ops {
    pub(super) ntt: unsafe fn(&mut [Poly]),
    pub(super) inverse: unsafe fn(&mut [Poly]),
    pub(super) arrange: unsafe fn(&mut [Poly]),
    pub(super) multiply: unsafe fn(&[Poly], &[Poly], &mut Poly),
    pub(super) power2round: unsafe fn(&mut Poly, &Poly, &mut Poly),
    pub(super) decompose: unsafe fn(&mut Poly, Gamma2, &mut Poly),
    pub(super) add_within: unsafe fn(&mut Poly, &Poly, i32) -> bool,
    pub(super) subtract_within: unsafe fn(&mut Poly, &Poly, i32) -> bool,
    pub(super) hint: unsafe fn(&mut Poly, &Poly, &Poly, Gamma2) -> usize,
    pub(super) use_hint: unsafe fn(&mut Poly, &Poly, Gamma2),
    pub(super) within: unsafe fn(&Poly, i32) -> bool,
    pub(super) encode: unsafe fn(&Poly, usize, Option<i32>, &mut [u8]),
    pub(super) decode: unsafe fn(&[u8], usize, Option<i32>, &mut Poly),
    pub(super) sample_vartime: unsafe fn(&[u8], &mut Poly, usize) -> usize,
    pub(super) sample_small: unsafe fn(&[u8], i32, &mut Poly, usize) -> usize,
}

/// A kernel for many operations.
#[derive(Debug)]
pub struct LanesOps {
    /// Operations that are computed together.
    pub(super) lanes: usize,
    /// The least number of operations that take less time in lanes than one after another.
    pub(super) crossover: usize,
    /// The arithmetic.
    pub(super) ops: Ops,
}

/// The kernels of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Engine {
    ops: &'static Ops,
    pub(super) keccak: Keccak,
}

impl Engine {
    pub(super) fn new(kernel: Bound<Ops>, keccak: Keccak) -> Self {
        Engine { ops: kernel.ops(), keccak }
    }

    pub(super) fn of_lanes(kernel: Bound<LanesOps>, keccak: Keccak) -> Self {
        Engine { ops: &kernel.ops().ops, keccak }
    }

    /// Transforms polynomials from the standard's order to the NTT's layout. The results lie below 9 q.
    pub(super) fn ntt(self, polys: &mut [Poly]) {
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.ntt)(polys) }
    }

    /// Transforms sums of products back. The results lie between -q and q.
    pub(super) fn inverse(self, polys: &mut [Poly]) {
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.inverse)(polys) }
    }

    /// Brings polynomials from the standard's order into the NTT's layout.
    pub(super) fn arrange(self, polys: &mut [Poly]) {
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.arrange)(polys) }
    }

    /// Returns the sum of the products of transformed polynomials, for `inverse`.
    pub(super) fn multiply(self, polys: &[Poly], factors: &[Poly], sum: &mut Poly) {
        assert!(polys.len() == factors.len() && matches!(factors.len(), 1 | 4..=8));
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.multiply)(polys, factors, sum) }
    }

    /// Adds a small polynomial to a product. Returns the high bits of the sum, and its low bits in place of the product (FIPS 204 §7.4,
    /// algorithm 35).
    pub(super) fn power2round(self, product: &mut Poly, small: &Poly, high: &mut Poly) {
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.power2round)(product, small, high) }
    }

    /// Returns the high bits of a product, and its low bits in its place (algorithm 36).
    pub(super) fn decompose(self, poly: &mut Poly, gamma2: Gamma2, high: &mut Poly) {
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.decompose)(poly, gamma2, high) }
    }

    /// Adds a product that is small. Returns true if all sums lie below the bound.
    pub(super) fn add_within(self, sum: &mut Poly, product: &Poly, bound: i32) -> bool {
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.add_within)(sum, product, bound) }
    }

    /// Subtracts a product that is small. Returns true if all differences lie below the bound.
    pub(super) fn subtract_within(self, rest: &mut Poly, product: &Poly, bound: i32) -> bool {
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.subtract_within)(rest, product, bound) }
    }

    /// Makes a hint of low bits, which it replaces, and a product (algorithm 39). Returns the number of ones, or more than 256 if the
    /// product reaches gamma 2.
    pub(super) fn hint(self, low: &mut Poly, product: &Poly, high: &Poly, gamma2: Gamma2) -> usize {
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.hint)(low, product, high, gamma2) }
    }

    /// Returns the high bits of a product, corrected by a hint, in its place (algorithm 40).
    pub(super) fn use_hint(self, poly: &mut Poly, hint: &Poly, gamma2: Gamma2) {
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.use_hint)(poly, hint, gamma2) }
    }

    /// Returns true if all numbers lie below the bound.
    pub(super) fn within(self, poly: &Poly, bound: i32) -> bool {
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.within)(poly, bound) }
    }

    /// Encodes numbers of so many bits, or what they lack of `top` (FIPS 204 §7.1, algorithms 16 and 17).
    pub(super) fn encode(self, poly: &Poly, bits: usize, top: Option<i32>, out: &mut [u8]) {
        assert!(out.len() == 32 * bits && matches!(bits, 3 | 4 | 6 | 10 | 13 | 18 | 20));
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.encode)(poly, bits, top, out) }
    }

    /// Decodes numbers of so many bits, each of which is subtracted from `top` if there is one (algorithms 18 and 19).
    pub(super) fn decode(self, bytes: &[u8], bits: usize, top: Option<i32>, poly: &mut Poly) {
        assert!(bytes.len() == 32 * bits && matches!(bits, 3 | 4 | 10 | 13 | 18 | 20));
        // SAFETY: the kernel was bound, and there are as many bytes as there have to be.
        unsafe { (self.ops.decode)(bytes, bits, top, poly) }
    }

    /// Takes coefficients of what SHAKE128 has given, behind the first `have` (FIPS 204 §7.3, algorithm 30). Returns their
    /// number then. The time depends on the bytes, which come from a public seed.
    pub(super) fn sample_vartime(self, bytes: &[u8], poly: &mut Poly, have: usize) -> usize {
        assert!(have <= N && bytes.len().is_multiple_of(24));
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.sample_vartime)(bytes, poly, have) }
    }

    /// Takes small coefficients of what SHAKE256 has given, behind the first `have` (algorithm 31). Returns their number then.
    pub(super) fn sample_small(self, bytes: &[u8], eta: i32, poly: &mut Poly, have: usize) -> usize {
        assert!(have <= N);
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.sample_small)(bytes, eta, poly, have) }
    }
}
