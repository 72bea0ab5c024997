//! Objects that decoders and stores pass to OpenSSL: keys of ours by reference, and data.
//!
//! Ref. provider-object(7).
//!
//! # Safety
//! As at the [border](super) everywhere. A reference to a key is the address of a pointer to its box; whoever takes the key writes null there.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::marker::PhantomData;
use std::ptr;

use millstream::cwq::Algorithm;

use super::{guard, unbox};
use crate::abi::{INTEGER, OCTET_STRING, OsslParam, UTF8_STRING, object};
use crate::error::{Reason, Result};
use crate::libcrypto::pkey::Callback;
use crate::pkey::held;
use crate::pkey::mldsa::MlDsa;
use crate::pkey::raw::Encoded;
use crate::provider::Provider;

pub(super) type Load = unsafe extern "C" fn(*const c_void, usize) -> *mut c_void;
pub(super) type Export =
    unsafe extern "C" fn(*mut c_void, *const c_void, usize, Option<Callback>, *mut c_void) -> c_int;

/// The function to which objects are passed, with its argument.
pub(super) struct Taker {
    pub(super) function: Callback,
    pub(super) argument: *mut c_void,
}

impl Taker {
    /// Passes something on. Returns what the taker says, which has raised its errors itself.
    ///
    /// # Safety
    /// The taker may be called with these parameters.
    pub(super) unsafe fn pass(&self, mut kind: c_int, parts: &[OsslParam]) -> Result<()> {
        let kind = OsslParam {
            data: (&raw mut kind).cast(),
            data_size: size_of::<c_int>(),
            ..OsslParam::described(c"type", INTEGER)
        };
        let params: Vec<OsslParam> = [kind].iter().chain(parts).chain([&OsslParam::END]).copied().collect();
        // SAFETY: the caller's promise; the array is terminated, and its values live as long as the call.
        if unsafe { (self.function)(params.as_ptr(), self.argument) } == 0 {
            Err(Reason::TOLD)
        } else {
            Ok(())
        }
    }
}

/// Returns OpenSSL's name of a key's type.
pub(super) fn type_name(algorithm: Algorithm) -> &'static CStr {
    match algorithm {
        Algorithm::Rsa => c"RSA",
        Algorithm::X25519 => c"X25519",
        Algorithm::Ed25519 => c"ED25519",
        Algorithm::MlDsa44 => MlDsa::<44>::NAME,
        Algorithm::MlDsa65 => MlDsa::<65>::NAME,
        Algorithm::MlDsa87 => MlDsa::<87>::NAME,
        _ => c"EC",
    }
}

/// Hands a key over that was decoded here.
///
/// # Safety
/// `reference` is a reference to a key, as the [module](self) says.
pub(super) unsafe extern "C" fn load(reference: *const c_void, len: usize) -> *mut c_void {
    if reference.is_null() || len != size_of::<*mut c_void>() {
        return ptr::null_mut();
    }
    // SAFETY: the place of a pointer, which is the decoder's own. OpenSSL passes it on as read-only.
    unsafe { ptr::replace(reference.cast_mut().cast::<*mut c_void>(), ptr::null_mut()) }
}

/// The key is in the service, so other providers get nothing of it.
pub(super) unsafe extern "C" fn export(
    provider: *mut c_void,
    _: *const c_void,
    _: usize,
    _: Option<Callback>,
    _: *mut c_void,
) -> c_int {
    // SAFETY: the decoder's context is the provider.
    let provider = unsafe { Provider::from_raw(provider) };
    guard(|| provider, || Err(held::OPAQUE))
}

/// Returns a parameter that is a text. OpenSSL reads it up to its terminator.
pub(super) fn text(name: &'static CStr, value: &CStr) -> OsslParam {
    filled(name, UTF8_STRING, value.to_bytes())
}

pub(super) fn filled(name: &'static CStr, data_type: u32, value: &[u8]) -> OsslParam {
    OsslParam {
        data: value.as_ptr().cast_mut().cast(),
        data_size: value.len(),
        ..OsslParam::described(name, data_type)
    }
}

/// A key that OpenSSL may take.
pub(super) struct Reference<T>(*mut c_void, PhantomData<T>);

impl<T> Reference<T> {
    pub(super) fn new(key: T) -> Self {
        Reference(Box::into_raw(Box::new(key)).cast(), PhantomData)
    }

    pub(super) fn pass(&mut self, taker: &Taker, name: &'static CStr) -> Result<()> {
        let place = OsslParam {
            data: (&raw mut self.0).cast(),
            data_size: size_of::<*mut c_void>(),
            ..OsslParam::described(c"reference", OCTET_STRING)
        };
        // SAFETY: parameters of an object that is a reference, which lives as long as the call.
        unsafe { taker.pass(object::PKEY, &[text(c"data-type", name), place]) }
    }
}

impl<T> Drop for Reference<T> {
    fn drop(&mut self) {
        // SAFETY: a box of ours that nobody has taken, or null.
        unsafe { unbox::<T>(self.0) };
    }
}
