//! The OpenSSL provider: unmodified programs get Millstream's engines by configuration alone.
//!
//! OpenSSL loads the module, calls [`OSSL_provider_init`](ffi::OSSL_provider_init), asks for tables of algorithms and
//! from then on calls their functions. The module is not linked to libcrypto: everything goes through tables whose
//! layout OpenSSL has kept since 3.0 (`abi`).
//!
//! - [`ffi`] is the border: C functions that check what they are given, catch panics, and call contexts.
//! - `digest`, `cipher`, `mac` and `kdf` hold those contexts: safe Rust without any algorithm, which behaves towards
//!   its caller as the default provider does.
//! - `pkey` holds keys of public-key algorithms, and the contexts of what is done with them.
//! - `store` finds keys of the service's tokens by their URIs.
//! - `libcrypto` finds functions of the libcrypto that loaded the module, to hand operations on that no engine
//!   computes.
//! - `algorithms` lists the algorithms that are offered, under OpenSSL's names.
//!
//! Ref. provider(7), provider-cipher(7), provider-digest(7), provider-mac(7), provider-kdf(7), provider-keymgmt(7).
#![deny(unsafe_code)]

#[allow(missing_docs, reason = "the names are those of OpenSSL's headers, which say what they mean")]
mod abi;
mod algorithms;
mod append;
mod cipher;
mod count;
mod digest;
mod early;
mod error;
mod exchange;
pub mod ffi;
mod jobs;
mod kdf;
mod libcrypto;
mod mac;
#[allow(missing_docs, reason = "fuzz targets alone see it from outside")]
mod params;
mod pkey;
mod provider;
mod remote;
mod secret;
mod shake;
mod store;
mod traces;

/// Exports for fuzz targets.
#[doc(hidden)]
#[allow(missing_docs)]
pub mod fuzzing {
    pub mod abi {
        pub use crate::abi::*;
    }
    pub use crate::params::{Param, Params};
}
