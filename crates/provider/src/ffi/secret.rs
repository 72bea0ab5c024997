//! The functions of secret keys.
//!
//! # Safety
//! As at the [border](super) everywhere.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use super::{Free, Gettable, boxed, guard, unbox};
use crate::abi::{self, Dispatch, OsslParam};
use crate::error::Reason;
use crate::params::Params;
use crate::provider::Provider;
use crate::secret::{Held, Kind, SecretKey};

type Import = unsafe extern "C" fn(*mut c_void, c_int, *const OsslParam) -> *mut c_void;
/// The function to which a key's parameters are handed, with an argument of its own.
type Taker = unsafe extern "C" fn(*const OsslParam, *mut c_void) -> c_int;
type Generate = unsafe extern "C" fn(*mut c_void, *const OsslParam) -> *mut c_void;
type Id = unsafe extern "C" fn(*mut c_void) -> *const c_char;
type Export = unsafe extern "C" fn(*mut c_void, c_int, Option<Taker>, *mut c_void) -> c_int;

/// The functions of secret keys of a kind.
pub const fn secret_functions<K: Kind, const ISOLATED: bool>() -> &'static [Dispatch] {
    use abi::skeymgmt as id;
    const {
        &[
            function!(id::FREE, Free, unbox::<SecretKey>),
            function!(id::IMPORT, Import, import::<K, ISOLATED>),
            function!(id::EXPORT, Export, export),
            function!(id::GENERATE, Generate, generate::<K, ISOLATED>),
            function!(id::GET_KEY_ID, Id, key_id),
            function!(id::IMP_SETTABLE_PARAMS, Gettable, import_settable),
            function!(id::GEN_SETTABLE_PARAMS, Gettable, generate_settable),
            Dispatch::END,
        ]
    }
}

unsafe extern "C" fn import<K: Kind, const ISOLATED: bool>(
    provider: *mut c_void,
    selection: c_int,
    params: *const OsslParam,
) -> *mut c_void {
    // SAFETY: the provider's own pointer, and a terminated array.
    let (provider, params) = unsafe { (Provider::from_raw(provider), Params::new(params)) };
    boxed(provider, || {
        if selection & abi::skeymgmt::SELECT_SECRET_KEY == 0 {
            return Err(Reason::MISSING_KEY);
        }
        SecretKey::import::<K>(provider.ok_or(Reason::INTERNAL)?, ISOLATED, params)
    })
}

unsafe extern "C" fn generate<K: Kind, const ISOLATED: bool>(
    provider: *mut c_void,
    params: *const OsslParam,
) -> *mut c_void {
    // SAFETY: the provider's own pointer, and a terminated array.
    let (provider, params) = unsafe { (Provider::from_raw(provider), Params::new(params)) };
    boxed(provider, || SecretKey::generate::<K>(provider.ok_or(Reason::INTERNAL)?, ISOLATED, params))
}

unsafe extern "C" fn key_id(key: *mut c_void) -> *const c_char {
    // SAFETY: a key of ours.
    match unsafe { key.cast::<SecretKey>().as_ref() }.map(SecretKey::held) {
        Some(Held::There(_, id)) => id.as_ptr(),
        _ => std::ptr::null(),
    }
}

unsafe extern "C" fn export(
    key: *mut c_void,
    selection: c_int,
    taker: Option<Taker>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: a key of ours.
    let Some(key) = (unsafe { key.cast::<SecretKey>().as_ref() }) else { return 0 };
    guard(
        || Some(key.provider),
        || {
            let taker = taker.ok_or(Reason::INTERNAL)?;
            if selection & abi::skeymgmt::SELECT_SECRET_KEY == 0 {
                return Err(Reason::MISSING_KEY);
            }
            let bytes = key.bytes()?;
            let raw = OsslParam {
                data: bytes.as_ptr().cast_mut().cast(),
                data_size: bytes.len(),
                ..OsslParam::described(c"raw-bytes", abi::OCTET_STRING)
            };
            let params = [raw, OsslParam::END];
            // SAFETY: a terminated array, which lives as long as the call, and the key's bytes as long as the key.
            match unsafe { taker(params.as_ptr(), argument) } {
                1 => Ok(()),
                _ => Err(Reason::TOLD),
            }
        },
    )
}

const ALGORITHM: OsslParam = OsslParam::described(c"millstream.algorithm", abi::UTF8_STRING);

unsafe extern "C" fn import_settable(_provider: *mut c_void) -> *const OsslParam {
    static PARAMS: [OsslParam; 3] =
        [OsslParam::described(c"raw-bytes", abi::OCTET_STRING), ALGORITHM, OsslParam::END];
    PARAMS.as_ptr()
}

unsafe extern "C" fn generate_settable(_provider: *mut c_void) -> *const OsslParam {
    static PARAMS: [OsslParam; 3] =
        [OsslParam::described(c"key-length", abi::UNSIGNED_INTEGER), ALGORITHM, OsslParam::END];
    PARAMS.as_ptr()
}

/// Returns the place of a key that OpenSSL passes to a context; none where there is no key.
///
/// # Safety
/// A key of ours that is not freed while this is used, or null.
pub(super) unsafe fn held<'a>(key: *mut c_void) -> Option<&'a Held> {
    // SAFETY: the caller's promise.
    unsafe { key.cast::<SecretKey>().as_ref() }.map(SecretKey::held)
}
