//! The portable kernel, compiled for MULX and for tables in vectors of 32 bytes.

use super::super::check::{self, Check};
use super::super::{KEY, Ops};
use crate::curve25519::base;
use crate::curve25519::scalar::Scalar;

pub(in super::super) const OPS: Ops = Ops { multiply_base, check_vartime };

#[target_feature(enable = "avx2,bmi2")]
fn multiply_base(scalar: &Scalar) -> [u8; KEY] {
    base::multiply(scalar).encode()
}

#[target_feature(enable = "avx2,bmi2")]
fn check_vartime(check: &Check) -> bool {
    check::holds_vartime(check)
}
