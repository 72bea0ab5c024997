//! Keys that are made, derived, wrapped and unwrapped.
//!
//! Ref. PKCS #11 v3.2 §5.18.

use cryptoki_sys::*;
use millstream::modes::Direction;

use super::{Ready, functions, ready};
use crate::abi::{Mechanism, Place, attributes, bytes, put};
use crate::mechanism::wrapping::{Wrapping, is_for_wrapping};
use crate::mechanism::{self, Row, Way};
use crate::module::Module;
use crate::object::Draft;
use crate::object::kind::Kind;
use crate::object::purpose::Purpose;
use crate::object::rules;
use crate::operation::cipher::{self, Ciphering};
use crate::operation::encapsulation;
use crate::operation::keys::{self, Base, Generated, GeneratedPair};
use crate::operation::tls::Connection;
use crate::refusal::{Outcome, Refusal, demand, refuse};
use crate::session::Session;
use crate::text::Text;

/// Puts a new object where its attributes say.
fn keep(session: &Session, draft: Draft) -> Outcome<CK_OBJECT_HANDLE> {
    session.check_writes(draft.attributes.is(CKA_TOKEN))?;
    session.slot.add(draft, session.handle)
}

/// Puts the keys of a connection where their attributes say: all of them, or none.
fn keep_all(session: &Session, mut connection: Connection) -> Outcome {
    let mut kept = Vec::new();
    let mut all = |drafts: Option<[Draft; 2]>| {
        let Some(drafts) = drafts else { return Ok([CK_INVALID_HANDLE; 2]) };
        let mut handles = [CK_INVALID_HANDLE; 2];
        for (handle, draft) in handles.iter_mut().zip(drafts) {
            *handle = keep(session, draft)?;
            kept.push(*handle);
        }
        Ok(handles)
    };
    let (macs, keys) = (connection.macs.take(), connection.keys.take());
    let handles = all(macs).and_then(|macs| Ok((macs, all(keys)?)));
    let given = handles.and_then(|(macs, keys)| connection.give(macs, keys));
    if given.is_err() {
        for half in kept {
            without(session, half);
        }
    }
    given
}

/// Removes a key that was made with another that was not.
fn without(session: &Session, half: CK_OBJECT_HANDLE) {
    if let Ok(half) = session.slot.object(half, CKR_OBJECT_HANDLE_INVALID) {
        let _ = session.slot.remove(&half);
    }
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
        let template = attributes(template, count)?;
        let made = match keys::generate(module.features, &mechanism, &template, session.slot.makes_keys())? {
            Generated::Here(draft) => keep(&session, draft)?,
            Generated::There(attributes, bits) => {
                session.check_writes(true)?;
                session.slot.generate(&attributes, bits)?.0
            }
        };
        put(key, made)
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
        let there = session.slot.makes_keys();
        // A pair is made whole or not at all.
        let without = |half| without(&session, half);
        let made = match keys::generate_pair(module.features, &mechanism, &public, &private, there)? {
            GeneratedPair::Here(public, private) => {
                let made = keep(&session, public)?;
                (made, keep(&session, private).inspect_err(|_| without(made))?)
            }
            GeneratedPair::There(pair) => {
                session.check_writes(true)?;
                let (made, info) = session.slot.generate(&pair.private, pair.bits)?;
                let public = pair.public(module.features, &info).and_then(|public| keep(&session, public));
                (public.inspect_err(|_| without(made))?, made)
            }
        };
        put(public_key, made.0)?;
        put(private_key, made.1)
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
        let mechanism = Mechanism::read(mechanism)?;
        let row = mechanism::find(mechanism.kind, CKF_DERIVE)?;
        // The keys of a connection go into the structure that the parameter names.
        demand(!key.is_null() || matches!(row.way, Way::TlsKeys(_)), CKR_ARGUMENTS_BAD)?;
        let base = session.key(base)?;
        let of_base = base.attributes();
        let kind = Kind::of(&of_base)?;
        row.way.check_kind(kind)?;
        rules::check_use(&of_base, CKA_DERIVE, mechanism.kind)?;
        let (mut secret, mut engine) = (None, None);
        match kind {
            // The bytes of a key that is used in the service are not for derivations in this process.
            Kind::Secret(_) if base.held.is_some() => {}
            Kind::Secret(_) => secret = Some(session.slot.secret(&base)?),
            _ => engine = Some(base.engine(module.features, Purpose::Pair, || session.slot.material(&base))?),
        }
        let secret = secret.as_ref().map(|secret| secret.as_slice());
        let from = Base { attributes: &of_base, secret, engine: engine.as_deref() };
        let salt = |handle| {
            let key = session.key(handle)?;
            demand(key.held.is_none(), CKR_KEY_FUNCTION_NOT_PERMITTED)?;
            session.slot.secret(&key)
        };
        let template = attributes(template, count)?;
        if let Way::TlsKeys(with_vectors) = row.way {
            let from = (&*of_base, secret.ok_or(Refusal(CKR_KEY_FUNCTION_NOT_PERMITTED))?);
            return keep_all(&session, Connection::derive(module.features, &mechanism, with_vectors, from, &template)?);
        }
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
        let (mechanism, place) = (Mechanism::read(mechanism)?, Place::new(out, out_len)?);
        wrap(handle, &mechanism, [wrapping, key], None, place)
    }

    fn C_WrapKeyAuthenticated(
        handle: CK_SESSION_HANDLE,
        mechanism: *mut CK_MECHANISM,
        wrapping: CK_OBJECT_HANDLE,
        key: CK_OBJECT_HANDLE,
        aad: *mut CK_BYTE,
        aad_len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let (mechanism, place) = (Mechanism::read(mechanism)?, Place::new(out, out_len)?);
        wrap(handle, &mechanism, [wrapping, key], Some(bytes(aad, aad_len)?), place)
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
        let (wrapped, template) = (bytes(wrapped, wrapped_len)?, attributes(template, count)?);
        let mechanism = Mechanism::read(mechanism)?;
        unwrap(handle, &mechanism, unwrapping, (wrapped, None), &template, key)
    }

    fn C_UnwrapKeyAuthenticated(
        handle: CK_SESSION_HANDLE,
        mechanism: *mut CK_MECHANISM,
        unwrapping: CK_OBJECT_HANDLE,
        wrapped: *mut CK_BYTE,
        wrapped_len: CK_ULONG,
        template: *mut CK_ATTRIBUTE,
        count: CK_ULONG,
        aad: *mut CK_BYTE,
        aad_len: CK_ULONG,
        key: *mut CK_OBJECT_HANDLE,
    ) {
        let (wrapped, template) = (bytes(wrapped, wrapped_len)?, attributes(template, count)?);
        let (mechanism, aad) = (Mechanism::read(mechanism)?, bytes(aad, aad_len)?);
        unwrap(handle, &mechanism, unwrapping, (wrapped, Some(aad)), &template, key)
    }

    fn C_EncapsulateKey(
        handle: CK_SESSION_HANDLE,
        mechanism: *mut CK_MECHANISM,
        public: CK_OBJECT_HANDLE,
        template: *mut CK_ATTRIBUTE,
        count: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
        key: *mut CK_OBJECT_HANDLE,
    ) {
        let module = Module::get()?;
        let session = module.session(handle)?;
        let (mechanism, place) = (Mechanism::read(mechanism)?, Place::new(out, out_len)?);
        let template = attributes(template, count)?;
        let what = (CKF_ENCAPSULATE, CKA_ENCAPSULATE);
        let with = ready(module, &session, &mechanism, what, public, encapsulation::purpose)?;
        if !place.takes(encapsulation::ciphertext_len(&with.engine)?)? {
            return Ok(());
        }
        demand(!key.is_null(), CKR_ARGUMENTS_BAD)?;
        let (ciphertext, secret) = encapsulation::encapsulate(&with.engine)?;
        let made = keep(&session, encapsulation::key(module.features, &template, secret)?)?;
        place.give(&ciphertext)?;
        put(key, made)
    }

    fn C_DecapsulateKey(
        handle: CK_SESSION_HANDLE,
        mechanism: *mut CK_MECHANISM,
        private: CK_OBJECT_HANDLE,
        template: *mut CK_ATTRIBUTE,
        count: CK_ULONG,
        ciphertext: *mut CK_BYTE,
        ciphertext_len: CK_ULONG,
        key: *mut CK_OBJECT_HANDLE,
    ) {
        let module = Module::get()?;
        let session = module.session(handle)?;
        demand(!key.is_null(), CKR_ARGUMENTS_BAD)?;
        let (mechanism, ciphertext) = (Mechanism::read(mechanism)?, bytes(ciphertext, ciphertext_len)?);
        let template = attributes(template, count)?;
        let what = (CKF_DECAPSULATE, CKA_DECAPSULATE);
        let with = ready(module, &session, &mechanism, what, private, encapsulation::purpose);
        let secret = encapsulation::decapsulate(&with.map_err(of_unwrapping)?.engine, ciphertext)?;
        put(key, keep(&session, encapsulation::key(module.features, &template, secret)?)?)
    }
}

/// Returns the refusal of a key that unwraps or decapsulates.
fn of_unwrapping(Refusal(value): Refusal) -> Refusal {
    Refusal(match value {
        CKR_KEY_HANDLE_INVALID => CKR_UNWRAPPING_KEY_HANDLE_INVALID,
        CKR_KEY_TYPE_INCONSISTENT => CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT,
        value => value,
    })
}

/// Returns how a mechanism wraps with associated data; none where a cipher does that without.
///
/// # Errors
/// `CKR_MECHANISM_INVALID` for a mechanism that has no associated data where there is some.
fn authenticated(row: &Row, mechanism: &Mechanism<'_>, aad: Option<&[u8]>) -> Outcome<Option<Wrapping>> {
    let is_gcm = row.way == Way::Gcm;
    match (row.way, aad) {
        (Way::Gcm | Way::ChaCha, Some(aad)) => Wrapping::read(mechanism, is_gcm, aad).map(Some),
        (Way::Gcm, None) if is_for_wrapping(mechanism) => Wrapping::read(mechanism, true, &[]).map(Some),
        (_, None) => Ok(None),
        (_, Some(_)) => refuse(CKR_MECHANISM_INVALID),
    }
}

/// Wraps the second of two keys with the first.
fn wrap(
    handle: CK_SESSION_HANDLE,
    mechanism: &Mechanism<'_>,
    [wrapping, key]: [CK_OBJECT_HANDLE; 2],
    aad: Option<&[u8]>,
    place: Place,
) -> Outcome {
    let module = Module::get()?;
    let session = module.session(handle)?;
    let key = session.key(key)?;
    let wrong = |Refusal(value)| match value {
        CKR_KEY_HANDLE_INVALID => Refusal(CKR_WRAPPING_KEY_HANDLE_INVALID),
        CKR_KEY_TYPE_INCONSISTENT => Refusal(CKR_WRAPPING_KEY_TYPE_INCONSISTENT),
        value => Refusal(value),
    };
    let what = (CKF_WRAP, CKA_WRAP);
    let by = ready(module, &session, mechanism, what, wrapping, cipher::purpose).map_err(wrong)?;
    let Ready { row, key: wrapping, engine, .. } = by;
    let with_data = authenticated(row, mechanism, aad)?;
    // A key that does not leave the service is one that this module is unable to wrap, whatever its attributes promise.
    let secret = || {
        session.slot.secret(&key).map_err(|Refusal(value)| match value {
            CKR_KEY_UNEXTRACTABLE => Refusal(CKR_KEY_NOT_WRAPPABLE),
            value => Refusal(value),
        })
    };
    let text = keys::to_wrap(module.features, &key.attributes(), &wrapping.attributes(), secret)?;
    let wrapped = match with_data {
        Some(with_data) => {
            if !place.takes(with_data.wrapped_len(text.len()))? {
                return Ok(());
            }
            with_data.wrap(&engine, &text).map(Text::from)
        }
        None => {
            let running = Ciphering::begin(row, mechanism, engine, Direction::Encrypt)?;
            if !place.takes(running.finish_len(text.len()).0)? {
                return Ok(());
            }
            running.finish(&text)
        }
    };
    let wrapped = wrapped.map_err(|Refusal(value)| match value {
        CKR_DATA_LEN_RANGE => Refusal(CKR_KEY_SIZE_RANGE),
        value => Refusal(value),
    });
    place.give(&wrapped?)
}

/// Makes a key of a wrapped one, which has associated data or none.
///
/// # Safety
/// As `abi` says, for `key`.
unsafe fn unwrap(
    handle: CK_SESSION_HANDLE,
    mechanism: &Mechanism<'_>,
    unwrapping: CK_OBJECT_HANDLE,
    (wrapped, aad): (&[u8], Option<&[u8]>),
    template: &[(CK_ATTRIBUTE_TYPE, &[u8])],
    key: *mut CK_OBJECT_HANDLE,
) -> Outcome {
    let module = Module::get()?;
    let session = module.session(handle)?;
    demand(!key.is_null(), CKR_ARGUMENTS_BAD)?;
    let what = (CKF_UNWRAP, CKA_UNWRAP);
    let by = ready(module, &session, mechanism, what, unwrapping, cipher::purpose).map_err(of_unwrapping)?;
    let with_data = authenticated(by.row, mechanism, aad)?;
    let draft = keys::unwrap(module.features, template, || match (with_data, aad) {
        (Some(with_data), Some(_)) => with_data.unwrap(&by.engine, wrapped),
        (with_data, _) => {
            let opened = match with_data {
                Some(with_data) => with_data.unwrap(&by.engine, wrapped),
                None => {
                    let running = Ciphering::begin(by.row, mechanism, by.engine, Direction::Decrypt)?;
                    running.finish(wrapped).map(Text::into_secret)
                }
            };
            // A program of version 2.40 knows of no associated data.
            opened.map_err(|Refusal(value)| match value {
                CKR_ENCRYPTED_DATA_LEN_RANGE | CKR_WRAPPED_KEY_LEN_RANGE => {
                    Refusal(CKR_WRAPPED_KEY_LEN_RANGE)
                }
                _ => Refusal(CKR_WRAPPED_KEY_INVALID),
            })
        }
    })?;
    // SAFETY: the program's promise.
    unsafe { put(key, keep(&session, draft)?) }
}
