//! Encryption, decryption and digests.
//!
//! Ref. PKCS #11 v3.2 §5.8, §5.10, §5.12, §5.16 (two at once).

use cryptoki_sys::*;
use millstream::modes::Direction;

use super::{Ready, functions, ready, within};
use crate::abi::{Mechanism, Place, bytes};
use crate::module::Module;
use crate::operation::cipher::{self, Ciphering};
use crate::operation::digest::Digesting;
use crate::operation::{Keyed, Operations};
use crate::refusal::{Outcome, Refusal, demand, refuse};
use crate::session::Session;

/// Begins an encryption or a decryption, or ends what is under way for a mechanism that is NULL.
fn begin(
    module: &Module,
    session: &Session,
    operations: &mut Operations,
    mechanism: Option<Mechanism<'_>>,
    key: CK_OBJECT_HANDLE,
    direction: Direction,
) -> Outcome {
    let (place, what) = match direction {
        Direction::Encrypt => (&mut operations.encrypt, (CKF_ENCRYPT, CKA_ENCRYPT)),
        Direction::Decrypt => (&mut operations.decrypt, (CKF_DECRYPT, CKA_DECRYPT)),
    };
    let Some(mechanism) = mechanism else {
        *place = None;
        return Ok(());
    };
    demand(place.is_none(), CKR_OPERATION_ACTIVE)?;
    let Ready { row, key, engine, wants_pin } =
        ready(module, session, &mechanism, what, key, cipher::purpose)?;
    let running = Ciphering::begin(row, &mechanism, engine, direction)?;
    *place = Some(Keyed { running, key, wants_pin });
    Ok(())
}

/// Returns what is under way.
fn running(operation: &mut Option<Keyed<Ciphering>>) -> Outcome<&mut Keyed<Ciphering>> {
    let keyed = operation.as_mut().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))?;
    demand(!keyed.wants_pin, CKR_USER_NOT_LOGGED_IN)?;
    Ok(keyed)
}

/// Adds a part.
fn update(operation: &mut Option<Keyed<Ciphering>>, part: &[u8], place: Place) -> Outcome {
    let keyed = running(operation)?;
    if !place.takes(keyed.running.update_len(part.len()))? {
        return Ok(());
    }
    match keyed.running.update(part) {
        Ok(done) => place.give(&done),
        Err(refusal) => {
            *operation = None;
            Err(refusal)
        }
    }
}

/// Ends an operation with its last part. Too small a buffer leaves it as it was.
fn finish(operation: &mut Option<Keyed<Ciphering>>, last: &[u8], place: Place) -> Outcome {
    let keyed = running(operation)?;
    let (most, less) = keyed.running.finish_len(last.len());
    if place.is_question() || place.room() < most.saturating_sub(less) {
        return place.takes(most).map(drop);
    }
    let before = (place.room() < most).then(|| keyed.running.clone());
    let Keyed { running, key, wants_pin } = operation.take().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))?;
    let result = running.finish(last)?;
    place.give(&result).inspect_err(|_| {
        *operation = before.map(|running| Keyed { running, key, wants_pin });
    })
}

/// Does all at once.
fn single(operation: &mut Option<Keyed<Ciphering>>, data: &[u8], place: Place) -> Outcome {
    demand(!running(operation)?.running.in_parts, CKR_OPERATION_ACTIVE)?;
    finish(operation, data, place)
}

/// Reads a mechanism, if there is one.
///
/// # Safety
/// As the module says.
pub(super) unsafe fn given<'a>(mechanism: *const CK_MECHANISM) -> Outcome<Option<Mechanism<'a>>> {
    if mechanism.is_null() {
        return Ok(None);
    }
    // SAFETY: the program's promise.
    unsafe { Mechanism::read(mechanism) }.map(Some)
}

functions! {
    fn C_EncryptInit(handle: CK_SESSION_HANDLE, mechanism: *mut CK_MECHANISM, key: CK_OBJECT_HANDLE) {
        let mechanism = given(mechanism)?;
        within(handle, |module, session, operations| {
            begin(module, session, operations, mechanism, key, Direction::Encrypt)
        })
    }

    fn C_Encrypt(
        handle: CK_SESSION_HANDLE,
        data: *mut CK_BYTE,
        data_len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let (data, place) = (bytes(data, data_len)?, Place::new(out, out_len)?);
        within(handle, |_, _, operations| single(&mut operations.encrypt, data, place))
    }

    fn C_EncryptUpdate(
        handle: CK_SESSION_HANDLE,
        part: *mut CK_BYTE,
        part_len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let (part, place) = (bytes(part, part_len)?, Place::new(out, out_len)?);
        within(handle, |_, _, operations| update(&mut operations.encrypt, part, place))
    }

    fn C_EncryptFinal(handle: CK_SESSION_HANDLE, out: *mut CK_BYTE, out_len: *mut CK_ULONG) {
        let place = Place::new(out, out_len)?;
        within(handle, |_, _, operations| finish(&mut operations.encrypt, &[], place))
    }

    fn C_DecryptInit(handle: CK_SESSION_HANDLE, mechanism: *mut CK_MECHANISM, key: CK_OBJECT_HANDLE) {
        let mechanism = given(mechanism)?;
        within(handle, |module, session, operations| {
            begin(module, session, operations, mechanism, key, Direction::Decrypt)
        })
    }

    fn C_Decrypt(
        handle: CK_SESSION_HANDLE,
        data: *mut CK_BYTE,
        data_len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let (data, place) = (bytes(data, data_len)?, Place::new(out, out_len)?);
        within(handle, |_, _, operations| single(&mut operations.decrypt, data, place))
    }

    fn C_DecryptUpdate(
        handle: CK_SESSION_HANDLE,
        part: *mut CK_BYTE,
        part_len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let (part, place) = (bytes(part, part_len)?, Place::new(out, out_len)?);
        within(handle, |_, _, operations| update(&mut operations.decrypt, part, place))
    }

    fn C_DecryptFinal(handle: CK_SESSION_HANDLE, out: *mut CK_BYTE, out_len: *mut CK_ULONG) {
        let place = Place::new(out, out_len)?;
        within(handle, |_, _, operations| finish(&mut operations.decrypt, &[], place))
    }

    fn C_DigestInit(handle: CK_SESSION_HANDLE, mechanism: *mut CK_MECHANISM) {
        let mechanism = given(mechanism)?;
        within(handle, |module, _, operations| {
            let Some(mechanism) = mechanism else {
                operations.digest = None;
                return Ok(());
            };
            demand(operations.digest.is_none(), CKR_OPERATION_ACTIVE)?;
            operations.digest = Some(Digesting::begin(module.features, &mechanism)?);
            Ok(())
        })
    }

    fn C_Digest(
        handle: CK_SESSION_HANDLE,
        data: *mut CK_BYTE,
        data_len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let (data, place) = (bytes(data, data_len)?, Place::new(out, out_len)?);
        within(handle, |_, _, operations| {
            demand(!digest(operations)?.in_parts, CKR_OPERATION_ACTIVE)?;
            end_digest(operations, data, place)
        })
    }

    fn C_DigestUpdate(handle: CK_SESSION_HANDLE, part: *mut CK_BYTE, len: CK_ULONG) {
        let part = bytes(part, len)?;
        within(handle, |_, _, operations| {
            digest(operations)?.update(part);
            Ok(())
        })
    }

    fn C_DigestKey(handle: CK_SESSION_HANDLE, key: CK_OBJECT_HANDLE) {
        within(handle, |_, session, operations| {
            let digest = digest(operations)?;
            let key = session.key(key)?;
            demand(key.attributes().class() == CKO_SECRET_KEY, CKR_KEY_INDIGESTIBLE)?;
            demand(key.held.is_none(), CKR_KEY_INDIGESTIBLE)?;
            digest.update(&session.slot.secret(&key)?);
            Ok(())
        })
    }

    fn C_DigestFinal(handle: CK_SESSION_HANDLE, out: *mut CK_BYTE, out_len: *mut CK_ULONG) {
        let place = Place::new(out, out_len)?;
        within(handle, |_, _, operations| end_digest(operations, &[], place))
    }

    fn C_DigestEncryptUpdate(
        handle: CK_SESSION_HANDLE,
        part: *mut CK_BYTE,
        part_len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let (part, place) = (bytes(part, part_len)?, Place::new(out, out_len)?);
        within(handle, |_, _, operations| {
            digest(operations)?;
            let asks = place.is_question();
            let part = part.to_vec();
            update(&mut operations.encrypt, &part, place)?;
            if !asks {
                digest(operations)?.update(&part);
            }
            Ok(())
        })
    }

    fn C_DecryptDigestUpdate(
        handle: CK_SESSION_HANDLE,
        part: *mut CK_BYTE,
        part_len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let (part, place) = (bytes(part, part_len)?, Place::new(out, out_len)?);
        within(handle, |_, _, operations| {
            digest(operations)?;
            let keyed = running(&mut operations.decrypt)?;
            if !place.takes(keyed.running.update_len(part.len()))? {
                return Ok(());
            }
            let text = keyed.running.update(part)?;
            digest(operations)?.update(&text);
            place.give(&text)
        })
    }
}

fn digest(operations: &mut Operations) -> Outcome<&mut Digesting> {
    operations.digest.as_mut().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))
}

fn end_digest(operations: &mut Operations, last: &[u8], place: Place) -> Outcome {
    if !place.takes(digest(operations)?.len())? {
        return Ok(());
    }
    match operations.digest.take() {
        Some(mut digest) => {
            digest.update(last);
            place.give(&digest.finish())
        }
        None => refuse(CKR_OPERATION_NOT_INITIALIZED),
    }
}
