//! Public-key algorithms of another provider: its keys, and its contexts of operations.
//!
//! Another provider is called through the very tables that it gives to OpenSSL. So whatever a caller asks of us can be handed over as it
//! is, and has the answer and the errors that it would have had there.
//!
//! Ref. EVP_KEYMGMT(3), OSSL_PROVIDER(3), provider-keymgmt(7), provider-signature(7), provider-keyexch(7), provider-asym_cipher(7).
//!
//! # Safety
//! A [`Home`] holds a method of the other provider, which keeps that provider loaded, so its functions and its context are there as long.
//! [`Held`] and [`Context`] own what its constructors made, and give it to functions of the same table only. Each function is given
//! the type that belongs to its number.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;

mod context;
mod key;

use super::{OTHERS, functions};
use crate::abi::{self, Dispatch, Function, INTEGER, OsslAlgorithm, OsslParam, keymgmt as id};
use crate::algorithms::is_named;
use crate::error::{Reason, Result};
use crate::provider::Provider;

pub use context::{Context, Copied, Numbers, Out};
pub use key::{Callback, Held, Wanted};

functions! {
    fetch = c"EVP_KEYMGMT_fetch": fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    release = c"EVP_KEYMGMT_free": fn(*mut c_void);
    provider = c"EVP_KEYMGMT_get0_provider": fn(*const c_void) -> *const c_void;
    query = c"OSSL_PROVIDER_query_operation": fn(*const c_void, c_int, *mut c_int) -> *const OsslAlgorithm;
    unquery = c"OSSL_PROVIDER_unquery_operation": fn(*const c_void, c_int, *const OsslAlgorithm);
    context = c"OSSL_PROVIDER_get0_provider_ctx": fn(*const c_void) -> *mut c_void;
    capabilities = c"OSSL_PROVIDER_get_capabilities": fn(*const c_void, *const c_char, Callback, *mut c_void) -> c_int;
    duplicate = c"OSSL_PARAM_dup": fn(*const OsslParam) -> *mut OsslParam;
    free = c"OSSL_PARAM_free": fn(*mut OsslParam);
}

/// The functions of an algorithm, by their numbers.
#[derive(Clone, Copy)]
struct Table([Option<Function>; Table::NUMBERS]);

impl Table {
    /// More than any number of a function that is called here.
    const NUMBERS: usize = 48;

    /// Copies the functions of the algorithm of that name from what a provider offers for an operation.
    ///
    /// # Safety
    /// `offered` is null, or such an offer.
    unsafe fn find(mut offered: *const OsslAlgorithm, name: &CStr) -> Option<Table> {
        let name = name.to_str().ok()?;
        // SAFETY: the offer ends with an algorithm without names, and its functions with the number 0.
        unsafe {
            while !offered.is_null() && !(*offered).names.is_null() {
                let names = CStr::from_ptr((*offered).names);
                if names.to_str().is_ok_and(|names| is_named(names, name)) {
                    let mut table = Table([None; Table::NUMBERS]);
                    let mut entry: *const Dispatch = (*offered).functions;
                    while !entry.is_null() && (*entry).id != 0 {
                        let place = usize::try_from((*entry).id).ok().and_then(|at| table.0.get_mut(at));
                        if let Some(place) = place {
                            *place = (*entry).function;
                        }
                        entry = entry.add(1);
                    }
                    return Some(table);
                }
                offered = offered.add(1);
            }
        }
        None
    }

    /// Returns the function of that number.
    ///
    /// # Safety
    /// `F` is the type of a function pointer that belongs to the number.
    unsafe fn get<F: Copy>(&self, number: c_int) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<Function>()) };
        let function = (*self.0.get(number as usize)?)?;
        // SAFETY: the caller's promise.
        Some(unsafe { std::mem::transmute_copy::<Function, F>(&function) })
    }
}

/// Calls a function of a table if it is there: `call!(table, number, fn(types) -> type, (arguments))`.
macro_rules! call {
    ($table:expr, $number:expr, fn($($type:ty),*) $(-> $result:ty)?, ($($argument:expr),*)) => {{
        type F = unsafe extern "C" fn($($type),*) $(-> $result)?;
        let function: Option<F> = $table.get($number);
        function.map(|function| function($($argument),*))
    }};
}

use call;

/// Says that the other provider lacks a function, where nobody else can.
const LACKING: Reason =
    Reason::NOT_SUPPORTED.with("the provider that holds the key has no function for this operation");

fn told(answer: Option<c_int>) -> Result<()> {
    match answer {
        Some(1..) => Ok(()),
        Some(0) => Err(Reason::TOLD),
        Some(_) => Err(Reason::TOLD_BELOW_ZERO),
        None => Err(LACKING),
    }
}

fn made(answer: Option<*mut c_void>) -> Result<NonNull<c_void>> {
    NonNull::new(answer.ok_or(LACKING)?).ok_or(Reason::TOLD)
}

/// The provider that holds keys of a type for us.
pub struct Home {
    provider: Provider,
    method: NonNull<c_void>,
    /// The context of that provider, which its constructors take.
    context: *mut c_void,
    keys: Table,
}

// SAFETY: a method and a provider may be used by any thread.
unsafe impl Send for Home {}
// SAFETY: as above.
unsafe impl Sync for Home {}

impl Home {
    /// Finds the provider that OpenSSL would use for keys of that type if we were not there.
    pub fn find(provider: Provider, name: &CStr) -> Result<Arc<Self>> {
        let functions = provider.libcrypto().pkey()?;
        // SAFETY: the provider's own library context, and C strings.
        let method = unsafe { (functions.fetch)(provider.library_context(), name.as_ptr(), OTHERS.as_ptr()) };
        let method = NonNull::new(method).ok_or(Reason::TOLD)?;
        let empty = Table([None; Table::NUMBERS]);
        let mut home = Home { provider, method, context: ptr::null_mut(), keys: empty };
        home.keys = home.operation(abi::OP_KEYMGMT, name)?;
        // SAFETY: a method that we hold has a provider.
        home.context = unsafe { (functions.context)((functions.provider)(method.as_ptr())) };
        Ok(Arc::new(home))
    }

    fn functions(&self) -> Result<&Functions> {
        self.provider.libcrypto().pkey()
    }

    /// Returns the functions that the provider has for an operation.
    fn operation(&self, operation: c_int, name: &CStr) -> Result<Table> {
        let functions = self.functions()?;
        // SAFETY: a method that we hold has a provider; what it offers is copied before it is given back.
        let found = unsafe {
            let provider = (functions.provider)(self.method.as_ptr());
            let offered = (functions.query)(provider, operation, &mut 0);
            let found = Table::find(offered, name);
            (functions.unquery)(provider, operation, offered);
            found
        };
        found.ok_or(LACKING)
    }

    /// Returns the parameters that tell about a key.
    pub fn gettable(&self) -> *const OsslParam {
        self.list(id::GETTABLE_PARAMS)
    }

    /// Returns the parameters of a key that can be set.
    pub fn settable(&self) -> *const OsslParam {
        self.list(id::SETTABLE_PARAMS)
    }

    fn list(&self, number: c_int) -> *const OsslParam {
        // SAFETY: the provider's own context.
        let list = unsafe { call!(self.keys, number, fn(*mut c_void) -> *const OsslParam, (self.context)) };
        list.unwrap_or(ptr::null())
    }

    /// Returns the parameters of a key that is to be made, or those that tell about it: `number` says which.
    pub fn generation_list(&self, number: c_int) -> *const OsslParam {
        type Context = *mut c_void;
        // SAFETY: no description, and the provider's own context.
        let list = unsafe {
            call!(
                self.keys,
                number,
                fn(Context, Context) -> *const OsslParam,
                (ptr::null_mut(), self.context)
            )
        };
        list.unwrap_or(ptr::null())
    }

    /// Returns a list of parameters of an operation, for no context.
    pub fn operation_list(&self, numbers: &Numbers, name: &CStr, number: c_int) -> *const OsslParam {
        type Context = *mut c_void;
        let Ok(table) = self.operation(numbers.operation, name) else { return ptr::null() };
        // SAFETY: no context, and the provider's own.
        let list = unsafe {
            call!(table, number, fn(Context, Context) -> *const OsslParam, (ptr::null_mut(), self.context))
        };
        list.unwrap_or(ptr::null())
    }

    /// Returns the parameters of the selected parts: `plain` and `extended` are the numbers of the functions that know them.
    pub fn types(&self, plain: c_int, extended: c_int, selection: c_int) -> *const OsslParam {
        type Extended = *const OsslParam;
        // SAFETY: the provider's own context, and a number.
        let list = unsafe {
            call!(self.keys, extended, fn(*mut c_void, c_int) -> Extended, (self.context, selection))
                .or_else(|| call!(self.keys, plain, fn(c_int) -> *const OsslParam, (selection)))
        };
        list.unwrap_or(ptr::null())
    }
}

impl Home {
    /// Has the provider tell what it is capable of.
    ///
    /// # Safety
    /// The function may be called with the argument.
    pub unsafe fn capabilities(&self, name: &CStr, taker: Callback, argument: *mut c_void) -> Result<()> {
        let functions = self.functions()?;
        // SAFETY: a method that we hold has a provider, and the caller's promise.
        told(Some(unsafe {
            let provider = (functions.provider)(self.method.as_ptr());
            (functions.capabilities)(provider, name.as_ptr(), taker, argument)
        }))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Ok(functions) = self.functions() {
            // SAFETY: our reference, not used again.
            unsafe { (functions.release)(self.method.as_ptr()) };
        }
    }
}

fn number(name: &'static CStr, value: &mut c_int) -> OsslParam {
    OsslParam {
        data: ptr::from_mut(value).cast(),
        data_size: size_of::<c_int>(),
        ..OsslParam::described(name, INTEGER)
    }
}
