//! The functions of digests.
//!
//! # Safety
//! As at the [border](super) everywhere.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uchar, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use super::{
    Answer, ContextGettable, Copy, Free, GetParams, Gettable, Input, NewCtx, Output, SetParams, boxed, guard,
};
use crate::abi::{self, Dispatch, OsslParam};
use crate::digest::{self, Digest};
use crate::error::Reason;
use crate::exchange::{bytes, bytes_mut};
use crate::params::Params;
use crate::provider::Provider;
use crate::shake::{self, Shake};

type OneShot =
    unsafe extern "C" fn(*mut c_void, *const c_uchar, usize, *mut c_uchar, *mut usize, usize) -> c_int;
type CopyInto = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// The functions of a digest.
pub const fn digest_functions<D: Digest>() -> &'static [Dispatch] {
    use abi::digest as id;
    const {
        &[
            function!(id::NEWCTX, NewCtx, digest_new::<D>),
            function!(id::INIT, SetParams, digest_init::<D>),
            function!(id::UPDATE, Input, digest_update::<D>),
            function!(id::FINAL, Output, digest_final::<D>),
            function!(id::DIGEST, OneShot, digest_digest::<D>),
            function!(id::FREECTX, Free, digest_free::<D>),
            function!(id::DUPCTX, Copy, digest_dup::<D>),
            function!(id::COPYCTX, CopyInto, digest_copy::<D>),
            function!(id::GET_PARAMS, Answer, digest_get_params::<D>),
            function!(id::GETTABLE_PARAMS, Gettable, digest_gettable),
            Dispatch::END,
        ]
    }
}

/// The functions of a digest whose length the caller may set.
pub const fn xof_functions<D: Digest<Message = Shake>>() -> &'static [Dispatch] {
    use abi::digest as id;
    const {
        &[
            function!(id::NEWCTX, NewCtx, digest_new::<D>),
            function!(id::INIT, SetParams, xof_init::<D>),
            function!(id::UPDATE, Input, digest_update::<D>),
            function!(id::FINAL, Output, digest_final::<D>),
            function!(id::DIGEST, OneShot, digest_digest::<D>),
            function!(id::FREECTX, Free, digest_free::<D>),
            function!(id::DUPCTX, Copy, digest_dup::<D>),
            function!(id::COPYCTX, CopyInto, digest_copy::<D>),
            function!(id::GET_PARAMS, Answer, digest_get_params::<D>),
            function!(id::GETTABLE_PARAMS, Gettable, digest_gettable),
            function!(id::SET_CTX_PARAMS, SetParams, xof_set::<D>),
            function!(id::SETTABLE_CTX_PARAMS, ContextGettable, xof_settable),
            function!(id::GET_CTX_PARAMS, GetParams, xof_get::<D>),
            function!(id::GETTABLE_CTX_PARAMS, ContextGettable, xof_settable),
            function!(id::SQUEEZE, Output, xof_squeeze::<D>),
            Dispatch::END,
        ]
    }
}

unsafe extern "C" fn digest_new<D: Digest>(provider: *mut c_void) -> *mut c_void {
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    let mut raw = ptr::null_mut();
    guard(
        || provider,
        || {
            raw = Box::into_raw(digest::Context::<D>::boxed(provider.ok_or(Reason::INTERNAL)?)?).cast();
            Ok(())
        },
    );
    raw
}

unsafe extern "C" fn digest_free<D: Digest>(context: *mut c_void) {
    if !context.is_null() {
        // SAFETY: from `digest_new` or `digest_dup`, and not used again.
        let context = unsafe { Box::from_raw(context.cast::<digest::Context<D>>()) };
        let _ = catch_unwind(AssertUnwindSafe(|| context.retire()));
    }
}

unsafe extern "C" fn digest_dup<D: Digest>(context: *mut c_void) -> *mut c_void {
    // SAFETY: a context of ours.
    let context = unsafe { &*context.cast::<digest::Context<D>>() };
    boxed(Some(context.provider), || Ok(context.clone()))
}

unsafe extern "C" fn digest_copy<D: Digest>(to: *mut c_void, from: *mut c_void) {
    // The same one twice is no copy at all.
    if to != from {
        // SAFETY: two contexts of the same algorithm.
        let (to, from) =
            unsafe { (&mut *to.cast::<digest::Context<D>>(), &*from.cast::<digest::Context<D>>()) };
        guard(
            || Some(from.provider),
            || {
                to.clone_from(from);
                Ok(())
            },
        );
    }
}

unsafe extern "C" fn digest_init<D: Digest>(context: *mut c_void, _params: *const OsslParam) -> c_int {
    // SAFETY: a context of ours.
    let context = unsafe { &mut *context.cast::<digest::Context<D>>() };
    let provider = context.provider;
    guard(
        || Some(provider),
        || {
            context.init();
            Ok(())
        },
    )
}

unsafe extern "C" fn digest_update<D: Digest>(
    context: *mut c_void,
    input: *const c_uchar,
    len: usize,
) -> c_int {
    // SAFETY: a context of ours, and `len` bytes of input.
    let (context, input) = unsafe { (&mut *context.cast::<digest::Context<D>>(), bytes(input, len)) };
    let provider = context.provider;
    guard(|| Some(provider), || context.update(input))
}

unsafe extern "C" fn digest_final<D: Digest>(
    context: *mut c_void,
    out: *mut c_uchar,
    out_len: *mut usize,
    room: usize,
) -> c_int {
    // SAFETY: a context of ours.
    let context = unsafe { &mut *context.cast::<digest::Context<D>>() };
    // SAFETY: so many bytes of output.
    let out = unsafe { bytes_mut(out, context.room(room)) };
    let provider = context.provider;
    guard(
        || Some(provider),
        || {
            let written = context.finish(out)?;
            // SAFETY: a place for a number.
            unsafe { *out_len = written };
            Ok(())
        },
    )
}

unsafe extern "C" fn digest_digest<D: Digest>(
    provider: *mut c_void,
    input: *const c_uchar,
    len: usize,
    out: *mut c_uchar,
    out_len: *mut usize,
    room: usize,
) -> c_int {
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    guard(
        || provider,
        || {
            let mut context = digest::Context::<D>::new(provider.ok_or(Reason::INTERNAL)?)?;
            // SAFETY: `len` bytes of input, which may overlap the output, so that comes later.
            context.update(unsafe { bytes(input, len) })?;
            // SAFETY: `room` bytes of output.
            let written = context.finish(unsafe { bytes_mut(out, room) })?;
            // SAFETY: a place for a number.
            unsafe { *out_len = written };
            Ok(())
        },
    )
}

unsafe extern "C" fn digest_get_params<D: Digest>(params: *mut OsslParam) -> c_int {
    // SAFETY: a terminated array.
    guard(|| None, || D::SPEC.answer(unsafe { Params::new(params) }))
}

unsafe extern "C" fn digest_gettable(_provider: *mut c_void) -> *const OsslParam {
    digest::GETTABLE.as_ptr()
}

unsafe extern "C" fn xof_init<D: Digest<Message = Shake>>(
    context: *mut c_void,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    let (context, params) = unsafe { (&mut *context.cast::<digest::Context<D>>(), Params::new(params)) };
    let provider = context.provider;
    guard(
        || Some(provider),
        || {
            context.init();
            context.set(params)
        },
    )
}

unsafe extern "C" fn xof_set<D: Digest<Message = Shake>>(
    context: *mut c_void,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    let (context, params) = unsafe { (&mut *context.cast::<digest::Context<D>>(), Params::new(params)) };
    let provider = context.provider;
    guard(|| Some(provider), || context.set(params))
}

unsafe extern "C" fn xof_get<D: Digest<Message = Shake>>(
    context: *mut c_void,
    params: *mut OsslParam,
) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    let (context, params) = unsafe { (&*context.cast::<digest::Context<D>>(), Params::new(params)) };
    guard(|| Some(context.provider), || context.answer(params))
}

unsafe extern "C" fn xof_settable(_context: *mut c_void, _provider: *mut c_void) -> *const OsslParam {
    shake::SETTABLE.as_ptr()
}

unsafe extern "C" fn xof_squeeze<D: Digest<Message = Shake>>(
    context: *mut c_void,
    out: *mut c_uchar,
    out_len: *mut usize,
    room: usize,
) -> c_int {
    // SAFETY: a context of ours, and `room` bytes of output.
    let (context, out) = unsafe { (&mut *context.cast::<digest::Context<D>>(), bytes_mut(out, room)) };
    let provider = context.provider;
    guard(
        || Some(provider),
        || {
            context.squeeze(out)?;
            // SAFETY: a place for a number.
            unsafe { *out_len = room };
            Ok(())
        },
    )
}
