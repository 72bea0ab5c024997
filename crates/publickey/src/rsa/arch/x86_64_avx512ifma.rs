//! RSA with AVX-512 IFMA: one operation with both halves in step.

use zeroize::Zeroizing;

use crate::montgomery::HALF;
use crate::montgomery::arch::x86_64_ifma_by1::{Secret, power_pair, power_public};
use crate::rsa::Ops;
use crate::rsa::numbers::{Halves, Number, Private, Public};

pub(in crate::rsa) const OPS: Ops = Ops { public, halves };

#[target_feature(enable = "avx512f,avx512ifma")]
fn public(key: &Public, input: &Number, out: &mut Number) {
    power_public(&key.modulus, input, key.exponent, out);
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn halves(key: &Private, input: &Number, out: &mut Halves) {
    let mut bases = Zeroizing::new([[0; HALF]; 2]);
    key.p.reduce(input, &mut bases[0]);
    key.q.reduce(input, &mut bases[1]);
    power_pair([
        Secret { modulus: &key.p.prime, base: &bases[0], exponent: &key.p.exponent, out: &mut out.p },
        Secret { modulus: &key.q.prime, base: &bases[1], exponent: &key.q.exponent, out: &mut out.q },
    ]);
}
