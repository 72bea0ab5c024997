//! What every function answers to a library that is not initialised, to a session that is none, and to NULL and zero alone.
//!
//! Ref. PKCS #11 v3.2 §5.1.7: of several errors, that of the session comes before those of arguments.

use std::ptr::null_mut;

use cryptoki_sys::*;

use crate::functions::{Module, loaded};
use crate::support::alone;

/// A function of a session, called with NULL and zero for all other arguments.
struct Row {
    name: &'static str,
    call: fn(Module, CK_SESSION_HANDLE) -> CK_RV,
    /// The answer in a session of the logged-in user with nothing under way.
    answer: CK_RV,
}

macro_rules! rows {
    ($($name:ident($($argument:expr),*) => $answer:ident;)*) => {
        &[$(Row {
            name: stringify!($name),
            call: |module, session| call!(module, $name, session, $($argument),*),
            answer: $answer,
        }),*]
    };
}

/// The functions that take no session.
const WITHOUT_SESSION: usize = 15;

const ROWS: &[Row] = rows! {
    C_GetSessionInfo(null_mut()) => CKR_ARGUMENTS_BAD;
    C_GetOperationState(null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_SetOperationState(null_mut(), 0, 0, 0) => CKR_SAVED_STATE_INVALID;
    C_Login(CKU_USER, null_mut(), 0) => CKR_ARGUMENTS_BAD;
    C_LoginUser(CKU_USER, null_mut(), 0, null_mut(), 0) => CKR_ARGUMENTS_BAD;
    C_InitPIN(null_mut(), 0) => CKR_USER_NOT_LOGGED_IN;
    C_SetPIN(null_mut(), 0, null_mut(), 0) => CKR_ARGUMENTS_BAD;
    C_CreateObject(null_mut(), 0, null_mut()) => CKR_ARGUMENTS_BAD;
    C_CopyObject(0, null_mut(), 0, null_mut()) => CKR_ARGUMENTS_BAD;
    C_DestroyObject(0) => CKR_OBJECT_HANDLE_INVALID;
    C_GetObjectSize(0, null_mut()) => CKR_OBJECT_HANDLE_INVALID;
    C_GetAttributeValue(0, null_mut(), 0) => CKR_OBJECT_HANDLE_INVALID;
    C_SetAttributeValue(0, null_mut(), 0) => CKR_OBJECT_HANDLE_INVALID;
    // A template without attributes finds all objects.
    C_FindObjectsInit(null_mut(), 0) => CKR_OK;
    C_FindObjects(null_mut(), 0, null_mut()) => CKR_ARGUMENTS_BAD;
    C_FindObjectsFinal() => CKR_OK;
    // No mechanism ends what is under way, if anything is.
    C_EncryptInit(null_mut(), 0) => CKR_OK;
    C_Encrypt(null_mut(), 0, null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_EncryptUpdate(null_mut(), 0, null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_EncryptFinal(null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_DecryptInit(null_mut(), 0) => CKR_OK;
    C_Decrypt(null_mut(), 0, null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_DecryptUpdate(null_mut(), 0, null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_DecryptFinal(null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_DigestInit(null_mut()) => CKR_OK;
    C_Digest(null_mut(), 0, null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_DigestUpdate(null_mut(), 0) => CKR_OPERATION_NOT_INITIALIZED;
    C_DigestKey(0) => CKR_OPERATION_NOT_INITIALIZED;
    C_DigestFinal(null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_SignInit(null_mut(), 0) => CKR_OK;
    C_Sign(null_mut(), 0, null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_SignUpdate(null_mut(), 0) => CKR_OPERATION_NOT_INITIALIZED;
    C_SignFinal(null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_SignRecoverInit(null_mut(), 0) => CKR_OK;
    C_SignRecover(null_mut(), 0, null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_VerifyInit(null_mut(), 0) => CKR_OK;
    C_Verify(null_mut(), 0, null_mut(), 0) => CKR_OPERATION_NOT_INITIALIZED;
    C_VerifyUpdate(null_mut(), 0) => CKR_OPERATION_NOT_INITIALIZED;
    C_VerifyFinal(null_mut(), 0) => CKR_OPERATION_NOT_INITIALIZED;
    C_VerifyRecoverInit(null_mut(), 0) => CKR_OK;
    C_VerifyRecover(null_mut(), 0, null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_DigestEncryptUpdate(null_mut(), 0, null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_DecryptDigestUpdate(null_mut(), 0, null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_SignEncryptUpdate(null_mut(), 0, null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_DecryptVerifyUpdate(null_mut(), 0, null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_GenerateKey(null_mut(), null_mut(), 0, null_mut()) => CKR_ARGUMENTS_BAD;
    C_GenerateKeyPair(null_mut(), null_mut(), 0, null_mut(), 0, null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_WrapKey(null_mut(), 0, 0, null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_UnwrapKey(null_mut(), 0, null_mut(), 0, null_mut(), 0, null_mut()) => CKR_ARGUMENTS_BAD;
    C_DeriveKey(null_mut(), 0, null_mut(), 0, null_mut()) => CKR_ARGUMENTS_BAD;
    C_SeedRandom(null_mut(), 0) => CKR_RANDOM_SEED_NOT_SUPPORTED;
    C_GenerateRandom(null_mut(), 0) => CKR_OK;
    C_GetFunctionStatus() => CKR_FUNCTION_NOT_PARALLEL;
    C_CancelFunction() => CKR_FUNCTION_NOT_PARALLEL;
    C_SessionCancel(0) => CKR_OK;
    C_MessageEncryptInit(null_mut(), 0) => CKR_OK;
    C_EncryptMessage(null_mut(), 0, null_mut(), 0, null_mut(), 0, null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_EncryptMessageBegin(null_mut(), 0, null_mut(), 0) => CKR_OPERATION_NOT_INITIALIZED;
    C_EncryptMessageNext(null_mut(), 0, null_mut(), 0, null_mut(), null_mut(), 0) => CKR_ARGUMENTS_BAD;
    C_MessageEncryptFinal() => CKR_OPERATION_NOT_INITIALIZED;
    C_MessageDecryptInit(null_mut(), 0) => CKR_OK;
    C_DecryptMessage(null_mut(), 0, null_mut(), 0, null_mut(), 0, null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_DecryptMessageBegin(null_mut(), 0, null_mut(), 0) => CKR_OPERATION_NOT_INITIALIZED;
    C_DecryptMessageNext(null_mut(), 0, null_mut(), 0, null_mut(), null_mut(), 0) => CKR_ARGUMENTS_BAD;
    C_MessageDecryptFinal() => CKR_OPERATION_NOT_INITIALIZED;
    C_MessageSignInit(null_mut(), 0) => CKR_OK;
    C_SignMessage(null_mut(), 0, null_mut(), 0, null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_SignMessageBegin(null_mut(), 0) => CKR_OPERATION_NOT_INITIALIZED;
    C_SignMessageNext(null_mut(), 0, null_mut(), 0, null_mut(), null_mut()) => CKR_OPERATION_NOT_INITIALIZED;
    C_MessageSignFinal() => CKR_OPERATION_NOT_INITIALIZED;
    C_MessageVerifyInit(null_mut(), 0) => CKR_OK;
    C_VerifyMessage(null_mut(), 0, null_mut(), 0, null_mut(), 0) => CKR_OPERATION_NOT_INITIALIZED;
    C_VerifyMessageBegin(null_mut(), 0) => CKR_OPERATION_NOT_INITIALIZED;
    C_VerifyMessageNext(null_mut(), 0, null_mut(), 0, null_mut(), 0) => CKR_OPERATION_NOT_INITIALIZED;
    C_MessageVerifyFinal() => CKR_OPERATION_NOT_INITIALIZED;
    C_EncapsulateKey(null_mut(), 0, null_mut(), 0, null_mut(), null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_DecapsulateKey(null_mut(), 0, null_mut(), 0, null_mut(), 0, null_mut()) => CKR_ARGUMENTS_BAD;
    C_VerifySignatureInit(null_mut(), 0, null_mut(), 0) => CKR_OK;
    C_VerifySignature(null_mut(), 0) => CKR_OPERATION_NOT_INITIALIZED;
    C_VerifySignatureUpdate(null_mut(), 0) => CKR_OPERATION_NOT_INITIALIZED;
    C_VerifySignatureFinal() => CKR_OPERATION_NOT_INITIALIZED;
    C_GetSessionValidationFlags(0, null_mut()) => CKR_ARGUMENTS_BAD;
    C_AsyncComplete(null_mut(), null_mut()) => CKR_OPERATION_NOT_INITIALIZED;
    C_AsyncGetID(null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_AsyncJoin(null_mut(), 0, null_mut(), 0) => CKR_ARGUMENTS_BAD;
    C_WrapKeyAuthenticated(null_mut(), 0, 0, null_mut(), 0, null_mut(), null_mut()) => CKR_ARGUMENTS_BAD;
    C_UnwrapKeyAuthenticated(null_mut(), 0, null_mut(), 0, null_mut(), 0, null_mut(), 0, null_mut())
        => CKR_ARGUMENTS_BAD;
    C_Logout() => CKR_OK;
    C_CloseSession() => CKR_OK;
};

/// Calls the functions that take no session, with arguments that may be; the first one is the slot.
fn without_session(module: Module, slot: CK_SLOT_ID) -> Vec<(&'static str, CK_RV)> {
    let (mut count, mut handle, mut other) = (0, 0, 0);
    let (mut pin, mut label) = (*b"271828", [b' '; 32]);
    // SAFETY: structures of the standard are bytes and numbers, which may be zero.
    let (mut info, mut of_slot, mut of_token, mut of_mechanism) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed(), std::mem::zeroed(), std::mem::zeroed()) };
    vec![
        ("C_GetInfo", call!(module, C_GetInfo, &mut info)),
        ("C_GetSlotList", call!(module, C_GetSlotList, 1, null_mut(), &mut count)),
        ("C_WaitForSlotEvent", call!(module, C_WaitForSlotEvent, CKF_DONT_BLOCK, &mut other, null_mut())),
        ("C_GetSlotInfo", call!(module, C_GetSlotInfo, slot, &mut of_slot)),
        ("C_GetTokenInfo", call!(module, C_GetTokenInfo, slot, &mut of_token)),
        ("C_GetMechanismList", call!(module, C_GetMechanismList, slot, null_mut(), &mut count)),
        ("C_GetMechanismInfo", call!(module, C_GetMechanismInfo, slot, CKM_SHA256, &mut of_mechanism)),
        ("C_InitToken", call!(module, C_InitToken, slot, pin.as_mut_ptr(), 6, label.as_mut_ptr())),
        (
            "C_OpenSession",
            call!(module, C_OpenSession, slot, CKF_SERIAL_SESSION, null_mut(), None, &mut handle),
        ),
        ("C_CloseAllSessions", call!(module, C_CloseAllSessions, slot)),
    ]
}

/// The functions of a slot, with NULL where a place belongs.
fn with_nulls(module: Module) -> Vec<(&'static str, CK_RV)> {
    vec![
        ("C_GetInfo", call!(module, C_GetInfo, null_mut())),
        ("C_GetSlotList", call!(module, C_GetSlotList, 1, null_mut(), null_mut())),
        ("C_GetSlotInfo", call!(module, C_GetSlotInfo, 0, null_mut())),
        ("C_GetTokenInfo", call!(module, C_GetTokenInfo, 0, null_mut())),
        ("C_GetMechanismList", call!(module, C_GetMechanismList, 0, null_mut(), null_mut())),
        ("C_GetMechanismInfo", call!(module, C_GetMechanismInfo, 0, CKM_SHA256, null_mut())),
        ("C_InitToken", call!(module, C_InitToken, 0, null_mut(), 0, null_mut())),
        ("C_OpenSession", call!(module, C_OpenSession, 0, CKF_SERIAL_SESSION, null_mut(), None, null_mut())),
        ("C_WaitForSlotEvent", call!(module, C_WaitForSlotEvent, CKF_DONT_BLOCK, null_mut(), null_mut())),
        ("C_GetFunctionList", call!(module, C_GetFunctionList, null_mut())),
        ("C_GetInterfaceList", call!(module, C_GetInterfaceList, null_mut(), null_mut())),
        ("C_GetInterface", call!(module, C_GetInterface, null_mut(), null_mut(), null_mut(), 0)),
        ("C_Finalize", call!(module, C_Finalize, std::ptr::dangling_mut())),
    ]
}

#[test]
fn every_function_tells_what_is_wrong_in_the_order_of_the_standard() {
    alone("codes::every_function_tells_what_is_wrong_in_the_order_of_the_standard", || {
        let pointers = (size_of::<CK_FUNCTION_LIST_3_2>() - size_of::<usize>()) / size_of::<usize>();
        assert_eq!(ROWS.len() + WITHOUT_SESSION, pointers, "every function has a row");
        let module = Module::load();
        let uninitialised = |all: &mut dyn Iterator<Item = (&'static str, CK_RV)>| {
            for (name, value) in all {
                assert_eq!(value, CKR_CRYPTOKI_NOT_INITIALIZED, "{name} answers {value:#x}");
            }
        };
        let of_sessions = || ROWS.iter().map(|row| (row.name, (row.call)(module, 1)));
        uninitialised(&mut of_sessions());
        uninitialised(&mut without_session(module, 0).into_iter());
        uninitialised(&mut [("C_Finalize", call!(module, C_Finalize, null_mut()))].into_iter());
        let module = loaded();
        let session = module.log_in();
        for handle in [0, session + 1, CK_ULONG::MAX] {
            for row in ROWS {
                let value = (row.call)(module, handle);
                assert_eq!(value, CKR_SESSION_HANDLE_INVALID, "{} answers {value:#x}", row.name);
            }
        }
        for (name, value) in without_session(module, 99).into_iter().skip(3) {
            assert_eq!(value, CKR_SLOT_ID_INVALID, "{name} answers {value:#x}");
        }
        for (name, value) in with_nulls(module) {
            assert_eq!(value, CKR_ARGUMENTS_BAD, "{name} answers {value:#x}");
        }
        for row in ROWS {
            let value = (row.call)(module, session);
            assert_eq!(value, row.answer, "{} answers {value:#x}", row.name);
        }
        good!(module, C_Finalize, null_mut());
        uninitialised(&mut of_sessions());
    });
}
