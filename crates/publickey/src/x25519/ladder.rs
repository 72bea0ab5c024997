//! The Montgomery ladder, one at a time, and the base point's multiples by way of edwards25519.
//!
//! Ref. RFC 7748 §4.1 and §5.

use zeroize::Zeroize;

use super::{KEY, Ops};
use crate::curve25519::base;
use crate::curve25519::field::{Fe, mask};
use crate::curve25519::scalar::{Scalar, clamp};

/// (A - 2) / 4 for the curve's A = 486662.
pub(super) const A24: u32 = 121_665;

pub(super) const PORTABLE: Ops = Ops { multiply, multiply_base };

fn multiply(scalar: &[u8; KEY], u: &[u8; KEY]) -> [u8; KEY] {
    ladder(scalar, u)
}

fn multiply_base(scalar: &[u8; KEY]) -> [u8; KEY] {
    comb(scalar)
}

/// The function X25519.
#[inline(always)]
pub(super) fn ladder(scalar: &[u8; KEY], u: &[u8; KEY]) -> [u8; KEY] {
    let mut scalar = *scalar;
    clamp(&mut scalar);
    let x1 = Fe::from_bytes(u);
    let (mut x2, mut z2, mut x3, mut z3) = (Fe::ONE, Fe::ZERO, x1, Fe::ONE);
    let mut before = 0;
    for t in (0..255).rev() {
        let bit = u64::from(scalar[t / 8] >> (t % 8) & 1);
        let swap = mask(before ^ bit);
        before = bit;
        Fe::swap(swap, &mut x2, &mut x3);
        Fe::swap(swap, &mut z2, &mut z3);
        let (a, b) = (x2.add(z2), x2.sub(z2));
        let (c, d) = (x3.add(z3), x3.sub(z3));
        let (da, cb) = (d.mul(a), c.mul(b));
        let (aa, bb) = (a.square(), b.square());
        x3 = da.add(cb).square();
        z3 = x1.mul(da.sub(cb).square());
        let e = aa.sub(bb);
        x2 = aa.mul(bb);
        z2 = e.mul(aa.add(e.times_small(A24)));
    }
    // The last bit of a clamped scalar is 0, so nothing is left to swap.
    scalar.zeroize();
    x2.mul(z2.invert()).to_bytes()
}

/// The function X25519 for u = 9: u = (Z + Y) / (Z - Y) of the base point's multiple on edwards25519.
#[inline(always)]
pub(super) fn comb(scalar: &[u8; KEY]) -> [u8; KEY] {
    let mut scalar = *scalar;
    clamp(&mut scalar);
    let point = base::multiply(&Scalar::unreduced(&scalar));
    scalar.zeroize();
    point.z.add(point.y).mul(point.z.sub(point.y).invert()).to_bytes()
}
