//! The ways, one file each.

pub mod batch;
pub mod direct;
pub mod kernel;
pub mod openssl;
pub mod pkcs11;
pub mod queue;
