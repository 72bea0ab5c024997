//! Private keys encrypted as PKCS#8 has it, by libcrypto: it has every cipher that a program may ask for.
//!
//! Ref. RFC 5958 §3 (`EncryptedPrivateKeyInfo`), RFC 8018 §6.2 (PBES2), PKCS8_encrypt_ex(3).
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_long, c_uchar, c_void};
use std::ptr;

use super::functions;
use crate::error::{Reason, Result};
use crate::provider::Provider;

functions! {
    fetch = c"EVP_CIPHER_fetch": fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    release = c"EVP_CIPHER_free": fn(*mut c_void);
    read = c"d2i_PKCS8_PRIV_KEY_INFO": fn(*mut *mut c_void, *mut *const c_uchar, c_long) -> *mut c_void;
    free = c"PKCS8_PRIV_KEY_INFO_free": fn(*mut c_void);
    encrypt = c"PKCS8_encrypt_ex": fn(c_int, *const c_void, *const c_char, c_int, *mut c_uchar, c_int, c_int, *mut c_void, *mut c_void, *const c_char) -> *mut c_void;
    write = c"i2d_X509_SIG": fn(*const c_void, *mut *mut c_uchar) -> c_int;
    free_encrypted = c"X509_SIG_free": fn(*mut c_void);
}

/// A cipher, as a program names it.
pub struct Cipher {
    pub name: CString,
    pub properties: Option<CString>,
}

/// Something of libcrypto's, with the function that frees it.
struct Object(*mut c_void, unsafe extern "C" fn(*mut c_void));

impl Object {
    /// Takes what a function has made; null where it failed, and has said why.
    fn made(at: *mut c_void, free: unsafe extern "C" fn(*mut c_void)) -> Result<Self> {
        if at.is_null() { Err(Reason::TOLD) } else { Ok(Object(at, free)) }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: made by a function whose objects this one frees, and not used again.
        unsafe { (self.1)(self.0) };
    }
}

/// Encrypts a `PrivateKeyInfo`, with a key that is derived from a passphrase as libcrypto does on its own.
pub fn encrypt(provider: Provider, cipher: &Cipher, passphrase: &[u8], der: &[u8]) -> Result<Vec<u8>> {
    const STANDARD: c_int = -1;
    let functions = provider.libcrypto().pkcs8()?;
    let context = provider.library_context();
    let properties = cipher.properties.as_ref().map_or(ptr::null(), |text| text.as_ptr());
    let (der_len, len) = (der.len() as c_long, passphrase.len() as c_int);
    let (mut from, no_salt) = (der.as_ptr(), ptr::null_mut());
    // SAFETY: the library context, C strings, and bytes as long as the lengths beside them; each object lives as long as it is used.
    unsafe {
        let cipher = (functions.fetch)(context, cipher.name.as_ptr(), properties);
        let cipher = Object::made(cipher, functions.release)?;
        let info = (functions.read)(ptr::null_mut(), &mut from, der_len);
        let info = Object::made(info, functions.free)?;
        let passphrase = passphrase.as_ptr().cast();
        let encrypted = (functions.encrypt)(
            STANDARD,
            cipher.0,
            passphrase,
            len,
            no_salt,
            0,
            0,
            info.0,
            context,
            ptr::null(),
        );
        let encrypted = Object::made(encrypted, functions.free_encrypted)?;
        let len = (functions.write)(encrypted.0, ptr::null_mut());
        let mut out = vec![0; usize::try_from(len).map_err(|_| Reason::TOLD)?];
        let mut to = out.as_mut_ptr();
        (functions.write)(encrypted.0, &mut to);
        Ok(out)
    }
}
