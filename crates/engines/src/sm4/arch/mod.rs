//! Kernels for one processor tier each.

#[cfg(target_arch = "aarch64")]
pub(super) mod aarch64_ce;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod halves;
#[cfg(target_arch = "x86_64")]
mod serial;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_aesni;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_gfni;
