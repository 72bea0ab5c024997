//! The functions of signatures.
//!
//! # Safety
//! As at the [border](super) everywhere.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uchar, c_void};

use super::keymgmt::key;
use super::{ContextGettable, Copy, Free, GetParams, SetParams, boxed, guard, unbox};
use crate::abi::{self, Dispatch, OsslParam};
use crate::error::{Reason, Result};
use crate::exchange::bytes;
use crate::params::Params;
use crate::pkey::curve25519::Key;
use crate::pkey::ed25519::{self, Begun, Ed25519, Form, SIGNATURE, Signature};
use crate::provider::Provider;

pub(super) type New = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
pub(super) type Init = unsafe extern "C" fn(*mut c_void, *mut c_void, *const OsslParam) -> c_int;
pub(super) type DigestInit =
    unsafe extern "C" fn(*mut c_void, *const c_char, *mut c_void, *const OsslParam) -> c_int;
pub(super) type Sign =
    unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut usize, usize, *const c_uchar, usize) -> c_int;
pub(super) type Verify =
    unsafe extern "C" fn(*mut c_void, *const c_uchar, usize, *const c_uchar, usize) -> c_int;
type KeyTypes = unsafe extern "C" fn() -> *const *const c_char;

/// The functions of Ed25519, under the name with which the caller may choose its instance.
pub const ED25519_FUNCTIONS: &[Dispatch] = {
    use abi::signature as id;
    type F = ed25519::Pure;
    &[
        function!(id::NEWCTX, New, new),
        function!(id::SIGN_INIT, Init, init_hash::<F>),
        function!(id::SIGN, Sign, sign),
        function!(id::VERIFY_INIT, Init, init_hash::<F>),
        function!(id::VERIFY, Verify, verify),
        function!(id::DIGEST_SIGN_INIT, DigestInit, init_digest),
        function!(id::DIGEST_SIGN, Sign, sign),
        function!(id::DIGEST_VERIFY_INIT, DigestInit, init_digest),
        function!(id::DIGEST_VERIFY, Verify, verify),
        function!(id::FREECTX, Free, unbox::<Signature>),
        function!(id::DUPCTX, Copy, dup),
        function!(id::GET_CTX_PARAMS, GetParams, get_params),
        function!(id::GETTABLE_CTX_PARAMS, ContextGettable, gettable),
        function!(id::SET_CTX_PARAMS, SetParams, set_params),
        function!(id::SETTABLE_CTX_PARAMS, ContextGettable, settable),
        function!(id::SIGN_MESSAGE_INIT, Init, init_message::<F>),
        function!(id::VERIFY_MESSAGE_INIT, Init, init_message::<F>),
        Dispatch::END,
    ]
};

/// The functions of a form that OpenSSL knows by a name of its own. What follows `SIGN_INIT` exists only where a caller may
/// hash by himself.
macro_rules! form {
    ($(#[$doc:meta])* $functions:ident, $form:ty $(, $init:ident: $value:ident)*) => {
        $(#[$doc])*
        pub const $functions: &[Dispatch] = {
            use abi::signature as id;
            type F = $form;
            &[
                function!(id::NEWCTX, New, new),
                $(function!(id::$init, Init, $value::<F>),)*
                function!(id::SIGN, Sign, sign),
                function!(id::VERIFY, Verify, verify),
                function!(id::FREECTX, Free, unbox::<Signature>),
                function!(id::DUPCTX, Copy, dup),
                function!(id::GET_CTX_PARAMS, GetParams, get_params),
                function!(id::GETTABLE_CTX_PARAMS, ContextGettable, gettable),
                function!(id::SET_CTX_PARAMS, SetParams, set_params),
                function!(id::SETTABLE_CTX_PARAMS, ContextGettable, settable_of_form),
                function!(id::QUERY_KEY_TYPES, KeyTypes, key_types),
                function!(id::SIGN_MESSAGE_INIT, Init, init_message::<F>),
                function!(id::VERIFY_MESSAGE_INIT, Init, init_message::<F>),
                Dispatch::END,
            ]
        };
    };
}

form!(
    /// The functions of Ed25519ph.
    ED25519PH_FUNCTIONS,
    ed25519::Prehashed,
    SIGN_INIT: init_hash,
    VERIFY_INIT: init_hash
);
form!(
    /// The functions of Ed25519ctx.
    ED25519CTX_FUNCTIONS,
    ed25519::WithContext
);

unsafe extern "C" fn new(provider: *mut c_void, _properties: *const c_char) -> *mut c_void {
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    boxed(provider, || Ok(Signature::new(provider.ok_or(Reason::INTERNAL)?)))
}

/// Begins with a key.
///
/// # Safety
/// `context` is a context of ours, `raw` a key of ours or null, and `params` a terminated array or null.
unsafe fn init<F: Form>(
    context: *mut c_void,
    begun: Begun,
    raw: *mut c_void,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: the caller's promise.
    let (context, key, params) =
        unsafe { (&mut *context.cast::<Signature>(), key::<Key<Ed25519>>(raw), Params::new(params)) };
    let provider = context.provider;
    guard(|| Some(provider), || context.begin::<F>(begun, key.ok_or(Reason::NO_KEY_SET)?, params))
}

unsafe extern "C" fn init_hash<F: Form>(
    context: *mut c_void,
    key: *mut c_void,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: as `init` asks for.
    unsafe { init::<F>(context, Begun::Hash, key, params) }
}

unsafe extern "C" fn init_message<F: Form>(
    context: *mut c_void,
    key: *mut c_void,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: as `init` asks for.
    unsafe { init::<F>(context, Begun::Message, key, params) }
}

unsafe extern "C" fn init_digest(
    context: *mut c_void,
    digest: *const c_char,
    raw: *mut c_void,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: a context of ours, and a C string or null.
    let (signature, named) = unsafe {
        let named = !digest.is_null() && !CStr::from_ptr(digest).is_empty();
        (&mut *context.cast::<Signature>(), named)
    };
    let provider = signature.provider;
    if named {
        return guard(|| Some(provider), || Err(ed25519::NO_DIGEST));
    }
    if raw.is_null() {
        // SAFETY: a terminated array.
        return guard(|| Some(provider), || signature.begin_again(unsafe { Params::new(params) }));
    }
    // SAFETY: as `init` asks for.
    unsafe { init::<ed25519::Pure>(context, Begun::Digest, raw, params) }
}

unsafe extern "C" fn sign(
    context: *mut c_void,
    out: *mut c_uchar,
    len: *mut usize,
    room: usize,
    message: *const c_uchar,
    message_len: usize,
) -> c_int {
    // SAFETY: a context of ours.
    let context = unsafe { &mut *context.cast::<Signature>() };
    let provider = context.provider;
    let inner = || -> Result<()> {
        if !out.is_null() {
            if room < SIGNATURE {
                return Err(Reason::OUTPUT_BUFFER_TOO_SMALL);
            }
            let mut signature = [0; SIGNATURE];
            // SAFETY: the message is as long as it says; it may overlap the output, which is written to afterwards.
            context.sign(unsafe { bytes(message, message_len) }, &mut signature)?;
            // SAFETY: `room` bytes of output.
            unsafe { out.cast::<[u8; SIGNATURE]>().write(signature) };
        }
        // SAFETY: a place for a length.
        unsafe { *len = SIGNATURE };
        Ok(())
    };
    guard(|| Some(provider), inner)
}

unsafe extern "C" fn verify(
    context: *mut c_void,
    signature: *const c_uchar,
    len: usize,
    message: *const c_uchar,
    message_len: usize,
) -> c_int {
    // SAFETY: a context of ours, and inputs as long as they say.
    let (context, message, signature) =
        unsafe { (&mut *context.cast::<Signature>(), bytes(message, message_len), bytes(signature, len)) };
    let provider = context.provider;
    guard(|| Some(provider), || context.verify(message, signature))
}

unsafe extern "C" fn dup(context: *mut c_void) -> *mut c_void {
    // SAFETY: a context of ours.
    let context = unsafe { &*context.cast::<Signature>() };
    boxed(Some(context.provider), || Ok(context.clone()))
}

unsafe extern "C" fn get_params(context: *mut c_void, params: *mut OsslParam) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    let (context, params) = unsafe { (&*context.cast::<Signature>(), Params::new(params)) };
    guard(|| Some(context.provider), || context.get(params))
}

unsafe extern "C" fn set_params(context: *mut c_void, params: *const OsslParam) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    let (context, params) = unsafe { (&mut *context.cast::<Signature>(), Params::new(params)) };
    let provider = context.provider;
    guard(|| Some(provider), || context.set(params))
}

unsafe extern "C" fn gettable(_: *mut c_void, _: *mut c_void) -> *const OsslParam {
    ed25519::GETTABLE.as_ptr()
}

unsafe extern "C" fn settable(_: *mut c_void, _: *mut c_void) -> *const OsslParam {
    ed25519::SETTABLE.as_ptr()
}

unsafe extern "C" fn settable_of_form(_: *mut c_void, _: *mut c_void) -> *const OsslParam {
    ed25519::SETTABLE_OF_FORM.as_ptr()
}

/// Names the types of key that a form is for, as a list that ends with null.
unsafe extern "C" fn key_types() -> *const *const c_char {
    #[repr(transparent)]
    struct Names([*const c_char; 2]);
    // SAFETY: pointers to static text.
    unsafe impl Sync for Names {}
    static NAMES: Names = Names([c"ED25519".as_ptr(), std::ptr::null()]);
    NAMES.0.as_ptr()
}
