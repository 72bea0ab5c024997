//! Encapsulation and decapsulation with keys of public-key algorithms.
//!
//! # Safety
//! As in [`support`](super::support).
#![allow(unsafe_code, dead_code)]

use std::ptr;

use super::pkeys::{Context, Key};
use super::support::{Library, Param, Refused, done, ended, libcrypto};

impl Key {
    /// Makes a secret and its ciphertext: the ciphertext, and the secret. Asks for both lengths first.
    pub fn encapsulate(&self, library: &Library, params: &[Param]) -> Result<(Vec<u8>, Vec<u8>), Refused> {
        let context = Context::of(library, self)?;
        let (mut len, mut secret_len, nothing) = (0, 0, ptr::null_mut());
        let libcrypto = libcrypto();
        // SAFETY: contexts that live, and places as long as they say.
        unsafe {
            done((libcrypto.EVP_PKEY_encapsulate_init)(context.0, ended(params).as_ptr()))?;
            done((libcrypto.EVP_PKEY_encapsulate)(context.0, nothing, &mut len, nothing, &mut secret_len))?;
        }
        self.encapsulate_into(&context, len, secret_len)
    }

    /// Does the same in a context that has begun, with so much room.
    pub fn encapsulate_into(
        &self,
        context: &Context,
        mut len: usize,
        mut secret_len: usize,
    ) -> Result<(Vec<u8>, Vec<u8>), Refused> {
        let (mut ciphertext, mut secret) = (vec![0; len], vec![0; secret_len]);
        let (at, secret_at) = (ciphertext.as_mut_ptr(), secret.as_mut_ptr());
        // SAFETY: a context that lives, and places as long as they say.
        done(unsafe {
            (libcrypto().EVP_PKEY_encapsulate)(context.0, at, &mut len, secret_at, &mut secret_len)
        })?;
        ciphertext.truncate(len);
        secret.truncate(secret_len);
        Ok((ciphertext, secret))
    }

    /// Returns the secret in a ciphertext.
    pub fn decapsulate(&self, library: &Library, ciphertext: &[u8]) -> Result<Vec<u8>, Refused> {
        self.decapsulate_into(library, ciphertext, 256)
    }

    /// Does the same with so much room.
    pub fn decapsulate_into(
        &self,
        library: &Library,
        ciphertext: &[u8],
        room: usize,
    ) -> Result<Vec<u8>, Refused> {
        let context = Context::of(library, self)?;
        let (mut secret, mut len) = (vec![0; room], room);
        // SAFETY: as above.
        unsafe {
            done((libcrypto().EVP_PKEY_decapsulate_init)(context.0, ptr::null()))?;
            let (at, sealed) = (secret.as_mut_ptr(), ciphertext.as_ptr());
            done((libcrypto().EVP_PKEY_decapsulate)(context.0, at, &mut len, sealed, ciphertext.len()))?;
        }
        secret.truncate(len);
        Ok(secret)
    }
}
