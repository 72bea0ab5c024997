//! SHA-3 on particular processors.

#[cfg(target_arch = "aarch64")]
pub(super) mod aarch64_ce;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_avx2_lanes;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_avx512;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_avx512_lanes;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_bmi;
