//! The functions of key encapsulation.
//!
//! # Safety
//! As at the [border](super) everywhere. Output is computed elsewhere and copied at the end, so places may overlap the input.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uchar, c_void};

use zeroize::Zeroizing;

use super::keymgmt::key;
use super::{ContextGettable, Copy, Free, NewCtx, SetParams, boxed, guard, unbox};
use crate::abi::{self, Dispatch, OCTET_STRING, OsslParam};
use crate::error::{Reason, Result};
use crate::exchange::{bytes, bytes_mut};
use crate::params::Params;
use crate::pkey::kem::Kem;
use crate::pkey::kem::encapsulation::{Direction, Encapsulation};
use crate::pkey::kem::key::Key;
use crate::provider::Provider;

type Init = unsafe extern "C" fn(*mut c_void, *mut c_void, *const OsslParam) -> c_int;
type Encapsulate =
    unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut usize, *mut c_uchar, *mut usize) -> c_int;
type Decapsulate =
    unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;

/// The functions of a mechanism.
pub const fn kem_functions<K: Kem>() -> &'static [Dispatch] {
    use abi::kem as id;
    const {
        &[
            function!(id::NEWCTX, NewCtx, new::<K>),
            function!(id::ENCAPSULATE_INIT, Init, encapsulate_init::<K>),
            function!(id::ENCAPSULATE, Encapsulate, encapsulate::<K>),
            function!(id::DECAPSULATE_INIT, Init, decapsulate_init::<K>),
            function!(id::DECAPSULATE, Decapsulate, decapsulate::<K>),
            function!(id::FREECTX, Free, unbox::<Encapsulation<K>>),
            function!(id::DUPCTX, Copy, dup::<K>),
            function!(id::SET_CTX_PARAMS, SetParams, set_params::<K>),
            function!(id::SETTABLE_CTX_PARAMS, ContextGettable, settable::<K>),
            Dispatch::END,
        ]
    }
}

unsafe extern "C" fn new<K: Kem>(provider: *mut c_void) -> *mut c_void {
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    boxed(provider, || Ok(Encapsulation::<K>::new(provider.ok_or(Reason::INTERNAL)?)))
}

/// Begins with a key.
///
/// # Safety
/// A context of ours, a key of ours or null, and a terminated array.
unsafe fn init<K: Kem>(
    context: *mut c_void,
    raw: *mut c_void,
    direction: Direction,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: the caller's promise.
    let (context, key, params) =
        unsafe { (&mut *context.cast::<Encapsulation<K>>(), key::<Key<K>>(raw), Params::new(params)) };
    let provider = context.provider;
    guard(|| Some(provider), || context.begin(key.ok_or(Reason::MISSING_KEY)?, direction, params))
}

unsafe extern "C" fn encapsulate_init<K: Kem>(
    context: *mut c_void,
    raw: *mut c_void,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: OpenSSL's context, key and parameters.
    unsafe { init::<K>(context, raw, Direction::Encapsulate, params) }
}

unsafe extern "C" fn decapsulate_init<K: Kem>(
    context: *mut c_void,
    raw: *mut c_void,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: OpenSSL's context, key and parameters.
    unsafe { init::<K>(context, raw, Direction::Decapsulate, params) }
}

unsafe extern "C" fn encapsulate<K: Kem>(
    context: *mut c_void,
    out: *mut c_uchar,
    len: *mut usize,
    secret: *mut c_uchar,
    secret_len: *mut usize,
) -> c_int {
    // SAFETY: a context of ours.
    let context = unsafe { &mut *context.cast::<Encapsulation<K>>() };
    let provider = context.provider;
    guard(
        || Some(provider),
        || {
            // SAFETY: places for lengths, or null.
            let (len, secret_len) = unsafe { (len.as_mut(), secret_len.as_mut()) };
            if out.is_null() {
                if len.is_none() && secret_len.is_none() {
                    return Err(Reason::NULL_LENGTH_POINTER);
                }
                len.into_iter().for_each(|len| *len = K::CIPHERTEXT);
                secret_len.into_iter().for_each(|len| *len = K::SECRET);
                return Ok(());
            }
            if secret.is_null() {
                return Err(Reason::NULL_OUTPUT_BUFFER);
            }
            let (len, secret_len) = len.zip(secret_len).ok_or(Reason::NULL_LENGTH_POINTER)?;
            take_room(len, K::CIPHERTEXT)?;
            take_room(secret_len, K::SECRET)?;
            let (mut ciphertext, mut shared) = (vec![0; K::CIPHERTEXT], Zeroizing::new(vec![0; K::SECRET]));
            context.encapsulate(&mut ciphertext, &mut shared)?;
            // SAFETY: each place has as many bytes, and both borrows end at once.
            unsafe {
                bytes_mut(out, K::CIPHERTEXT).copy_from_slice(&ciphertext);
                bytes_mut(secret, K::SECRET).copy_from_slice(&shared);
            }
            Ok(())
        },
    )
}

unsafe extern "C" fn decapsulate<K: Kem>(
    context: *mut c_void,
    out: *mut c_uchar,
    len: *mut usize,
    input: *const c_uchar,
    input_len: usize,
) -> c_int {
    // SAFETY: a context of ours.
    let context = unsafe { &mut *context.cast::<Encapsulation<K>>() };
    let provider = context.provider;
    guard(
        || Some(provider),
        || {
            // SAFETY: a place for a length, or null.
            let len = unsafe { len.as_mut() };
            if out.is_null() {
                *len.ok_or(Reason::NULL_LENGTH_POINTER)? = K::SECRET;
                return Ok(());
            }
            // A caller that has no place for the length has room, as the default provider believes.
            len.map_or(Ok(()), |len| take_room(len, K::SECRET))?;
            let mut shared = Zeroizing::new(vec![0; K::SECRET]);
            // SAFETY: the input is as long as it says.
            context.decapsulate(unsafe { bytes(input, input_len) }, &mut shared)?;
            // SAFETY: the place has as many bytes, and the input is not used any more.
            unsafe { bytes_mut(out, K::SECRET) }.copy_from_slice(&shared);
            Ok(())
        },
    )
}

/// Takes so many bytes of the room that a caller has, and tells how many they are.
fn take_room(len: &mut usize, needed: usize) -> Result<()> {
    if *len < needed {
        return Err(Reason::OUTPUT_BUFFER_TOO_SMALL);
    }
    *len = needed;
    Ok(())
}

unsafe extern "C" fn dup<K: Kem>(context: *mut c_void) -> *mut c_void {
    // SAFETY: a context of ours.
    let context = unsafe { &*context.cast::<Encapsulation<K>>() };
    boxed(Some(context.provider), || Ok(context.clone()))
}

unsafe extern "C" fn set_params<K: Kem>(context: *mut c_void, params: *const OsslParam) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    let (context, params) = unsafe { (&mut *context.cast::<Encapsulation<K>>(), Params::new(params)) };
    let provider = context.provider;
    guard(|| Some(provider), || context.set(params))
}

unsafe extern "C" fn settable<K: Kem>(_: *mut c_void, _: *mut c_void) -> *const OsslParam {
    const {
        if K::ALONE {
            &[OsslParam::described(c"ikme", OCTET_STRING), OsslParam::END] as &[OsslParam]
        } else {
            &[OsslParam::END]
        }
    }
    .as_ptr()
}
