//! The functions of keys that another provider holds: each hands over to the function there of the same number.
//!
//! # Safety
//! As at the [border](super) everywhere. A key is a box of its type; OpenSSL never frees it while a call has it.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use super::object::{Load, load};
use super::{ContextGettable, Free, GetParams, Gettable, NewCtx, SetParams, boxed, guard, unbox};
use crate::abi::{Dispatch, OsslParam, keymgmt as id};
use crate::error::{Reason, Result};
use crate::libcrypto::pkey::{Callback, Home, Wanted};
use crate::params::Params;
use crate::pkey::Selection;
use crate::pkey::held::{Family, Key};
use crate::provider::Provider;
use crate::remote;

type Begin = unsafe extern "C" fn(*mut c_void, c_int, *const OsslParam) -> *mut c_void;
type Template = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
type Generate = unsafe extern "C" fn(*mut c_void, Option<Callback>, *mut c_void) -> *mut c_void;
type Name = unsafe extern "C" fn(c_int) -> *const c_char;
type Has = unsafe extern "C" fn(*const c_void, c_int) -> c_int;
type Validate = unsafe extern "C" fn(*const c_void, c_int, c_int) -> c_int;
type Match = unsafe extern "C" fn(*const c_void, *const c_void, c_int) -> c_int;
type Import = unsafe extern "C" fn(*mut c_void, c_int, *const OsslParam) -> c_int;
type Types = unsafe extern "C" fn(c_int) -> *const OsslParam;
type TypesEx = unsafe extern "C" fn(*mut c_void, c_int) -> *const OsslParam;
type Export = unsafe extern "C" fn(*mut c_void, c_int, Option<Callback>, *mut c_void) -> c_int;
type Duplicate = unsafe extern "C" fn(*const c_void, c_int) -> *mut c_void;

/// A key that is to be made.
struct Description<F: Family> {
    wanted: Wanted,
    /// The parts of the description that the service must know; none where the key is not to be there.
    asked: Option<F::Asked>,
}

impl<F: Family> Description<F> {
    fn note(&mut self, params: Params<'_>) {
        if let Some(asked) = &mut self.asked {
            F::ask(asked, params);
        }
    }
}

/// The functions of a family of keys.
pub const fn held_key_functions<F: Family, const ISOLATED: bool>() -> &'static [Dispatch] {
    const {
        &[
            function!(id::NEW, NewCtx, new::<F, ISOLATED>),
            function!(id::FREE, Free, unbox::<Key<F>>),
            function!(id::GEN_INIT, Begin, generate_init::<F, ISOLATED>),
            function!(id::GEN_SET_TEMPLATE, Template, generate_set_template::<F>),
            function!(id::GEN_SET_PARAMS, SetParams, generate_set_params::<F>),
            function!(id::GEN_SETTABLE_PARAMS, ContextGettable, generate_settable::<F>),
            function!(id::GEN_GET_PARAMS, GetParams, generate_get_params::<F>),
            function!(id::GEN_GETTABLE_PARAMS, ContextGettable, generate_gettable::<F>),
            function!(id::GEN, Generate, generate::<F>),
            function!(id::GEN_CLEANUP, Free, unbox::<Description<F>>),
            function!(id::GET_PARAMS, GetParams, get_params::<F>),
            function!(id::GETTABLE_PARAMS, Gettable, gettable::<F>),
            function!(id::SET_PARAMS, SetParams, set_params::<F>),
            function!(id::SETTABLE_PARAMS, Gettable, settable::<F>),
            function!(id::QUERY_OPERATION_NAME, Name, operation_name::<F>),
            function!(id::HAS, Has, has::<F>),
            function!(id::VALIDATE, Validate, validate::<F>),
            function!(id::MATCH, Match, matches::<F>),
            function!(id::IMPORT, Import, import::<F>),
            function!(id::IMPORT_TYPES, Types, types::<F>),
            function!(id::IMPORT_TYPES_EX, TypesEx, import_types::<F>),
            function!(id::EXPORT, Export, export::<F>),
            function!(id::EXPORT_TYPES, Types, types::<F>),
            function!(id::EXPORT_TYPES_EX, TypesEx, export_types::<F>),
            function!(id::DUP, Duplicate, duplicate::<F>),
            // A key that was decoded here is for the service.
            if ISOLATED { function!(id::LOAD, Load, load) } else { Dispatch::END },
            Dispatch::END,
        ]
    }
}

/// Returns the key behind a pointer; none where that is null.
///
/// # Safety
/// A key of that family which is not freed or changed while this is used, or null.
pub(super) unsafe fn held<'a, F: Family>(raw: *const c_void) -> Option<&'a Key<F>> {
    // SAFETY: the caller's promise.
    unsafe { raw.cast::<Key<F>>().as_ref() }
}

/// Calls `inner` with a key, and turns its failure into OpenSSL's.
fn with<F: Family>(key: Option<&Key<F>>, inner: impl FnOnce(&Key<F>) -> Result<()>) -> c_int {
    guard(|| key.map(|key| key.provider), || inner(key.ok_or(Reason::INTERNAL)?))
}

/// Asks the provider that would hold keys of the family for a list.
///
/// # Safety
/// `provider` is the provider's own pointer.
unsafe fn list<F: Family>(
    provider: *mut c_void,
    ask: impl FnOnce(Arc<Home>) -> *const OsslParam,
) -> *const OsslParam {
    // SAFETY: the caller's promise.
    let provider = unsafe { Provider::from_raw(provider) };
    let mut found = ptr::null();
    guard(
        || provider,
        || {
            found = ask(Home::find(provider.ok_or(Reason::INTERNAL)?, F::NAME)?);
            Ok(())
        },
    );
    found
}

unsafe extern "C" fn new<F: Family, const ISOLATED: bool>(provider: *mut c_void) -> *mut c_void {
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    boxed(provider, || Key::<F>::new(provider.ok_or(Reason::INTERNAL)?, ISOLATED))
}

unsafe extern "C" fn generate_init<F: Family, const ISOLATED: bool>(
    provider: *mut c_void,
    selection: c_int,
    params: *const OsslParam,
) -> *mut c_void {
    // SAFETY: the provider's own pointer, and a terminated array.
    let (provider, params) = unsafe { (Provider::from_raw(provider), Params::new(params)) };
    boxed(provider, || {
        let provider = provider.ok_or(Reason::INTERNAL)?;
        let home = Home::find(provider, F::NAME)?;
        let is_there = ISOLATED && provider.isolates_all() && Selection(selection).has_keys();
        let mut description = Description::<F> {
            wanted: Wanted::new(home, selection, params)?,
            asked: is_there.then(F::Asked::default),
        };
        description.note(params);
        Ok(description)
    })
}

/// Calls `inner` with a description of a key.
///
/// # Safety
/// `wanted` is a description of ours that nobody else uses meanwhile, or null.
unsafe fn wanting<F: Family>(
    wanted: *mut c_void,
    inner: impl FnOnce(&mut Description<F>) -> Result<()>,
) -> c_int {
    // SAFETY: the caller's promise.
    let wanted = unsafe { wanted.cast::<Description<F>>().as_mut() };
    let provider = wanted.as_ref().map(|description| description.wanted.provider());
    guard(|| provider, || inner(wanted.ok_or(Reason::INTERNAL)?))
}

unsafe extern "C" fn generate_set_template<F: Family>(wanted: *mut c_void, template: *mut c_void) -> c_int {
    // SAFETY: a description and a key of ours.
    unsafe {
        let template = held::<F>(template);
        wanting::<F>(wanted, |description| {
            let template = template.ok_or(Reason::MISSING_KEY)?.held();
            description.wanted.take(template)?;
            if description.asked.is_some() && template.has(Selection::GROUP) {
                // A type of keys without groups has nothing to tell.
                let told = template.with_parts(Selection::GROUP, &mut |params| {
                    description.note(params);
                    Ok(())
                });
                drop(told);
            }
            Ok(())
        })
    }
}

unsafe extern "C" fn generate_set_params<F: Family>(wanted: *mut c_void, params: *const OsslParam) -> c_int {
    // SAFETY: a description of ours, and a terminated array.
    unsafe {
        let params = Params::new(params);
        wanting::<F>(wanted, |description| {
            description.wanted.set(params)?;
            description.note(params);
            Ok(())
        })
    }
}

unsafe extern "C" fn generate_get_params<F: Family>(wanted: *mut c_void, params: *mut OsslParam) -> c_int {
    // SAFETY: a description of ours, and a terminated array.
    unsafe { wanting::<F>(wanted, |description| description.wanted.get(Params::new(params))) }
}

unsafe extern "C" fn generate_settable<F: Family>(_: *mut c_void, provider: *mut c_void) -> *const OsslParam {
    // SAFETY: the provider's own pointer.
    unsafe { list::<F>(provider, |home| home.generation_list(id::GEN_SETTABLE_PARAMS)) }
}

unsafe extern "C" fn generate_gettable<F: Family>(_: *mut c_void, provider: *mut c_void) -> *const OsslParam {
    // SAFETY: the provider's own pointer.
    unsafe { list::<F>(provider, |home| home.generation_list(id::GEN_GETTABLE_PARAMS)) }
}

unsafe extern "C" fn generate<F: Family>(
    wanted: *mut c_void,
    progress: Option<Callback>,
    argument: *mut c_void,
) -> *mut c_void {
    // SAFETY: a description of ours.
    let description = unsafe { wanted.cast::<Description<F>>().as_ref() };
    boxed(description.map(|description| description.wanted.provider()), || {
        let Description { wanted, asked } = description.ok_or(Reason::INTERNAL)?;
        let provider = wanted.provider();
        if let Some((algorithm, len)) = asked.as_ref().and_then(F::made_there) {
            // This process never sees the private part.
            return Key::<F>::there(provider, remote::generate_private(provider, algorithm, len)?);
        }
        // SAFETY: the function belongs to the argument.
        let made = unsafe { wanted.make(progress, argument) }?;
        if asked.is_some() { Key::moved(provider, made) } else { Ok(Key::of(provider, false, made)) }
    })
}

unsafe extern "C" fn get_params<F: Family>(raw: *mut c_void, params: *mut OsslParam) -> c_int {
    // SAFETY: a key of ours, and a terminated array.
    unsafe { with(held::<F>(raw), |key| key.held().get(Params::new(params))) }
}

unsafe extern "C" fn gettable<F: Family>(provider: *mut c_void) -> *const OsslParam {
    // SAFETY: the provider's own pointer.
    unsafe { list::<F>(provider, |home| home.gettable()) }
}

unsafe extern "C" fn set_params<F: Family>(raw: *mut c_void, params: *const OsslParam) -> c_int {
    // SAFETY: a key of ours that nobody else uses while it is changed, and a terminated array.
    let (key, params) = unsafe { (raw.cast::<Key<F>>().as_mut(), Params::new(params)) };
    let provider = key.as_ref().map(|key| key.provider);
    guard(|| provider, || key.ok_or(Reason::INTERNAL)?.set(params))
}

unsafe extern "C" fn settable<F: Family>(provider: *mut c_void) -> *const OsslParam {
    // SAFETY: the provider's own pointer.
    unsafe { list::<F>(provider, |home| home.settable()) }
}

unsafe extern "C" fn operation_name<F: Family>(operation: c_int) -> *const c_char {
    F::operation(operation).map_or(ptr::null(), CStr::as_ptr)
}

unsafe extern "C" fn has<F: Family>(raw: *const c_void, selection: c_int) -> c_int {
    // SAFETY: a key of ours.
    let key = unsafe { held::<F>(raw) };
    c_int::from(key.is_some_and(|key| key.has(selection)))
}

unsafe extern "C" fn validate<F: Family>(raw: *const c_void, selection: c_int, thoroughness: c_int) -> c_int {
    // SAFETY: a key of ours.
    let key = unsafe { held::<F>(raw) };
    with(key, |key| key.validate(selection, thoroughness))
}

unsafe extern "C" fn matches<F: Family>(one: *const c_void, other: *const c_void, selection: c_int) -> c_int {
    // SAFETY: keys of ours.
    let keys = unsafe { held::<F>(one).zip(held::<F>(other)) };
    c_int::from(keys.is_some_and(|(one, other)| one.matches(other, selection)))
}

unsafe extern "C" fn import<F: Family>(
    raw: *mut c_void,
    selection: c_int,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: a key of ours that nobody else uses yet, and a terminated array.
    let (key, params) = unsafe { (raw.cast::<Key<F>>().as_mut(), Params::new(params)) };
    let provider = key.as_ref().map(|key| key.provider);
    guard(|| provider, || key.ok_or(Reason::INTERNAL)?.import(selection, params))
}

unsafe extern "C" fn types<F: Family>(_selection: c_int) -> *const OsslParam {
    F::PARTS.as_ptr()
}

unsafe extern "C" fn import_types<F: Family>(provider: *mut c_void, selection: c_int) -> *const OsslParam {
    // SAFETY: the provider's own pointer.
    unsafe { list::<F>(provider, |home| home.types(id::IMPORT_TYPES, id::IMPORT_TYPES_EX, selection)) }
}

unsafe extern "C" fn export_types<F: Family>(provider: *mut c_void, selection: c_int) -> *const OsslParam {
    // SAFETY: the provider's own pointer.
    unsafe { list::<F>(provider, |home| home.types(id::EXPORT_TYPES, id::EXPORT_TYPES_EX, selection)) }
}

unsafe extern "C" fn export<F: Family>(
    raw: *mut c_void,
    selection: c_int,
    taker: Option<Callback>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: a key of ours, and a function that belongs to the argument.
    unsafe {
        with(held::<F>(raw), |key| {
            key.may_leave(selection)?;
            key.held().export(selection, taker.ok_or(Reason::INTERNAL)?, argument)
        })
    }
}

unsafe extern "C" fn duplicate<F: Family>(raw: *const c_void, selection: c_int) -> *mut c_void {
    // SAFETY: a key of ours.
    let key = unsafe { held::<F>(raw) };
    boxed(key.map(|key| key.provider), || key.ok_or(Reason::INTERNAL)?.copy(selection))
}
