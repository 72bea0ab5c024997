//! The border: C functions that check their arguments, catch panics, and call contexts.
//!
//! Every context is a box that OpenSSL holds by a pointer. A function that fails returns 0 and puts a reason into
//! OpenSSL's queue.
//!
//! # Safety
//! What the functions rely on is OpenSSL's side of provider-*(7): a context pointer comes from `newctx` or `dupctx` of
//! the same algorithm, is not freed yet, and is used by one thread at a time; buffers are as long as the lengths beside
//! them; parameter arrays are terminated. Null is checked where it is allowed to come.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uchar, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use crate::abi::{self, CoreHandle, Dispatch, Item, OsslAlgorithm, OsslParam};
use crate::algorithms;
use crate::early;
use crate::error::{Reason, Result};
use crate::params::Params;
use crate::provider::Provider;

/// Casts a function to the type that tables hold.
macro_rules! function {
    ($id:expr, $type:ty, $function:expr) => {
        Dispatch {
            id: $id,
            // SAFETY: OpenSSL casts it back to the type that belongs to the number.
            function: Some(unsafe { std::mem::transmute::<$type, $crate::abi::Function>($function) }),
        }
    };
}

mod capabilities;
mod cipher;
mod decoder;
mod digest;
mod encoder;
mod held;
mod held_signature;
mod kdf;
mod kem;
mod keyexch;
mod keymgmt;
mod mac;
mod message_signature;
mod object;
mod operation;
mod pipeline;
mod raw_decoder;
mod secret;
mod signature;
mod store;

pub use cipher::cipher_functions;
pub use decoder::{Decoded, PEM_DECODER_FUNCTIONS, TYPE_DECODER_FUNCTIONS, key_decoder_functions};
pub use digest::{digest_functions, xof_functions};
pub use encoder::{
    ENCRYPTED_PRIVATE_KEY_INFO, PRIVATE_KEY_INFO, READABLE, SUBJECT_PUBLIC_KEY_INFO, encoder_functions,
};
pub use held::held_key_functions;
pub use held_signature::signature_functions;
pub use kdf::kdf_functions;
pub use kem::kem_functions;
pub use keyexch::X25519_FUNCTIONS;
pub use keymgmt::key_functions;
pub use mac::mac_functions;
pub use message_signature::message_signature_functions;
pub use operation::{ECDH_FUNCTIONS, RSA_CIPHER_FUNCTIONS};
pub use raw_decoder::raw_decoder_functions;
pub use secret::secret_functions;
pub use signature::{ED25519_FUNCTIONS, ED25519CTX_FUNCTIONS, ED25519PH_FUNCTIONS};
pub use store::STORE_FUNCTIONS;

/// Calls `inner`, and turns a panic into an error.
#[inline(always)]
fn guard(provider: impl FnOnce() -> Option<Provider>, inner: impl FnOnce() -> Result<()>) -> c_int {
    let reason = match catch_unwind(AssertUnwindSafe(inner)) {
        Ok(Ok(())) => return 1,
        Ok(Err(reason)) => reason,
        Err(_) => Reason::INTERNAL,
    };
    failed(provider, reason)
}

#[cold]
fn failed(provider: impl FnOnce() -> Option<Provider>, reason: Reason) -> c_int {
    // Raising an error allocates, so it may fail too.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        if let Some(provider) = provider() {
            provider.raise(&reason);
        }
    }));
    if reason == Reason::TOLD_BELOW_ZERO { -1 } else { 0 }
}

/// Makes a box for OpenSSL to hold; null where it can't be made.
fn boxed<T>(provider: Option<Provider>, make: impl FnOnce() -> Result<T>) -> *mut c_void {
    let mut raw = ptr::null_mut();
    guard(
        || provider,
        || {
            raw = Box::into_raw(Box::new(make()?)).cast();
            Ok(())
        },
    );
    raw
}

/// Drops a box that OpenSSL held.
unsafe extern "C" fn unbox<T>(raw: *mut c_void) {
    if !raw.is_null() {
        // SAFETY: from `boxed`, and not used again.
        let boxed = unsafe { Box::from_raw(raw.cast::<T>()) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(boxed)));
    }
}

type NewCtx = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Copy = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);
type Answer = unsafe extern "C" fn(*mut OsslParam) -> c_int;
type Gettable = unsafe extern "C" fn(*mut c_void) -> *const OsslParam;
type ContextGettable = unsafe extern "C" fn(*mut c_void, *mut c_void) -> *const OsslParam;
type GetParams = unsafe extern "C" fn(*mut c_void, *mut OsslParam) -> c_int;
type SetParams = unsafe extern "C" fn(*mut c_void, *const OsslParam) -> c_int;
type Input = unsafe extern "C" fn(*mut c_void, *const c_uchar, usize) -> c_int;
type Output = unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut usize, usize) -> c_int;

// The provider itself.

/// Called by OpenSSL when it has loaded the module.
///
/// # Safety
/// As OpenSSL does: `handle` and `functions` are the core's, `out` and `context` are places for what is returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OSSL_provider_init(
    handle: *const CoreHandle,
    functions: *const Dispatch,
    out: *mut *const Dispatch,
    context: *mut *mut c_void,
) -> c_int {
    static FUNCTIONS: [Dispatch; 7] = [
        function!(abi::PROVIDER_TEARDOWN, Free, tear_down),
        function!(abi::PROVIDER_GETTABLE_PARAMS, Gettable, gettable),
        function!(abi::PROVIDER_GET_PARAMS, GetParams, get_params),
        function!(
            abi::PROVIDER_QUERY_OPERATION,
            unsafe extern "C" fn(*mut c_void, c_int, *mut c_int) -> *const OsslAlgorithm,
            query
        ),
        function!(
            abi::PROVIDER_GET_REASON_STRINGS,
            unsafe extern "C" fn(*mut c_void) -> *const Item,
            reasons
        ),
        function!(abi::PROVIDER_GET_CAPABILITIES, capabilities::Get, capabilities::get),
        Dispatch::END,
    ];
    guard(
        || None,
        || {
            // SAFETY: the core's own arguments, valid until teardown.
            unsafe {
                let provider = Provider::new(handle, functions);
                *context = provider.into_raw();
                *out = FUNCTIONS.as_ptr();
                algorithms::introduce(provider);
            }
            Ok(())
        },
    )
}

unsafe extern "C" fn tear_down(provider: *mut c_void) {
    // SAFETY: OpenSSL tears down once, after the last context.
    let _ = catch_unwind(|| unsafe {
        if let Some(provider) = Provider::from_raw(provider) {
            provider.tear_down();
        }
    });
}

unsafe extern "C" fn gettable(_provider: *mut c_void) -> *const OsslParam {
    static PARAMS: [OsslParam; 5] = [
        OsslParam::described(c"name", abi::UTF8_PTR),
        OsslParam::described(c"version", abi::UTF8_PTR),
        OsslParam::described(c"buildinfo", abi::UTF8_PTR),
        OsslParam::described(c"status", abi::INTEGER),
        OsslParam::END,
    ];
    PARAMS.as_ptr()
}

unsafe extern "C" fn get_params(provider: *mut c_void, params: *mut OsslParam) -> c_int {
    const VERSION: &std::ffi::CStr =
        match std::ffi::CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("a version has no zero in it"),
        };
    // SAFETY: the provider's own pointer, and a terminated array.
    let (provider, params) = unsafe { (Provider::from_raw(provider), Params::new(params)) };
    guard(
        || provider,
        || {
            for param in params {
                match param.key().to_bytes() {
                    b"name" => param.set_text(c"Millstream: cryptographic acceleration")?,
                    b"version" | b"buildinfo" => param.set_text(VERSION)?,
                    b"status" => param.set_bool(true)?,
                    _ => {}
                }
            }
            Ok(())
        },
    )
}

unsafe extern "C" fn query(
    provider: *mut c_void,
    operation: c_int,
    no_store: *mut c_int,
) -> *const OsslAlgorithm {
    if !no_store.is_null() {
        // SAFETY: a place for a number.
        unsafe { *no_store = 0 };
    }
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    let isolated = || provider.is_some_and(|provider| provider.configuration().service.is_some());
    let isolates_all = || provider.is_some_and(Provider::isolates_all);
    let others = || provider.is_some_and(|provider| provider.libcrypto().has_pkey());
    let before = |version| provider.is_some_and(|provider| provider.configuration().openssl < version);
    let (before_3_4, before_3_5) = (|| before((3, 4)), || before((3, 5)));
    let _ = catch_unwind(AssertUnwindSafe(|| provider.map(early::begin)));
    let offered = catch_unwind(AssertUnwindSafe(|| match operation {
        abi::OP_DIGEST if before_3_4() => algorithms::DIGESTS_WITH_DEFAULTS.as_ptr(),
        abi::OP_DIGEST => algorithms::DIGESTS.as_ptr(),
        abi::OP_CIPHER if isolates_all() => algorithms::ISOLATED_CIPHERS.as_ptr(),
        abi::OP_CIPHER => algorithms::CIPHERS.as_ptr(),
        abi::OP_MAC if isolates_all() => algorithms::ISOLATED_MACS.as_ptr(),
        abi::OP_MAC => algorithms::MACS.as_ptr(),
        abi::OP_KDF => algorithms::KDFS.as_ptr(),
        // Keys that another provider holds are there only where that can be called.
        abi::OP_KEYMGMT if isolated() => algorithms::ISOLATED_KEYS.offered(others()),
        abi::OP_KEYMGMT => algorithms::KEYS.offered(others()),
        abi::OP_KEYEXCH if isolated() => algorithms::ISOLATED_EXCHANGES.offered(others()),
        abi::OP_KEYEXCH => algorithms::EXCHANGES.offered(others()),
        abi::OP_SIGNATURE if isolated() && before_3_4() => {
            algorithms::ISOLATED_SIGNATURES_BEFORE_3_4.offered(others())
        }
        abi::OP_SIGNATURE if isolated() => algorithms::ISOLATED_SIGNATURES.offered(others()),
        abi::OP_SIGNATURE if before_3_4() => algorithms::SIGNATURES_BEFORE_3_4.offered(others()),
        abi::OP_SIGNATURE => algorithms::SIGNATURES.offered(others()),
        abi::OP_ASYM_CIPHER if isolated() && others() => algorithms::ISOLATED_CIPHERS_WITH_KEY_PAIRS.as_ptr(),
        abi::OP_ASYM_CIPHER if others() => algorithms::CIPHERS_WITH_KEY_PAIRS.as_ptr(),
        abi::OP_KEM => algorithms::KEMS.as_ptr(),
        // OpenSSL has files of ML-KEM and ML-DSA by itself from version 3.5 on.
        abi::OP_ENCODER if before_3_5() => algorithms::ENCODERS.as_ptr(),
        abi::OP_DECODER if isolated() && others() && before_3_5() => {
            algorithms::ISOLATED_FILE_DECODERS.as_ptr()
        }
        abi::OP_DECODER if isolated() && others() => algorithms::DECODERS.as_ptr(),
        abi::OP_DECODER if before_3_5() => algorithms::FILE_DECODERS.as_ptr(),
        abi::OP_STORE if isolated() && others() => algorithms::STORES.as_ptr(),
        abi::OP_SKEYMGMT if isolates_all() => algorithms::ISOLATED_SECRETS.as_ptr(),
        abi::OP_SKEYMGMT => algorithms::SECRETS.as_ptr(),
        _ => ptr::null(),
    }));
    offered.unwrap_or(ptr::null())
}

/// Returns no texts of our own: the default provider's are used.
unsafe extern "C" fn reasons(_provider: *mut c_void) -> *const Item {
    static NONE: [Item; 1] = [Item { id: 0, text: ptr::null() }];
    NONE.as_ptr()
}
