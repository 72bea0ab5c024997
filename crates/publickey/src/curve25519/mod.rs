//! The field, the scalars and the points that X25519 and Ed25519 share.
//!
//! | file | holds |
//! | --- | --- |
//! | `field.rs` | numbers modulo 2^255 - 19, one at a time, in 51-bit limbs |
//! | `inverse.rs` | their inverses |
//! | `edwards.rs` | points of edwards25519 |
//! | `scalar.rs` | numbers modulo the order of the base point |
//! | `tables.rs` | multiples of the base point, computed when this crate is compiled |
//! | `base.rs` | the base point times a secret scalar |
//! | `lanes/` | the same for eight operations at once, in 52-bit limbs |
//!
//! Ref. RFC 7748 §4.1 and RFC 8032 §5.1.

pub(crate) mod base;
pub(crate) mod edwards;
pub(crate) mod field;
mod inverse;
#[cfg(target_arch = "x86_64")]
pub(crate) mod lanes;
pub(crate) mod scalar;
pub(crate) mod tables;
