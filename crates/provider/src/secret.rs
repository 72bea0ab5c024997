//! Secret keys as objects, which OpenSSL's `EVP_SKEY` holds since 3.5.
//!
//! Ref. provider-skeymgmt(7): a key of type `AES` or `GENERIC-SECRET`, imported as bytes or made here. OpenSSL passes a
//! key to a cipher or a MAC of the same provider only, so a provider with ciphers needs these too.

use std::ffi::CString;
use std::sync::Arc;

use millstream::cwq::{Algorithm, Usages};
use millstream::isolated::ServiceKey;
use zeroize::Zeroizing;

use crate::cipher::random;
use crate::error::{Reason, Result};
use crate::params::Params;
use crate::provider::Provider;
use crate::remote;

/// A type of key.
pub trait Kind {
    /// The names of the type.
    const NAMES: &'static std::ffi::CStr;

    /// Tells whether keys of that length exist.
    fn takes(len: usize) -> bool;
}

/// A key of AES.
pub struct Aes;

impl Kind for Aes {
    const NAMES: &'static std::ffi::CStr = c"AES";

    fn takes(len: usize) -> bool {
        matches!(len, 16 | 24 | 32)
    }
}

/// A key of any algorithm.
pub struct Generic;

impl Kind for Generic {
    const NAMES: &'static std::ffi::CStr = c"GENERIC-SECRET";

    fn takes(_: usize) -> bool {
        true
    }
}

/// A key.
///
/// A key that is made or imported with `millstream.algorithm` among its parameters is in the service, for that
/// algorithm, and nobody gets its bytes back. The bytes of any other key are in this process, even where contexts keep
/// theirs in the service.
pub struct SecretKey {
    pub provider: Provider,
    held: Held,
}

/// The place of a key.
pub enum Held {
    /// The bytes are in this process, at one address until the key is freed.
    Here(Zeroizing<Vec<u8>>),
    /// The key is in the service.
    There(Arc<ServiceKey>, Id),
}

/// The name of a key in the service: its algorithm. OpenSSL wants a text that lives as long as the key.
pub type Id = CString;

impl SecretKey {
    /// Imports the parameter `raw-bytes`. Where `millstream.algorithm` is given, too, the bytes go to the service, for
    /// that algorithm.
    ///
    /// # Errors
    /// When there is none, or there are no such keys, or the service does not take it.
    pub fn import<K: Kind>(provider: Provider, isolated: bool, params: Params<'_>) -> Result<Self> {
        let bytes = params.find(c"raw-bytes").ok_or(Reason::MISSING_KEY)?.octets()?;
        if !K::takes(bytes.len()) {
            return Err(Reason::INVALID_KEY_LENGTH);
        }
        let held = match in_service(isolated, params)? {
            None => Held::Here(Zeroizing::new(bytes.to_vec())),
            Some(algorithm) => Held::there(remote::import(provider, algorithm, bytes)?),
        };
        Ok(SecretKey { provider, held })
    }

    /// Makes a random key of as many bytes as `key-length` says: in the service, for the algorithm that
    /// `millstream.algorithm` names, or in this process where it is not given.
    ///
    /// # Errors
    /// As [`SecretKey::import`]; when the kernel has no random bytes.
    pub fn generate<K: Kind>(provider: Provider, isolated: bool, params: Params<'_>) -> Result<Self> {
        let len = params.find(c"key-length").ok_or(Reason::MISSING_KEY)?.size()?;
        if !K::takes(len) || len == 0 || len > LONGEST {
            return Err(Reason::INVALID_KEY_LENGTH);
        }
        let held = match in_service(isolated, params)? {
            None => {
                let mut bytes = Zeroizing::new(vec![0; len]);
                random(&mut bytes)?;
                Held::Here(bytes)
            }
            Some(algorithm) => Held::there(remote::generate(provider, algorithm, len)?),
        };
        Ok(SecretKey { provider, held })
    }

    pub fn held(&self) -> &Held {
        &self.held
    }

    /// Returns the bytes, to be exported.
    ///
    /// # Errors
    /// When it is in the service.
    pub fn bytes(&self) -> Result<&[u8]> {
        match &self.held {
            Held::Here(bytes) => Ok(bytes),
            Held::There(..) => Err(OPAQUE),
        }
    }
}

impl Held {
    fn there(key: ServiceKey) -> Self {
        let id = CString::new(key.algorithm().name()).unwrap_or_default();
        Held::There(Arc::new(key), id)
    }
}

/// The most bytes of a key that is made.
const LONGEST: usize = 1024;

const OPAQUE: Reason = Reason::NOT_SUPPORTED.with("the key is in the service, which does not give it out");
const UNKNOWN: Reason = Reason::NOT_SUPPORTED
    .with("millstream.algorithm names no algorithm that the service has: take one as aes-gcm, aes-cbc or sha256 (for an HMAC)");
const NOT_ISOLATED: Reason = Reason::NOT_SUPPORTED
    .with("millstream.algorithm is for keys in the service: ask for millstream.isolated=yes, and configure the provider so");

/// Returns the algorithm for which the service is to have the key.
fn in_service(isolated: bool, params: Params<'_>) -> Result<Option<Algorithm>> {
    let Some(name) = params.find(c"millstream.algorithm") else { return Ok(None) };
    let name = name.text()?;
    let algorithm = Algorithm::from_name(name.strip_prefix("hmac-").unwrap_or(name));
    match algorithm.filter(|algorithm| !Usages::of(*algorithm).is_empty()) {
        None => Err(UNKNOWN),
        Some(_) if !isolated => Err(NOT_ISOLATED),
        algorithm => Ok(algorithm),
    }
}
