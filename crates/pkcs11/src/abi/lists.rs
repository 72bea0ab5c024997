//! The lists of functions, and the three functions that programs find by name.
//!
//! Ref. PKCS #11 v3.2 §5.4 (C_GetFunctionList, C_GetInterfaceList, C_GetInterface).
#![allow(non_snake_case, clippy::missing_safety_doc)]

use std::ffi::c_void;
use std::ptr;

use cryptoki_sys::*;

use super::entries::*;
use super::{guard, put, structure};
use crate::refusal::{demand, refuse};

/// Declares the list of a version: the functions of the version before, and its own.
macro_rules! list {
    ($list:ident: $type:ident = $major:literal, $minor:literal; $($name:ident)*) => {
        static $list: $type = $type {
            version: CK_VERSION { major: $major, minor: $minor },
            $($name: Some($name),)*
        };
    };
}

/// Declares the three lists, each with all that were before it.
macro_rules! lists {
    ({$($first:ident)*} {$($second:ident)*} {$($third:ident)*}) => {
        list! { LIST_2_40: CK_FUNCTION_LIST = 2, 40; $($first)* }
        list! { LIST_3_0: CK_FUNCTION_LIST_3_0 = 3, 0; $($first)* $($second)* }
        list! { LIST_3_2: CK_FUNCTION_LIST_3_2 = 3, 2; $($first)* $($second)* $($third)* }
    };
}

lists! { {
    C_Initialize C_Finalize C_GetInfo C_GetFunctionList C_GetSlotList C_GetSlotInfo C_GetTokenInfo
    C_GetMechanismList C_GetMechanismInfo C_InitToken C_InitPIN C_SetPIN C_OpenSession C_CloseSession
    C_CloseAllSessions C_GetSessionInfo C_GetOperationState C_SetOperationState C_Login C_Logout C_CreateObject
    C_CopyObject C_DestroyObject C_GetObjectSize C_GetAttributeValue C_SetAttributeValue C_FindObjectsInit
    C_FindObjects C_FindObjectsFinal C_EncryptInit C_Encrypt C_EncryptUpdate C_EncryptFinal C_DecryptInit
    C_Decrypt C_DecryptUpdate C_DecryptFinal C_DigestInit C_Digest C_DigestUpdate C_DigestKey C_DigestFinal
    C_SignInit C_Sign C_SignUpdate C_SignFinal C_SignRecoverInit C_SignRecover C_VerifyInit C_Verify
    C_VerifyUpdate C_VerifyFinal C_VerifyRecoverInit C_VerifyRecover C_DigestEncryptUpdate
    C_DecryptDigestUpdate C_SignEncryptUpdate C_DecryptVerifyUpdate C_GenerateKey C_GenerateKeyPair C_WrapKey
    C_UnwrapKey C_DeriveKey C_SeedRandom C_GenerateRandom C_GetFunctionStatus C_CancelFunction
    C_WaitForSlotEvent
} {
    C_GetInterfaceList C_GetInterface C_LoginUser C_SessionCancel C_MessageEncryptInit C_EncryptMessage
    C_EncryptMessageBegin C_EncryptMessageNext C_MessageEncryptFinal C_MessageDecryptInit C_DecryptMessage
    C_DecryptMessageBegin C_DecryptMessageNext C_MessageDecryptFinal C_MessageSignInit C_SignMessage
    C_SignMessageBegin C_SignMessageNext C_MessageSignFinal C_MessageVerifyInit C_VerifyMessage
    C_VerifyMessageBegin C_VerifyMessageNext C_MessageVerifyFinal
} {
    C_EncapsulateKey C_DecapsulateKey C_VerifySignatureInit C_VerifySignature C_VerifySignatureUpdate
    C_VerifySignatureFinal C_GetSessionValidationFlags C_AsyncComplete C_AsyncGetID C_AsyncJoin
    C_WrapKeyAuthenticated C_UnwrapKeyAuthenticated
} }

const NAME: &[u8; 8] = b"PKCS 11\0";

/// The interfaces, the newest first.
struct Interfaces([CK_INTERFACE; 3]);

// SAFETY: they are never written, and point to statics.
unsafe impl Sync for Interfaces {}

const fn interface(list: *const c_void) -> CK_INTERFACE {
    CK_INTERFACE {
        pInterfaceName: NAME.as_ptr().cast_mut(),
        pFunctionList: list.cast_mut(),
        flags: CKF_INTERFACE_FORK_SAFE,
    }
}

static INTERFACES: Interfaces = Interfaces([
    interface(ptr::from_ref(&LIST_3_2).cast()),
    interface(ptr::from_ref(&LIST_3_0).cast()),
    interface(ptr::from_ref(&LIST_2_40).cast()),
]);

/// Gives the program the functions of version 2.40.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn C_GetFunctionList(list: *mut *mut CK_FUNCTION_LIST) -> CK_RV {
    // SAFETY: the program's promise.
    guard(|| unsafe { put(list, ptr::from_ref(&LIST_2_40).cast_mut()) })
}

/// Tells the program which versions there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn C_GetInterfaceList(list: *mut CK_INTERFACE, count: *mut CK_ULONG) -> CK_RV {
    guard(|| {
        let have = INTERFACES.0.len();
        // SAFETY: the program's promise.
        let room = unsafe { structure(count)? };
        // SAFETY: as above.
        unsafe { put(count, have as CK_ULONG)? };
        if list.is_null() {
            return Ok(());
        }
        demand(room >= have as CK_ULONG, CKR_BUFFER_TOO_SMALL)?;
        for (place, interface) in INTERFACES.0.iter().enumerate() {
            // SAFETY: there is room for all.
            unsafe { put(list.add(place), *interface)? };
        }
        Ok(())
    })
}

/// Gives the program the functions of a version, or of the newest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn C_GetInterface(
    name: *mut CK_UTF8CHAR,
    version: *mut CK_VERSION,
    interface: *mut *mut CK_INTERFACE,
    flags: CK_FLAGS,
) -> CK_RV {
    guard(|| {
        // SAFETY: a name that is not NULL ends with a zero.
        let is_ours =
            name.is_null() || unsafe { std::ffi::CStr::from_ptr(name.cast()) }.to_bytes_with_nul() == NAME;
        // SAFETY: the program's promise.
        let version = if version.is_null() { None } else { Some(unsafe { structure(version)? }) };
        let fits = |found: &&CK_INTERFACE| {
            // SAFETY: each list begins with its version.
            let has = unsafe { *found.pFunctionList.cast::<CK_VERSION>() };
            version.is_none_or(|wanted| (wanted.major, wanted.minor) == (has.major, has.minor))
        };
        match INTERFACES.0.iter().find(fits) {
            // SAFETY: the program's promise.
            Some(found) if is_ours && flags & !CKF_INTERFACE_FORK_SAFE == 0 => unsafe {
                put(interface, ptr::from_ref(found).cast_mut())
            },
            _ => refuse(CKR_FUNCTION_FAILED),
        }
    })
}
