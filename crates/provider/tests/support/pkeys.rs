//! Keys of public-key algorithms (`EVP_PKEY`), and what is done with them.
//!
//! # Safety
//! As in [`support`](super::support).
#![allow(unsafe_code, dead_code)]

use std::ffi::{CStr, c_int, c_long};
use std::ptr;

use super::support::{Library, Object, Param, Refused, done, ended, libcrypto, refused};

/// Selects the public part, or both parts.
pub const PUBLIC: c_int = 0x86;
pub const PAIR: c_int = 0x87;

/// A key.
pub struct Key(pub Object);

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: see the top.
        unsafe { (libcrypto().EVP_PKEY_free)(self.0) }
    }
}

/// An `EVP_PKEY_CTX`.
pub struct Context(pub Object);

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: see the top.
        unsafe { (libcrypto().EVP_PKEY_CTX_free)(self.0) }
    }
}

impl Context {
    /// A context for new keys of a type.
    pub fn named(library: &Library, name: &CStr) -> Result<Self, Refused> {
        let context = Context(
            // SAFETY: see the top.
            unsafe { (libcrypto().EVP_PKEY_CTX_new_from_name)(library.context, name.as_ptr(), ptr::null()) },
        );
        if context.0.is_null() { Err(refused()) } else { Ok(context) }
    }

    /// A context for operations with a key.
    pub fn of(library: &Library, key: &Key) -> Result<Self, Refused> {
        let context = Context(
            // SAFETY: see the top.
            unsafe { (libcrypto().EVP_PKEY_CTX_new_from_pkey)(library.context, key.0, ptr::null()) },
        );
        if context.0.is_null() { Err(refused()) } else { Ok(context) }
    }
}

fn key(returned: c_int, key: Object) -> Result<Key, Refused> {
    let key = Key(key);
    done(returned).map(|()| key)
}

impl Key {
    /// Makes a key; `params` need no end.
    pub fn generate(library: &Library, name: &CStr, params: &[Param]) -> Result<Self, Refused> {
        let context = Context::named(library, name)?;
        let mut made = ptr::null_mut();
        // SAFETY: see the top.
        unsafe {
            done((libcrypto().EVP_PKEY_keygen_init)(context.0))?;
            done((libcrypto().EVP_PKEY_CTX_set_params)(context.0, ended(params).as_ptr()))?;
            key((libcrypto().EVP_PKEY_generate)(context.0, &mut made), made)
        }
    }

    /// Imports the selected parts from parameters.
    pub fn import(
        library: &Library,
        name: &CStr,
        selection: c_int,
        params: &[Param],
    ) -> Result<Self, Refused> {
        let context = Context::named(library, name)?;
        let mut made = ptr::null_mut();
        // SAFETY: see the top.
        unsafe {
            done((libcrypto().EVP_PKEY_fromdata_init)(context.0))?;
            let mut params = ended(params);
            key((libcrypto().EVP_PKEY_fromdata)(context.0, &mut made, selection, params.as_mut_ptr()), made)
        }
    }

    /// Imports a private part alone.
    pub fn private(library: &Library, name: &CStr, bytes: &[u8]) -> Result<Self, Refused> {
        Key::import(library, name, PAIR, &[Param::octets(c"priv", &mut bytes.to_vec())])
    }

    /// Imports a public part alone.
    pub fn public(library: &Library, name: &CStr, bytes: &[u8]) -> Result<Self, Refused> {
        Key::import(library, name, PUBLIC, &[Param::octets(c"pub", &mut bytes.to_vec())])
    }

    /// A parameter that is bytes.
    pub fn octets(&self, name: &'static CStr) -> Result<Vec<u8>, Refused> {
        let mut value = vec![0; 1024];
        let mut params = [Param::octets(name, &mut value), Param::END];
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_PKEY_get_params)(self.0, params.as_mut_ptr()) })?;
        value.truncate(if params[0].return_size == usize::MAX { 0 } else { params[0].return_size });
        Ok(value)
    }

    /// A parameter that is a number.
    pub fn number(&self, name: &'static CStr) -> Result<c_int, Refused> {
        let mut value = -1;
        let mut params = [Param::int(name, &mut value), Param::END];
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_PKEY_get_params)(self.0, params.as_mut_ptr()) })?;
        Ok(value)
    }

    /// The name of the provider that holds the key.
    pub fn provider(&self) -> String {
        // SAFETY: see the top.
        unsafe {
            let provider = (libcrypto().EVP_PKEY_get0_provider)(self.0);
            CStr::from_ptr((libcrypto().OSSL_PROVIDER_get0_name)(provider)).to_string_lossy().into_owned()
        }
    }

    /// The key in DER: PKCS #8, or SubjectPublicKeyInfo.
    pub fn encode(&self, private: bool) -> Result<Vec<u8>, Refused> {
        let encode = if private { libcrypto().i2d_PrivateKey } else { libcrypto().i2d_PUBKEY };
        let mut out = vec![0; 4096];
        let mut at = out.as_mut_ptr();
        // SAFETY: no key in the tests is longer.
        let len = unsafe { encode(self.0, &mut at) };
        if len <= 0 {
            return Err(refused());
        }
        out.truncate(len as usize);
        Ok(out)
    }

    /// Reads a key in DER.
    pub fn decode(library: &Library, private: bool, der: &[u8]) -> Result<Self, Refused> {
        let mut at = der.as_ptr();
        let decode = if private { libcrypto().d2i_AutoPrivateKey_ex } else { libcrypto().d2i_PUBKEY_ex };
        let len = der.len() as c_long;
        // SAFETY: see the top.
        let key = Key(unsafe { decode(ptr::null_mut(), &mut at, len, library.context, ptr::null()) });
        if key.0.is_null() { Err(refused()) } else { Ok(key) }
    }

    /// Agrees with a peer on a secret.
    pub fn agree(&self, library: &Library, peer: &Key) -> Result<Vec<u8>, Refused> {
        let context = Context::of(library, self)?;
        let (mut secret, mut len) = (vec![0; 256], 256);
        // SAFETY: see the top.
        unsafe {
            done((libcrypto().EVP_PKEY_derive_init)(context.0))?;
            done((libcrypto().EVP_PKEY_derive_set_peer)(context.0, peer.0))?;
            done((libcrypto().EVP_PKEY_derive)(context.0, secret.as_mut_ptr(), &mut len))?;
        }
        secret.truncate(len);
        Ok(secret)
    }

    /// Signs a message. A digest may be named, and parameters be given.
    pub fn sign(
        &self,
        library: &Library,
        digest: Option<&CStr>,
        params: &[Param],
        message: &[u8],
    ) -> Result<Vec<u8>, Refused> {
        let context = Digest::new();
        let digest = digest.map_or(ptr::null(), CStr::as_ptr);
        let (mut signature, mut len) = (vec![0; 1024], 1024);
        let nothing = ptr::null_mut();
        // SAFETY: see the top.
        unsafe {
            let params = ended(params);
            let begun = (libcrypto().EVP_DigestSignInit_ex)(
                context.0,
                nothing,
                digest,
                library.context,
                ptr::null(),
                self.0,
                params.as_ptr(),
            );
            done(begun)?;
            let (at, message_at) = (signature.as_mut_ptr(), message.as_ptr());
            done((libcrypto().EVP_DigestSign)(context.0, at, &mut len, message_at, message.len()))?;
        }
        signature.truncate(len);
        Ok(signature)
    }

    /// Verifies a signature: false where it does not.
    pub fn verify(
        &self,
        library: &Library,
        digest: Option<&CStr>,
        params: &[Param],
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, Refused> {
        let context = Digest::new();
        let digest = digest.map_or(ptr::null(), CStr::as_ptr);
        let nothing = ptr::null_mut();
        // SAFETY: see the top.
        let verified = unsafe {
            let params = ended(params);
            let begun = (libcrypto().EVP_DigestVerifyInit_ex)(
                context.0,
                nothing,
                digest,
                library.context,
                ptr::null(),
                self.0,
                params.as_ptr(),
            );
            done(begun)?;
            let (at, message_at) = (signature.as_ptr(), message.as_ptr());
            (libcrypto().EVP_DigestVerify)(context.0, at, signature.len(), message_at, message.len())
        };
        match verified {
            1 => Ok(true),
            0 => {
                refused();
                Ok(false)
            }
            _ => Err(refused()),
        }
    }
}

/// An `EVP_MD_CTX`.
struct Digest(Object);

impl Digest {
    fn new() -> Self {
        // SAFETY: see the top.
        Digest(unsafe { (libcrypto().EVP_MD_CTX_new)() })
    }
}

impl Drop for Digest {
    fn drop(&mut self) {
        // SAFETY: see the top.
        unsafe { (libcrypto().EVP_MD_CTX_free)(self.0) }
    }
}
