//! The functions of keys for public-key algorithms.
//!
//! # Safety
//! As at the [border](super) everywhere. A key is a box of its type; OpenSSL never frees it while a call has it.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::object::{Load, load};
use super::{ContextGettable, Free, GetParams, Gettable, NewCtx, SetParams, boxed, guard, unbox};
use crate::abi::{self, Dispatch, OsslParam};
use crate::error::Reason;
use crate::params::Params;
use crate::pkey::{KeyType, Selection};
use crate::provider::Provider;

type Begin = unsafe extern "C" fn(*mut c_void, c_int, *const OsslParam) -> *mut c_void;
type Generate = unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void) -> *mut c_void;
type Has = unsafe extern "C" fn(*const c_void, c_int) -> c_int;
type Validate = unsafe extern "C" fn(*const c_void, c_int, c_int) -> c_int;
type Match = unsafe extern "C" fn(*const c_void, *const c_void, c_int) -> c_int;
type Import = unsafe extern "C" fn(*mut c_void, c_int, *const OsslParam) -> c_int;
type Types = unsafe extern "C" fn(c_int) -> *const OsslParam;
/// The function to which a key's parameters are handed, with an argument of its own.
type Taker = unsafe extern "C" fn(*const OsslParam, *mut c_void) -> c_int;
type Export = unsafe extern "C" fn(*mut c_void, c_int, Option<Taker>, *mut c_void) -> c_int;
type Duplicate = unsafe extern "C" fn(*const c_void, c_int) -> *mut c_void;

/// The functions of a type of key.
pub const fn key_functions<K: KeyType, const ISOLATED: bool>() -> &'static [Dispatch] {
    use abi::keymgmt as id;
    const {
        &[
            function!(id::NEW, NewCtx, new::<K, ISOLATED>),
            function!(id::FREE, Free, unbox::<K>),
            function!(id::GEN_INIT, Begin, generate_init::<K, ISOLATED>),
            function!(id::GEN_SET_PARAMS, SetParams, generate_set_params::<K>),
            function!(id::GEN_SETTABLE_PARAMS, ContextGettable, generate_settable::<K>),
            function!(id::GEN, Generate, generate::<K>),
            function!(id::GEN_CLEANUP, Free, unbox::<K::Wanted>),
            function!(id::GET_PARAMS, GetParams, get_params::<K>),
            function!(id::GETTABLE_PARAMS, Gettable, gettable::<K>),
            function!(id::SET_PARAMS, SetParams, set_params::<K>),
            function!(id::SETTABLE_PARAMS, Gettable, settable::<K>),
            function!(id::HAS, Has, has::<K>),
            function!(id::VALIDATE, Validate, validate::<K>),
            function!(id::MATCH, Match, matches::<K>),
            function!(id::IMPORT, Import, import::<K>),
            function!(id::IMPORT_TYPES, Types, types::<K>),
            function!(id::EXPORT, Export, export::<K>),
            function!(id::EXPORT_TYPES, Types, types::<K>),
            function!(id::DUP, Duplicate, duplicate::<K>),
            // A key that was decoded here is for the service, or of a type that is never there.
            if ISOLATED || K::LOADED { function!(id::LOAD, Load, load) } else { Dispatch::END },
            Dispatch::END,
        ]
    }
}

/// Returns the key behind a pointer; none where that is null.
///
/// # Safety
/// A key of that type which is not freed or changed while this is used, or null.
pub(super) unsafe fn key<'a, K: KeyType>(raw: *const c_void) -> Option<&'a K> {
    // SAFETY: the caller's promise.
    unsafe { raw.cast::<K>().as_ref() }
}

unsafe extern "C" fn new<K: KeyType, const ISOLATED: bool>(provider: *mut c_void) -> *mut c_void {
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    boxed(provider, || Ok(K::new(provider.ok_or(Reason::INTERNAL)?, ISOLATED)))
}

unsafe extern "C" fn generate_init<K: KeyType, const ISOLATED: bool>(
    provider: *mut c_void,
    selection: c_int,
    params: *const OsslParam,
) -> *mut c_void {
    // SAFETY: the provider's own pointer, and a terminated array.
    let (provider, params) = unsafe { (Provider::from_raw(provider), Params::new(params)) };
    boxed(provider, || {
        let provider = provider.ok_or(Reason::INTERNAL)?;
        let mut wanted = K::want(provider, ISOLATED && provider.isolates_all(), Selection(selection));
        K::specify(&mut wanted, params)?;
        Ok(wanted)
    })
}

unsafe extern "C" fn generate_set_params<K: KeyType>(wanted: *mut c_void, params: *const OsslParam) -> c_int {
    // SAFETY: a description of ours, and a terminated array.
    let (wanted, params) = unsafe { (&mut *wanted.cast::<K::Wanted>(), Params::new(params)) };
    let provider = K::wanted_by(wanted);
    guard(|| Some(provider), || K::specify(wanted, params))
}

unsafe extern "C" fn generate_settable<K: KeyType>(_: *mut c_void, _: *mut c_void) -> *const OsslParam {
    K::GENERATED_BY.as_ptr()
}

/// Makes a key. Nobody is told of progress, because there is none worth telling.
unsafe extern "C" fn generate<K: KeyType>(
    wanted: *mut c_void,
    _progress: *const c_void,
    _argument: *mut c_void,
) -> *mut c_void {
    // SAFETY: a description of ours.
    let wanted = unsafe { &*wanted.cast::<K::Wanted>() };
    boxed(Some(K::wanted_by(wanted)), || K::generate(wanted))
}

unsafe extern "C" fn get_params<K: KeyType>(raw: *mut c_void, params: *mut OsslParam) -> c_int {
    // SAFETY: a key of ours, and a terminated array.
    let (key, params) = unsafe { (key::<K>(raw), Params::new(params)) };
    guard(|| key.map(K::provider), || key.ok_or(Reason::INTERNAL)?.get(params))
}

unsafe extern "C" fn gettable<K: KeyType>(_: *mut c_void) -> *const OsslParam {
    K::GETTABLE.as_ptr()
}

unsafe extern "C" fn set_params<K: KeyType>(raw: *mut c_void, params: *const OsslParam) -> c_int {
    // SAFETY: a key of ours that nobody else uses while it is changed, and a terminated array.
    let (key, params) = unsafe { (raw.cast::<K>().as_mut(), Params::new(params)) };
    let provider = key.as_ref().map(|key| key.provider());
    guard(|| provider, || key.ok_or(Reason::INTERNAL)?.set(params))
}

unsafe extern "C" fn settable<K: KeyType>(_: *mut c_void) -> *const OsslParam {
    K::SETTABLE.as_ptr()
}

unsafe extern "C" fn has<K: KeyType>(raw: *const c_void, selection: c_int) -> c_int {
    // SAFETY: a key of ours.
    let key = unsafe { key::<K>(raw) };
    c_int::from(key.is_some_and(|key| key.has(Selection(selection))))
}

unsafe extern "C" fn validate<K: KeyType>(raw: *const c_void, selection: c_int, _thoroughly: c_int) -> c_int {
    // SAFETY: a key of ours.
    let key = unsafe { key::<K>(raw) };
    guard(|| key.map(K::provider), || key.ok_or(Reason::INTERNAL)?.validate(Selection(selection)))
}

unsafe extern "C" fn matches<K: KeyType>(
    one: *const c_void,
    other: *const c_void,
    selection: c_int,
) -> c_int {
    // SAFETY: keys of ours.
    let keys = unsafe { key::<K>(one).zip(key::<K>(other)) };
    c_int::from(keys.is_some_and(|(one, other)| one.matches(other, Selection(selection))))
}

unsafe extern "C" fn import<K: KeyType>(
    raw: *mut c_void,
    selection: c_int,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: a key of ours that nobody else uses yet, and a terminated array.
    let (key, params) = unsafe { (raw.cast::<K>().as_mut(), Params::new(params)) };
    let provider = key.as_ref().map(|key| key.provider());
    guard(|| provider, || key.ok_or(Reason::INTERNAL)?.import(Selection(selection), params))
}

unsafe extern "C" fn types<K: KeyType>(selection: c_int) -> *const OsslParam {
    if Selection(selection).has_keys() { K::PARTS.as_ptr() } else { std::ptr::null() }
}

unsafe extern "C" fn export<K: KeyType>(
    raw: *mut c_void,
    selection: c_int,
    taker: Option<Taker>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: a key of ours.
    let key = unsafe { key::<K>(raw) };
    guard(
        || key.map(K::provider),
        || {
            let (key, taker) = key.zip(taker).ok_or(Reason::INTERNAL)?;
            // SAFETY: a terminated array, whose values live as long as the key.
            let mut take = |params: &[OsslParam]| unsafe { taker(params.as_ptr(), argument) } == 1;
            key.export(Selection(selection), &mut take)
        },
    )
}

unsafe extern "C" fn duplicate<K: KeyType>(raw: *const c_void, selection: c_int) -> *mut c_void {
    // SAFETY: a key of ours.
    let key = unsafe { key::<K>(raw) };
    boxed(key.map(K::provider), || Ok(key.ok_or(Reason::INTERNAL)?.copy(Selection(selection))))
}
