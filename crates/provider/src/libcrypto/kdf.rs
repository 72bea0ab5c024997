//! A key derivation of another provider.
//!
//! Ref. EVP_KDF(3).
//!
//! # Safety
//! A [`Context`] owns what libcrypto made; parameters refer to slices that live as long as the call.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;

use super::{OTHERS, functions};
use crate::abi::{INTEGER, OCTET_STRING, OsslParam, UTF8_STRING};
use crate::error::{Reason, Result};
use crate::provider::Provider;

functions! {
    fetch = c"EVP_KDF_fetch": fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    release = c"EVP_KDF_free": fn(*mut c_void);
    new = c"EVP_KDF_CTX_new": fn(*mut c_void) -> *mut c_void;
    free = c"EVP_KDF_CTX_free": fn(*mut c_void);
    derive = c"EVP_KDF_derive": fn(*mut c_void, *mut u8, usize, *const OsslParam) -> c_int;
    set = c"EVP_KDF_CTX_set_params": fn(*mut c_void, *const OsslParam) -> c_int;
    size = c"EVP_KDF_CTX_get_kdf_size": fn(*mut c_void) -> usize;
}

/// A parameter's value.
#[derive(Clone, Copy)]
pub enum Value<'a> {
    Text(&'a CStr),
    Octets(&'a [u8]),
    Number(&'a c_int),
}

/// Derives with the function of that name. A failure has told OpenSSL why.
pub fn derive(
    provider: Provider,
    name: &CStr,
    values: &[(&'static CStr, Value<'_>)],
    out: &mut [u8],
) -> Result<()> {
    let context = Context::new(&provider, name)?;
    let params = params(values);
    // SAFETY: our context, a live slice, a terminated array.
    let derived = unsafe {
        (context.functions.derive)(context.at.as_ptr(), out.as_mut_ptr(), out.len(), params.as_ptr())
    };
    if derived == 1 { Ok(()) } else { Err(Reason::TOLD) }
}

/// Returns how many bytes the function of that name derives with those values: 0 where it refuses them.
pub fn size(provider: Provider, name: &CStr, values: &[(&'static CStr, Value<'_>)]) -> Result<usize> {
    let context = Context::new(&provider, name)?;
    let params = params(values);
    // SAFETY: our context, a terminated array.
    unsafe {
        match (context.functions.set)(context.at.as_ptr(), params.as_ptr()) {
            1 => Ok((context.functions.size)(context.at.as_ptr())),
            _ => Err(Reason::TOLD),
        }
    }
}

struct Context<'a> {
    functions: &'a Functions,
    at: NonNull<c_void>,
}

impl<'a> Context<'a> {
    fn new(provider: &'a Provider, name: &CStr) -> Result<Self> {
        let functions = provider.libcrypto().kdf()?;
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
        Ok(Context { functions, at: NonNull::new(context).ok_or(Reason::TOLD)? })
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // SAFETY: ours, not used again.
        unsafe { (self.functions.free)(self.at.as_ptr()) };
    }
}

/// Returns the values as an array of parameters, which refers to them.
fn params(values: &[(&'static CStr, Value<'_>)]) -> Vec<OsslParam> {
    let all = values.iter().map(|(key, value)| {
        let (data_type, data, data_size): (_, *const c_void, _) = match value {
            Value::Text(text) => (UTF8_STRING, text.as_ptr().cast(), text.count_bytes()),
            Value::Octets(octets) => (OCTET_STRING, octets.as_ptr().cast(), octets.len()),
            Value::Number(number) => (INTEGER, (&raw const **number).cast(), size_of::<c_int>()),
        };
        OsslParam { data: data.cast_mut(), data_size, ..OsslParam::described(key, data_type) }
    });
    all.chain([OsslParam::END]).collect()
}
