//! Keys that are made, derived, wrapped and unwrapped.
//!
//! Ref. PKCS #11 v3.2 §5.18.

use cryptoki_sys::*;
use millstream::modes::Direction;

use super::{Ready, functions, ready};
use crate::abi::{Mechanism, Place, attributes, bytes, put};
use crate::mechanism;
use crate::module::Module;
use crate::object::Draft;
use crate::object::engine::Purpose;
use crate::object::kind::Kind;
use crate::object::rules;
use crate::operation::cipher::{self, Ciphering};
use crate::operation::keys::{self, Base};
use crate::refusal::{Outcome, Refusal, demand};
use crate::session::Session;

/// Puts a new object where its attributes say.
fn keep(session: &Session, draft: Draft) -> Outcome<CK_OBJECT_HANDLE> {
    session.check_writes(draft.attributes.is(CKA_TOKEN))?;
    session.slot.add(draft, session.handle)
}

functions! {
    fn C_GenerateKey(
        handle: CK_SESSION_HANDLE,
        mechanism: *mut CK_MECHANISM,
        template: *mut CK_ATTRIBUTE,
        count: CK_ULONG,
        key: *mut CK_OBJECT_HANDLE,
    ) {
        let module = Module::get()?;
        let session = module.session(handle)?;
        demand(!key.is_null(), CKR_ARGUMENTS_BAD)?;
        let mechanism = Mechanism::read(mechanism)?;
        let draft = keys::generate(module.features, &mechanism, &attributes(template, count)?)?;
        put(key, keep(&session, draft)?)
    }

    fn C_GenerateKeyPair(
        handle: CK_SESSION_HANDLE,
        mechanism: *mut CK_MECHANISM,
        public: *mut CK_ATTRIBUTE,
        public_count: CK_ULONG,
        private: *mut CK_ATTRIBUTE,
        private_count: CK_ULONG,
        public_key: *mut CK_OBJECT_HANDLE,
        private_key: *mut CK_OBJECT_HANDLE,
    ) {
        let module = Module::get()?;
        let session = module.session(handle)?;
        demand(!public_key.is_null() && !private_key.is_null(), CKR_ARGUMENTS_BAD)?;
        let mechanism = Mechanism::read(mechanism)?;
        let (public, private) = (attributes(public, public_count)?, attributes(private, private_count)?);
        let (public, private) = keys::generate_pair(module.features, &mechanism, &public, &private)?;
        let made = keep(&session, public)?;
        let other = keep(&session, private).inspect_err(|_| {
            // A pair is made whole or not at all.
            if let Ok(half) = session.slot.object(made, CKR_OBJECT_HANDLE_INVALID) {
                let _ = session.slot.remove(&half);
            }
        })?;
        put(public_key, made)?;
        put(private_key, other)
    }

    fn C_DeriveKey(
        handle: CK_SESSION_HANDLE,
        mechanism: *mut CK_MECHANISM,
        base: CK_OBJECT_HANDLE,
        template: *mut CK_ATTRIBUTE,
        count: CK_ULONG,
        key: *mut CK_OBJECT_HANDLE,
    ) {
        let module = Module::get()?;
        let session = module.session(handle)?;
        demand(!key.is_null(), CKR_ARGUMENTS_BAD)?;
        let mechanism = Mechanism::read(mechanism)?;
        let row = mechanism::find(mechanism.kind, CKF_DERIVE)?;
        let base = session.key(base)?;
        let of_base = base.attributes();
        let kind = Kind::of(&of_base)?;
        row.way.check_kind(kind)?;
        rules::check_use(&of_base, CKA_DERIVE, mechanism.kind)?;
        let secret = session.slot.secret(&base)?;
        let engine = match kind {
            Kind::Secret(_) => None,
            _ => Some(base.engine(module.features, Purpose::Pair, || Ok(secret.clone()))?),
        };
        let from = Base { attributes: &of_base, secret: &secret, engine: engine.as_deref() };
        let salt = |handle| session.key(handle).and_then(|key| session.slot.secret(&key));
        let template = attributes(template, count)?;
        let draft = keys::derive(module.features, &mechanism, &from, &template, salt)?;
        put(key, keep(&session, draft)?)
    }

    fn C_WrapKey(
        handle: CK_SESSION_HANDLE,
        mechanism: *mut CK_MECHANISM,
        wrapping: CK_OBJECT_HANDLE,
        key: CK_OBJECT_HANDLE,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let module = Module::get()?;
        let session = module.session(handle)?;
        let place = Place::new(out, out_len)?;
        let mechanism = Mechanism::read(mechanism)?;
        let key = session.key(key)?;
        let what = (CKF_WRAP, CKA_WRAP);
        let wrong = |Refusal(value)| match value {
            CKR_KEY_HANDLE_INVALID => Refusal(CKR_WRAPPING_KEY_HANDLE_INVALID),
            CKR_KEY_TYPE_INCONSISTENT => Refusal(CKR_WRAPPING_KEY_TYPE_INCONSISTENT),
            value => Refusal(value),
        };
        let by = ready(module, &session, &mechanism, what, wrapping, cipher::purpose).map_err(wrong)?;
        let Ready { row, key: wrapping, engine, .. } = by;
        let secret = session.slot.secret(&key)?;
        let text = keys::to_wrap(module.features, &key.attributes(), &wrapping.attributes(), &secret)?;
        let running = Ciphering::begin(row, &mechanism, engine, Direction::Encrypt)?;
        if place.takes(running.finish_len(text.len()).0)? {
            let wrapped = running.finish(&text).map_err(|Refusal(value)| match value {
                CKR_DATA_LEN_RANGE => Refusal(CKR_KEY_SIZE_RANGE),
                value => Refusal(value),
            })?;
            place.give(&wrapped)?;
        }
        Ok(())
    }

    fn C_UnwrapKey(
        handle: CK_SESSION_HANDLE,
        mechanism: *mut CK_MECHANISM,
        unwrapping: CK_OBJECT_HANDLE,
        wrapped: *mut CK_BYTE,
        wrapped_len: CK_ULONG,
        template: *mut CK_ATTRIBUTE,
        count: CK_ULONG,
        key: *mut CK_OBJECT_HANDLE,
    ) {
        let module = Module::get()?;
        let session = module.session(handle)?;
        demand(!key.is_null(), CKR_ARGUMENTS_BAD)?;
        let mechanism = Mechanism::read(mechanism)?;
        let (wrapped, template) = (bytes(wrapped, wrapped_len)?, attributes(template, count)?);
        let what = (CKF_UNWRAP, CKA_UNWRAP);
        let wrong = |Refusal(value)| match value {
            CKR_KEY_HANDLE_INVALID => Refusal(CKR_UNWRAPPING_KEY_HANDLE_INVALID),
            CKR_KEY_TYPE_INCONSISTENT => Refusal(CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT),
            value => Refusal(value),
        };
        let by = ready(module, &session, &mechanism, what, unwrapping, cipher::purpose).map_err(wrong)?;
        let draft = keys::unwrap(module.features, &mechanism, by.engine, wrapped, &template)?;
        put(key, keep(&session, draft)?)
    }
}
