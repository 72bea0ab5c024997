//! The functions that a kernel has for polynomials, and the kernels of an operation.
//!
//! # Safety
//! Each call through a kernel's functions is covered by the [`Bound`] from which the [`Engine`] was made.
#![allow(unsafe_code)]

use millstream_engines::sha3::Keccak;

use super::poly::{Factor, N, Poly};
use super::set::POLY;
use crate::Bound;

/// The functions of a kernel: see the engine's functions of the same names.
#[derive(Clone, Copy, Debug)]
pub struct Ops {
    pub(super) ntt: unsafe fn(&mut [Poly]),
    pub(super) inverse: unsafe fn(&mut [Poly]),
    pub(super) factor: unsafe fn(&[Poly], &mut [Factor]),
    pub(super) multiply: unsafe fn(&[Poly], usize, &[Factor], &mut Poly),
    pub(super) add: unsafe fn(&mut Poly, &Poly),
    pub(super) subtract_from: unsafe fn(&mut Poly, &Poly),
    pub(super) sample_vartime: unsafe fn(&[u8], &mut Poly, usize) -> usize,
    pub(super) arrange: unsafe fn(&mut [Poly]),
    pub(super) noise2: unsafe fn(&[u8; 128], &mut Poly),
    pub(super) compress: unsafe fn(&Poly, usize, &mut [u8]),
    pub(super) decompress: unsafe fn(&[u8], usize, &mut Poly),
    pub(super) encode: unsafe fn(&Poly, &mut [u8]),
    pub(super) decode: unsafe fn(&[u8], &mut Poly) -> bool,
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

    /// Transforms polynomials from the standard's order to the NTT's layout. The results lie between -q and q.
    pub(super) fn ntt(self, polys: &mut [Poly]) {
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.ntt)(polys) }
    }

    /// Transforms polynomials back. The results lie between -q and q.
    pub(super) fn inverse(self, polys: &mut [Poly]) {
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.inverse)(polys) }
    }

    /// Makes operands of transformed polynomials.
    pub(super) fn factor(self, polys: &[Poly], factors: &mut [Factor]) {
        assert_eq!(polys.len(), factors.len());
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.factor)(polys, factors) }
    }

    /// Returns the sum of the products of every `stride`-th of `polys` with the factors.
    pub(super) fn multiply(self, polys: &[Poly], stride: usize, factors: &[Factor], sum: &mut Poly) {
        assert!(factors.len() <= 4 && polys.len() > (factors.len() - 1) * stride);
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.multiply)(polys, stride, factors, sum) }
    }

    /// Adds a polynomial of the same order.
    pub(super) fn add(self, sum: &mut Poly, other: &Poly) {
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.add)(sum, other) }
    }

    /// Returns `other` less `from`, in `from`.
    pub(super) fn subtract_from(self, from: &mut Poly, other: &Poly) {
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.subtract_from)(from, other) }
    }

    /// Takes coefficients of what SHAKE128 has given, behind the first `have` (FIPS 203 §4.2.2, algorithm 7). Returns their
    /// number then. The time depends on the bytes, which come from a public seed.
    pub(super) fn sample_vartime(self, bytes: &[u8], poly: &mut Poly, have: usize) -> usize {
        assert!(have <= N && bytes.len().is_multiple_of(24));
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.sample_vartime)(bytes, poly, have) }
    }

    /// Brings polynomials from the standard's order into the NTT's layout.
    pub(super) fn arrange(self, polys: &mut [Poly]) {
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.arrange)(polys) }
    }

    /// Makes a small polynomial of what SHAKE256 has given, for eta = 2 (FIPS 203 §4.2.2, algorithm 8).
    pub(super) fn noise2(self, bytes: &[u8; 128], poly: &mut Poly) {
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.noise2)(bytes, poly) }
    }

    /// Compresses and encodes a polynomial whose coefficients lie between -4q and 4q (FIPS 203 §4.2.1).
    pub(super) fn compress(self, poly: &Poly, bits: usize, out: &mut [u8]) {
        assert_eq!(out.len(), 32 * bits);
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.compress)(poly, bits, out) }
    }

    /// Decodes and decompresses a polynomial.
    pub(super) fn decompress(self, bytes: &[u8], bits: usize, poly: &mut Poly) {
        assert_eq!(bytes.len(), 32 * bits);
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.decompress)(bytes, bits, poly) }
    }

    /// Encodes a transformed polynomial with 12 bits for each coefficient.
    pub(super) fn encode(self, poly: &Poly, out: &mut [u8]) {
        assert_eq!(out.len(), POLY);
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.encode)(poly, out) }
    }

    /// Decodes a transformed polynomial. Returns false if a number was q or more, and reduces it then.
    pub(super) fn decode(self, bytes: &[u8], poly: &mut Poly) -> bool {
        assert_eq!(bytes.len(), POLY);
        // SAFETY: the kernel was bound.
        unsafe { (self.ops.decode)(bytes, poly) }
    }
}
