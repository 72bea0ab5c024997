//! Signatures and MACs.
//!
//! Ref. PKCS #11 v3.2 §5.13, §5.15, §5.16 (two at once).

use cryptoki_sys::*;

use super::ciphers::given;
use super::{Ready, functions, ready, within};
use crate::abi::{Mechanism, Place, bytes};
use crate::module::Module;
use crate::operation::signature::{self, Signing};
use crate::operation::{Awaited, Keyed, Operations};
use crate::refusal::{Outcome, Refusal, demand, refuse};
use crate::session::Session;

/// Begins to sign or verify, or ends what is under way for a mechanism that is NULL.
fn begin(
    module: &Module,
    session: &Session,
    operations: &mut Operations,
    mechanism: Option<Mechanism<'_>>,
    key: CK_OBJECT_HANDLE,
    signs: bool,
) -> Outcome {
    let (place, what) = match signs {
        true => (&mut operations.sign, (CKF_SIGN, CKA_SIGN)),
        false => (&mut operations.verify, (CKF_VERIFY, CKA_VERIFY)),
    };
    let Some(mechanism) = mechanism else {
        *place = None;
        return Ok(());
    };
    demand(place.is_none() && (!signs || operations.awaited.is_none()), CKR_OPERATION_ACTIVE)?;
    let Ready { row, key, engine, wants_pin } =
        ready(module, session, &mechanism, what, key, signature::purpose)?;
    let running = Signing::begin(module.features, row, &mechanism, engine, signs)?;
    *place = Some(Keyed { running, key, wants_pin: wants_pin && signs });
    Ok(())
}

pub(super) fn running(operation: &mut Option<Keyed<Signing>>) -> Outcome<&mut Keyed<Signing>> {
    let keyed = operation.as_mut().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))?;
    demand(!keyed.wants_pin, CKR_USER_NOT_LOGGED_IN)?;
    Ok(keyed)
}

/// Adds a part. One that is refused ends the operation.
fn update(operation: &mut Option<Keyed<Signing>>, part: &[u8]) -> Outcome {
    let updated = running(operation)?.running.update(part);
    updated.inspect_err(|_| *operation = None)
}

/// Takes out what is under way, after its last part.
pub(super) fn ended(operation: &mut Option<Keyed<Signing>>, last: &[u8]) -> Outcome<Signing> {
    running(operation)?;
    let keyed = operation.take().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))?;
    let mut running = keyed.running;
    running.update(last)?;
    Ok(running)
}

/// Makes a signature, or begins one in an asynchronous session.
fn sign(
    module: &Module,
    session: &Session,
    operations: &mut Operations,
    function: &'static str,
    last: &[u8],
    place: Place,
) -> Outcome {
    if !place.takes(running(&mut operations.sign)?.running.len())? {
        return Ok(());
    }
    let prepared = ended(&mut operations.sign, last)?.prepared()?;
    if !session.asynchronous {
        return place.give(&prepared.sign()?);
    }
    operations.awaited = Some(Awaited { function, pending: module.gathering.begin(prepared), place });
    refuse(CKR_PENDING)
}

functions! {
    fn C_SignInit(handle: CK_SESSION_HANDLE, mechanism: *mut CK_MECHANISM, key: CK_OBJECT_HANDLE) {
        let mechanism = given(mechanism)?;
        within(handle, |module, session, operations| begin(module, session, operations, mechanism, key, true))
    }

    fn C_Sign(
        handle: CK_SESSION_HANDLE,
        data: *mut CK_BYTE,
        data_len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let (data, place) = (bytes(data, data_len)?, Place::new(out, out_len)?);
        within(handle, |module, session, operations| {
            demand(!running(&mut operations.sign)?.running.in_parts, CKR_OPERATION_ACTIVE)?;
            sign(module, session, operations, "C_Sign", data, place)
        })
    }

    fn C_SignUpdate(handle: CK_SESSION_HANDLE, part: *mut CK_BYTE, len: CK_ULONG) {
        let part = bytes(part, len)?;
        within(handle, |_, _, operations| update(&mut operations.sign, part))
    }

    fn C_SignFinal(handle: CK_SESSION_HANDLE, out: *mut CK_BYTE, out_len: *mut CK_ULONG) {
        let place = Place::new(out, out_len)?;
        within(handle, |module, session, operations| {
            sign(module, session, operations, "C_SignFinal", &[], place)
        })
    }

    fn C_VerifyInit(handle: CK_SESSION_HANDLE, mechanism: *mut CK_MECHANISM, key: CK_OBJECT_HANDLE) {
        let mechanism = given(mechanism)?;
        within(handle, |module, session, operations| {
            begin(module, session, operations, mechanism, key, false)?;
            operations.expected = None;
            Ok(())
        })
    }

    fn C_Verify(
        handle: CK_SESSION_HANDLE,
        data: *mut CK_BYTE,
        data_len: CK_ULONG,
        signature: *mut CK_BYTE,
        len: CK_ULONG,
    ) {
        let (data, signature) = (bytes(data, data_len)?, bytes(signature, len)?);
        within(handle, |_, _, operations| {
            demand(!running(&mut operations.verify)?.running.in_parts, CKR_OPERATION_ACTIVE)?;
            ended(&mut operations.verify, data)?.verify(signature)
        })
    }

    fn C_VerifyUpdate(handle: CK_SESSION_HANDLE, part: *mut CK_BYTE, len: CK_ULONG) {
        let part = bytes(part, len)?;
        within(handle, |_, _, operations| update(&mut operations.verify, part))
    }

    fn C_VerifyFinal(handle: CK_SESSION_HANDLE, signature: *mut CK_BYTE, len: CK_ULONG) {
        let signature = bytes(signature, len)?;
        within(handle, |_, _, operations| ended(&mut operations.verify, &[])?.verify(signature))
    }

    fn C_VerifySignatureInit(
        handle: CK_SESSION_HANDLE,
        mechanism: *mut CK_MECHANISM,
        key: CK_OBJECT_HANDLE,
        signature: *mut CK_BYTE,
        len: CK_ULONG,
    ) {
        let (mechanism, signature) = (given(mechanism)?, bytes(signature, len)?);
        within(handle, |module, session, operations| {
            begin(module, session, operations, mechanism, key, false)?;
            operations.expected = Some(signature.to_vec());
            Ok(())
        })
    }

    fn C_VerifySignature(handle: CK_SESSION_HANDLE, data: *mut CK_BYTE, len: CK_ULONG) {
        let data = bytes(data, len)?;
        within(handle, |_, _, operations| {
            demand(!running(&mut operations.verify)?.running.in_parts, CKR_OPERATION_ACTIVE)?;
            let expected = operations.expected.take().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))?;
            ended(&mut operations.verify, data)?.verify(&expected)
        })
    }

    fn C_VerifySignatureUpdate(handle: CK_SESSION_HANDLE, part: *mut CK_BYTE, len: CK_ULONG) {
        let part = bytes(part, len)?;
        within(handle, |_, _, operations| {
            demand(operations.expected.is_some(), CKR_OPERATION_NOT_INITIALIZED)?;
            update(&mut operations.verify, part)
        })
    }

    fn C_VerifySignatureFinal(handle: CK_SESSION_HANDLE) {
        within(handle, |_, _, operations| {
            let expected = operations.expected.take().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))?;
            ended(&mut operations.verify, &[])?.verify(&expected)
        })
    }

    fn C_SignEncryptUpdate(
        handle: CK_SESSION_HANDLE,
        part: *mut CK_BYTE,
        part_len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let (part, place) = (bytes(part, part_len)?, Place::new(out, out_len)?);
        within(handle, |_, _, operations| {
            running(&mut operations.sign)?;
            let keyed = operations.encrypt.as_mut().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))?;
            if !place.takes(keyed.running.update_len(part.len()))? {
                return Ok(());
            }
            let done = keyed.running.update(part)?;
            running(&mut operations.sign)?.running.update(part)?;
            place.give(&done)
        })
    }

    fn C_DecryptVerifyUpdate(
        handle: CK_SESSION_HANDLE,
        part: *mut CK_BYTE,
        part_len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let (part, place) = (bytes(part, part_len)?, Place::new(out, out_len)?);
        within(handle, |_, _, operations| {
            running(&mut operations.verify)?;
            let keyed = operations.decrypt.as_mut().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))?;
            demand(!keyed.wants_pin, CKR_USER_NOT_LOGGED_IN)?;
            if !place.takes(keyed.running.update_len(part.len()))? {
                return Ok(());
            }
            let text = keyed.running.update(part)?;
            running(&mut operations.verify)?.running.update(&text)?;
            place.give(&text)
        })
    }
}
