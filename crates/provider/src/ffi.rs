//! The border: C functions that check what they are given, catch panics, and call contexts.
//!
//! Every context is a box that OpenSSL holds by a pointer. Every function that can fail returns 0 then, with a reason in
//! OpenSSL's queue.
//!
//! # Safety
//! What the functions rely on is OpenSSL's side of provider-*(7): a context pointer comes from `newctx` or `dupctx` of
//! the same algorithm, is not freed yet, and is used by one thread at a time; buffers are as long as the lengths beside
//! them; parameter arrays are terminated. Null is checked where it is allowed to come.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uchar, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use millstream::modes::Direction;

use crate::abi::{self, CoreHandle, Dispatch, Function, Item, OsslAlgorithm, OsslParam};
use crate::algorithms;
use crate::cipher::{self, Cipher, Context as _, LAST, Offer};
use crate::digest::{self, Digest};
use crate::error::{Reason, Result};
use crate::exchange::{Exchange, bytes, bytes_mut};
use crate::params::Params;
use crate::provider::Provider;

/// Calls `inner`; a panic is an error.
#[inline(always)]
fn guard(provider: impl FnOnce() -> Option<Provider>, inner: impl FnOnce() -> Result<()>) -> c_int {
    let reason = match catch_unwind(AssertUnwindSafe(inner)) {
        Ok(Ok(())) => return 1,
        Ok(Err(reason)) => reason,
        Err(_) => Reason::INTERNAL,
    };
    failed(provider, reason)
}

#[cold]
fn failed(provider: impl FnOnce() -> Option<Provider>, reason: Reason) -> c_int {
    // Telling of a failure allocates, so it may fail too.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        if let Some(provider) = provider() {
            provider.raise(&reason);
        }
    }));
    0
}

/// A new box for OpenSSL to hold; null where it can't be made.
fn boxed<T>(provider: Option<Provider>, make: impl FnOnce() -> Result<T>) -> *mut c_void {
    let mut raw = ptr::null_mut();
    guard(
        || provider,
        || {
            raw = Box::into_raw(Box::new(make()?)).cast();
            Ok(())
        },
    );
    raw
}

/// Drops a box that OpenSSL held.
unsafe extern "C" fn unbox<T>(raw: *mut c_void) {
    if !raw.is_null() {
        // SAFETY: from `boxed`, and not used again.
        let boxed = unsafe { Box::from_raw(raw.cast::<T>()) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(boxed)));
    }
}

/// A function of some type, as tables hold them.
macro_rules! function {
    ($id:expr, $type:ty, $function:expr) => {
        Dispatch {
            id: $id,
            // SAFETY: OpenSSL casts it back to the type that belongs to the number.
            function: Some(unsafe { std::mem::transmute::<$type, Function>($function) }),
        }
    };
}

type NewCtx = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Copy = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);
type Answer = unsafe extern "C" fn(*mut OsslParam) -> c_int;
type Gettable = unsafe extern "C" fn(*mut c_void) -> *const OsslParam;
type ContextGettable = unsafe extern "C" fn(*mut c_void, *mut c_void) -> *const OsslParam;
type GetParams = unsafe extern "C" fn(*mut c_void, *mut OsslParam) -> c_int;
type SetParams = unsafe extern "C" fn(*mut c_void, *const OsslParam) -> c_int;
type Input = unsafe extern "C" fn(*mut c_void, *const c_uchar, usize) -> c_int;
type Output = unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut usize, usize) -> c_int;

// The provider itself.

/// Called by OpenSSL when it has loaded the module.
///
/// # Safety
/// As OpenSSL does: `handle` and `functions` are the core's, `out` and `context` are places for what is returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OSSL_provider_init(
    handle: *const CoreHandle,
    functions: *const Dispatch,
    out: *mut *const Dispatch,
    context: *mut *mut c_void,
) -> c_int {
    static FUNCTIONS: [Dispatch; 6] = [
        function!(abi::PROVIDER_TEARDOWN, Free, tear_down),
        function!(abi::PROVIDER_GETTABLE_PARAMS, Gettable, gettable),
        function!(abi::PROVIDER_GET_PARAMS, GetParams, get_params),
        function!(
            abi::PROVIDER_QUERY_OPERATION,
            unsafe extern "C" fn(*mut c_void, c_int, *mut c_int) -> *const OsslAlgorithm,
            query
        ),
        function!(
            abi::PROVIDER_GET_REASON_STRINGS,
            unsafe extern "C" fn(*mut c_void) -> *const Item,
            reasons
        ),
        Dispatch::END,
    ];
    guard(
        || None,
        || {
            // SAFETY: the core's own arguments, valid until teardown.
            unsafe {
                *context = Provider::new(handle, functions).into_raw();
                *out = FUNCTIONS.as_ptr();
            }
            Ok(())
        },
    )
}

unsafe extern "C" fn tear_down(provider: *mut c_void) {
    // SAFETY: OpenSSL tears down once, after the last context.
    let _ = catch_unwind(|| unsafe {
        if let Some(provider) = Provider::from_raw(provider) {
            provider.tear_down();
        }
    });
}

unsafe extern "C" fn gettable(_provider: *mut c_void) -> *const OsslParam {
    static PARAMS: [OsslParam; 5] = [
        OsslParam::described(c"name", abi::UTF8_PTR),
        OsslParam::described(c"version", abi::UTF8_PTR),
        OsslParam::described(c"buildinfo", abi::UTF8_PTR),
        OsslParam::described(c"status", abi::INTEGER),
        OsslParam::END,
    ];
    PARAMS.as_ptr()
}

unsafe extern "C" fn get_params(provider: *mut c_void, params: *mut OsslParam) -> c_int {
    const VERSION: &std::ffi::CStr =
        match std::ffi::CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("a version has no zero in it"),
        };
    // SAFETY: the provider's own pointer, and a terminated array.
    let (provider, params) = unsafe { (Provider::from_raw(provider), Params::new(params)) };
    guard(
        || provider,
        || {
            for param in params {
                match param.key().to_bytes() {
                    b"name" => param.set_text(c"Millstream: cryptographic acceleration")?,
                    b"version" | b"buildinfo" => param.set_text(VERSION)?,
                    b"status" => param.set_bool(true)?,
                    _ => {}
                }
            }
            Ok(())
        },
    )
}

unsafe extern "C" fn query(
    provider: *mut c_void,
    operation: c_int,
    no_store: *mut c_int,
) -> *const OsslAlgorithm {
    if !no_store.is_null() {
        // SAFETY: a place for a number.
        unsafe { *no_store = 0 };
    }
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    let isolated = || provider.is_some_and(|provider| provider.configuration().socket.is_some());
    let offered = catch_unwind(AssertUnwindSafe(|| match operation {
        abi::OP_DIGEST => algorithms::DIGESTS.as_ptr(),
        abi::OP_CIPHER if isolated() => algorithms::ISOLATED_CIPHERS.as_ptr(),
        abi::OP_CIPHER => algorithms::CIPHERS.as_ptr(),
        _ => ptr::null(),
    }));
    offered.unwrap_or(ptr::null())
}

/// None of our own: the default provider's are used.
unsafe extern "C" fn reasons(_provider: *mut c_void) -> *const Item {
    static NONE: [Item; 1] = [Item { id: 0, text: ptr::null() }];
    NONE.as_ptr()
}

// Digests.

/// The functions of a digest.
pub const fn digest_functions<D: Digest>() -> &'static [Dispatch] {
    use abi::digest as id;
    type OneShot =
        unsafe extern "C" fn(*mut c_void, *const c_uchar, usize, *mut c_uchar, *mut usize, usize) -> c_int;
    type CopyInto = unsafe extern "C" fn(*mut c_void, *mut c_void);
    const {
        &[
            function!(id::NEWCTX, NewCtx, digest_new::<D>),
            function!(id::INIT, SetParams, digest_init),
            function!(id::UPDATE, Input, digest_update),
            function!(id::FINAL, Output, digest_final),
            function!(id::DIGEST, OneShot, digest_digest::<D>),
            function!(id::FREECTX, Free, unbox::<digest::Context>),
            function!(id::DUPCTX, Copy, digest_dup),
            function!(id::COPYCTX, CopyInto, digest_copy),
            function!(id::GET_PARAMS, Answer, digest_get_params::<D>),
            function!(id::GETTABLE_PARAMS, Gettable, digest_gettable),
            Dispatch::END,
        ]
    }
}

unsafe extern "C" fn digest_new<D: Digest>(provider: *mut c_void) -> *mut c_void {
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    boxed(provider, || digest::Context::new::<D>(provider.ok_or(Reason::INTERNAL)?))
}

unsafe extern "C" fn digest_dup(context: *mut c_void) -> *mut c_void {
    // SAFETY: a context of ours.
    let context = unsafe { &*context.cast::<digest::Context>() };
    boxed(Some(context.provider), || Ok(context.clone()))
}

unsafe extern "C" fn digest_copy(to: *mut c_void, from: *mut c_void) {
    // SAFETY: two contexts of the same algorithm; the same one twice is no copy at all.
    if to != from {
        let (to, from) = unsafe { (&mut *to.cast::<digest::Context>(), &*from.cast::<digest::Context>()) };
        guard(
            || Some(from.provider),
            || {
                to.clone_from(from);
                Ok(())
            },
        );
    }
}

unsafe extern "C" fn digest_init(context: *mut c_void, _params: *const OsslParam) -> c_int {
    // SAFETY: a context of ours.
    let context = unsafe { &mut *context.cast::<digest::Context>() };
    let provider = context.provider;
    guard(
        || Some(provider),
        || {
            context.init();
            Ok(())
        },
    )
}

unsafe extern "C" fn digest_update(context: *mut c_void, input: *const c_uchar, len: usize) -> c_int {
    // SAFETY: a context of ours, and `len` bytes of input.
    let (context, input) = unsafe { (&mut *context.cast::<digest::Context>(), bytes(input, len)) };
    let provider = context.provider;
    guard(
        || Some(provider),
        || {
            context.update(input);
            Ok(())
        },
    )
}

unsafe extern "C" fn digest_final(
    context: *mut c_void,
    out: *mut c_uchar,
    out_len: *mut usize,
    room: usize,
) -> c_int {
    // SAFETY: a context of ours, and `room` bytes of output.
    let (context, out) = unsafe { (&mut *context.cast::<digest::Context>(), bytes_mut(out, room)) };
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
            let mut whole = [0; millstream::hash::MAX_DIGEST];
            // SAFETY: `len` bytes of input, which may overlap the output, so that comes later.
            let written = digest::digest::<D>(
                provider.ok_or(Reason::INTERNAL)?,
                unsafe { bytes(input, len) },
                &mut whole,
            )?;
            // SAFETY: `room` bytes of output, and a place for a number.
            unsafe {
                bytes_mut(out, room)
                    .get_mut(..written)
                    .ok_or(Reason::OUTPUT_BUFFER_TOO_SMALL)?
                    .copy_from_slice(&whole[..written]);
                *out_len = written;
            }
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

// Ciphers.

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
    type Update =
        unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut usize, usize, *const c_uchar, usize) -> c_int;
    const {
        &[
            function!(id::NEWCTX, NewCtx, cipher_new::<C, ISOLATED>),
            function!(id::ENCRYPT_INIT, Init, cipher_encrypt_init::<C::Context>),
            function!(id::DECRYPT_INIT, Init, cipher_decrypt_init::<C::Context>),
            function!(id::UPDATE, Update, cipher_update::<C::Context>),
            function!(id::FINAL, Output, cipher_final::<C::Context>),
            function!(id::CIPHER, Update, cipher_cipher::<C::Context>),
            function!(id::FREECTX, Free, unbox::<C::Context>),
            function!(id::DUPCTX, Copy, cipher_dup::<C::Context>),
            function!(id::GET_PARAMS, Answer, cipher_get_params::<C>),
            function!(id::GET_CTX_PARAMS, GetParams, cipher_get_ctx_params::<C::Context>),
            function!(id::SET_CTX_PARAMS, SetParams, cipher_set_ctx_params::<C::Context>),
            function!(id::GETTABLE_PARAMS, Gettable, cipher_gettable),
            function!(id::GETTABLE_CTX_PARAMS, ContextGettable, cipher_ctx_gettable::<C::Context>),
            function!(id::SETTABLE_CTX_PARAMS, ContextGettable, cipher_ctx_settable::<C::Context>),
            Dispatch::END,
        ]
    }
}

unsafe extern "C" fn cipher_new<C: Cipher, const ISOLATED: bool>(provider: *mut c_void) -> *mut c_void {
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    boxed(provider, || {
        let provider = provider.ok_or(Reason::INTERNAL)?;
        let offer = Offer { provider, traits: const { &C::TRAITS }, rows: C::rows(), isolated: ISOLATED };
        Ok(C::Context::new(offer, C::SPEC))
    })
}

unsafe extern "C" fn cipher_dup<C: cipher::Context>(context: *mut c_void) -> *mut c_void {
    // SAFETY: a context of ours.
    let context = unsafe { &*context.cast::<C>() };
    boxed(Some(context.provider()), || Ok(context.clone()))
}

/// Begins a message.
unsafe fn init<C: cipher::Context>(
    direction: Direction,
    context: *mut c_void,
    (key, key_len): (*const c_uchar, usize),
    (iv, iv_len): (*const c_uchar, usize),
    params: *const OsslParam,
) -> c_int {
    // SAFETY: a context of ours; key and vector are as long as they say, or not there; a terminated array.
    let (context, key, iv, params) = unsafe {
        let key = (!key.is_null()).then(|| bytes(key, key_len));
        let iv = (!iv.is_null()).then(|| bytes(iv, iv_len));
        (&mut *context.cast::<C>(), key, iv, Params::new(params))
    };
    let provider = context.provider();
    guard(|| Some(provider), || context.init(direction, key, iv, params))
}

unsafe extern "C" fn cipher_encrypt_init<C: cipher::Context>(
    context: *mut c_void,
    key: *const c_uchar,
    key_len: usize,
    iv: *const c_uchar,
    iv_len: usize,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: OpenSSL's own arguments.
    unsafe { init::<C>(Direction::Encrypt, context, (key, key_len), (iv, iv_len), params) }
}

unsafe extern "C" fn cipher_decrypt_init<C: cipher::Context>(
    context: *mut c_void,
    key: *const c_uchar,
    key_len: usize,
    iv: *const c_uchar,
    iv_len: usize,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: OpenSSL's own arguments.
    unsafe { init::<C>(Direction::Decrypt, context, (key, key_len), (iv, iv_len), params) }
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
    let context = unsafe { &mut *context.cast::<C>() };
    let provider = context.provider();
    guard(
        || Some(provider),
        || {
            let written = if out.is_null() {
                // SAFETY: `len` bytes of input.
                context.associate(unsafe { bytes(input, len) })?
            } else {
                let needed = context.update_len(len)?;
                if needed > room {
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
    let context = unsafe { &mut *context.cast::<C>() };
    let provider = context.provider();
    guard(
        || Some(provider),
        || {
            let mut last = zeroize::Zeroizing::new([0; LAST]);
            let written = context.finish(&mut last)?;
            if written > room {
                return Err(Reason::OUTPUT_BUFFER_TOO_SMALL);
            }
            // SAFETY: room for what is written, and a place for a number.
            unsafe {
                bytes_mut(out, written).copy_from_slice(&last[..written]);
                *out_len = written;
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
    let context = unsafe { &mut *context.cast::<C>() };
    let provider = context.provider();
    guard(
        || Some(provider),
        || {
            let written = if out.is_null() && !input.is_null() {
                // SAFETY: `len` bytes of input.
                context.associate(unsafe { bytes(input, len) })?
            } else {
                let needed = context.cipher_len(len)?;
                if needed > room {
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
    guard(|| None, || C::TRAITS.answer(C::Context::RANDOM_KEY, unsafe { Params::new(params) }))
}

unsafe extern "C" fn cipher_get_ctx_params<C: cipher::Context>(
    context: *mut c_void,
    params: *mut OsslParam,
) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    let (context, params) = unsafe { (&*context.cast::<C>(), Params::new(params)) };
    guard(|| Some(context.provider()), || context.get(params))
}

unsafe extern "C" fn cipher_set_ctx_params<C: cipher::Context>(
    context: *mut c_void,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    let (context, params) = unsafe { (&mut *context.cast::<C>(), Params::new(params)) };
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
