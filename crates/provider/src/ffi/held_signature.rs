//! The functions of signatures with keys of another provider.
//!
//! # Safety
//! As at the [border](super) everywhere.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uchar, c_void};
use std::ptr;

use super::operation::{
    Init, Transform, copied, duplicate, get_params, gettable, set_params, settable, with, with_key,
};
use super::{
    ContextGettable, Copy, Free, GetParams, Gettable, Input, Output, SetParams, boxed, guard, unbox,
};
use crate::abi::{Dispatch, OsslParam, signature as id};
use crate::error::Reason;
use crate::exchange::bytes;
use crate::libcrypto::pkey::Out;
use crate::params::Params;
use crate::pkey::held::Operation;
use crate::pkey::signature::{Begun, Scheme, Signature};
use crate::provider::Provider;

type New = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
type DigestInit = unsafe extern "C" fn(*mut c_void, *const c_char, *mut c_void, *const OsslParam) -> c_int;
type Verify = unsafe extern "C" fn(*mut c_void, *const c_uchar, usize, *const c_uchar, usize) -> c_int;

/// The functions of a scheme.
pub const fn signature_functions<S: Scheme>() -> &'static [Dispatch] {
    const {
        &[
            function!(id::NEWCTX, New, new::<S>),
            function!(id::SIGN_INIT, Init, sign_init::<S>),
            function!(id::SIGN, Transform, sign::<S>),
            function!(id::VERIFY_INIT, Init, verify_init::<S>),
            function!(id::VERIFY, Verify, verify::<S>),
            function!(id::DIGEST_SIGN_INIT, DigestInit, digest_sign_init::<S>),
            function!(id::DIGEST_SIGN_UPDATE, Input, update::<S>),
            function!(id::DIGEST_SIGN_FINAL, Output, digest_sign_final::<S>),
            function!(id::DIGEST_VERIFY_INIT, DigestInit, digest_verify_init::<S>),
            function!(id::DIGEST_VERIFY_UPDATE, Input, update::<S>),
            function!(id::DIGEST_VERIFY_FINAL, Input, digest_verify_final::<S>),
            function!(id::FREECTX, Free, unbox::<Signature<S>>),
            function!(id::DUPCTX, Copy, duplicate::<Signature<S>>),
            function!(id::GET_CTX_PARAMS, GetParams, get_params::<Signature<S>>),
            function!(id::GETTABLE_CTX_PARAMS, ContextGettable, gettable::<Signature<S>>),
            function!(id::SET_CTX_PARAMS, SetParams, set_params::<Signature<S>>),
            function!(id::SETTABLE_CTX_PARAMS, ContextGettable, settable::<Signature<S>>),
            function!(id::GET_CTX_MD_PARAMS, GetParams, get_digest_params::<S>),
            function!(id::GETTABLE_CTX_MD_PARAMS, Gettable, digest_gettable::<S>),
            function!(id::SET_CTX_MD_PARAMS, SetParams, set_digest_params::<S>),
            function!(id::SETTABLE_CTX_MD_PARAMS, Gettable, digest_settable::<S>),
            // Functions that only some schemes have come last.
            if S::RECOVERS {
                function!(id::VERIFY_RECOVER_INIT, Init, recover_init::<S>)
            } else {
                Dispatch::END
            },
            function!(id::VERIFY_RECOVER, Transform, recover::<S>),
            Dispatch::END,
        ]
    }
}

unsafe extern "C" fn new<S: Scheme>(provider: *mut c_void, properties: *const c_char) -> *mut c_void {
    // SAFETY: the provider's own pointer, and a C string or null.
    let (provider, properties) = unsafe {
        let properties = (!properties.is_null()).then(|| CStr::from_ptr(properties));
        (Provider::from_raw(provider), properties)
    };
    boxed(provider, || Ok(Signature::<S>::new(provider.ok_or(Reason::INTERNAL)?, properties)))
}

/// Begins an operation.
///
/// # Safety
/// `raw` is a context of ours, `digest` a C string or null, `key` a key of ours or null, and `params` a terminated array or null.
unsafe fn init<S: Scheme>(
    raw: *mut c_void,
    begun: Begun,
    digest: *const c_char,
    key: *mut c_void,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let digest = (!digest.is_null()).then(|| CStr::from_ptr(digest));
        with_key::<Signature<S>>(raw, key, |context, key| {
            context.begin(begun, digest, key, Params::new(params))
        })
    }
}

macro_rules! inits {
    ($($name:ident: $begun:ident;)*) => {
        $(unsafe extern "C" fn $name<S: Scheme>(
            raw: *mut c_void,
            key: *mut c_void,
            params: *const OsslParam,
        ) -> c_int {
            // SAFETY: as `init` asks for.
            unsafe { init::<S>(raw, Begun::$begun, ptr::null(), key, params) }
        })*
    };
}

inits! {
    sign_init: Sign;
    verify_init: Verify;
    recover_init: Recover;
}

macro_rules! digest_inits {
    ($($name:ident: $begun:ident;)*) => {
        $(unsafe extern "C" fn $name<S: Scheme>(
            raw: *mut c_void,
            digest: *const c_char,
            key: *mut c_void,
            params: *const OsslParam,
        ) -> c_int {
            // SAFETY: as `init` asks for.
            unsafe { init::<S>(raw, Begun::$begun, digest, key, params) }
        })*
    };
}

digest_inits! {
    digest_sign_init: DigestSign;
    digest_verify_init: DigestVerify;
}

unsafe extern "C" fn sign<S: Scheme>(
    raw: *mut c_void,
    out: *mut c_uchar,
    len: *mut usize,
    room: usize,
    signed: *const c_uchar,
    signed_len: usize,
) -> c_int {
    // SAFETY: a context of ours, the caller's place, and an input as long as it says. It may overlap the place, so it is copied.
    unsafe {
        let signed = copied(signed, signed_len);
        with::<Signature<S>>(raw, |context| context.sign(Out::new(out, len, room), &signed))
    }
}

unsafe extern "C" fn recover<S: Scheme>(
    raw: *mut c_void,
    out: *mut c_uchar,
    len: *mut usize,
    room: usize,
    signature: *const c_uchar,
    signature_len: usize,
) -> c_int {
    // SAFETY: as in `sign`.
    unsafe {
        let signature = copied(signature, signature_len);
        with::<Signature<S>>(raw, |context| context.recover(Out::new(out, len, room), &signature))
    }
}

unsafe extern "C" fn verify<S: Scheme>(
    raw: *mut c_void,
    signature: *const c_uchar,
    len: usize,
    signed: *const c_uchar,
    signed_len: usize,
) -> c_int {
    // SAFETY: a context of ours, and inputs as long as they say.
    unsafe {
        let (signature, signed) = (bytes(signature, len), bytes(signed, signed_len));
        with::<Signature<S>>(raw, |context| context.verify(signature, signed))
    }
}

unsafe extern "C" fn update<S: Scheme>(raw: *mut c_void, data: *const c_uchar, len: usize) -> c_int {
    // SAFETY: a context of ours, and an input as long as it says.
    unsafe { with::<Signature<S>>(raw, |context| context.update(bytes(data, len))) }
}

unsafe extern "C" fn digest_sign_final<S: Scheme>(
    raw: *mut c_void,
    out: *mut c_uchar,
    len: *mut usize,
    room: usize,
) -> c_int {
    // SAFETY: a context of ours, and the caller's place.
    unsafe { with::<Signature<S>>(raw, |context| context.finish(Out::new(out, len, room))) }
}

unsafe extern "C" fn digest_verify_final<S: Scheme>(
    raw: *mut c_void,
    signature: *const c_uchar,
    len: usize,
) -> c_int {
    // SAFETY: a context of ours, and an input as long as it says.
    unsafe { with::<Signature<S>>(raw, |context| context.finish_verify(bytes(signature, len))) }
}

unsafe extern "C" fn get_digest_params<S: Scheme>(raw: *mut c_void, params: *mut OsslParam) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    unsafe { with::<Signature<S>>(raw, |context| context.get_digest(Params::new(params))) }
}

unsafe extern "C" fn set_digest_params<S: Scheme>(raw: *mut c_void, params: *const OsslParam) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    unsafe { with::<Signature<S>>(raw, |context| context.set_digest(Params::new(params))) }
}

unsafe extern "C" fn digest_gettable<S: Scheme>(raw: *mut c_void) -> *const OsslParam {
    // SAFETY: a context of ours.
    unsafe { digest_list::<S>(raw, id::GETTABLE_CTX_MD_PARAMS) }
}

unsafe extern "C" fn digest_settable<S: Scheme>(raw: *mut c_void) -> *const OsslParam {
    // SAFETY: a context of ours.
    unsafe { digest_list::<S>(raw, id::SETTABLE_CTX_MD_PARAMS) }
}

/// Asks the other provider for a list of the digest's parameters.
///
/// # Safety
/// `raw` is a context of ours, or null.
unsafe fn digest_list<S: Scheme>(raw: *mut c_void, number: c_int) -> *const OsslParam {
    // SAFETY: the caller's promise.
    let context = unsafe { raw.cast::<Signature<S>>().as_mut() };
    let mut found = ptr::null();
    if let Some(context) = context {
        let provider = context.provider();
        guard(
            || Some(provider),
            || {
                found = context.others()?.digest_list(number);
                Ok(())
            },
        );
    }
    found
}
