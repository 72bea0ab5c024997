//! RSA with AVX-512 IFMA: eight powers side by side.

use crate::montgomery::arch::x86_64_ifma_x8::{LANES, powers, powers_public};
use crate::montgomery::{PublicPower, SecretPower};
use crate::rsa::LanesOps;
use millstream_kernel::Crossover;

pub(in crate::rsa) const OPS: LanesOps = LanesOps {
    width: LANES,
    crossover: Crossover(&[(usize::MAX, 2)]),
    public_crossover: Crossover(&[(usize::MAX, 3)]),
    secret,
    public,
};

#[target_feature(enable = "avx512f,avx512ifma")]
fn secret(jobs: &mut [SecretPower<'_>]) {
    powers(jobs);
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn public(jobs: &mut [PublicPower<'_>]) {
    powers_public(jobs);
}
