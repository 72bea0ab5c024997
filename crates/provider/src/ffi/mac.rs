//! The functions of MACs.
//!
//! # Safety
//! As at the [border](super) everywhere.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uchar, c_void};

use super::secret;
use super::{ContextGettable, Copy, Free, GetParams, Input, NewCtx, Output, SetParams, boxed, guard, unbox};
use crate::abi::{self, Dispatch, OsslParam};
use crate::error::Reason;
use crate::exchange::{bytes, bytes_mut, given};
use crate::mac::{self, Context, Kind};
use crate::params::Params;
use crate::provider::Provider;
use crate::secret::Held;

/// The functions of a MAC.
pub const fn mac_functions<K: Kind, const ISOLATED: bool>() -> &'static [Dispatch] {
    use abi::mac as id;
    type Init = unsafe extern "C" fn(*mut c_void, *const c_uchar, usize, *const OsslParam) -> c_int;
    type InitWith = unsafe extern "C" fn(*mut c_void, *mut c_void, *const OsslParam) -> c_int;
    const {
        &[
            function!(id::NEWCTX, NewCtx, mac_new::<K, ISOLATED>),
            function!(id::DUPCTX, Copy, mac_dup::<K>),
            function!(id::FREECTX, Free, unbox::<Context<K>>),
            function!(id::INIT, Init, mac_init::<K>),
            function!(id::INIT_SKEY, InitWith, mac_init_with::<K>),
            function!(id::UPDATE, Input, mac_update::<K>),
            function!(id::FINAL, Output, mac_final::<K>),
            function!(id::GET_CTX_PARAMS, GetParams, mac_get_ctx_params::<K>),
            function!(id::SET_CTX_PARAMS, SetParams, mac_set_ctx_params::<K>),
            function!(id::GETTABLE_CTX_PARAMS, ContextGettable, mac_gettable),
            function!(id::SETTABLE_CTX_PARAMS, ContextGettable, mac_settable::<K>),
            Dispatch::END,
        ]
    }
}

unsafe extern "C" fn mac_new<K: Kind, const ISOLATED: bool>(provider: *mut c_void) -> *mut c_void {
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    boxed(provider, || Ok(Context::<K>::new(provider.ok_or(Reason::INTERNAL)?, ISOLATED)))
}

unsafe extern "C" fn mac_dup<K: Kind>(context: *mut c_void) -> *mut c_void {
    // SAFETY: a context of ours.
    let context = unsafe { &*context.cast::<Context<K>>() };
    boxed(Some(context.provider), || context.duplicate())
}

unsafe extern "C" fn mac_init<K: Kind>(
    context: *mut c_void,
    key: *const c_uchar,
    len: usize,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: OpenSSL's own arguments: a key as long as it says, or none.
    unsafe { init::<K>(context, given(key, len), params) }
}

unsafe extern "C" fn mac_init_with<K: Kind>(
    context: *mut c_void,
    key: *mut c_void,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: OpenSSL's own arguments: a key of ours, or none.
    match unsafe { secret::held(key) } {
        Some(Held::There(key, _)) => {
            // SAFETY: a context of ours, and a terminated array.
            let (context, params) = unsafe { (&mut *context.cast::<Context<K>>(), Params::new(params)) };
            let provider = context.provider;
            guard(|| Some(provider), || context.take(key, params))
        }
        Some(Held::Here(key)) => {
            // SAFETY: as above.
            unsafe { init::<K>(context, Some(key), params) }
        }
        None => {
            // SAFETY: as above.
            unsafe { init::<K>(context, None, params) }
        }
    }
}

/// Begins a message.
unsafe fn init<K: Kind>(context: *mut c_void, key: Option<&[u8]>, params: *const OsslParam) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    let (context, params) = unsafe { (&mut *context.cast::<Context<K>>(), Params::new(params)) };
    let provider = context.provider;
    guard(|| Some(provider), || context.init(key, params))
}

unsafe extern "C" fn mac_update<K: Kind>(context: *mut c_void, input: *const c_uchar, len: usize) -> c_int {
    // SAFETY: a context of ours.
    let context = unsafe { &mut *context.cast::<Context<K>>() };
    let provider = context.provider;
    guard(
        || Some(provider),
        || {
            let reach = context.reach(len)?;
            // SAFETY: `len` bytes of input; or, of a record of TLS, as many as `tls-data-size` said there are.
            context.update(unsafe { bytes(input, reach) }, len)
        },
    )
}

unsafe extern "C" fn mac_final<K: Kind>(
    context: *mut c_void,
    out: *mut c_uchar,
    out_len: *mut usize,
    room: usize,
) -> c_int {
    // SAFETY: a context of ours, and `room` bytes of output.
    let (context, out) = unsafe { (&mut *context.cast::<Context<K>>(), bytes_mut(out, room)) };
    let provider = context.provider;
    guard(
        || Some(provider),
        || {
            let written = context.finish(out)?;
            if !out_len.is_null() {
                // SAFETY: a place for a number.
                unsafe { *out_len = written };
            }
            Ok(())
        },
    )
}

unsafe extern "C" fn mac_get_ctx_params<K: Kind>(context: *mut c_void, params: *mut OsslParam) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    let (context, params) = unsafe { (&*context.cast::<Context<K>>(), Params::new(params)) };
    guard(|| Some(context.provider), || context.get(params))
}

unsafe extern "C" fn mac_set_ctx_params<K: Kind>(context: *mut c_void, params: *const OsslParam) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    let (context, params) = unsafe { (&mut *context.cast::<Context<K>>(), Params::new(params)) };
    let provider = context.provider;
    guard(|| Some(provider), || context.set(params))
}

unsafe extern "C" fn mac_gettable(_: *mut c_void, _: *mut c_void) -> *const OsslParam {
    mac::GETTABLE.as_ptr()
}

unsafe extern "C" fn mac_settable<K: Kind>(_: *mut c_void, _: *mut c_void) -> *const OsslParam {
    K::SETTABLE.as_ptr()
}
