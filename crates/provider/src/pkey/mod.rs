//! Public-key algorithms as OpenSSL sees them: keys behind an `EVP_PKEY`, and the operations with them.
//!
//! A key that another provider holds comes here by export and import, so OpenSSL's own decoders, stores and encoders
//! serve these keys too.
//!
//! Ref. provider-keymgmt(7), provider-keyexch(7), provider-signature(7), provider-kem(7).

pub mod choices;
pub mod curve25519;
pub mod ec;
pub mod ecdh;
pub mod ecdsa;
pub mod ed25519;
pub mod held;
pub mod kem;
pub mod message;
pub mod mldsa;
pub mod raw;
pub mod rsa;
pub mod rsa_cipher;
pub mod rsa_signature;
pub mod signature;
pub mod slhdsa;
pub mod stored;
pub mod x25519;

use std::ffi::CStr;

use crate::abi::OsslParam;
use crate::error::Result;
use crate::params::Params;
use crate::provider::Provider;

/// The parts of a key that a call is about, as OpenSSL numbers them.
#[derive(Clone, Copy)]
pub struct Selection(pub i32);

impl Selection {
    pub const PRIVATE: i32 = 1;
    pub const PUBLIC: i32 = 2;
    /// The parameters of the group.
    pub const GROUP: i32 = 4;
    /// All that a key has.
    pub const ALL: i32 = 0x87;

    pub fn has_private(self) -> bool {
        self.0 & Self::PRIVATE != 0
    }

    pub fn has_public(self) -> bool {
        self.0 & Self::PUBLIC != 0
    }

    /// Tells whether the selection has any part of a key pair. What else there is are parameters of its group.
    pub fn has_keys(self) -> bool {
        self.has_private() || self.has_public()
    }
}

/// A type of key: what stands behind an `EVP_PKEY`.
pub trait KeyType: Sized + 'static {
    /// OpenSSL's names of the type.
    const NAMES: &'static CStr;
    /// The parameters that a key is imported from and exported to.
    const PARTS: &'static [OsslParam];
    /// The parameters that tell about a key.
    const GETTABLE: &'static [OsslParam];
    /// The parameters of a key that can be set.
    const SETTABLE: &'static [OsslParam];
    /// The parameters of a key that is to be made.
    const GENERATED_BY: &'static [OsslParam];
    /// True where decoders of this provider make such keys in this process.
    const LOADED: bool = false;
    /// The description of a key that is to be made.
    type Wanted;

    /// Returns a key without any part. With `isolated` its private part will be in the service.
    fn new(provider: Provider, isolated: bool) -> Self;
    /// Returns the provider that the key belongs to.
    fn provider(&self) -> Provider;
    /// Tells whether all selected parts are there.
    fn has(&self, selection: Selection) -> bool;
    /// Tells whether the selected parts of both are the same.
    fn matches(&self, other: &Self, selection: Selection) -> bool;
    /// Fails where a selected part is missing, or parts do not belong together.
    fn validate(&self, selection: Selection) -> Result<()>;
    /// Takes the selected parts from parameters.
    fn import(&mut self, selection: Selection, params: Params<'_>) -> Result<()>;
    /// Calls `taker` with the selected parts.
    fn export(&self, selection: Selection, taker: &mut dyn FnMut(&[OsslParam]) -> bool) -> Result<()>;
    /// Answers questions about the key.
    fn get(&self, params: Params<'_>) -> Result<()>;
    /// Changes the key.
    fn set(&mut self, params: Params<'_>) -> Result<()>;
    /// Returns a copy of the selected parts.
    fn copy(&self, selection: Selection) -> Self;
    /// Begins the description of a key.
    fn want(provider: Provider, isolated: bool, selection: Selection) -> Self::Wanted;
    /// Adds to the description.
    fn specify(wanted: &mut Self::Wanted, params: Params<'_>) -> Result<()>;
    /// Makes a key.
    fn generate(wanted: &Self::Wanted) -> Result<Self>;
    /// Returns the provider that a description belongs to.
    fn wanted_by(wanted: &Self::Wanted) -> Provider;
}

/// Returns the features to which keys are bound.
fn features() -> Result<millstream::Features> {
    Ok(millstream::features()?)
}

/// Turns a number as parameters have it, which is the machine's own order, into a big-endian one.
fn big_endian(number: &mut [u8]) {
    if cfg!(target_endian = "little") {
        number.reverse();
    }
}

/// Random bytes of the kernel's, for the engines.
struct System;

impl millstream::publickey::Random for System {
    fn fill(&mut self, bytes: &mut [u8]) -> std::result::Result<(), millstream::publickey::Error> {
        crate::cipher::random(bytes).map_err(|_| millstream::publickey::Error::Random)
    }
}
