//! The processor tiers: for each a vector type and its row's functions.

#[cfg(target_arch = "aarch64")]
pub(super) mod aarch64_ce;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_aesni;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_vaes256;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_vaes512;
