//! The message interface for encryption and decryption.
//!
//! Ref. PKCS #11 v3.2 §5.9, §5.11.

use std::ffi::c_void;

use cryptoki_sys::*;

use super::ciphers::given;
use super::{Ready, functions, ready, within};
use crate::abi::{Mechanism, Place, bytes};
use crate::mechanism::Way;
use crate::mechanism::parameters::Message;
use crate::module::Module;
use crate::operation::Operations;
use crate::operation::cipher;
use crate::operation::message::{Begun, Messages, Opening, State};
use crate::refusal::{Outcome, Refusal, demand, refuse};
use crate::session::Session;

fn begin(
    module: &Module,
    session: &Session,
    operations: &mut Operations,
    mechanism: Option<Mechanism<'_>>,
    key: CK_OBJECT_HANDLE,
    encrypts: bool,
) -> Outcome {
    let (place, what) = match encrypts {
        true => (&mut operations.seal, (CKF_MESSAGE_ENCRYPT, CKA_ENCRYPT)),
        false => (&mut operations.open, (CKF_MESSAGE_DECRYPT, CKA_DECRYPT)),
    };
    let Some(mechanism) = mechanism else {
        *place = None;
        return Ok(());
    };
    demand(place.is_none(), CKR_OPERATION_ACTIVE)?;
    let Ready { row, engine, .. } = ready(module, session, &mechanism, what, key, cipher::purpose)?;
    *place = Some(Messages { engine, gcm: row.way == Way::Gcm, begun: None });
    Ok(())
}

fn running(operation: &mut Option<Messages>) -> Outcome<&mut Messages> {
    operation.as_mut().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))
}

fn end(operation: &mut Option<Messages>) -> Outcome {
    match operation.take() {
        Some(_) => Ok(()),
        None => refuse(CKR_OPERATION_NOT_INITIALIZED),
    }
}

functions! {
    fn C_MessageEncryptInit(handle: CK_SESSION_HANDLE, mechanism: *mut CK_MECHANISM, key: CK_OBJECT_HANDLE) {
        let mechanism = given(mechanism)?;
        within(handle, |module, session, operations| begin(module, session, operations, mechanism, key, true))
    }

    fn C_EncryptMessage(
        handle: CK_SESSION_HANDLE,
        parameter: *mut c_void,
        parameter_len: CK_ULONG,
        aad: *mut CK_BYTE,
        aad_len: CK_ULONG,
        text: *mut CK_BYTE,
        text_len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let (aad, text) = (bytes(aad, aad_len)?, bytes(text, text_len)?);
        let place = Place::new(out, out_len)?;
        within(handle, |_, _, operations| {
            let running = running(&mut operations.seal)?;
            demand(running.begun.is_none(), CKR_OPERATION_ACTIVE)?;
            // SAFETY: the program's promise.
            let message = unsafe { Message::read(running.gcm, parameter, parameter_len)? };
            if !place.takes(text.len())? {
                return Ok(());
            }
            // SAFETY: the program's promise.
            let nonce = unsafe { message.nonce(true)? };
            let mut data = text.to_vec();
            let tag = running.engine.seal(&nonce, aad, &mut data)?;
            // SAFETY: the program's promise.
            unsafe { message.give_tag(&tag) };
            place.give(&data)
        })
    }

    fn C_EncryptMessageBegin(
        handle: CK_SESSION_HANDLE,
        parameter: *mut c_void,
        parameter_len: CK_ULONG,
        aad: *mut CK_BYTE,
        aad_len: CK_ULONG,
    ) {
        let aad = bytes(aad, aad_len)?;
        within(handle, |_, _, operations| {
            let running = running(&mut operations.seal)?;
            demand(running.begun.is_none(), CKR_OPERATION_ACTIVE)?;
            // SAFETY: the program's promise.
            let nonce = unsafe { Message::read(running.gcm, parameter, parameter_len)?.nonce(true)? };
            running.begun = Some(Begun::Seal(State::begin(&running.engine, &nonce, aad)?));
            Ok(())
        })
    }

    fn C_EncryptMessageNext(
        handle: CK_SESSION_HANDLE,
        parameter: *mut c_void,
        parameter_len: CK_ULONG,
        text: *mut CK_BYTE,
        text_len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
        flags: CK_FLAGS,
    ) {
        let (text, place) = (bytes(text, text_len)?, Place::new(out, out_len)?);
        within(handle, |_, _, operations| {
            let running = running(&mut operations.seal)?;
            // SAFETY: the program's promise.
            let message = unsafe { Message::read(running.gcm, parameter, parameter_len)? };
            let Some(Begun::Seal(state)) = &mut running.begun else {
                return refuse(CKR_OPERATION_NOT_INITIALIZED);
            };
            if !place.takes(text.len())? {
                return Ok(());
            }
            let done = state.seal(&running.engine, text)?;
            if flags & CKF_END_OF_MESSAGE != 0 {
                let tag = state.tag(&running.engine)?;
                // SAFETY: the program's promise.
                unsafe { message.give_tag(&tag) };
                running.begun = None;
            }
            place.give(&done)
        })
    }

    fn C_MessageEncryptFinal(handle: CK_SESSION_HANDLE) {
        within(handle, |_, _, operations| end(&mut operations.seal))
    }

    fn C_MessageDecryptInit(handle: CK_SESSION_HANDLE, mechanism: *mut CK_MECHANISM, key: CK_OBJECT_HANDLE) {
        let mechanism = given(mechanism)?;
        within(handle, |module, session, operations| begin(module, session, operations, mechanism, key, false))
    }

    fn C_DecryptMessage(
        handle: CK_SESSION_HANDLE,
        parameter: *mut c_void,
        parameter_len: CK_ULONG,
        aad: *mut CK_BYTE,
        aad_len: CK_ULONG,
        text: *mut CK_BYTE,
        text_len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let (aad, text) = (bytes(aad, aad_len)?, bytes(text, text_len)?);
        let place = Place::new(out, out_len)?;
        within(handle, |_, _, operations| {
            let running = running(&mut operations.open)?;
            demand(running.begun.is_none(), CKR_OPERATION_ACTIVE)?;
            if !place.takes(text.len())? {
                return Ok(());
            }
            // SAFETY: the program's promise.
            let (nonce, tag) = unsafe {
                let message = Message::read(running.gcm, parameter, parameter_len)?;
                (message.nonce(false)?, message.tag()?)
            };
            let opening = Opening { nonce, aad: aad.to_vec(), data: text.into() };
            place.give(&opening.open(&running.engine, &tag)?)
        })
    }

    fn C_DecryptMessageBegin(
        handle: CK_SESSION_HANDLE,
        parameter: *mut c_void,
        parameter_len: CK_ULONG,
        aad: *mut CK_BYTE,
        aad_len: CK_ULONG,
    ) {
        let aad = bytes(aad, aad_len)?;
        within(handle, |_, _, operations| {
            let running = running(&mut operations.open)?;
            demand(running.begun.is_none(), CKR_OPERATION_ACTIVE)?;
            // SAFETY: the program's promise.
            let nonce = unsafe { Message::read(running.gcm, parameter, parameter_len)?.nonce(false)? };
            let opening = Opening { nonce, aad: aad.to_vec(), data: Default::default() };
            running.begun = Some(Begun::Open(opening));
            Ok(())
        })
    }

    fn C_DecryptMessageNext(
        handle: CK_SESSION_HANDLE,
        parameter: *mut c_void,
        parameter_len: CK_ULONG,
        text: *mut CK_BYTE,
        text_len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
        flags: CK_FLAGS,
    ) {
        let (text, place) = (bytes(text, text_len)?, Place::new(out, out_len)?);
        within(handle, |_, _, operations| {
            let running = running(&mut operations.open)?;
            let is_last = flags & CKF_END_OF_MESSAGE != 0;
            let Some(Begun::Open(opening)) = &mut running.begun else {
                return refuse(CKR_OPERATION_NOT_INITIALIZED);
            };
            // Nothing is given out before the tag was compared, and then all of it.
            let ready = if is_last { opening.data.len() + text.len() } else { 0 };
            if !place.takes(ready)? {
                return Ok(());
            }
            opening.add(text)?;
            if !is_last {
                return place.give(&[]);
            }
            // SAFETY: the program's promise.
            let tag = unsafe { Message::read(running.gcm, parameter, parameter_len)?.tag()? };
            match running.begun.take() {
                Some(Begun::Open(opening)) => place.give(&opening.open(&running.engine, &tag)?),
                _ => refuse(CKR_OPERATION_NOT_INITIALIZED),
            }
        })
    }

    fn C_MessageDecryptFinal(handle: CK_SESSION_HANDLE) {
        within(handle, |_, _, operations| end(&mut operations.open))
    }
}
