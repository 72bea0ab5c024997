//! The ways, one file each.

pub mod direct;
pub mod openssl;
pub mod pkcs11;
