//! Kernels for one processor tier each.

#[cfg(target_arch = "x86_64")]
mod stage;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_lanes256;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_lanes512;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_vbmi;
