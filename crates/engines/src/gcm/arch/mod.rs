//! The processor tiers: for each the row's functions on a vector type and a unit of `aes/unit.rs`; and the vector types.

#[cfg(target_arch = "aarch64")]
pub(super) mod aarch64_ce;
#[cfg(target_arch = "aarch64")]
pub(super) mod aarch64_permute;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_aesni;
#[cfg(target_arch = "x86_64")]
mod x86_64_block128;
#[cfg(target_arch = "x86_64")]
mod x86_64_block256;
#[cfg(target_arch = "x86_64")]
mod x86_64_block512;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_gfni256;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_gfni512;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_permute128;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_permute256;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_vaes256;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_vaes512;

#[cfg(target_arch = "x86_64")]
use crate::aes::arch::{x86_64_aesni::Instructions, x86_64_gfni::Galois};
#[cfg(target_arch = "x86_64")]
use crate::aes::permute::Permute;

/// The carry-less multiplications that go with a unit of the AES rounds.
#[cfg(target_arch = "x86_64")]
trait Multiplies {
    /// True if processors that have the unit multiply 256 bits at a time. Otherwise a register's blocks are multiplied one
    /// by one.
    const WIDE: bool;
}

#[cfg(target_arch = "x86_64")]
impl Multiplies for Instructions {
    const WIDE: bool = true;
}

#[cfg(target_arch = "x86_64")]
impl Multiplies for Galois {
    const WIDE: bool = true;
}

#[cfg(target_arch = "x86_64")]
impl Multiplies for Permute {
    const WIDE: bool = false;
}
