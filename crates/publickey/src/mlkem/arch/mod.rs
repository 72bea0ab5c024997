//! Kernels for particular processors.

#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_avx512;
#[cfg(target_arch = "x86_64")]
mod x86_64_bits;
