//! Powers with AVX-512 IFMA, one at a time.

use crate::ffdh::{Number, Ops};
use crate::montgomery::arch::x86_64_ifma_by1::power_alone;
use crate::montgomery::{Modulus, WORDS};

pub(in crate::ffdh) const OPS: Ops = Ops { power };

#[target_feature(enable = "avx512f,avx512ifma")]
fn power(modulus: &Modulus<WORDS>, base: &Number, exponent: &[u64], out: &mut Number) {
    power_alone(modulus, base, exponent, out);
}
