//! Digests, MACs and key derivations of a libcrypto.
//!
//! # Safety
//! As in [`support`](crate::support): each object is freed by the type that made it.
#![allow(unsafe_code, dead_code)]

use std::ffi::{CStr, CString, c_int, c_uint};
use std::ptr;

use crate::support::{Library, Object, Param, Refused, done, libcrypto, optional, refused};

fn c(text: &str) -> CString {
    CString::new(text).unwrap()
}

/// A text as a parameter. There are few in a test, so they may stay.
pub fn text(key: &'static CStr, value: &str) -> Param {
    Param::text(key, Box::leak(c(value).into_boxed_c_str()))
}

/// Bytes as a parameter, likewise.
pub fn octets(key: &'static CStr, value: &[u8]) -> Param {
    // An empty one has an address all the same, as a C caller's has.
    let mut value = value.to_vec();
    value.reserve_exact(1);
    Param::octets(key, value.leak())
}

fn ended(params: &[Param]) -> Vec<Param> {
    [params, &[Param::END]].concat()
}

/// A fetched digest.
pub struct Digest(Object);

// SAFETY: it may be used by several threads.
unsafe impl Send for Digest {}
// SAFETY: as above.
unsafe impl Sync for Digest {}

impl Digest {
    pub fn fetch(library: &Library, name: &str, query: &CStr) -> Option<Self> {
        // SAFETY: see the top.
        unsafe {
            let digest = (libcrypto().EVP_MD_fetch)(library.context, c(name).as_ptr(), query.as_ptr());
            (libcrypto().ERR_clear_error)();
            (!digest.is_null()).then_some(Digest(digest))
        }
    }

    pub fn get(&self, key: &'static CStr) -> usize {
        let mut value = usize::MAX;
        // SAFETY: see the top.
        done(unsafe {
            (libcrypto().EVP_MD_get_params)(self.0, ended(&[Param::size(key, &mut value)]).as_mut_ptr())
        })
        .unwrap();
        value
    }

    /// In one call.
    pub fn whole(&self, data: &[u8]) -> Vec<u8> {
        self.try_whole(data).unwrap()
    }

    pub fn try_whole(&self, data: &[u8]) -> Result<Vec<u8>, Refused> {
        let (mut out, mut len) = (vec![0; 64], 0);
        // SAFETY: see the top.
        done(unsafe {
            (libcrypto().EVP_Digest)(
                data.as_ptr(),
                data.len(),
                out.as_mut_ptr(),
                &mut len,
                self.0,
                ptr::null_mut(),
            )
        })?;
        out.truncate(len as usize);
        Ok(out)
    }

    pub fn context(&self) -> DigestContext {
        // SAFETY: see the top.
        let mut context = DigestContext(unsafe { (libcrypto().EVP_MD_CTX_new)() });
        context.init(self);
        context
    }
}

impl Drop for Digest {
    fn drop(&mut self) {
        // SAFETY: see the top.
        unsafe { (libcrypto().EVP_MD_free)(self.0) }
    }
}

/// An `EVP_MD_CTX`.
pub struct DigestContext(Object);

impl DigestContext {
    pub fn init(&mut self, digest: &Digest) {
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_DigestInit_ex2)(self.0, digest.0, ptr::null()) }).unwrap();
    }

    pub fn update(&mut self, data: &[u8]) {
        self.try_update(data).unwrap();
    }

    pub fn finish(&mut self) -> Vec<u8> {
        self.finish_at_most(64).unwrap()
    }

    /// Finishes a message whose digest has no more than `most` bytes.
    pub fn finish_at_most(&mut self, most: usize) -> Result<Vec<u8>, Refused> {
        let (mut out, mut len): (_, c_uint) = (vec![0; most], 0);
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_DigestFinal_ex)(self.0, out.as_mut_ptr(), &mut len) })?;
        out.truncate(len as usize);
        Ok(out)
    }

    /// Finishes a message with output of any length.
    pub fn finish_xof(&mut self, len: usize) -> Result<Vec<u8>, Refused> {
        let mut out = vec![0; len];
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_DigestFinalXOF)(self.0, out.as_mut_ptr(), len) })?;
        Ok(out)
    }

    /// Reads the next bytes of the output, with a libcrypto that can.
    pub fn squeeze(&mut self, len: usize) -> Option<Result<Vec<u8>, Refused>> {
        type Squeeze = unsafe extern "C" fn(Object, *mut u8, usize) -> c_int;
        let mut out = vec![0; len];
        // SAFETY: the function of that name has that type; see the top.
        let result = unsafe {
            let squeeze = std::mem::transmute::<Object, Squeeze>(optional("EVP_DigestSqueeze")?);
            squeeze(self.0, out.as_mut_ptr(), len)
        };
        Some(done(result).map(|()| out))
    }

    pub fn set(&mut self, params: &[Param]) -> Result<(), Refused> {
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_MD_CTX_set_params)(self.0, ended(params).as_ptr()) })
    }

    pub fn init_with(&mut self, digest: &Digest, params: &[Param]) -> Result<(), Refused> {
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_DigestInit_ex2)(self.0, digest.0, ended(params).as_ptr()) })
    }

    pub fn try_update(&mut self, data: &[u8]) -> Result<(), Refused> {
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_DigestUpdate)(self.0, data.as_ptr(), data.len()) })
    }

    /// Becomes a copy of `other`.
    pub fn become_copy(&mut self, other: &DigestContext) {
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_MD_CTX_copy_ex)(self.0, other.0) }).unwrap();
    }

    pub fn copy(&self) -> Self {
        // SAFETY: see the top.
        let mut copy = DigestContext(unsafe { (libcrypto().EVP_MD_CTX_new)() });
        copy.become_copy(self);
        copy
    }
}

impl Drop for DigestContext {
    fn drop(&mut self) {
        // SAFETY: see the top.
        unsafe { (libcrypto().EVP_MD_CTX_free)(self.0) }
    }
}

/// An `EVP_MAC_CTX`.
pub struct Mac(Object);

// SAFETY: one thread at a time may use it.
unsafe impl Send for Mac {}

impl Mac {
    pub fn fetch(library: &Library, name: &str, query: &CStr) -> Option<Self> {
        // SAFETY: see the top.
        unsafe {
            let mac = (libcrypto().EVP_MAC_fetch)(library.context, c(name).as_ptr(), query.as_ptr());
            if mac.is_null() {
                (libcrypto().ERR_clear_error)();
                return None;
            }
            let context = (libcrypto().EVP_MAC_CTX_new)(mac);
            (libcrypto().EVP_MAC_free)(mac);
            (!context.is_null()).then_some(Mac(context))
        }
    }

    pub fn set(&mut self, params: &[Param]) -> Result<(), Refused> {
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_MAC_CTX_set_params)(self.0, ended(params).as_ptr()) })
    }

    pub fn number(&self, key: &'static CStr) -> usize {
        let mut value = usize::MAX;
        // SAFETY: see the top.
        done(unsafe {
            (libcrypto().EVP_MAC_CTX_get_params)(self.0, ended(&[Param::size(key, &mut value)]).as_mut_ptr())
        })
        .unwrap();
        value
    }

    pub fn init(&mut self, key: Option<&[u8]>, params: &[Param]) -> Result<(), Refused> {
        let (key, len) = match key {
            // An empty key has an address too.
            Some([]) => ([0].as_ptr(), 0),
            Some(key) => (key.as_ptr(), key.len()),
            None => (ptr::null(), 0),
        };
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_MAC_init)(self.0, key, len, ended(params).as_ptr()) })
    }

    pub fn update(&mut self, data: &[u8]) -> Result<(), Refused> {
        self.update_prefix(data, data.len())
    }

    /// Takes in the first `len` bytes of `data`.
    pub fn update_prefix(&mut self, data: &[u8], len: usize) -> Result<(), Refused> {
        assert!(len <= data.len());
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_MAC_update)(self.0, data.as_ptr(), len) })
    }

    pub fn finish(&mut self) -> Result<Vec<u8>, Refused> {
        self.finish_into(64)
    }

    /// With a buffer of so many bytes.
    pub fn finish_into(&mut self, room: usize) -> Result<Vec<u8>, Refused> {
        let (mut out, mut len) = (vec![0; room], 0);
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_MAC_final)(self.0, out.as_mut_ptr(), &mut len, room) })?;
        out.truncate(len);
        Ok(out)
    }

    /// Returns the length of the MAC, asked for without a buffer.
    pub fn asked_len(&mut self) -> usize {
        let mut len = usize::MAX;
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_MAC_final)(self.0, ptr::null_mut(), &mut len, 0) }).unwrap();
        len
    }

    pub fn dup(&self) -> Self {
        // SAFETY: see the top.
        let copy = unsafe { (libcrypto().EVP_MAC_CTX_dup)(self.0) };
        assert!(!copy.is_null(), "{}", refused().text);
        Mac(copy)
    }
}

impl Drop for Mac {
    fn drop(&mut self) {
        // SAFETY: see the top.
        unsafe { (libcrypto().EVP_MAC_CTX_free)(self.0) }
    }
}

/// An `EVP_KDF_CTX`.
pub struct Kdf(Object);

impl Kdf {
    pub fn fetch(library: &Library, name: &str, query: &CStr) -> Option<Self> {
        // SAFETY: see the top.
        unsafe {
            let kdf = (libcrypto().EVP_KDF_fetch)(library.context, c(name).as_ptr(), query.as_ptr());
            if kdf.is_null() {
                (libcrypto().ERR_clear_error)();
                return None;
            }
            let context = (libcrypto().EVP_KDF_CTX_new)(kdf);
            (libcrypto().EVP_KDF_free)(kdf);
            (!context.is_null()).then_some(Kdf(context))
        }
    }

    pub fn set(&mut self, params: &[Param]) -> Result<(), Refused> {
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_KDF_CTX_set_params)(self.0, ended(params).as_ptr()) })
    }

    pub fn number(&self, key: &'static CStr) -> Result<usize, Refused> {
        let mut value = 0;
        // SAFETY: see the top.
        done(unsafe {
            (libcrypto().EVP_KDF_CTX_get_params)(self.0, ended(&[Param::size(key, &mut value)]).as_mut_ptr())
        })?;
        Ok(value)
    }

    pub fn derive(&mut self, len: usize, params: &[Param]) -> Result<Vec<u8>, Refused> {
        let mut out = Vec::with_capacity(len + 1);
        out.resize(len, 0);
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_KDF_derive)(self.0, out.as_mut_ptr(), len, ended(params).as_ptr()) })?;
        Ok(out)
    }

    pub fn reset(&mut self) {
        // SAFETY: see the top.
        unsafe { (libcrypto().EVP_KDF_CTX_reset)(self.0) }
    }

    pub fn dup(&self) -> Self {
        // SAFETY: see the top.
        let copy = unsafe { (libcrypto().EVP_KDF_CTX_dup)(self.0) };
        assert!(!copy.is_null());
        Kdf(copy)
    }
}

impl Drop for Kdf {
    fn drop(&mut self) {
        // SAFETY: see the top.
        unsafe { (libcrypto().EVP_KDF_CTX_free)(self.0) }
    }
}
