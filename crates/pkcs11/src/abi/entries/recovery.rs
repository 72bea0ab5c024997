//! Signatures from which the message is recovered.
//!
//! Ref. PKCS #11 v3.2 §5.13.5, §5.13.6 (C_SignRecoverInit, C_SignRecover), §5.15.5, §5.15.6 (C_VerifyRecoverInit, C_VerifyRecover).

use cryptoki_sys::*;

use super::ciphers::given;
use super::signatures::{ended, running};
use super::{Ready, functions, ready, within};
use crate::abi::{Mechanism, Place, bytes};
use crate::module::Module;
use crate::operation::signature::{self, Signing};
use crate::operation::{Keyed, Operations};
use crate::refusal::{Outcome, demand};
use crate::session::Session;

/// Begins to sign or to recover, or ends what is under way for a mechanism that is NULL.
fn begin(
    module: &Module,
    session: &Session,
    operations: &mut Operations,
    mechanism: Option<Mechanism<'_>>,
    key: CK_OBJECT_HANDLE,
    signs: bool,
) -> Outcome {
    let (place, what) = match signs {
        true => (&mut operations.sign_recover, (CKF_SIGN_RECOVER, CKA_SIGN_RECOVER)),
        false => (&mut operations.verify_recover, (CKF_VERIFY_RECOVER, CKA_VERIFY_RECOVER)),
    };
    let Some(mechanism) = mechanism else {
        *place = None;
        return Ok(());
    };
    demand(place.is_none(), CKR_OPERATION_ACTIVE)?;
    let Ready { row, key, engine, wants_pin } =
        ready(module, session, &mechanism, what, key, signature::purpose)?;
    let running = Signing::begin(module.features, row, &mechanism, engine, signs)?;
    *place = Some(Keyed { running, key, wants_pin: wants_pin && signs });
    Ok(())
}

functions! {
    fn C_SignRecoverInit(handle: CK_SESSION_HANDLE, mechanism: *mut CK_MECHANISM, key: CK_OBJECT_HANDLE) {
        let mechanism = given(mechanism)?;
        within(handle, |module, session, operations| begin(module, session, operations, mechanism, key, true))
    }

    fn C_SignRecover(
        handle: CK_SESSION_HANDLE,
        data: *mut CK_BYTE,
        data_len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let (data, place) = (bytes(data, data_len)?, Place::new(out, out_len)?);
        within(handle, |_, _, operations| {
            let operation = &mut operations.sign_recover;
            if !place.takes(running(operation)?.running.len())? {
                return Ok(());
            }
            place.give(&ended(operation, data)?.prepared()?.sign()?)
        })
    }

    fn C_VerifyRecoverInit(handle: CK_SESSION_HANDLE, mechanism: *mut CK_MECHANISM, key: CK_OBJECT_HANDLE) {
        let mechanism = given(mechanism)?;
        within(handle, |module, session, operations| begin(module, session, operations, mechanism, key, false))
    }

    fn C_VerifyRecover(
        handle: CK_SESSION_HANDLE,
        signature: *mut CK_BYTE,
        len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let (signature, place) = (bytes(signature, len)?, Place::new(out, out_len)?);
        within(handle, |_, _, operations| {
            let operation = &mut operations.verify_recover;
            let recovered = running(operation)?.running.recover(signature);
            // A question about the length, and a buffer that is too short, leave the operation as it is.
            if let Ok(message) = &recovered
                && !place.takes(message.len())?
            {
                return Ok(());
            }
            *operation = None;
            place.give(&recovered?)
        })
    }
}
