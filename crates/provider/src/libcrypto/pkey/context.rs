//! Contexts of another provider for operations with its keys, and what goes in and out of them.
//!
//! # Safety
//! As in the [module](super).
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uchar, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::{Held, LACKING, Table, call, made, number, told};
use crate::abi::{self, OsslParam, UTF8_STRING};
use crate::error::{Reason, Result};
use crate::params::Params;
use crate::provider::Provider;

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

/// The place for a result of a length that the callee knows; none if the length alone is wanted.
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
        let table = key.home().operation(numbers.operation, name)?;
        type Text = *const c_char;
        let properties = properties.map_or(ptr::null(), CStr::as_ptr);
        // SAFETY: the provider's own context and a C string or null; an argument too many does no harm, and yet none is given.
        let context = made(unsafe {
            if numbers.operation == abi::OP_SIGNATURE {
                let home = key.home().context;
                call!(table, numbers.new, fn(*mut c_void, Text) -> *mut c_void, (home, properties))
            } else {
                call!(table, numbers.new, fn(*mut c_void) -> *mut c_void, (key.home().context))
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
        if !ptr::eq(self.key.home().context, peer.home().context) {
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
        let (context, home) = (self.at(), self.key.home().context);
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
