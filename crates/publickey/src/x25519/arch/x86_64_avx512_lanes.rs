//! Eight Montgomery ladders, one in each lane.
//!
//! Ref. RFC 7748 §5 and §4.1.

use zeroize::Zeroize;

use super::super::KEY;
use super::super::ladder::A24;
use super::super::lanes::{Each, LANES};
use crate::curve25519::lanes::base;
use crate::curve25519::lanes::field::{Factor8, Product8};
use crate::curve25519::lanes::words::Words;
use crate::curve25519::scalar::clamp;

/// The function X25519 of each lane.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(in super::super) fn multiply(scalars: &Each, points: &Each) -> Each {
    let bits = clamped(scalars);
    let x1 = Factor8::from_words(&Words::load_bytes(points));
    let (zero, one) = (Product8::small(0), Product8::small(1));
    let (mut x2, mut z2, mut x3, mut z3) = (one, zero, x1.number(), one);
    let mut before = 0;
    for t in (0..255).rev() {
        let bit = bits.bit(t);
        let swap = before ^ bit;
        before = bit;
        (x2, x3) = (x2.select(swap, x3), x3.select(swap, x2));
        (z2, z3) = (z2.select(swap, z3), z3.select(swap, z2));
        let (a, b) = (x2.add(z2), x2.sub(z2));
        let (c, d) = (x3.add(z3), x3.sub(z3));
        let (aa, bb) = (a.square(), b.square());
        let (da, cb) = (d.mul(a), c.mul(b));
        let e = aa.sub(bb);
        let (sum, difference) = (da.add(cb), da.sub(cb));
        let w = aa.add_times_small(e, A24);
        let square = difference.square().factor();
        x3 = sum.square();
        x2 = aa.factor().mul(bb.factor());
        z3 = square.mul(x1);
        z2 = w.mul(e);
    }
    // The last bit of a clamped scalar is 0, so nothing is left to swap.
    quotient(x2.factor(), z2.factor())
}

/// The function X25519 of each lane for u = 9.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(in super::super) fn multiply_base(scalars: &Each) -> Each {
    let point = base::multiply(&clamped(scalars));
    // The map from edwards25519: u = (Z + Y) / (Z - Y).
    quotient(point.z.add(point.y), point.z.sub(point.y))
}

/// Returns x / z, and zero where z is zero.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn quotient(x: Factor8, z: Factor8) -> Each {
    // All lanes share an inversion, in which a zero would make all of them zero.
    let zeros = z.zeros();
    let (zero, one) = (Product8::small(0).factor(), Product8::small(1).factor());
    let inverse = z.select(zeros, one).invert().select(zeros, zero);
    x.mul(inverse).factor().to_words().to_bytes()
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn clamped(scalars: &[[u8; KEY]; LANES]) -> Words {
    let mut scalars = *scalars;
    for scalar in &mut scalars {
        clamp(scalar);
    }
    let words = Words::load_bytes(&scalars);
    scalars.zeroize();
    words
}
