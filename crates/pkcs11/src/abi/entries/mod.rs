//! The functions that programs call, named and ordered as in the standard. Each reads what was passed and calls inward.
//!
//! # Safety
//! As [`abi`](super) says, once for all functions: that is why their bodies are unsafe as a whole.
#![allow(non_snake_case, clippy::missing_safety_doc, missing_docs)]

mod asynchronous;
mod ciphers;
mod general;
mod keys;
mod messages;
mod objects;
mod recovery;
mod sessions;
mod signatures;
mod signed_messages;

use std::sync::Arc;

use cryptoki_sys::*;

use super::Mechanism;
use crate::mechanism::{self, Row, Way};
use crate::module::Module;
use crate::object::engine::Engine;
use crate::object::kind::Kind;
use crate::object::purpose::Purpose;
use crate::object::{Object, rules};
use crate::operation::Operations;
use crate::refusal::{Outcome, Refusal, demand};
use crate::session::Session;

pub use asynchronous::*;
pub use ciphers::*;
pub use general::*;
pub use keys::*;
pub use messages::*;
pub use objects::*;
pub use recovery::*;
pub use sessions::*;
pub use signatures::*;
pub use signed_messages::*;

/// Declares functions of the standard: those of a session, whose handle is their first argument, and others.
macro_rules! functions {
    () => {};
    (
        $(#[$meta:meta])* fn $name:ident($session:ident: CK_SESSION_HANDLE $(, $arg:ident: $type:ty)* $(,)?) $body:block
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        #[allow(unused_unsafe)]
        pub unsafe extern "C" fn $name($session: CK_SESSION_HANDLE $(, $arg: $type)*) -> CK_RV {
            // SAFETY: the program's promise, which the head of `abi` states.
            $crate::abi::guard(|| $crate::abi::entries::told_in($session, || unsafe { $body }))
        }
        $crate::abi::entries::functions! { $($rest)* }
    };
    ($(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block $($rest:tt)*) => {
        $(#[$meta])*
        #[allow(unused_unsafe)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> CK_RV {
            // SAFETY: the program's promise, which the head of `abi` states.
            $crate::abi::guard(|| unsafe { $body })
        }
        $crate::abi::entries::functions! { $($rest)* }
    };
}
use functions;

/// Runs a function of a session. Its arguments are read first, but that there is no such session is said before anything that is wrong with
/// them.
///
/// Ref. PKCS #11 v3.2 §5.1.7.
fn told_in(session: CK_SESSION_HANDLE, call: impl FnOnce() -> Outcome) -> Outcome {
    let told = call();
    if let Err(Refusal(
        CKR_ARGUMENTS_BAD | CKR_MECHANISM_PARAM_INVALID | CKR_ATTRIBUTE_VALUE_INVALID | CKR_USER_TYPE_INVALID,
    )) = told
    {
        Module::get()?.session(session)?;
    }
    told
}

/// Runs a call in a session.
fn within<T>(
    handle: CK_SESSION_HANDLE,
    call: impl FnOnce(&'static Module, &Session, &mut Operations) -> Outcome<T>,
) -> Outcome<T> {
    let module = Module::get()?;
    let session = module.session(handle)?;
    let mut operations = session.operations();
    call(module, &session, &mut operations)
}

/// A key that may be used with a mechanism, expanded for it.
struct Ready {
    row: &'static Row,
    key: Arc<Object>,
    engine: Arc<Engine>,
    wants_pin: bool,
}

/// Makes a key ready for a mechanism.
///
/// # Errors
/// Those of the mechanism, of the handle and of the key's attributes.
fn ready(
    module: &Module,
    session: &Session,
    mechanism: &Mechanism<'_>,
    (flag, usage): (CK_FLAGS, CK_ATTRIBUTE_TYPE),
    handle: CK_OBJECT_HANDLE,
    purpose: fn(Way, &Mechanism<'_>) -> Outcome<Purpose>,
) -> Outcome<Ready> {
    let row = mechanism::find(mechanism.kind, flag)?;
    let key = session.key(handle)?;
    let attributes = key.attributes();
    let is_key = matches!(attributes.class(), CKO_SECRET_KEY | CKO_PRIVATE_KEY | CKO_PUBLIC_KEY);
    demand(is_key, CKR_KEY_HANDLE_INVALID)?;
    let kind = Kind::of(&attributes)?;
    row.way.check_kind(kind)?;
    let purpose = purpose(row.way, mechanism)?;
    purpose.check_kind(kind)?;
    rules::check_use(&attributes, usage, mechanism.kind)?;
    let engine = key.engine(module.features, purpose, || session.slot.material(&key))?;
    let wants_pin = attributes.is(CKA_ALWAYS_AUTHENTICATE);
    Ok(Ready { row, key, engine, wants_pin })
}
