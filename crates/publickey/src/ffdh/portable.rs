//! Powers on any processor.

use super::{Number, Ops};
use crate::montgomery::{Modulus, WORDS, power_short};

pub(super) const OPS: Ops = Ops { power };

fn power(modulus: &Modulus<WORDS>, base: &Number, exponent: &[u64], out: &mut Number) {
    out.fill(0);
    power_short(modulus, base, exponent, out);
}
