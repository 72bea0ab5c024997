//! Keys that another provider holds, and those that it is to make.
//!
//! # Safety
//! As in the [module](super).
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::{Home, LACKING, call, made, number, told};
use crate::abi::{self, OsslParam, keymgmt as id};
use crate::error::Result;
use crate::params::Params;
use crate::provider::Provider;

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
    /// Has the other provider make a key without any part.
    pub fn new(home: Arc<Home>) -> Result<Self> {
        // SAFETY: the provider's own context.
        let data = made(unsafe { call!(home.keys, id::NEW, fn(*mut c_void) -> *mut c_void, (home.context)) });
        Ok(Held { data: data?, home })
    }

    pub fn provider(&self) -> Provider {
        self.home.provider
    }

    pub(super) fn home(&self) -> &Arc<Home> {
        &self.home
    }

    pub(super) fn at(&self) -> *mut c_void {
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

    /// Calls `taker` with the selected parts.
    pub fn with_parts(
        &self,
        selection: c_int,
        taker: &mut dyn FnMut(Params<'_>) -> Result<()>,
    ) -> Result<()> {
        type Taker<'a> = &'a mut dyn FnMut(Params<'_>) -> Result<()>;
        unsafe extern "C" fn take(params: *const OsslParam, argument: *mut c_void) -> c_int {
            // SAFETY: the argument is that of the call below, and the array is terminated.
            let (taker, params) = unsafe { (&mut *argument.cast::<Taker<'_>>(), Params::new(params)) };
            let taken = catch_unwind(AssertUnwindSafe(|| taker(params)));
            c_int::from(matches!(taken, Ok(Ok(()))))
        }
        let mut taker: Taker<'_> = taker;
        // SAFETY: the function takes the argument as what it is, and only during the call.
        unsafe { self.export(selection, take, (&raw mut taker).cast()) }
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

    /// Takes the parameters of a group from another key. A provider whose keys have none ignores it, as OpenSSL does in its place.
    pub fn take(&self, template: &Held) -> Result<()> {
        type Key = *mut c_void;
        if !ptr::eq(self.home.context, template.home.context) {
            return Err(LACKING);
        }
        // SAFETY: our description, and a key of the same provider.
        let answer = unsafe {
            let (wanted, template) = (self.context.as_ptr(), template.at());
            call!(self.home.keys, id::GEN_SET_TEMPLATE, fn(*mut c_void, Key) -> c_int, (wanted, template))
        };
        told(answer.or(Some(1)))
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
