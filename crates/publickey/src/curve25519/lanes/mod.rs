//! Eight operations at once, one in each lane of AVX-512 IFMA.
//!
//! | file | holds |
//! | --- | --- |
//! | `field.rs` | numbers modulo 2^255 - 19 in 52-bit limbs |
//! | `edwards.rs` | points of edwards25519 |
//! | `base.rs` | the base point times secret scalars |
//! | `words.rs` | values of 32 bytes as vectors of words, and digits of scalars |

pub(crate) mod base;
pub(crate) mod edwards;
pub(crate) mod field;
#[cfg(test)]
mod tests;
pub(crate) mod words;
