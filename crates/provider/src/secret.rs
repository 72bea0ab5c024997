//! Secret keys as objects: what OpenSSL's `EVP_SKEY` holds, from 3.5 on.
//!
//! Ref. provider-skeymgmt(7): a key of type `AES` or `GENERIC-SECRET`, brought as bytes. OpenSSL passes one to a cipher or a MAC of the
//! same provider only, so what has ciphers must have these too.

use zeroize::Zeroizing;

use crate::error::{Reason, Result};
use crate::params::Params;
use crate::provider::Provider;

/// What a key may be.
pub trait Kind {
    /// Its names.
    const NAMES: &'static std::ffi::CStr;

    /// Whether there are keys of that length.
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

/// A key of anything.
pub struct Generic;

impl Kind for Generic {
    const NAMES: &'static std::ffi::CStr = c"GENERIC-SECRET";

    fn takes(_: usize) -> bool {
        true
    }
}

/// A key. Its bytes are in this process, also where contexts keep theirs in the service: who imported it has them anyway.
pub struct SecretKey {
    pub provider: Provider,
    bytes: Zeroizing<Vec<u8>>,
}

impl SecretKey {
    /// From the parameter `raw-bytes`.
    ///
    /// # Errors
    /// When there is none, or there are no such keys.
    pub fn import<K: Kind>(provider: Provider, params: Params<'_>) -> Result<Self> {
        let bytes = params.find(c"raw-bytes").ok_or(Reason::MISSING_KEY)?.octets()?;
        if !K::takes(bytes.len()) {
            return Err(Reason::INVALID_KEY_LENGTH);
        }
        Ok(SecretKey { provider, bytes: Zeroizing::new(bytes.to_vec()) })
    }

    /// Its bytes, which lie where they are until it is freed.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
