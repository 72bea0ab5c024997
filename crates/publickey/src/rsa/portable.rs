//! RSA on any processor.

use super::Ops;
use super::numbers::{Half, Halves, Number, Private, Public};
use crate::montgomery::{HALF, power, power_public};
use zeroize::Zeroizing;

pub(super) const OPS: Ops = Ops { public, halves };

pub(super) fn public(key: &Public, input: &Number, out: &mut Number) {
    out.fill(0);
    power_public(&key.modulus, input, key.exponent, out);
}

fn halves(key: &Private, input: &Number, out: &mut Halves) {
    one(&key.p, input, &mut out.p);
    one(&key.q, input, &mut out.q);
}

/// Raises the number modulo a prime, which has half as many words.
fn one(half: &Half, input: &Number, out: &mut [u64; HALF]) {
    let mut base = Zeroizing::new([0; HALF]);
    half.reduce(input, &mut base);
    power(&half.prime, &base[..], &half.exponent, out);
}
