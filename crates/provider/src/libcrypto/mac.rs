//! A MAC of another provider.
//!
//! Ref. EVP_MAC(3).
//!
//! # Safety
//! A [`Mac`] owns its context, which libcrypto made and nobody else has; arguments are live slices and terminated arrays.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{self, NonNull};

use super::{OTHERS, functions};
use crate::abi::OsslParam;
use crate::error::{Reason, Result};
use crate::params::Params;
use crate::provider::Provider;

functions! {
    fetch = c"EVP_MAC_fetch": fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    release = c"EVP_MAC_free": fn(*mut c_void);
    new = c"EVP_MAC_CTX_new": fn(*mut c_void) -> *mut c_void;
    duplicate = c"EVP_MAC_CTX_dup": fn(*const c_void) -> *mut c_void;
    free = c"EVP_MAC_CTX_free": fn(*mut c_void);
    init = c"EVP_MAC_init": fn(*mut c_void, *const u8, usize, *const OsslParam) -> c_int;
    update = c"EVP_MAC_update": fn(*mut c_void, *const u8, usize) -> c_int;
    finish = c"EVP_MAC_final": fn(*mut c_void, *mut u8, *mut usize, usize) -> c_int;
    get = c"EVP_MAC_CTX_get_params": fn(*mut c_void, *mut OsslParam) -> c_int;
    set = c"EVP_MAC_CTX_set_params": fn(*mut c_void, *const OsslParam) -> c_int;
}

/// A context of another provider's MAC. A failure has told OpenSSL why.
pub struct Mac {
    provider: Provider,
    context: NonNull<c_void>,
}

// SAFETY: a context may be used by any thread, one at a time.
unsafe impl Send for Mac {}

impl Mac {
    /// Makes a context for the MAC of that name.
    pub fn new(provider: Provider, name: &CStr) -> Result<Self> {
        let functions = provider.libcrypto().mac()?;
        // SAFETY: the provider's own library context; a context keeps its method alive, so that is let go.
        let context = unsafe {
            let method = (functions.fetch)(provider.library_context(), name.as_ptr(), OTHERS.as_ptr());
            if method.is_null() {
                return Err(Reason::TOLD);
            }
            let context = (functions.new)(method);
            (functions.release)(method);
            context
        };
        Mac::owning(provider, context)
    }

    /// Makes another context in the same state.
    pub fn duplicate(&self) -> Result<Self> {
        // SAFETY: our context.
        let context = unsafe { (self.functions()?.duplicate)(self.context.as_ptr()) };
        Mac::owning(self.provider, context)
    }

    fn owning(provider: Provider, context: *mut c_void) -> Result<Self> {
        Ok(Mac { provider, context: NonNull::new(context).ok_or(Reason::TOLD)? })
    }

    fn functions(&self) -> Result<&super::mac::Functions> {
        self.provider.libcrypto().mac()
    }

    pub fn init(&mut self, key: Option<&[u8]>, params: Params<'_>) -> Result<()> {
        let (key, len) = key.map_or((ptr::null(), 0), |key| (key.as_ptr(), key.len()));
        // SAFETY: our context, a live key or none, a terminated array.
        told(unsafe { (self.functions()?.init)(self.context.as_ptr(), key, len, params.as_ptr()) })
    }

    pub fn update(&mut self, data: &[u8]) -> Result<()> {
        // SAFETY: our context, a live slice.
        told(unsafe { (self.functions()?.update)(self.context.as_ptr(), data.as_ptr(), data.len()) })
    }

    /// Writes the MAC to the front of `out`, and returns its length.
    pub fn finish(&mut self, out: &mut [u8]) -> Result<usize> {
        let mut len = 0;
        // SAFETY: our context, a live slice, a place for a number.
        told(unsafe {
            (self.functions()?.finish)(self.context.as_ptr(), out.as_mut_ptr(), &mut len, out.len())
        })?;
        Ok(len)
    }

    pub fn get(&self, params: Params<'_>) -> Result<()> {
        // SAFETY: our context, a terminated array whose values are the callee's to write.
        told(unsafe { (self.functions()?.get)(self.context.as_ptr(), params.as_ptr()) })
    }

    pub fn set(&mut self, params: Params<'_>) -> Result<()> {
        // SAFETY: our context, a terminated array.
        told(unsafe { (self.functions()?.set)(self.context.as_ptr(), params.as_ptr()) })
    }
}

impl Drop for Mac {
    fn drop(&mut self) {
        if let Ok(functions) = self.functions() {
            // SAFETY: our context, not used again.
            unsafe { (functions.free)(self.context.as_ptr()) };
        }
    }
}

fn told(answer: c_int) -> Result<()> {
    if answer == 1 { Ok(()) } else { Err(Reason::TOLD) }
}
