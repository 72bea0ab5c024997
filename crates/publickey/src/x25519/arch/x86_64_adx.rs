//! The portable ladder, compiled for MULX and two carry chains.

use super::super::{KEY, Ops, ladder};

pub(in super::super) const OPS: Ops = Ops { multiply, multiply_base };

#[target_feature(enable = "bmi2,adx")]
fn multiply(scalar: &[u8; KEY], u: &[u8; KEY]) -> [u8; KEY] {
    ladder::ladder(scalar, u)
}

#[target_feature(enable = "bmi2,adx")]
fn multiply_base(scalar: &[u8; KEY]) -> [u8; KEY] {
    ladder::comb(scalar)
}
