//! The message interface for signatures and MACs: one key for many messages. No mechanism here has a parameter for each message.
//!
//! Ref. PKCS #11 v3.2 §5.14, §5.17.

use std::ffi::c_void;

use cryptoki_sys::*;

use super::ciphers::given;
use super::{Ready, functions, ready, within};
use crate::abi::{Mechanism, Place, bytes};
use crate::module::Module;
use crate::operation::signature::{self, Signing};
use crate::operation::{Operations, SignedMessages};
use crate::refusal::{Outcome, Refusal, demand};
use crate::session::Session;

fn begin(
    module: &Module,
    session: &Session,
    operations: &mut Operations,
    mechanism: Option<Mechanism<'_>>,
    key: CK_OBJECT_HANDLE,
    signs: bool,
) -> Outcome {
    let (place, what) = match signs {
        true => (&mut operations.sign_messages, (CKF_MESSAGE_SIGN, CKA_SIGN)),
        false => (&mut operations.verify_messages, (CKF_MESSAGE_VERIFY, CKA_VERIFY)),
    };
    let Some(mechanism) = mechanism else {
        *place = None;
        return Ok(());
    };
    demand(place.is_none(), CKR_OPERATION_ACTIVE)?;
    let Ready { row, engine, wants_pin, .. } =
        ready(module, session, &mechanism, what, key, signature::purpose)?;
    let start = Signing::begin(module.features, row, &mechanism, engine, signs)?;
    let wants_pin = wants_pin && signs;
    *place = Some(SignedMessages { start, begun: None, always_wants_pin: wants_pin, wants_pin });
    Ok(())
}

fn running(operation: &mut Option<SignedMessages>) -> Outcome<&mut SignedMessages> {
    let messages = operation.as_mut().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))?;
    demand(!messages.wants_pin, CKR_USER_NOT_LOGGED_IN)?;
    Ok(messages)
}

fn no_parameter(parameter: *mut c_void, len: CK_ULONG) -> Outcome {
    demand(parameter.is_null() && len == 0, CKR_MECHANISM_PARAM_INVALID)
}

fn end(operation: &mut Option<SignedMessages>) -> Outcome {
    let messages = operation.as_ref().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))?;
    demand(messages.begun.is_none(), CKR_OPERATION_ACTIVE)?;
    *operation = None;
    Ok(())
}

impl SignedMessages {
    /// Begins a message.
    fn message(&mut self) -> Outcome<Signing> {
        demand(self.begun.is_none(), CKR_OPERATION_ACTIVE)?;
        Ok(self.start.clone())
    }

    /// Takes out the message that was begun in parts.
    fn last(&mut self) -> Outcome<Signing> {
        self.begun.take().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))
    }

    /// Signs a message, and has the next one want the PIN if the key does.
    fn sign(&mut self, message: Signing) -> Outcome<Vec<u8>> {
        self.wants_pin = self.always_wants_pin;
        message.prepared()?.sign()
    }
}

functions! {
    fn C_MessageSignInit(handle: CK_SESSION_HANDLE, mechanism: *mut CK_MECHANISM, key: CK_OBJECT_HANDLE) {
        let mechanism = given(mechanism)?;
        within(handle, |module, session, operations| begin(module, session, operations, mechanism, key, true))
    }

    fn C_SignMessage(
        handle: CK_SESSION_HANDLE,
        parameter: *mut c_void,
        parameter_len: CK_ULONG,
        data: *mut CK_BYTE,
        data_len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        no_parameter(parameter, parameter_len)?;
        let (data, place) = (bytes(data, data_len)?, Place::new(out, out_len)?);
        within(handle, |_, _, operations| {
            let messages = running(&mut operations.sign_messages)?;
            let mut message = messages.message()?;
            if !place.takes(message.len())? {
                return Ok(());
            }
            message.update(data)?;
            place.give(&messages.sign(message)?)
        })
    }

    fn C_SignMessageBegin(handle: CK_SESSION_HANDLE, parameter: *mut c_void, parameter_len: CK_ULONG) {
        no_parameter(parameter, parameter_len)?;
        within(handle, |_, _, operations| {
            let messages = running(&mut operations.sign_messages)?;
            messages.begun = Some(messages.message()?);
            Ok(())
        })
    }

    /// The last part is the one with a place for the length of the signature.
    fn C_SignMessageNext(
        handle: CK_SESSION_HANDLE,
        parameter: *mut c_void,
        parameter_len: CK_ULONG,
        part: *mut CK_BYTE,
        part_len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        no_parameter(parameter, parameter_len)?;
        let part = bytes(part, part_len)?;
        let place = if out_len.is_null() { None } else { Some(Place::new(out, out_len)?) };
        within(handle, |_, _, operations| {
            let messages = running(&mut operations.sign_messages)?;
            let message = messages.begun.as_mut().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))?;
            let Some(place) = place else { return message.update(part) };
            if !place.takes(message.len())? {
                return Ok(());
            }
            let mut message = messages.last()?;
            message.update(part)?;
            place.give(&messages.sign(message)?)
        })
    }

    fn C_MessageSignFinal(handle: CK_SESSION_HANDLE) {
        within(handle, |_, _, operations| end(&mut operations.sign_messages))
    }

    fn C_MessageVerifyInit(handle: CK_SESSION_HANDLE, mechanism: *mut CK_MECHANISM, key: CK_OBJECT_HANDLE) {
        let mechanism = given(mechanism)?;
        within(handle, |module, session, operations| begin(module, session, operations, mechanism, key, false))
    }

    fn C_VerifyMessage(
        handle: CK_SESSION_HANDLE,
        parameter: *mut c_void,
        parameter_len: CK_ULONG,
        data: *mut CK_BYTE,
        data_len: CK_ULONG,
        signature: *mut CK_BYTE,
        signature_len: CK_ULONG,
    ) {
        no_parameter(parameter, parameter_len)?;
        let (data, signature) = (bytes(data, data_len)?, bytes(signature, signature_len)?);
        within(handle, |_, _, operations| {
            let mut message = running(&mut operations.verify_messages)?.message()?;
            message.update(data)?;
            message.verify(signature)
        })
    }

    fn C_VerifyMessageBegin(handle: CK_SESSION_HANDLE, parameter: *mut c_void, parameter_len: CK_ULONG) {
        no_parameter(parameter, parameter_len)?;
        within(handle, |_, _, operations| {
            let messages = running(&mut operations.verify_messages)?;
            messages.begun = Some(messages.message()?);
            Ok(())
        })
    }

    /// The last part is the one with a signature.
    fn C_VerifyMessageNext(
        handle: CK_SESSION_HANDLE,
        parameter: *mut c_void,
        parameter_len: CK_ULONG,
        part: *mut CK_BYTE,
        part_len: CK_ULONG,
        signature: *mut CK_BYTE,
        signature_len: CK_ULONG,
    ) {
        no_parameter(parameter, parameter_len)?;
        let part = bytes(part, part_len)?;
        let signature = if signature.is_null() { None } else { Some(bytes(signature, signature_len)?) };
        within(handle, |_, _, operations| {
            let messages = running(&mut operations.verify_messages)?;
            let message = messages.begun.as_mut().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))?;
            message.update(part)?;
            match signature {
                None => Ok(()),
                Some(signature) => messages.last()?.verify(signature),
            }
        })
    }

    fn C_MessageVerifyFinal(handle: CK_SESSION_HANDLE) {
        within(handle, |_, _, operations| end(&mut operations.verify_messages))
    }
}
