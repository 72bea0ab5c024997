//! The functions of encoders: how keys become files.
//!
//! Ref. provider-encoder(7).
//!
//! # Safety
//! As at the [border](super) everywhere.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use zeroize::Zeroizing;

use super::keymgmt::key;
use super::{Free, Gettable, NewCtx, SetParams, boxed, guard, unbox};
use crate::abi::{Dispatch, OsslParam, encoder as id};
use crate::error::{Reason, Result};
use crate::params::Params;
use crate::pkey::Selection;
use crate::pkey::raw::Encoded;
use crate::pkey::raw::encoding::{Ask, Encoding, SETTABLE};
use crate::pkey::raw::key::Key;
use crate::provider::{Bio, Provider};

/// The program's function that asks for a passphrase: a place and its length, a place for the length, parameters, and the argument.
type Passphrase =
    unsafe extern "C" fn(*mut c_char, usize, *mut usize, *const OsslParam, *mut c_void) -> c_int;
type Selects = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
type Encode = unsafe extern "C" fn(
    *mut c_void,
    *mut Bio,
    *const c_void,
    *const OsslParam,
    c_int,
    Option<Passphrase>,
    *mut c_void,
) -> c_int;

/// A private key as PKCS#8 has it, encrypted where a cipher was set.
pub const PRIVATE_KEY_INFO: u8 = 0;
/// A private key that has to be encrypted.
pub const ENCRYPTED_PRIVATE_KEY_INFO: u8 = 1;
/// A public key as certificates have it.
pub const SUBJECT_PUBLIC_KEY_INFO: u8 = 2;
/// A text for people.
pub const READABLE: u8 = 3;

/// The functions of the encoder of a structure, in PEM or else in DER.
pub const fn encoder_functions<E: Encoded, const STRUCTURE: u8, const PEM: bool>() -> &'static [Dispatch] {
    const {
        &[
            function!(id::NEWCTX, NewCtx, new),
            function!(id::FREECTX, Free, unbox::<Encoding>),
            function!(id::SET_CTX_PARAMS, SetParams, set_params),
            function!(id::SETTABLE_CTX_PARAMS, Gettable, settable),
            function!(id::DOES_SELECTION, Selects, selects::<STRUCTURE>),
            function!(id::ENCODE, Encode, encode::<E, STRUCTURE, PEM>),
            Dispatch::END,
        ]
    }
}

unsafe extern "C" fn new(provider: *mut c_void) -> *mut c_void {
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    boxed(provider, || Ok(Encoding::new(provider.ok_or(Reason::INTERNAL)?)))
}

unsafe extern "C" fn set_params(context: *mut c_void, params: *const OsslParam) -> c_int {
    // SAFETY: a context of ours, and a terminated array.
    let (context, params) = unsafe { (&mut *context.cast::<Encoding>(), Params::new(params)) };
    let provider = context.provider;
    guard(|| Some(provider), || context.set(params))
}

unsafe extern "C" fn settable(_: *mut c_void) -> *const OsslParam {
    SETTABLE.as_ptr()
}

unsafe extern "C" fn selects<const STRUCTURE: u8>(_: *mut c_void, selection: c_int) -> c_int {
    let selection = Selection(selection);
    c_int::from(match STRUCTURE {
        PRIVATE_KEY_INFO | ENCRYPTED_PRIVATE_KEY_INFO => selection.has_private(),
        // Whoever asks for a private part means that, and has the public part with it.
        SUBJECT_PUBLIC_KEY_INFO => selection.has_public() && !selection.has_private(),
        _ => selection.has_keys(),
    })
}

unsafe extern "C" fn encode<E: Encoded, const STRUCTURE: u8, const PEM: bool>(
    context: *mut c_void,
    out: *mut Bio,
    raw: *const c_void,
    _: *const OsslParam,
    selection: c_int,
    passphrase: Option<Passphrase>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: a context and a key of ours. The key is null where it is another provider's, which has no import here.
    let (context, key) = unsafe { (&*context.cast::<Encoding>(), key::<Key<E>>(raw)) };
    let mut ask = |place: &mut [u8]| {
        let mut len = 0;
        // SAFETY: the program's function and its argument, a place as long as it says, and a terminated array.
        let asked = unsafe {
            let (at, none) = (place.as_mut_ptr().cast(), ptr::from_ref(&OsslParam::END));
            passphrase?(at, place.len(), &mut len, none, argument)
        };
        (asked == 1).then_some(len)
    };
    guard(
        || Some(context.provider),
        || {
            let key = key.ok_or(Reason::MISSING_KEY)?;
            let text = written::<E, STRUCTURE, PEM>(context, key, Selection(selection), &mut ask)?;
            context.provider.write(out, &text).ok_or(Reason::TOLD)
        },
    )
}

fn written<E: Encoded, const STRUCTURE: u8, const PEM: bool>(
    context: &Encoding,
    key: &Key<E>,
    selection: Selection,
    ask: Ask<'_>,
) -> Result<Zeroizing<Vec<u8>>> {
    match STRUCTURE {
        PRIVATE_KEY_INFO => context.private(key, (false, PEM), ask),
        ENCRYPTED_PRIVATE_KEY_INFO => context.private(key, (true, PEM), ask),
        SUBJECT_PUBLIC_KEY_INFO => context.public(key, PEM),
        _ => context.readable(key, selection),
    }
}
