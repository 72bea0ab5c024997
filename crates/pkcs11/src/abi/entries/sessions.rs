//! Sessions and logins.
//!
//! Ref. PKCS #11 v3.2 §5.6.

use cryptoki_sys::*;
use millstream_store::Role;

use super::general::given_pin;
use super::{functions, within};
use crate::abi::{Place, bytes, put};
use crate::module::Module;
use crate::operation::digest::Digesting;
use crate::refusal::{Refusal, demand, refuse};
use crate::token::LoggedIn;

functions! {
    fn C_OpenSession(
        id: CK_SLOT_ID,
        flags: CK_FLAGS,
        application: *mut std::ffi::c_void,
        notify: CK_NOTIFY,
        handle: *mut CK_SESSION_HANDLE,
    ) {
        let _ = (application, notify);
        let module = Module::get()?;
        let slot = module.slot(id)?;
        demand(!handle.is_null(), CKR_ARGUMENTS_BAD)?;
        demand(flags & CKF_SERIAL_SESSION != 0, CKR_SESSION_PARALLEL_NOT_SUPPORTED)?;
        slot.token()?;
        let writes = flags & CKF_RW_SESSION != 0;
        demand(writes || slot.logged_in() != LoggedIn::Officer, CKR_SESSION_READ_WRITE_SO_EXISTS)?;
        slot.refresh()?;
        put(handle, module.sessions.open(slot, writes, flags & CKF_ASYNC_SESSION != 0))
    }

    fn C_CloseSession(handle: CK_SESSION_HANDLE) {
        Module::get()?.sessions.close(handle)
    }

    fn C_CloseAllSessions(id: CK_SLOT_ID) {
        let module = Module::get()?;
        module.slot(id)?;
        module.sessions.close_all(Some(id));
        Ok(())
    }

    fn C_GetSessionInfo(handle: CK_SESSION_HANDLE, info: *mut CK_SESSION_INFO) {
        let session = Module::get()?.session(handle)?;
        let writes = if session.writes { CKF_RW_SESSION } else { 0 };
        let asynchronous = if session.asynchronous { CKF_ASYNC_SESSION } else { 0 };
        put(info, CK_SESSION_INFO {
            slotID: session.slot.id,
            state: session.state(),
            flags: CKF_SERIAL_SESSION | writes | asynchronous,
            ulDeviceError: 0,
        })
    }

    fn C_Login(handle: CK_SESSION_HANDLE, user: CK_USER_TYPE, pin: *mut CK_UTF8CHAR, len: CK_ULONG) {
        let session = Module::get()?.session(handle)?;
        let pin = given_pin(pin, len)?;
        let told = match user {
            CKU_USER => session.slot.log_in(Role::User, pin),
            CKU_SO => {
                let slot = &session.slot;
                let reading = slot.sessions.load(std::sync::atomic::Ordering::Acquire)
                    != slot.writing.load(std::sync::atomic::Ordering::Acquire);
                demand(!reading, CKR_SESSION_READ_ONLY_EXISTS)?;
                slot.log_in(Role::Officer, pin)
            }
            CKU_CONTEXT_SPECIFIC => {
                let mut operations = session.operations();
                let mut flags: Vec<&mut bool> = Vec::new();
                let operations = &mut *operations;
                flags.extend(operations.sign.as_mut().map(|keyed| &mut keyed.wants_pin));
                flags.extend(operations.sign_recover.as_mut().map(|keyed| &mut keyed.wants_pin));
                flags.extend(operations.decrypt.as_mut().map(|keyed| &mut keyed.wants_pin));
                flags.extend(operations.sign_messages.as_mut().map(|messages| &mut messages.wants_pin));
                flags.retain(|wants| **wants);
                demand(!flags.is_empty(), CKR_OPERATION_NOT_INITIALIZED)?;
                session.slot.try_pin(pin)?;
                flags.into_iter().for_each(|wants| *wants = false);
                Ok(())
            }
            _ => refuse(CKR_USER_TYPE_INVALID),
        };
        // A PIN of a length that no PIN has is a wrong one, too. Nobody is told of lengths who logs in.
        told.map_err(|Refusal(value)| Refusal(if value == CKR_PIN_LEN_RANGE { CKR_PIN_INCORRECT } else { value }))
    }

    fn C_LoginUser(
        handle: CK_SESSION_HANDLE,
        user: CK_USER_TYPE,
        pin: *mut CK_UTF8CHAR,
        len: CK_ULONG,
        name: *mut CK_UTF8CHAR,
        name_len: CK_ULONG,
    ) {
        // The token has one user, who has no name.
        demand(bytes(name, name_len)?.is_empty(), CKR_USER_TYPE_INVALID)?;
        match C_Login(handle, user, pin, len) {
            CKR_OK => Ok(()),
            value => refuse(value),
        }
    }

    fn C_Logout(handle: CK_SESSION_HANDLE) {
        Module::get()?.session(handle)?.slot.log_out()
    }

    fn C_InitPIN(handle: CK_SESSION_HANDLE, pin: *mut CK_UTF8CHAR, len: CK_ULONG) {
        let session = Module::get()?.session(handle)?;
        demand(session.slot.logged_in() == LoggedIn::Officer, CKR_USER_NOT_LOGGED_IN)?;
        session.slot.set_pin(Role::User, None, given_pin(pin, len)?)
    }

    fn C_SetPIN(
        handle: CK_SESSION_HANDLE,
        old: *mut CK_UTF8CHAR,
        old_len: CK_ULONG,
        new: *mut CK_UTF8CHAR,
        new_len: CK_ULONG,
    ) {
        let session = Module::get()?.session(handle)?;
        demand(session.writes, CKR_SESSION_READ_ONLY)?;
        let (old, new) = (given_pin(old, old_len)?, given_pin(new, new_len)?);
        let role = if session.slot.logged_in() == LoggedIn::Officer { Role::Officer } else { Role::User };
        session.slot.set_pin(role, Some(old), new)
    }

    fn C_GetOperationState(handle: CK_SESSION_HANDLE, state: *mut CK_BYTE, len: *mut CK_ULONG) {
        let place = Place::new(state, len)?;
        within(handle, |_, _, operations| {
            let others = operations.encrypt.is_some()
                || operations.decrypt.is_some()
                || operations.sign.is_some()
                || operations.verify.is_some();
            demand(!others, CKR_STATE_UNSAVEABLE)?;
            let digest = operations.digest.as_ref().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))?;
            place.give(&digest.save())
        })
    }

    fn C_SetOperationState(
        handle: CK_SESSION_HANDLE,
        state: *mut CK_BYTE,
        len: CK_ULONG,
        encryption: CK_OBJECT_HANDLE,
        authentication: CK_OBJECT_HANDLE,
    ) {
        let state = bytes(state, len)?;
        within(handle, |module, _, operations| {
            demand(encryption == 0 && authentication == 0, CKR_KEY_NOT_NEEDED)?;
            operations.digest = Some(Digesting::resume(module.features, state)?);
            Ok(())
        })
    }

    fn C_SessionCancel(handle: CK_SESSION_HANDLE, flags: CK_FLAGS) {
        within(handle, |_, _, operations| {
            let ends = |flag: CK_FLAGS| flags & flag != 0;
            if ends(CKF_FIND_OBJECTS) {
                operations.search = None;
            }
            if ends(CKF_DIGEST) {
                operations.digest = None;
            }
            if ends(CKF_ENCRYPT) {
                operations.encrypt = None;
            }
            if ends(CKF_DECRYPT) {
                operations.decrypt = None;
            }
            if ends(CKF_SIGN) {
                (operations.sign, operations.awaited) = (None, None);
            }
            if ends(CKF_VERIFY) {
                (operations.verify, operations.expected) = (None, None);
            }
            if ends(CKF_SIGN_RECOVER) {
                operations.sign_recover = None;
            }
            if ends(CKF_VERIFY_RECOVER) {
                operations.verify_recover = None;
            }
            if ends(CKF_MESSAGE_ENCRYPT) {
                operations.seal = None;
            }
            if ends(CKF_MESSAGE_DECRYPT) {
                operations.open = None;
            }
            if ends(CKF_MESSAGE_SIGN) {
                operations.sign_messages = None;
            }
            if ends(CKF_MESSAGE_VERIFY) {
                operations.verify_messages = None;
            }
            Ok(())
        })
    }

    fn C_GetSessionValidationFlags(
        handle: CK_SESSION_HANDLE,
        kind: CK_SESSION_VALIDATION_FLAGS_TYPE,
        flags: *mut CK_FLAGS,
    ) {
        let _ = kind;
        Module::get()?.session(handle)?;
        // Nobody has validated this module.
        put(flags, 0)
    }
}
