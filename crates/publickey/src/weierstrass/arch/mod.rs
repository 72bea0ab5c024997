//! The arithmetic of one point at a time for processor tiers.

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_adx;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_ifma_by4;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_solinas;
