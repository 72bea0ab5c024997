//! The functions of key derivations.
//!
//! # Safety
//! As at the [border](super) everywhere.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uchar, c_void};

use super::{ContextGettable, Copy, Free, GetParams, NewCtx, SetParams, boxed, guard, unbox};
use crate::abi::{self, Dispatch, OsslParam};
use crate::error::Reason;
use crate::exchange::bytes_mut;
use crate::kdf::{self, Context, Kind};
use crate::params::Params;
use crate::provider::Provider;

/// The functions of a key derivation.
pub const fn kdf_functions<K: Kind>() -> &'static [Dispatch] {
    use abi::kdf as id;
    type Derive = unsafe extern "C" fn(*mut c_void, *mut c_uchar, usize, *const OsslParam) -> c_int;
    const {
        &[
            function!(id::NEWCTX, NewCtx, kdf_new::<K>),
            function!(id::DUPCTX, Copy, kdf_dup::<K>),
            function!(id::FREECTX, Free, unbox::<Context<K>>),
            function!(id::RESET, Free, kdf_reset::<K>),
            function!(id::DERIVE, Derive, kdf_derive::<K>),
            function!(id::GET_CTX_PARAMS, GetParams, kdf_get_ctx_params::<K>),
            function!(id::SET_CTX_PARAMS, SetParams, kdf_set_ctx_params::<K>),
            function!(id::GETTABLE_CTX_PARAMS, ContextGettable, kdf_gettable),
            function!(id::SETTABLE_CTX_PARAMS, ContextGettable, kdf_settable::<K>),
            Dispatch::END,
        ]
    }
}

unsafe extern "C" fn kdf_new<K: Kind>(provider: *mut c_void) -> *mut c_void {
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    boxed(provider, || Ok(Context::<K>::new(provider.ok_or(Reason::INTERNAL)?)))
}

unsafe extern "C" fn kdf_dup<K: Kind>(context: *mut c_void) -> *mut c_void {
    // SAFETY: a context of ours.
    let context = unsafe { &*context.cast::<Context<K>>() };
    boxed(Some(context.provider), || Ok(context.clone()))
}

unsafe extern "C" fn kdf_reset<K: Kind>(context: *mut c_void) {
    // SAFETY: a context of ours.
    let context = unsafe { &mut *context.cast::<Context<K>>() };
    let provider = context.provider;
    guard(
        || Some(provider),
        || {
            *context = Context::new(provider);
            Ok(())
        },
    );
}

unsafe extern "C" fn kdf_derive<K: Kind>(
    context: *mut c_void,
    out: *mut c_uchar,
    len: usize,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    let (context, params) = unsafe { (&mut *context.cast::<Context<K>>(), Params::new(params)) };
    let provider = context.provider;
    guard(
        || Some(provider),
        || {
            context.set(params)?;
            // SAFETY: `len` bytes of output. Values of parameters, which it may overlap, are copied by now.
            context.derive(unsafe { bytes_mut(out, len) })
        },
    )
}

unsafe extern "C" fn kdf_get_ctx_params<K: Kind>(context: *mut c_void, params: *mut OsslParam) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    let (context, params) = unsafe { (&*context.cast::<Context<K>>(), Params::new(params)) };
    guard(|| Some(context.provider), || context.get(params))
}

unsafe extern "C" fn kdf_set_ctx_params<K: Kind>(context: *mut c_void, params: *const OsslParam) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    let (context, params) = unsafe { (&mut *context.cast::<Context<K>>(), Params::new(params)) };
    let provider = context.provider;
    guard(|| Some(provider), || context.set(params))
}

unsafe extern "C" fn kdf_gettable(_: *mut c_void, _: *mut c_void) -> *const OsslParam {
    kdf::GETTABLE.as_ptr()
}

unsafe extern "C" fn kdf_settable<K: Kind>(_: *mut c_void, _: *mut c_void) -> *const OsslParam {
    K::SETTABLE.as_ptr()
}
