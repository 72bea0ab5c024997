//! The capabilities of the provider in TLS: the groups of key agreements.
//!
//! libssl has only the groups of which the same provider tells that it gets the keys from. So the provider tells of those of its types
//! of keys, in the words of the provider that would have the keys otherwise.
//!
//! Ref. provider-base(7), "TLS-GROUP Capability".
//!
//! # Safety
//! As at the [border](super) everywhere. The argument of [`forward`] is a [`Taker`] that lives as long as the call.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

use super::guard;
use crate::abi::{INTEGER, OsslParam, UNSIGNED_INTEGER, UTF8_STRING};
use crate::error::Reason;
use crate::libcrypto::pkey::{Callback, Home};
use crate::params::Params;
use crate::pkey::ec::Ec;
use crate::pkey::held::Family;
use crate::provider::Provider;

/// The type of the function that tells.
pub type Get = unsafe extern "C" fn(*mut c_void, *const c_char, Option<Callback>, *mut c_void) -> c_int;

/// The caller's function and its argument.
struct Taker(Callback, *mut c_void);

pub unsafe extern "C" fn get(
    provider: *mut c_void,
    capability: *const c_char,
    taker: Option<Callback>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the provider's own pointer, and a C string.
    let (provider, groups) = unsafe {
        let groups = !capability.is_null() && CStr::from_ptr(capability) == c"TLS-GROUP";
        (Provider::from_raw(provider), groups)
    };
    guard(
        || provider,
        || {
            // Without anything to tell there is no failure: libssl would not go on.
            if !groups {
                return Ok(());
            }
            let (provider, taker) = provider.zip(taker).ok_or(Reason::INTERNAL)?;
            let Ok(home) = Home::find(provider, Ec::NAME) else {
                // SAFETY: the caller's function and its argument.
                return if unsafe { x25519(taker, argument) } == 1 { Ok(()) } else { Err(Reason::TOLD) };
            };
            let mut taker = Taker(taker, argument);
            // SAFETY: the function that goes with the argument, which lives as long as the call.
            unsafe { home.capabilities(c"TLS-GROUP", forward, ptr::from_mut(&mut taker).cast()) }
        },
    )
}

/// Hands a group to the caller's function, if keys for it are ours.
unsafe extern "C" fn forward(params: *const OsslParam, taker: *mut c_void) -> c_int {
    // SAFETY: a terminated array, and the caller's function with its argument.
    unsafe {
        let Taker(taker, argument) = *taker.cast::<Taker>();
        let keys = Params::new(params).find(c"tls-group-alg");
        match keys.and_then(|keys| keys.text().ok()) {
            Some("EC" | "X25519") => taker(params, argument),
            _ => 1,
        }
    }
}

/// Tells of X25519 where no other provider can be asked.
///
/// # Safety
/// The function may be called with the argument.
unsafe fn x25519(taker: Callback, argument: *mut c_void) -> c_int {
    let name = c"x25519";
    let text = |key, text: &'static CStr| OsslParam {
        data: text.as_ptr().cast_mut().cast(),
        data_size: text.count_bytes(),
        ..OsslParam::described(key, UTF8_STRING)
    };
    // RFC 8446 §4.2.7, and the versions of TLS and of DTLS that have elliptic curves; 0 stands for no end.
    let (mut group, mut bits): (c_uint, c_uint) = (29, 128);
    let (mut tls, mut dtls, mut none): (c_int, c_int, c_int) = (0x0301, 0xfeff, 0);
    let uint = |key, at: &mut c_uint| OsslParam {
        data: ptr::from_mut(at).cast(),
        data_size: size_of::<c_uint>(),
        ..OsslParam::described(key, UNSIGNED_INTEGER)
    };
    let int = |key, at: &mut c_int| OsslParam {
        data: ptr::from_mut(at).cast(),
        data_size: size_of::<c_int>(),
        ..OsslParam::described(key, INTEGER)
    };
    let params = [
        text(c"tls-group-name", name),
        text(c"tls-group-name-internal", c"X25519"),
        text(c"tls-group-alg", c"X25519"),
        uint(c"tls-group-id", &mut group),
        uint(c"tls-group-sec-bits", &mut bits),
        int(c"tls-min-tls", &mut tls),
        int(c"tls-max-tls", &mut none),
        int(c"tls-min-dtls", &mut dtls),
        int(c"tls-max-dtls", &mut none),
        OsslParam::END,
    ];
    // SAFETY: a terminated array with values that live as long as the call.
    unsafe { taker(params.as_ptr(), argument) }
}
