//! The functions that all operations with keys of another provider have, and those of key agreement and encryption.
//!
//! # Safety
//! As at the [border](super) everywhere.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uchar, c_void};
use std::ptr;

use super::held::held;
use super::{ContextGettable, Copy, Free, GetParams, NewCtx, Output, SetParams, boxed, guard, unbox};
use crate::abi::{self, Dispatch, OsslParam};
use crate::error::{Reason, Result};
use crate::exchange::bytes;
use crate::libcrypto::pkey::{Home, Out};
use crate::params::Params;
use crate::pkey::ec::Ec;
use crate::pkey::ecdh::Exchange;
use crate::pkey::held::{Family, Key, Operation};
use crate::pkey::rsa::Rsa;
use crate::pkey::rsa_cipher::Cipher;
use crate::provider::Provider;

pub(super) type Init = unsafe extern "C" fn(*mut c_void, *mut c_void, *const OsslParam) -> c_int;
pub(super) type Transform =
    unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut usize, usize, *const c_uchar, usize) -> c_int;
type SetPeer = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;

/// The functions of ECDH.
pub const ECDH_FUNCTIONS: &[Dispatch] = {
    use abi::keyexch as id;
    &[
        function!(id::NEWCTX, NewCtx, new_exchange),
        function!(id::INIT, Init, init_exchange),
        function!(id::DERIVE, Output, derive),
        function!(id::SET_PEER, SetPeer, set_peer),
        function!(id::FREECTX, Free, unbox::<Exchange>),
        function!(id::DUPCTX, Copy, duplicate::<Exchange>),
        function!(id::SET_CTX_PARAMS, SetParams, set_params::<Exchange>),
        function!(id::SETTABLE_CTX_PARAMS, ContextGettable, settable::<Exchange>),
        function!(id::GET_CTX_PARAMS, GetParams, get_params::<Exchange>),
        function!(id::GETTABLE_CTX_PARAMS, ContextGettable, gettable::<Exchange>),
        Dispatch::END,
    ]
};

/// The functions of encryption with RSA.
pub const RSA_CIPHER_FUNCTIONS: &[Dispatch] = {
    use abi::asym_cipher as id;
    &[
        function!(id::NEWCTX, NewCtx, new_cipher),
        function!(id::ENCRYPT_INIT, Init, init_cipher::<true>),
        function!(id::ENCRYPT, Transform, transform),
        function!(id::DECRYPT_INIT, Init, init_cipher::<false>),
        function!(id::DECRYPT, Transform, transform),
        function!(id::FREECTX, Free, unbox::<Cipher>),
        function!(id::DUPCTX, Copy, duplicate::<Cipher>),
        function!(id::GET_CTX_PARAMS, GetParams, get_params::<Cipher>),
        function!(id::GETTABLE_CTX_PARAMS, ContextGettable, gettable::<Cipher>),
        function!(id::SET_CTX_PARAMS, SetParams, set_params::<Cipher>),
        function!(id::SETTABLE_CTX_PARAMS, ContextGettable, settable::<Cipher>),
        Dispatch::END,
    ]
};

/// Calls `inner` with a context.
///
/// # Safety
/// `raw` is a context of that type which nobody else uses meanwhile.
pub(super) unsafe fn with<T: Operation>(raw: *mut c_void, inner: impl FnOnce(&mut T) -> Result<()>) -> c_int {
    // SAFETY: the caller's promise.
    let context = unsafe { &mut *raw.cast::<T>() };
    let provider = context.provider();
    guard(|| Some(provider), || inner(context))
}

/// Calls `inner` with a context and a key.
///
/// # Safety
/// As of `with`, and `key` is a key of ours or null.
pub(super) unsafe fn with_key<T: Operation>(
    raw: *mut c_void,
    key: *mut c_void,
    inner: impl FnOnce(&mut T, Option<&Key<T::Family>>) -> Result<()>,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let key = held::<T::Family>(key);
        with(raw, |context| inner(context, key))
    }
}

pub(super) unsafe extern "C" fn duplicate<T: Operation>(raw: *mut c_void) -> *mut c_void {
    // SAFETY: a context of ours.
    let context = unsafe { &*raw.cast::<T>() };
    boxed(Some(context.provider()), || context.duplicate())
}

pub(super) unsafe extern "C" fn get_params<T: Operation>(raw: *mut c_void, params: *mut OsslParam) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    unsafe { with::<T>(raw, |context| context.others()?.get(Params::new(params))) }
}

pub(super) unsafe extern "C" fn set_params<T: Operation>(
    raw: *mut c_void,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    unsafe { with::<T>(raw, |context| context.set(Params::new(params))) }
}

pub(super) unsafe extern "C" fn gettable<T: Operation>(
    raw: *mut c_void,
    provider: *mut c_void,
) -> *const OsslParam {
    // SAFETY: a context of ours or null, and the provider's own pointer.
    unsafe { list::<T>(raw, provider, T::NUMBERS.gettable) }
}

pub(super) unsafe extern "C" fn settable<T: Operation>(
    raw: *mut c_void,
    provider: *mut c_void,
) -> *const OsslParam {
    // SAFETY: a context of ours or null, and the provider's own pointer.
    unsafe { list::<T>(raw, provider, T::NUMBERS.settable) }
}

/// Asks the other provider for a list of parameters.
///
/// # Safety
/// `raw` is a context of ours or null, and `provider` the provider's own pointer.
unsafe fn list<T: Operation>(raw: *mut c_void, provider: *mut c_void, number: c_int) -> *const OsslParam {
    // SAFETY: the caller's promise.
    let (context, provider) = unsafe { (raw.cast::<T>().as_mut(), Provider::from_raw(provider)) };
    let mut found = ptr::null();
    guard(
        || provider,
        || {
            found = match context {
                Some(context) => context.others()?.list(number),
                None => {
                    let home = Home::find(provider.ok_or(Reason::INTERNAL)?, T::Family::NAME)?;
                    home.operation_list(T::NUMBERS, T::ALGORITHM, number)
                }
            };
            Ok(())
        },
    );
    found
}

unsafe extern "C" fn new_exchange(provider: *mut c_void) -> *mut c_void {
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    boxed(provider, || Ok(Exchange::new(provider.ok_or(Reason::INTERNAL)?)))
}

unsafe extern "C" fn init_exchange(raw: *mut c_void, key: *mut c_void, params: *const OsslParam) -> c_int {
    // SAFETY: a context of ours, a key of ours or null, and a terminated array.
    unsafe {
        with_key::<Exchange>(raw, key, |context, key: Option<&Key<Ec>>| {
            context.begin(key.ok_or(Reason::MISSING_KEY)?, Params::new(params))
        })
    }
}

unsafe extern "C" fn set_peer(raw: *mut c_void, key: *mut c_void) -> c_int {
    // SAFETY: a context of ours, and a key of ours or null.
    unsafe {
        with_key::<Exchange>(raw, key, |context, key| context.set_peer(key.ok_or(Reason::MISSING_KEY)?))
    }
}

unsafe extern "C" fn derive(raw: *mut c_void, out: *mut c_uchar, len: *mut usize, room: usize) -> c_int {
    // SAFETY: a context of ours, and the caller's place.
    unsafe { with::<Exchange>(raw, |context| context.derive(Out::new(out, len, room))) }
}

unsafe extern "C" fn new_cipher(provider: *mut c_void) -> *mut c_void {
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    boxed(provider, || Ok(Cipher::new(provider.ok_or(Reason::INTERNAL)?)))
}

unsafe extern "C" fn init_cipher<const ENCRYPTS: bool>(
    raw: *mut c_void,
    key: *mut c_void,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: a context of ours, a key of ours or null, and a terminated array.
    unsafe {
        with_key::<Cipher>(raw, key, |context, key: Option<&Key<Rsa>>| {
            context.begin(ENCRYPTS, key.ok_or(Reason::NO_KEY_SET)?, Params::new(params))
        })
    }
}

unsafe extern "C" fn transform(
    raw: *mut c_void,
    out: *mut c_uchar,
    len: *mut usize,
    room: usize,
    input: *const c_uchar,
    input_len: usize,
) -> c_int {
    // SAFETY: a context of ours, the caller's place, and an input as long as it says. It may overlap the place, so it is copied.
    unsafe {
        let input = copied(input, input_len);
        with::<Cipher>(raw, |context| context.transform(Out::new(out, len, room), &input))
    }
}

/// Copies an input that may overlap the place for the result.
///
/// # Safety
/// `at` is null, or valid for reads of `len` bytes.
pub(super) unsafe fn copied(at: *const u8, len: usize) -> zeroize::Zeroizing<Vec<u8>> {
    // SAFETY: the caller's promise.
    zeroize::Zeroizing::new(unsafe { bytes(at, len) }.to_vec())
}
