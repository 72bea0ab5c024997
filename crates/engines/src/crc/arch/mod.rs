//! Kernels for particular processors.

#[cfg(target_arch = "aarch64")]
pub(super) mod aarch64_crc;
#[cfg(target_arch = "x86_64")]
mod fold;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_pclmul;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_sse42;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_vpclmul;
