//! What a processor can do better for whole records.

#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_aesni_shani;
