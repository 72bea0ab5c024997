//! The functions of ciphers.
//!
//! # Safety
//! As at the [border](super) everywhere.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uchar, c_void};
use std::ptr;

use millstream::InOut;
use millstream::modes::Direction;
use zeroize::Zeroize;

use super::{
    Answer, ContextGettable, Copy, Free, GetParams, Gettable, NewCtx, Output, SetParams, boxed, guard, unbox,
};
use super::{pipeline, secret};
use crate::abi::{self, Dispatch, OsslParam};
use crate::cipher::pipeline::Pipelined;
use crate::cipher::{self, Cipher, Context as _, LAST, Registration};
use crate::error::Reason;
use crate::exchange::{Exchange, bytes, bytes_mut, given};
use crate::params::Params;
use crate::provider::Provider;
use crate::secret::Held;

/// The functions of a cipher.
pub const fn cipher_functions<C: Cipher, const ISOLATED: bool>() -> &'static [Dispatch] {
    use abi::cipher as id;
    type Init = unsafe extern "C" fn(
        *mut c_void,
        *const c_uchar,
        usize,
        *const c_uchar,
        usize,
        *const OsslParam,
    ) -> c_int;
    type InitWith =
        unsafe extern "C" fn(*mut c_void, *mut c_void, *const c_uchar, usize, *const OsslParam) -> c_int;
    type Update =
        unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut usize, usize, *const c_uchar, usize) -> c_int;
    const {
        &[
            function!(id::NEWCTX, NewCtx, cipher_new::<C, ISOLATED>),
            function!(id::ENCRYPT_INIT, Init, cipher_encrypt_init::<C::Context>),
            function!(id::DECRYPT_INIT, Init, cipher_decrypt_init::<C::Context>),
            function!(id::ENCRYPT_SKEY_INIT, InitWith, cipher_encrypt_init_with::<C::Context>),
            function!(id::DECRYPT_SKEY_INIT, InitWith, cipher_decrypt_init_with::<C::Context>),
            function!(id::UPDATE, Update, cipher_update::<C::Context>),
            function!(id::FINAL, Output, cipher_final::<C::Context>),
            function!(id::CIPHER, Update, cipher_cipher::<C::Context>),
            function!(id::FREECTX, Free, unbox::<Pipelined<C::Context>>),
            function!(id::DUPCTX, Copy, cipher_dup::<C::Context>),
            function!(id::GET_PARAMS, Answer, cipher_get_params::<C>),
            function!(id::GET_CTX_PARAMS, GetParams, cipher_get_ctx_params::<C::Context>),
            function!(id::SET_CTX_PARAMS, SetParams, cipher_set_ctx_params::<C::Context>),
            function!(id::GETTABLE_PARAMS, Gettable, cipher_gettable),
            function!(id::GETTABLE_CTX_PARAMS, ContextGettable, cipher_ctx_gettable::<C::Context>),
            function!(id::SETTABLE_CTX_PARAMS, ContextGettable, cipher_ctx_settable::<C::Context>),
            pipelined::<C::Context>(function!(
                id::PIPELINE_ENCRYPT_INIT,
                pipeline::Init,
                pipeline::encrypt_init::<C::Context>
            )),
            pipelined::<C::Context>(function!(
                id::PIPELINE_DECRYPT_INIT,
                pipeline::Init,
                pipeline::decrypt_init::<C::Context>
            )),
            pipelined::<C::Context>(function!(
                id::PIPELINE_UPDATE,
                pipeline::Update,
                pipeline::update::<C::Context>
            )),
            pipelined::<C::Context>(function!(
                id::PIPELINE_FINAL,
                pipeline::Final,
                pipeline::finish::<C::Context>
            )),
            Dispatch::END,
        ]
    }
}

/// Returns the function, or the table's end where there are no pipelines.
const fn pipelined<C: cipher::Context>(function: Dispatch) -> Dispatch {
    if C::PIPELINED { function } else { Dispatch::END }
}

unsafe extern "C" fn cipher_new<C: Cipher, const ISOLATED: bool>(provider: *mut c_void) -> *mut c_void {
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    boxed(provider, || {
        let provider = provider.ok_or(Reason::INTERNAL)?;
        let registration =
            Registration { provider, info: const { &C::INFO }, rows: C::rows(), isolated: ISOLATED };
        Ok(Pipelined::new(provider, C::Context::new(registration, C::SPEC)))
    })
}

unsafe extern "C" fn cipher_dup<C: cipher::Context>(context: *mut c_void) -> *mut c_void {
    // SAFETY: a context of ours.
    let context = unsafe { &*context.cast::<Pipelined<C>>() };
    boxed(Some(context.provider()), || Ok(context.clone()))
}

/// Begins a message.
unsafe fn init<C: cipher::Context>(
    direction: Direction,
    context: *mut c_void,
    key: Option<&[u8]>,
    (iv, iv_len): (*const c_uchar, usize),
    params: *const OsslParam,
) -> c_int {
    // SAFETY: a context of ours; a vector as long as it says, or none; a terminated array.
    let (context, iv, params) =
        unsafe { (&mut *context.cast::<Pipelined<C>>(), given(iv, iv_len), Params::new(params)) };
    let provider = context.provider();
    guard(|| Some(provider), || context.alone().init(direction, key, iv, params))
}

unsafe extern "C" fn cipher_encrypt_init<C: cipher::Context>(
    context: *mut c_void,
    key: *const c_uchar,
    key_len: usize,
    iv: *const c_uchar,
    iv_len: usize,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: OpenSSL's own arguments: a key as long as it says, or none.
    unsafe { init::<C>(Direction::Encrypt, context, given(key, key_len), (iv, iv_len), params) }
}

unsafe extern "C" fn cipher_decrypt_init<C: cipher::Context>(
    context: *mut c_void,
    key: *const c_uchar,
    key_len: usize,
    iv: *const c_uchar,
    iv_len: usize,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: OpenSSL's own arguments: a key as long as it says, or none.
    unsafe { init::<C>(Direction::Decrypt, context, given(key, key_len), (iv, iv_len), params) }
}

/// Begins a message under a key that is an object.
unsafe fn init_with<C: cipher::Context>(
    direction: Direction,
    context: *mut c_void,
    key: Option<&Held>,
    iv: (*const c_uchar, usize),
    params: *const OsslParam,
) -> c_int {
    let key = match key {
        Some(Held::Here(bytes)) => Some(&bytes[..]),
        Some(Held::There(key, _)) => {
            // SAFETY: a context of ours, which nobody else has during the call.
            let context = unsafe { &mut *context.cast::<Pipelined<C>>() };
            let provider = context.provider();
            if guard(|| Some(provider), || context.alone().take(direction, key)) != 1 {
                return 0;
            }
            None
        }
        None => None,
    };
    // SAFETY: the caller's arguments.
    unsafe { init::<C>(direction, context, key, iv, params) }
}

unsafe extern "C" fn cipher_encrypt_init_with<C: cipher::Context>(
    context: *mut c_void,
    key: *mut c_void,
    iv: *const c_uchar,
    iv_len: usize,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: OpenSSL's own arguments: a key of ours, or none.
    unsafe { init_with::<C>(Direction::Encrypt, context, secret::held(key), (iv, iv_len), params) }
}

unsafe extern "C" fn cipher_decrypt_init_with<C: cipher::Context>(
    context: *mut c_void,
    key: *mut c_void,
    iv: *const c_uchar,
    iv_len: usize,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: OpenSSL's own arguments: a key of ours, or none.
    unsafe { init_with::<C>(Direction::Decrypt, context, secret::held(key), (iv, iv_len), params) }
}

/// Returns the pair of buffers as an `InOut` when the quick path may take them: both present, enough room, and either
/// identical or disjoint.
///
/// # Safety
/// As for [`Exchange::new`].
#[inline(always)]
unsafe fn in_out<'a>(input: *const u8, len: usize, out: *mut u8, room: usize) -> Option<InOut<'a>> {
    if input.is_null() || out.is_null() || len == 0 || len > room {
        return None;
    }
    if ptr::eq(input, out) {
        // SAFETY: the caller's promise; it is the output.
        return Some(InOut::in_place(unsafe { bytes_mut(out, len) }));
    }
    let (from, to) = (input as usize, out as usize);
    let apart = from + len <= to || to + len <= from;
    // SAFETY: the caller's promise; they don't overlap.
    apart
        .then(|| unsafe { InOut::separate(bytes(input, len), bytes_mut(out, len)) })
        .and_then(|data| data.ok())
}

unsafe extern "C" fn cipher_update<C: cipher::Context>(
    context: *mut c_void,
    out: *mut c_uchar,
    out_len: *mut usize,
    room: usize,
    input: *const c_uchar,
    len: usize,
) -> c_int {
    // SAFETY: a context of ours.
    let context = unsafe { &mut *context.cast::<Pipelined<C>>() };
    let provider = context.provider();
    guard(
        || Some(provider),
        || {
            // SAFETY: `len` bytes of input, and room for `room` bytes of output.
            let data = unsafe { in_out(input, len, out, room) };
            if let Some(outcome) = data.and_then(|data| context.quick(data)) {
                // SAFETY: a place for a number.
                unsafe { *out_len = len };
                return outcome;
            }
            let written = if out.is_null() {
                // SAFETY: `len` bytes of input.
                context.associate(unsafe { bytes(input, len) })?
            } else {
                let needed = context.update_len(len)?;
                if needed > room.saturating_add(C::BEYOND) {
                    return Err(Reason::OUTPUT_BUFFER_TOO_SMALL);
                }
                // SAFETY: `len` bytes of input, and room for as many as will be written.
                context.update(unsafe { Exchange::new(input, len, out, needed) })?
            };
            // SAFETY: a place for a number.
            unsafe { *out_len = written };
            Ok(())
        },
    )
}

unsafe extern "C" fn cipher_final<C: cipher::Context>(
    context: *mut c_void,
    out: *mut c_uchar,
    out_len: *mut usize,
    room: usize,
) -> c_int {
    // SAFETY: a context of ours.
    let context = unsafe { &mut *context.cast::<Pipelined<C>>() };
    let provider = context.provider();
    guard(
        || Some(provider),
        || {
            let mut last = [0; LAST];
            let written = context.finish(&mut last)?;
            // SAFETY: a place for a number.
            unsafe { *out_len = 0 };
            // Most ends write nothing, and copying and wiping no bytes takes as long as the end of a short message
            // does: a masked store of no bytes to no address.
            if written > 0 {
                let fits = written <= room;
                if fits {
                    // SAFETY: room for what is written, and a place for a number.
                    unsafe {
                        bytes_mut(out, written).copy_from_slice(&last[..written]);
                        *out_len = written;
                    }
                }
                last[..written].zeroize();
                if !fits {
                    return Err(Reason::OUTPUT_BUFFER_TOO_SMALL);
                }
            }
            Ok(())
        },
    )
}

unsafe extern "C" fn cipher_cipher<C: cipher::Context>(
    context: *mut c_void,
    out: *mut c_uchar,
    out_len: *mut usize,
    room: usize,
    input: *const c_uchar,
    len: usize,
) -> c_int {
    // SAFETY: a context of ours.
    let context = unsafe { &mut *context.cast::<Pipelined<C>>() };
    let provider = context.provider();
    guard(
        || Some(provider),
        || {
            let written = if input.is_null() {
                context.end()?
            } else if out.is_null() {
                // SAFETY: `len` bytes of input.
                context.associate(unsafe { bytes(input, len) })?
            } else {
                let needed = context.cipher_len(len)?;
                if needed > room.saturating_add(C::BEYOND) {
                    return Err(Reason::OUTPUT_BUFFER_TOO_SMALL);
                }
                // SAFETY: `len` bytes of input, and room for as many as will be written.
                context.cipher(unsafe { Exchange::new(input, len, out, needed) })?
            };
            // SAFETY: a place for a number.
            unsafe { *out_len = written };
            Ok(())
        },
    )
}

unsafe extern "C" fn cipher_get_params<C: Cipher>(params: *mut OsslParam) -> c_int {
    // SAFETY: a terminated array.
    guard(|| None, || C::INFO.answer(C::Context::has_random_key(C::SPEC), unsafe { Params::new(params) }))
}

unsafe extern "C" fn cipher_get_ctx_params<C: cipher::Context>(
    context: *mut c_void,
    params: *mut OsslParam,
) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    let (context, params) = unsafe { (&mut *context.cast::<Pipelined<C>>(), Params::new(params)) };
    let provider = context.provider();
    guard(
        || Some(provider),
        || {
            context.draw(params)?;
            context.get(params)
        },
    )
}

unsafe extern "C" fn cipher_set_ctx_params<C: cipher::Context>(
    context: *mut c_void,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    let (context, params) = unsafe { (&mut *context.cast::<Pipelined<C>>(), Params::new(params)) };
    let provider = context.provider();
    guard(|| Some(provider), || context.set(params))
}

unsafe extern "C" fn cipher_gettable(_provider: *mut c_void) -> *const OsslParam {
    cipher::GETTABLE.as_ptr()
}

unsafe extern "C" fn cipher_ctx_gettable<C: cipher::Context>(
    _: *mut c_void,
    _: *mut c_void,
) -> *const OsslParam {
    C::GETTABLE.as_ptr()
}

unsafe extern "C" fn cipher_ctx_settable<C: cipher::Context>(
    _: *mut c_void,
    _: *mut c_void,
) -> *const OsslParam {
    C::SETTABLE.as_ptr()
}
