//! SHA-256 on particular processors.

#[cfg(target_arch = "aarch64")]
pub(crate) mod aarch64_ce;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_avx2_lanes;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_avx512_lanes;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_bmi;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_shani;
