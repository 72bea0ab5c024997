//! The functions of stores: URIs that are opened, and the objects that are loaded from them.
//!
//! Ref. provider-storemgmt(7), provider-object(7).
//!
//! # Safety
//! As at the [border](super) everywhere. A store is a box; OpenSSL loads from it in one thread at a time.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use millstream::cwq::Algorithm;
use zeroize::Zeroizing;

use super::object::{Export, Reference, Taker, export, filled, text, type_name};
use super::{Gettable, SetParams, boxed, guard, unbox};
use crate::abi::{Dispatch, INTEGER, OCTET_STRING, OsslParam, UTF8_STRING, object, store as id};
use crate::error::{Reason, Result};
use crate::libcrypto::pkey::Callback;
use crate::params::Params;
use crate::pkey::ec::Ec;
use crate::pkey::ed25519::Ed25519;
use crate::pkey::mldsa::MlDsa;
use crate::pkey::rsa::Rsa;
use crate::pkey::x25519::X25519;
use crate::pkey::{curve25519, held, raw};
use crate::provider::Provider;
use crate::remote::PrivateKey;
use crate::store::{Loaded, Store};

type Open = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
type Load =
    unsafe extern "C" fn(*mut c_void, Option<Callback>, *mut c_void, Option<Ask>, *mut c_void) -> c_int;
/// The function that asks the user for a PIN.
type Ask = unsafe extern "C" fn(*mut c_char, usize, *mut usize, *const OsslParam, *mut c_void) -> c_int;
type Tell = unsafe extern "C" fn(*mut c_void) -> c_int;

/// The room for a PIN that is asked for.
const PIN_ROOM: usize = 256;

/// The functions of a store.
pub const STORE_FUNCTIONS: &[Dispatch] = &[
    function!(id::OPEN, Open, open),
    function!(id::SETTABLE_CTX_PARAMS, Gettable, settable),
    function!(id::SET_CTX_PARAMS, SetParams, set_params),
    function!(id::LOAD, Load, load),
    function!(id::EOF, Tell, is_empty),
    function!(id::CLOSE, Tell, close),
    function!(id::EXPORT_OBJECT, Export, export),
    Dispatch::END,
];

const SETTABLE: &[OsslParam] = &[
    OsslParam::described(c"expect", INTEGER),
    OsslParam::described(c"properties", UTF8_STRING),
    OsslParam::END,
];

unsafe extern "C" fn open(provider: *mut c_void, uri: *const c_char) -> *mut c_void {
    // SAFETY: the provider's own pointer.
    let provider = unsafe { Provider::from_raw(provider) };
    boxed(provider, || {
        let provider = provider.ok_or(Reason::INTERNAL)?;
        if uri.is_null() {
            return Err(Reason::INTERNAL);
        }
        // SAFETY: a C string of the caller's.
        let uri = unsafe { CStr::from_ptr(uri) }.to_str();
        Store::open(provider, uri.map_err(|_| Reason::INVALID_DATA.with("the URI is not UTF-8"))?)
    })
}

unsafe extern "C" fn settable(_: *mut c_void) -> *const OsslParam {
    SETTABLE.as_ptr()
}

/// Returns the store behind a pointer.
///
/// # Safety
/// A store of ours that nobody else uses meanwhile, or null.
unsafe fn store<'a>(raw: *mut c_void) -> Option<&'a mut Store> {
    // SAFETY: the caller's promise.
    unsafe { raw.cast::<Store>().as_mut() }
}

unsafe extern "C" fn set_params(raw: *mut c_void, params: *const OsslParam) -> c_int {
    // SAFETY: a store of ours, and a terminated array.
    let (store, params) = unsafe { (store(raw), Params::new(params)) };
    let provider = store.as_ref().map(|store| store.provider);
    guard(
        || provider,
        || {
            let store = store.ok_or(Reason::INTERNAL)?;
            if let Some(expected) = params.find(c"expect") {
                store.expected = i32::try_from(expected.size()?).map_err(|_| Reason::INTERNAL)?;
            }
            Ok(())
        },
    )
}

unsafe extern "C" fn is_empty(raw: *mut c_void) -> c_int {
    // SAFETY: a store of ours.
    c_int::from(unsafe { store(raw) }.is_none_or(|store| store.is_empty()))
}

unsafe extern "C" fn close(raw: *mut c_void) -> c_int {
    // SAFETY: a store of ours, which is not used again.
    unsafe { unbox::<Store>(raw) };
    1
}

/// Asks for a PIN.
///
/// # Safety
/// The function is OpenSSL's, with its argument.
unsafe fn asked(ask: Ask, argument: *mut c_void, what: &str) -> Option<Zeroizing<Vec<u8>>> {
    let mut pin = Zeroizing::new(vec![0; PIN_ROOM]);
    let (mut len, what) = (0, CString::new(what).ok()?);
    let params = [text(c"info", &what), OsslParam::END];
    // SAFETY: room as long as it says, a place for a length, and a terminated array.
    let done = unsafe { ask(pin.as_mut_ptr().cast(), pin.len(), &mut len, params.as_ptr(), argument) };
    pin.truncate(len.min(PIN_ROOM));
    (done == 1).then_some(pin)
}

unsafe extern "C" fn load(
    raw: *mut c_void,
    taker: Option<Callback>,
    argument: *mut c_void,
    ask: Option<Ask>,
    ask_argument: *mut c_void,
) -> c_int {
    // SAFETY: a store of ours.
    let store = unsafe { store(raw) };
    let provider = store.as_ref().map(|store| store.provider);
    guard(
        || provider,
        || {
            let (store, function) = store.zip(taker).ok_or(Reason::INTERNAL)?;
            let taker = Taker { function, argument };
            // SAFETY: OpenSSL's function with its argument.
            let loaded = store.load(|what| unsafe { asked(ask?, ask_argument, what) })?;
            match loaded {
                Loaded::Name(uri) => {
                    let uri = CString::new(uri).map_err(|_| Reason::INTERNAL)?;
                    // SAFETY: parameters of an object that is a name.
                    unsafe { taker.pass(object::NAME, &[text(c"data", &uri)]) }
                }
                Loaded::Public(der) => {
                    let parts = [
                        text(c"data-structure", c"SubjectPublicKeyInfo"),
                        filled(c"data", OCTET_STRING, &der),
                    ];
                    // SAFETY: parameters of an object that is data.
                    unsafe { taker.pass(object::PKEY, &parts) }
                }
                Loaded::Certificate(der) => {
                    // SAFETY: parameters of an object that is data.
                    unsafe { taker.pass(object::CERT, &[filled(c"data", OCTET_STRING, &der)]) }
                }
                Loaded::Private(key) => pass(store.provider, key, &taker),
            }
        },
    )
}

/// Passes a private key on as a key of ours.
fn pass(provider: Provider, key: PrivateKey, taker: &Taker) -> Result<()> {
    let name = type_name(key.algorithm());
    match key.algorithm() {
        Algorithm::Rsa => Reference::new(held::Key::<Rsa>::there(provider, key)?).pass(taker, name),
        Algorithm::X25519 => {
            Reference::new(curve25519::Key::<X25519>::there(provider, key)?).pass(taker, name)
        }
        Algorithm::Ed25519 => {
            Reference::new(curve25519::Key::<Ed25519>::there(provider, key)?).pass(taker, name)
        }
        Algorithm::MlDsa44 => Reference::new(ml_dsa::<44>(provider, key)?).pass(taker, name),
        Algorithm::MlDsa65 => Reference::new(ml_dsa::<65>(provider, key)?).pass(taker, name),
        Algorithm::MlDsa87 => Reference::new(ml_dsa::<87>(provider, key)?).pass(taker, name),
        _ => Reference::new(held::Key::<Ec>::there(provider, key)?).pass(taker, name),
    }
}

fn ml_dsa<const N: usize>(provider: Provider, key: PrivateKey) -> Result<raw::key::Key<MlDsa<N>>> {
    raw::key::Key::in_service(provider, key)
}
