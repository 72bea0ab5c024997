//! Decoders of keys that are strings of bytes, private and public, into this process.
//!
//! OpenSSL's own decoders turn PEM into DER and decrypt; these ones make a key of the DER. What is no key of the type they leave alone, and OpenSSL
//! asks the next decoder.
//!
//! Ref. provider-decoder(7).
//!
//! # Safety
//! As at the [border](super) everywhere.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::decoder::{Call, Decode, Selects, free, new};
use super::keymgmt::key;
use super::object::{Export, Reference};
use super::{Free, NewCtx, guard};
use crate::abi::{Dispatch, OsslParam, decoder as id};
use crate::error::{Reason, Result};
use crate::libcrypto::pkey::Callback;
use crate::pkey::raw::Encoded;
use crate::pkey::raw::asn1::{read_private, read_public};
use crate::pkey::raw::key::Key;
use crate::pkey::{KeyType, Selection};
use crate::provider::{Bio, Provider};

/// The functions of the decoder of private keys, or else of public ones, of a type.
pub const fn raw_decoder_functions<E: Encoded, const PRIVATE: bool>() -> &'static [Dispatch] {
    const {
        &[
            function!(id::NEWCTX, NewCtx, new),
            function!(id::FREECTX, Free, free),
            function!(id::DOES_SELECTION, Selects, selects::<PRIVATE>),
            function!(id::DECODE, Decode, decode::<E, PRIVATE>),
            function!(id::EXPORT_OBJECT, Export, export::<E>),
            Dispatch::END,
        ]
    }
}

/// Tells whether the decoder is for a selection. Nothing selected is all.
fn is_selected<const PRIVATE: bool>(selection: c_int) -> bool {
    selection == 0 || Selection(selection).has_private() == PRIVATE && Selection(selection).has_keys()
}

unsafe extern "C" fn selects<const PRIVATE: bool>(_: *mut c_void, selection: c_int) -> c_int {
    c_int::from(is_selected::<PRIVATE>(selection))
}

unsafe extern "C" fn decode<E: Encoded, const PRIVATE: bool>(
    provider: *mut c_void,
    bio: *mut Bio,
    selection: c_int,
    taker: Option<Callback>,
    argument: *mut c_void,
    _: *const c_void,
    _: *mut c_void,
) -> c_int {
    // SAFETY: the decoder's context is the provider.
    let provider = unsafe { Provider::from_raw(provider) };
    guard(
        || provider,
        || {
            // SAFETY: the taker may be called with the argument during this call.
            let call = unsafe { Call::new(provider, bio, taker, argument) }?;
            if is_selected::<PRIVATE>(selection) { read::<E, PRIVATE>(&call) } else { Ok(()) }
        },
    )
}

fn read<E: Encoded, const PRIVATE: bool>(call: &Call) -> Result<()> {
    let Some(der) = call.read_der() else { return Ok(()) };
    let given = if PRIVATE { read_private::<E>(&der) } else { read_public::<E>(&der) }?;
    let Some(given) = given else { return Ok(()) };
    let mut reference = Reference::new(Key::<E>::of(call.provider, &given)?);
    reference.pass(&call.taker, E::NAME)
}

/// Hands the parts of a decoded key to another provider, whose type of keys the program prefers.
unsafe extern "C" fn export<E: Encoded>(
    provider: *mut c_void,
    reference: *const c_void,
    len: usize,
    taker: Option<Callback>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the decoder's context is the provider.
    let provider = unsafe { Provider::from_raw(provider) };
    guard(
        || provider,
        || {
            if reference.is_null() || len != size_of::<*const c_void>() {
                return Err(Reason::INTERNAL);
            }
            // SAFETY: the place of a pointer to a key of ours, which stays where it is.
            let key = unsafe { key::<Key<E>>(*reference.cast::<*const c_void>()) };
            let (key, taker) = key.zip(taker).ok_or(Reason::INTERNAL)?;
            // SAFETY: a terminated array, whose values live as long as the call.
            let mut take = |params: &[OsslParam]| unsafe { taker(params.as_ptr(), argument) } == 1;
            let selection = if key.private().is_some() { Selection::ALL } else { Selection::PUBLIC };
            key.export(Selection(selection), &mut take)
        },
    )
}
