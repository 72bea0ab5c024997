//! The functions of signatures whose algorithm hashes messages by itself.
//!
//! # Safety
//! As at the [border](super) everywhere. A signature is computed elsewhere and copied at the end, so it may overlap the message.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uchar, c_void};

use super::keymgmt::key;
use super::signature::{DigestInit, Init, New, Sign, Verify};
use super::{ContextGettable, Copy, Free, GetParams, Input, Output, SetParams, boxed, guard, unbox};
use crate::abi::{self, Dispatch, OsslParam};
use crate::error::{Reason, Result};
use crate::exchange::{bytes, bytes_mut};
use crate::params::Params;
use crate::pkey::message::{MessageSignature, NO_DIGEST, Purpose};
use crate::provider::Provider;

type VerifyFinal = unsafe extern "C" fn(*mut c_void) -> c_int;

/// The functions of an algorithm. Those without a digest's name are known from OpenSSL 3.4 on, and earlier versions take none of an
/// algorithm that has them.
pub const fn message_signature_functions<S: MessageSignature, const BEFORE_3_4: bool>() -> &'static [Dispatch]
{
    use abi::signature as id;
    const {
        &[
            function!(id::NEWCTX, New, new::<S>),
            function!(id::FREECTX, Free, unbox::<S>),
            function!(id::DUPCTX, Copy, dup::<S>),
            function!(id::GET_CTX_PARAMS, GetParams, get_params::<S>),
            function!(id::GETTABLE_CTX_PARAMS, ContextGettable, gettable::<S>),
            function!(id::SET_CTX_PARAMS, SetParams, set_params::<S>),
            function!(id::SETTABLE_CTX_PARAMS, ContextGettable, settable::<S>),
            function!(id::DIGEST_SIGN_INIT, DigestInit, digest_init::<S>),
            function!(id::DIGEST_SIGN_UPDATE, Input, update::<S>),
            function!(id::DIGEST_SIGN_FINAL, Output, sign_final::<S>),
            function!(id::DIGEST_SIGN, Sign, sign::<S>),
            function!(id::DIGEST_VERIFY_INIT, DigestInit, digest_init::<S>),
            function!(id::DIGEST_VERIFY_UPDATE, Input, update::<S>),
            function!(id::DIGEST_VERIFY_FINAL, Input, digest_verify_final::<S>),
            function!(id::DIGEST_VERIFY, Verify, verify::<S>),
            if BEFORE_3_4 { Dispatch::END } else { function!(id::SIGN_MESSAGE_INIT, Init, sign_init::<S>) },
            function!(id::SIGN_MESSAGE_UPDATE, Input, update::<S>),
            function!(id::SIGN_MESSAGE_FINAL, Output, sign_final::<S>),
            function!(id::SIGN, Sign, sign::<S>),
            function!(id::VERIFY_MESSAGE_INIT, Init, verify_init::<S>),
            function!(id::VERIFY_MESSAGE_UPDATE, Input, update::<S>),
            function!(id::VERIFY_MESSAGE_FINAL, VerifyFinal, verify_final::<S>),
            function!(id::VERIFY, Verify, verify::<S>),
            Dispatch::END,
        ]
    }
}

unsafe extern "C" fn new<S: MessageSignature>(provider: *mut c_void, _: *const c_char) -> *mut c_void {
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    boxed(provider, || Ok(S::new(provider.ok_or(Reason::INTERNAL)?)))
}

/// Calls `inner` with a context.
///
/// # Safety
/// `raw` is a context of ours that nobody else uses.
unsafe fn with<S: MessageSignature>(raw: *mut c_void, inner: impl FnOnce(&mut S) -> Result<()>) -> c_int {
    // SAFETY: the caller's promise.
    let context = unsafe { &mut *raw.cast::<S>() };
    let provider = context.provider();
    guard(|| Some(provider), || inner(context))
}

unsafe extern "C" fn sign_init<S: MessageSignature>(
    context: *mut c_void,
    raw: *mut c_void,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: a context of ours, a key of ours or null, and a terminated array.
    unsafe {
        let (key, params) = (key::<S::Key>(raw), Params::new(params));
        with::<S>(context, |context| context.begin(Purpose::SignOrDigestVerify, key, params))
    }
}

unsafe extern "C" fn verify_init<S: MessageSignature>(
    context: *mut c_void,
    raw: *mut c_void,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: a context of ours, a key of ours or null, and a terminated array.
    unsafe {
        let (key, params) = (key::<S::Key>(raw), Params::new(params));
        with::<S>(context, |context| context.begin(Purpose::VerifyMessage, key, params))
    }
}

unsafe extern "C" fn digest_init<S: MessageSignature>(
    context: *mut c_void,
    digest: *const c_char,
    raw: *mut c_void,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: a C string or null.
    if !digest.is_null() && !unsafe { CStr::from_ptr(digest) }.is_empty() {
        // SAFETY: a context of ours.
        return unsafe { with::<S>(context, |_| Err(NO_DIGEST)) };
    }
    // SAFETY: as `sign_init` asks for.
    unsafe { sign_init::<S>(context, raw, params) }
}

/// Writes what `make` makes, if there is a place for it, and its length.
///
/// # Safety
/// `context` is a context of ours, `out` is null or has `room` bytes, and `len` is a place for a length.
unsafe fn put<S: MessageSignature>(
    context: *mut c_void,
    (out, len, room): (*mut c_uchar, *mut usize, usize),
    make: impl FnOnce(&mut S) -> Result<Vec<u8>>,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        with::<S>(context, |context| {
            if !out.is_null() {
                if room < context.len() {
                    return Err(Reason::OUTPUT_BUFFER_TOO_SMALL);
                }
                let made = make(context)?;
                bytes_mut(out, made.len()).copy_from_slice(&made);
            }
            *len.as_mut().ok_or(Reason::NULL_LENGTH_POINTER)? = context.len();
            Ok(())
        })
    }
}

unsafe extern "C" fn sign<S: MessageSignature>(
    context: *mut c_void,
    out: *mut c_uchar,
    len: *mut usize,
    room: usize,
    message: *const c_uchar,
    message_len: usize,
) -> c_int {
    // SAFETY: OpenSSL's context and places, and a message as long as it says.
    unsafe { put::<S>(context, (out, len, room), |context| context.sign(bytes(message, message_len))) }
}

unsafe extern "C" fn verify<S: MessageSignature>(
    context: *mut c_void,
    signature: *const c_uchar,
    len: usize,
    message: *const c_uchar,
    message_len: usize,
) -> c_int {
    // SAFETY: a context of ours, and inputs as long as they say.
    unsafe {
        let (message, signature) = (bytes(message, message_len), bytes(signature, len));
        with::<S>(context, |context| context.verify(message, signature))
    }
}

unsafe extern "C" fn update<S: MessageSignature>(
    context: *mut c_void,
    piece: *const c_uchar,
    len: usize,
) -> c_int {
    // SAFETY: a context of ours, and a piece as long as it says.
    unsafe { with::<S>(context, |context| context.update(bytes(piece, len))) }
}

unsafe extern "C" fn sign_final<S: MessageSignature>(
    context: *mut c_void,
    out: *mut c_uchar,
    len: *mut usize,
    room: usize,
) -> c_int {
    // SAFETY: OpenSSL's context and places.
    unsafe { put::<S>(context, (out, len, room), S::sign_pieces) }
}

unsafe extern "C" fn digest_verify_final<S: MessageSignature>(
    context: *mut c_void,
    signature: *const c_uchar,
    len: usize,
) -> c_int {
    // SAFETY: a context of ours, and a signature as long as it says.
    unsafe { with::<S>(context, |context| context.verify_pieces(Some(bytes(signature, len)))) }
}

unsafe extern "C" fn verify_final<S: MessageSignature>(context: *mut c_void) -> c_int {
    // SAFETY: a context of ours.
    unsafe { with::<S>(context, |context| context.verify_pieces(None)) }
}

unsafe extern "C" fn dup<S: MessageSignature>(context: *mut c_void) -> *mut c_void {
    // SAFETY: a context of ours.
    let context = unsafe { &*context.cast::<S>() };
    boxed(Some(context.provider()), || Ok(context.clone()))
}

unsafe extern "C" fn get_params<S: MessageSignature>(context: *mut c_void, params: *mut OsslParam) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    unsafe { with::<S>(context, |context| context.get(Params::new(params))) }
}

unsafe extern "C" fn set_params<S: MessageSignature>(
    context: *mut c_void,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    unsafe { with::<S>(context, |context| context.set(Params::new(params))) }
}

unsafe extern "C" fn gettable<S: MessageSignature>(_: *mut c_void, _: *mut c_void) -> *const OsslParam {
    S::GETTABLE.as_ptr()
}

/// Lists the parameters that can be set. Without a context they are those of signing.
unsafe extern "C" fn settable<S: MessageSignature>(context: *mut c_void, _: *mut c_void) -> *const OsslParam {
    // SAFETY: a context of ours, or null.
    match unsafe { context.cast::<S>().as_ref() }.map(S::purpose) {
        Some(Purpose::VerifyMessage) => S::SETTABLE_TO_VERIFY.as_ptr(),
        _ => S::SETTABLE.as_ptr(),
    }
}
