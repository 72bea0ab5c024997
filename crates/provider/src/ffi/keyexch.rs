//! The functions of key agreements.
//!
//! # Safety
//! As at the [border](super) everywhere.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uchar, c_void};

use super::keymgmt::key;
use super::{Copy, Free, NewCtx, Output, boxed, guard, unbox};
use crate::abi::{self, Dispatch, OsslParam};
use crate::error::Reason;
use crate::pkey::curve25519::{Key, LEN};
use crate::pkey::x25519::{Exchange, X25519};
use crate::provider::Provider;

type Init = unsafe extern "C" fn(*mut c_void, *mut c_void, *const OsslParam) -> c_int;
type SetPeer = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;

/// The functions of X25519.
pub const X25519_FUNCTIONS: &[Dispatch] = {
    use abi::keyexch as id;
    &[
        function!(id::NEWCTX, NewCtx, new),
        function!(id::INIT, Init, init),
        function!(id::DERIVE, Output, derive),
        function!(id::SET_PEER, SetPeer, set_peer),
        function!(id::FREECTX, Free, unbox::<Exchange>),
        function!(id::DUPCTX, Copy, dup),
        Dispatch::END,
    ]
};

unsafe extern "C" fn new(provider: *mut c_void) -> *mut c_void {
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    boxed(provider, || Ok(Exchange::new(provider.ok_or(Reason::INTERNAL)?)))
}

unsafe extern "C" fn init(context: *mut c_void, raw: *mut c_void, _params: *const OsslParam) -> c_int {
    // SAFETY: a context of ours, and a key of ours or null.
    let (context, key) = unsafe { (&mut *context.cast::<Exchange>(), key::<Key<X25519>>(raw)) };
    let provider = context.provider;
    guard(|| Some(provider), || context.begin(key.ok_or(Reason::MISSING_KEY)?))
}

unsafe extern "C" fn set_peer(context: *mut c_void, raw: *mut c_void) -> c_int {
    // SAFETY: as in `init`.
    let (context, key) = unsafe { (&mut *context.cast::<Exchange>(), key::<Key<X25519>>(raw)) };
    let provider = context.provider;
    guard(|| Some(provider), || context.set_peer(key.ok_or(Reason::MISSING_KEY)?))
}

unsafe extern "C" fn derive(context: *mut c_void, out: *mut c_uchar, len: *mut usize, room: usize) -> c_int {
    // SAFETY: a context of ours.
    let context = unsafe { &mut *context.cast::<Exchange>() };
    let provider = context.provider;
    guard(
        || Some(provider),
        || {
            if !out.is_null() {
                if room < LEN {
                    return Err(Reason::OUTPUT_BUFFER_TOO_SMALL);
                }
                // SAFETY: `room` bytes of output.
                context.derive(unsafe { &mut *out.cast::<[u8; LEN]>() })?;
            }
            // SAFETY: a place for a length.
            unsafe { *len = LEN };
            Ok(())
        },
    )
}

unsafe extern "C" fn dup(context: *mut c_void) -> *mut c_void {
    // SAFETY: a context of ours.
    let context = unsafe { &*context.cast::<Exchange>() };
    boxed(Some(context.provider), || Ok(context.clone()))
}
