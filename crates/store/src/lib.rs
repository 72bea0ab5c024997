//! Tokens: keys that outlive a service, sealed, in one file that survives power cuts.
//!
//! A token has two sides, which can be two processes. The [vault] holds keys: it opens the token with a PIN, seals objects and opens
//! them, and touches no file. The [file](mod@file) keeps what the vault sealed, and sees ciphertext, public attributes and counters. [`Token`]
//! is both in one process.
//!
//! ```text
//!          PIN, keys                              sealed records, attributes
//! caller ────────────► vault: Session ─────────────────────────────────────► file: redb
//! ```
//!
//! # What is sealed with what
//! - A token has a random *master key* of 256 bits. It lies in the token's header twice, wrapped under the user PIN and under the security officer's.
//!   The wrapping key is made of Argon2id(PIN) and the [device secret](DeviceSecret), so a stolen file without the machine's secret says
//!   nothing about a PIN, however short.
//! - Each version of an object has a key of its own, derived from the master key. Its ciphertext authenticates token,
//!   object, version and the public attributes.
//! - The *index*, sealed under the master key at each change, says which objects of which versions a token has, and with which header.
//!   So no object, no PIN and no attribute can be changed, exchanged, brought back or left out singly without a session noticing
//!   ([`Error::RolledBack`]).
//!
//! Nothing here can notice that the *whole* file was put back to its state of an earlier time, with all removed keys and replaced PINs: without a
//! counter outside of the file, as a TPM has one, an old store is as good as the new one. Nor is a PIN replaced in copies of the file
//! that were made before: who has such a copy, the device secret and the old PIN has the master key, which stays the same. Make a
//! new token then. Attributes are authentic only in an open token; a list without a PIN shows what the file says.
//!
//! The formats are told byte by byte where they are made: the [header](vault::Header) in `vault/header.rs`, objects and the index in
//! `vault/sealed.rs`, [attributes](Attributes) in `crates/protocol/src/attributes.rs`, the tables in `file/mod.rs`. All of them have version 1.
//!
//! # The database
//! `redb` 4 keeps the tables: a copy-on-write B-tree in a single file with checksums, in Rust without unsafe code but for file locks, under MIT or Apache-2.0,
//! and kept by Christopher Berner since 2022 with a stable file format and a fuzzer that cuts power. It depends on libc alone, and adds some
//! 400 KB to a program. Its commits take two phases here. Opening checks every page, so a damaged file is refused by name and left alone.
//!
//! # Words
//! *Token*, *object*, *user* and *security officer* are those of PKCS #11.
#![forbid(unsafe_code)]

mod device;
mod error;
pub mod file;
pub mod folder;
mod names;
mod secret;
pub mod token;
pub mod tpm;
pub mod vault;

pub use device::{CREDENTIAL, Origin};
pub use error::Error;
pub use file::File;
pub use millstream_protocol::{
    Attributes, CERTIFICATE, CertificateParts, MOST_LABEL_BYTES, PKCS11_TAG, usage,
};
pub use names::{ObjectId, Role, TokenId};
pub use secret::{DeviceSecret, FILE as DEVICE_FILE};
pub use token::Token;

/// The most bytes of a new token's label: PKCS #11 shows no more of it (`CK_TOKEN_INFO`).
pub const MOST_TOKEN_LABEL_BYTES: usize = 32;
