//! Kernels for particular processors.

#[cfg(target_arch = "aarch64")]
pub(super) mod aarch64_neon;
#[cfg(target_arch = "x86_64")]
mod ifma;
#[cfg(target_arch = "x86_64")]
mod limbs26;
#[cfg(target_arch = "x86_64")]
pub(super) mod x16;
#[cfg(target_arch = "x86_64")]
pub(super) mod x8;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_avx512;
#[cfg(target_arch = "x86_64")]
mod ymm;
