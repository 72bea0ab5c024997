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

use std::ffi::{CStr, c_char, c_int, c_uchar, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::{OTHERS, functions};
use crate::abi::{self, Dispatch, Function, INTEGER, OsslAlgorithm, OsslParam, UTF8_STRING, keymgmt as id};
use crate::algorithms::is_named;
use crate::error::{Reason, Result};
use crate::params::Params;
use crate::provider::Provider;

functions! {
    fetch = c"EVP_KEYMGMT_fetch": fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    release = c"EVP_KEYMGMT_free": fn(*mut c_void);
    provider = c"EVP_KEYMGMT_get0_provider": fn(*const c_void) -> *const c_void;
    query = c"OSSL_PROVIDER_query_operation": fn(*const c_void, c_int, *mut c_int) -> *const OsslAlgorithm;
    unquery = c"OSSL_PROVIDER_unquery_operation": fn(*const c_void, c_int, *const OsslAlgorithm);
    context = c"OSSL_PROVIDER_get0_provider_ctx": fn(*const c_void) -> *mut c_void;
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
    /// Its own context, which its constructors take.
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

    /// Makes a key without any part.
    pub fn key(self: &Arc<Self>) -> Result<Held> {
        // SAFETY: the provider's own context.
        let data = made(unsafe { call!(self.keys, id::NEW, fn(*mut c_void) -> *mut c_void, (self.context)) });
        Ok(Held { home: self.clone(), data: data? })
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

impl Drop for Home {
    fn drop(&mut self) {
        if let Ok(functions) = self.functions() {
            // SAFETY: our reference, not used again.
            unsafe { (functions.release)(self.method.as_ptr()) };
        }
    }
}

/// The function to which a key's parameters are handed, or which is told of progress.
pub type Callback = unsafe extern "C" fn(*const OsslParam, *mut c_void) -> c_int;

/// A key that another provider holds.
pub struct Held {
    home: Arc<Home>,
    data: NonNull<c_void>,
}

// SAFETY: a key may be used by any thread, and is changed by one that has it alone.
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}

impl Held {
    pub fn home(&self) -> &Arc<Home> {
        &self.home
    }

    fn at(&self) -> *mut c_void {
        self.data.as_ptr()
    }

    pub fn has(&self, selection: c_int) -> bool {
        // SAFETY: our key.
        let has = unsafe {
            call!(self.home.keys, id::HAS, fn(*const c_void, c_int) -> c_int, (self.at(), selection))
        };
        has == Some(1)
    }

    pub fn matches(&self, other: &Held, selection: c_int) -> bool {
        type Key = *const c_void;
        // SAFETY: keys of the same provider, which is asked for first.
        let matches = unsafe {
            ptr::eq(self.home.context, other.home.context)
                .then(|| {
                    let (one, other) = (self.at(), other.at());
                    call!(self.home.keys, id::MATCH, fn(Key, Key, c_int) -> c_int, (one, other, selection))
                })
                .flatten()
        };
        matches == Some(1)
    }

    pub fn validate(&self, selection: c_int, thoroughness: c_int) -> Result<()> {
        type Key = *const c_void;
        let key = self.at();
        // SAFETY: our key.
        told(unsafe {
            call!(
                self.home.keys,
                id::VALIDATE,
                fn(Key, c_int, c_int) -> c_int,
                (key, selection, thoroughness)
            )
        })
    }

    pub fn import(&self, selection: c_int, params: Params<'_>) -> Result<()> {
        type Key = *mut c_void;
        type Array = *const OsslParam;
        let (key, params) = (self.at(), params.as_ptr());
        // SAFETY: our key, and a terminated array.
        told(unsafe {
            call!(self.home.keys, id::IMPORT, fn(Key, c_int, Array) -> c_int, (key, selection, params))
        })
    }

    /// Hands the selected parts to a function of the caller's.
    ///
    /// # Safety
    /// The function may be called with the argument.
    pub unsafe fn export(&self, selection: c_int, taker: Callback, argument: *mut c_void) -> Result<()> {
        type Key = *mut c_void;
        type Arg = *mut c_void;
        let key = self.at();
        // SAFETY: our key, and the caller's promise.
        told(unsafe {
            call!(
                self.home.keys,
                id::EXPORT,
                fn(Key, c_int, Callback, Arg) -> c_int,
                (key, selection, taker, argument)
            )
        })
    }

    pub fn get(&self, params: Params<'_>) -> Result<()> {
        // SAFETY: our key, and a terminated array whose values are the callee's to write.
        told(unsafe {
            call!(
                self.home.keys,
                id::GET_PARAMS,
                fn(*mut c_void, *mut OsslParam) -> c_int,
                (self.at(), params.as_ptr())
            )
        })
    }

    /// Sets parameters. A provider whose keys have none that can be set ignores them, as OpenSSL does in its place.
    pub fn set(&self, params: Params<'_>) -> Result<()> {
        // SAFETY: our key, and a terminated array.
        let answer = unsafe {
            call!(
                self.home.keys,
                id::SET_PARAMS,
                fn(*mut c_void, *const OsslParam) -> c_int,
                (self.at(), params.as_ptr())
            )
        };
        told(answer.or(Some(1)))
    }

    pub fn duplicate(&self, selection: c_int) -> Result<Self> {
        // SAFETY: our key.
        let data = made(unsafe {
            call!(self.home.keys, id::DUP, fn(*const c_void, c_int) -> *mut c_void, (self.at(), selection))
        });
        Ok(Held { home: self.home.clone(), data: data? })
    }

    /// Returns a parameter that is a number.
    pub fn number(&self, name: &'static CStr) -> Option<usize> {
        let mut value: c_int = -1;
        let mut params = [number(name, &mut value), OsslParam::END];
        // SAFETY: a terminated array with a place for a number.
        let asked = self.get(unsafe { Params::new(params.as_mut_ptr()) });
        asked.ok().and_then(|()| usize::try_from(value).ok())
    }

    /// Writes parameters to places for bytes; the type of each is given. Returns the length of each, none where it is not there.
    pub fn octets<const N: usize>(
        &self,
        places: [(&'static CStr, u32, &mut [u8]); N],
    ) -> Option<[Option<usize>; N]> {
        let mut params: Vec<OsslParam> = Vec::with_capacity(N + 1);
        params.extend(places.into_iter().map(|(name, data_type, place)| OsslParam {
            data: place.as_mut_ptr().cast(),
            data_size: place.len(),
            ..OsslParam::described(name, data_type)
        }));
        params.push(OsslParam::END);
        // SAFETY: a terminated array with places that live as long as the call.
        self.get(unsafe { Params::new(params.as_mut_ptr()) }).ok()?;
        Some(std::array::from_fn(|i| Some(params[i].return_size).filter(|size| *size != abi::UNMODIFIED)))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: our key, not used again.
        unsafe { call!(self.home.keys, id::FREE, fn(*mut c_void), (self.at())) };
    }
}

/// A key that another provider is to make.
pub struct Wanted {
    home: Arc<Home>,
    context: NonNull<c_void>,
}

impl Wanted {
    pub fn new(home: Arc<Home>, selection: c_int, params: Params<'_>) -> Result<Self> {
        type Array = *const OsslParam;
        // SAFETY: the provider's own context, and a terminated array.
        let context = made(unsafe {
            call!(
                home.keys,
                id::GEN_INIT,
                fn(*mut c_void, c_int, Array) -> *mut c_void,
                (home.context, selection, params.as_ptr())
            )
        });
        Ok(Wanted { context: context?, home })
    }

    pub fn provider(&self) -> Provider {
        self.home.provider
    }

    /// Takes the parameters of a group from another key.
    pub fn take(&self, template: &Held) -> Result<()> {
        type Key = *mut c_void;
        if !ptr::eq(self.home.context, template.home.context) {
            return Err(LACKING);
        }
        // SAFETY: our description, and a key of the same provider.
        told(unsafe {
            let (wanted, template) = (self.context.as_ptr(), template.at());
            call!(self.home.keys, id::GEN_SET_TEMPLATE, fn(*mut c_void, Key) -> c_int, (wanted, template))
        })
    }

    pub fn set(&self, params: Params<'_>) -> Result<()> {
        type Array = *const OsslParam;
        let (wanted, params) = (self.context.as_ptr(), params.as_ptr());
        // SAFETY: our description, and a terminated array.
        told(unsafe {
            call!(self.home.keys, id::GEN_SET_PARAMS, fn(*mut c_void, Array) -> c_int, (wanted, params))
        })
    }

    pub fn get(&self, params: Params<'_>) -> Result<()> {
        type Array = *mut OsslParam;
        let (wanted, params) = (self.context.as_ptr(), params.as_ptr());
        // SAFETY: our description, and a terminated array whose values are the callee's to write.
        told(unsafe {
            call!(self.home.keys, id::GEN_GET_PARAMS, fn(*mut c_void, Array) -> c_int, (wanted, params))
        })
    }

    /// Makes the key, and calls a function of the caller's with news of it.
    ///
    /// # Safety
    /// The function may be called with the argument.
    pub unsafe fn make(&self, progress: Option<Callback>, argument: *mut c_void) -> Result<Held> {
        type Arg = *mut c_void;
        let wanted = self.context.as_ptr();
        // SAFETY: our description, and the caller's promise.
        let data = made(unsafe {
            call!(
                self.home.keys,
                id::GEN,
                fn(Arg, Option<Callback>, Arg) -> *mut c_void,
                (wanted, progress, argument)
            )
        });
        Ok(Held { home: self.home.clone(), data: data? })
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        // SAFETY: our description, not used again.
        unsafe { call!(self.home.keys, id::GEN_CLEANUP, fn(*mut c_void), (self.context.as_ptr())) };
    }
}

/// The numbers of the functions that contexts of an operation have in common.
pub struct Numbers {
    pub operation: c_int,
    pub new: c_int,
    pub free: c_int,
    pub duplicate: c_int,
    pub get: c_int,
    pub gettable: c_int,
    pub set: c_int,
    pub settable: c_int,
}

/// Where a result of a length that the callee knows goes: to a place, or nowhere if the length alone is wanted.
#[derive(Clone, Copy)]
pub struct Out {
    at: *mut c_uchar,
    len: *mut usize,
    room: usize,
}

impl Out {
    /// Takes a caller's place.
    ///
    /// # Safety
    /// `at` is null or valid for writes of `room` bytes, and `len` for a number; both as long as the value is used. Neither is lent to
    /// anyone else.
    pub unsafe fn new(at: *mut c_uchar, len: *mut usize, room: usize) -> Self {
        Out { at, len, room }
    }

    /// Tells whether the length alone is wanted.
    pub fn is_question(&self) -> bool {
        self.at.is_null()
    }

    /// Returns the bytes of the place.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Answers with a length alone.
    pub fn answer(self, len: usize) -> Result<()> {
        // SAFETY: a place for a number.
        unsafe { *self.len = len };
        Ok(())
    }

    /// Writes the result, which fits.
    pub fn write(self, result: &[u8]) -> Result<()> {
        if self.at.is_null() || result.len() > self.room {
            return Err(Reason::OUTPUT_BUFFER_TOO_SMALL);
        }
        // SAFETY: the place is long enough, and the result is not in it, because nobody else has it.
        unsafe { ptr::copy_nonoverlapping(result.as_ptr(), self.at, result.len()) };
        self.answer(result.len())
    }
}

/// A context of another provider for an operation with a key that it holds.
pub struct Context {
    /// The key, which keeps the provider.
    key: Arc<Held>,
    numbers: &'static Numbers,
    table: Table,
    context: NonNull<c_void>,
}

// SAFETY: a context may be used by any thread, one at a time.
unsafe impl Send for Context {}

impl Context {
    /// Makes a context. Those of signatures take properties.
    pub fn new(
        key: Arc<Held>,
        numbers: &'static Numbers,
        name: &CStr,
        properties: Option<&CStr>,
    ) -> Result<Self> {
        let table = key.home.operation(numbers.operation, name)?;
        type Text = *const c_char;
        let properties = properties.map_or(ptr::null(), CStr::as_ptr);
        // SAFETY: the provider's own context and a C string or null; an argument too many does no harm, and yet none is given.
        let context = made(unsafe {
            if numbers.operation == abi::OP_SIGNATURE {
                let home = key.home.context;
                call!(table, numbers.new, fn(*mut c_void, Text) -> *mut c_void, (home, properties))
            } else {
                call!(table, numbers.new, fn(*mut c_void) -> *mut c_void, (key.home.context))
            }
        });
        Ok(Context { context: context?, key, numbers, table })
    }

    fn at(&self) -> *mut c_void {
        self.context.as_ptr()
    }

    pub fn duplicate(&self) -> Result<Self> {
        // SAFETY: our context.
        let context = made(unsafe {
            call!(self.table, self.numbers.duplicate, fn(*mut c_void) -> *mut c_void, (self.at()))
        });
        Ok(Context { context: context?, key: self.key.clone(), numbers: self.numbers, table: self.table })
    }

    /// Begins an operation, with the key that the context was made for, or with the one that it has already.
    pub fn init(&mut self, number: c_int, again: bool, params: Params<'_>) -> Result<()> {
        type Key = *mut c_void;
        type Array = *const OsslParam;
        let key = if again { ptr::null_mut() } else { self.key.at() };
        let (context, params) = (self.at(), params.as_ptr());
        // SAFETY: our context and key, and a terminated array.
        told(unsafe {
            call!(self.table, number, fn(*mut c_void, Key, Array) -> c_int, (context, key, params))
        })
    }

    /// Begins a signature whose message comes in pieces.
    pub fn init_digest(
        &mut self,
        number: c_int,
        digest: Option<&CStr>,
        again: bool,
        params: Params<'_>,
    ) -> Result<()> {
        type Key = *mut c_void;
        type Text = *const c_char;
        type Array = *const OsslParam;
        let key = if again { ptr::null_mut() } else { self.key.at() };
        let (context, params) = (self.at(), params.as_ptr());
        let digest = digest.map_or(ptr::null(), CStr::as_ptr);
        // SAFETY: our context and key, a C string or null, and a terminated array.
        told(unsafe {
            call!(
                self.table,
                number,
                fn(*mut c_void, Text, Key, Array) -> c_int,
                (context, digest, key, params)
            )
        })
    }

    /// Gives the context a piece of a message.
    pub fn update(&mut self, number: c_int, data: &[u8]) -> Result<()> {
        type Bytes = *const c_uchar;
        let context = self.at();
        // SAFETY: our context, and a live slice.
        told(unsafe {
            let (at, len) = (data.as_ptr(), data.len());
            call!(self.table, number, fn(*mut c_void, Bytes, usize) -> c_int, (context, at, len))
        })
    }

    /// Ends with a result.
    pub fn finish(&mut self, number: c_int, out: Out) -> Result<()> {
        type Bytes = *mut c_uchar;
        type Len = *mut usize;
        let context = self.at();
        // SAFETY: our context, and the caller's place.
        told(unsafe {
            call!(
                self.table,
                number,
                fn(*mut c_void, Bytes, Len, usize) -> c_int,
                (context, out.at, out.len, out.room)
            )
        })
    }

    /// Makes a result of an input.
    pub fn transform(&mut self, number: c_int, out: Out, input: &[u8]) -> Result<()> {
        type Bytes = *mut c_uchar;
        type Input = *const c_uchar;
        type Len = *mut usize;
        let context = self.at();
        let (input, input_len) = (input.as_ptr(), input.len());
        // SAFETY: our context, the caller's place, and a live slice.
        told(unsafe {
            call!(
                self.table,
                number,
                fn(*mut c_void, Bytes, Len, usize, Input, usize) -> c_int,
                (context, out.at, out.len, out.room, input, input_len)
            )
        })
    }

    /// Compares a signature with what was signed.
    pub fn verify(&mut self, number: c_int, signature: &[u8], signed: &[u8]) -> Result<()> {
        type Bytes = *const c_uchar;
        let context = self.at();
        let (signature, signature_len) = (signature.as_ptr(), signature.len());
        let (signed, len) = (signed.as_ptr(), signed.len());
        // SAFETY: our context, and live slices.
        told(unsafe {
            call!(
                self.table,
                number,
                fn(*mut c_void, Bytes, usize, Bytes, usize) -> c_int,
                (context, signature, signature_len, signed, len)
            )
        })
    }

    /// Takes the peer's key.
    pub fn set_peer(&mut self, number: c_int, peer: &Held) -> Result<()> {
        if !ptr::eq(self.key.home.context, peer.home.context) {
            return Err(LACKING);
        }
        let (context, peer) = (self.at(), peer.at());
        // SAFETY: our context, and a key of the same provider, of which it takes a reference.
        told(unsafe { call!(self.table, number, fn(*mut c_void, *mut c_void) -> c_int, (context, peer)) })
    }

    pub fn set(&mut self, params: Params<'_>) -> Result<()> {
        self.set_by(self.numbers.set, params)
    }

    pub fn set_by(&mut self, number: c_int, params: Params<'_>) -> Result<()> {
        type Array = *const OsslParam;
        let (context, params) = (self.at(), params.as_ptr());
        // SAFETY: our context, and a terminated array.
        told(unsafe { call!(self.table, number, fn(*mut c_void, Array) -> c_int, (context, params)) })
    }

    /// Sets a parameter that is a text.
    pub fn set_text(&mut self, name: &'static CStr, value: &CStr) -> Result<()> {
        let text = OsslParam {
            data: value.as_ptr().cast_mut().cast(),
            data_size: value.count_bytes(),
            ..OsslParam::described(name, UTF8_STRING)
        };
        let params = [text, OsslParam::END];
        // SAFETY: a terminated array with a value that lives as long as the call.
        self.set(unsafe { Params::new(params.as_ptr()) })
    }

    pub fn get(&self, params: Params<'_>) -> Result<()> {
        self.get_by(self.numbers.get, params)
    }

    pub fn get_by(&self, number: c_int, params: Params<'_>) -> Result<()> {
        type Array = *mut OsslParam;
        let (context, params) = (self.at(), params.as_ptr());
        // SAFETY: our context, and a terminated array whose values are the callee's to write.
        told(unsafe { call!(self.table, number, fn(*mut c_void, Array) -> c_int, (context, params)) })
    }

    /// Returns the list of parameters that the function of that number has.
    pub fn list(&self, number: c_int) -> *const OsslParam {
        type Context = *mut c_void;
        let (context, home) = (self.at(), self.key.home.context);
        // SAFETY: our context, and the provider's own.
        let list =
            unsafe { call!(self.table, number, fn(Context, Context) -> *const OsslParam, (context, home)) };
        list.unwrap_or(ptr::null())
    }

    /// Returns the parameters of the digest in a context of a signature.
    pub fn digest_list(&self, number: c_int) -> *const OsslParam {
        // SAFETY: our context.
        let list = unsafe { call!(self.table, number, fn(*mut c_void) -> *const OsslParam, (self.at())) };
        list.unwrap_or(ptr::null())
    }

    /// Returns parameters that are numbers; none where one is not there.
    pub fn numbers<const N: usize>(&self, names: [&'static CStr; N]) -> [Option<c_int>; N] {
        names.map(|name| {
            let mut value = 0;
            let mut params = [number(name, &mut value), OsslParam::END];
            // SAFETY: a terminated array with a place for a number.
            self.get(unsafe { Params::new(params.as_mut_ptr()) }).ok()?;
            (params[0].return_size != abi::UNMODIFIED).then_some(value)
        })
    }

    /// Returns a parameter that is a text; none where it is not there.
    pub fn text(&self, name: &'static CStr) -> Option<String> {
        let mut value = [0u8; 128];
        let place = OsslParam {
            data: value.as_mut_ptr().cast(),
            data_size: value.len(),
            ..OsslParam::described(name, UTF8_STRING)
        };
        let mut params = [place, OsslParam::END];
        // SAFETY: a terminated array with a place for a text.
        self.get(unsafe { Params::new(params.as_mut_ptr()) }).ok()?;
        let len = Some(params[0].return_size).filter(|len| *len != abi::UNMODIFIED)?;
        String::from_utf8(value.get(..len)?.to_vec()).ok()
    }

    /// Returns a parameter that is bytes which the context keeps; none where it is not there.
    pub fn bytes(&self, name: &'static CStr) -> Option<Vec<u8>> {
        let mut at: *const u8 = ptr::null();
        let place = OsslParam {
            data: (&raw mut at).cast(),
            data_size: 0,
            ..OsslParam::described(name, abi::OCTET_PTR)
        };
        let mut params = [place, OsslParam::END];
        // SAFETY: a terminated array with a place for a pointer; the context keeps the bytes until it is used again.
        unsafe {
            self.get(Params::new(params.as_mut_ptr())).ok()?;
            let len = Some(params[0].return_size).filter(|len| *len != abi::UNMODIFIED)?;
            Some(crate::exchange::bytes(at, len).to_vec())
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: our context, not used again.
        unsafe { call!(self.table, self.numbers.free, fn(*mut c_void), (self.at())) };
    }
}

fn number(name: &'static CStr, value: &mut c_int) -> OsslParam {
    OsslParam {
        data: ptr::from_mut(value).cast(),
        data_size: size_of::<c_int>(),
        ..OsslParam::described(name, INTEGER)
    }
}

/// A copy of parameters, with their values.
pub struct Copied {
    provider: Provider,
    first: NonNull<OsslParam>,
}

// SAFETY: the copy is ours.
unsafe impl Send for Copied {}

impl Copied {
    pub fn new(provider: Provider, params: Params<'_>) -> Result<Self> {
        // SAFETY: a terminated array.
        let first = unsafe { (provider.libcrypto().pkey()?.duplicate)(params.as_ptr()) };
        Ok(Copied { provider, first: NonNull::new(first).ok_or(Reason::TOLD)? })
    }

    pub fn params(&self) -> Params<'_> {
        // SAFETY: a terminated array that lives as long as this.
        unsafe { Params::new(self.first.as_ptr()) }
    }

    pub fn duplicate(&self) -> Result<Self> {
        Copied::new(self.provider, self.params())
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        if let Ok(functions) = self.provider.libcrypto().pkey() {
            // SAFETY: ours, not used again.
            unsafe { (functions.free)(self.first.as_ptr()) };
        }
    }
}
