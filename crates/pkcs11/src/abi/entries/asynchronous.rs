//! Asynchronous sessions: signatures are begun, and collected later.
//!
//! Ref. PKCS #11 v3.2 §5.22.

use std::ffi::CStr;

use cryptoki_sys::*;

use super::{functions, within};
use crate::abi::{put, structure};
use crate::operation::Awaited;
use crate::refusal::{Outcome, Refusal, demand, refuse};

/// Refuses a name of another function than the one that is under way.
///
/// # Safety
/// As the module says: a name ends with a zero.
unsafe fn names(name: *const CK_UTF8CHAR, awaited: &Awaited) -> Outcome {
    demand(!name.is_null(), CKR_ARGUMENTS_BAD)?;
    // SAFETY: the program's promise.
    let name = unsafe { CStr::from_ptr(name.cast()) };
    demand(name.to_bytes() == awaited.function.as_bytes(), CKR_OPERATION_NOT_INITIALIZED)
}

functions! {
    fn C_AsyncComplete(handle: CK_SESSION_HANDLE, name: *mut CK_UTF8CHAR, result: *mut CK_ASYNC_DATA) {
        within(handle, |module, _, operations| {
            let awaited = operations.awaited.as_ref().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))?;
            // SAFETY: the program's promise.
            let mut data = unsafe {
                names(name, awaited)?;
                structure(result)?
            };
            demand(data.ulVersion == 0, CKR_ARGUMENTS_BAD)?;
            let Some(signature) = module.gathering.collect(&awaited.pending) else {
                return refuse(CKR_PENDING);
            };
            let place = awaited.place;
            operations.awaited = None;
            // The buffer is named in every case, so that it can be freed.
            data.pValue = place.address();
            data.ulValue = signature.as_ref().map_or(0, |signature| signature.len() as CK_ULONG);
            let given = signature.and_then(|signature| place.fill(&signature));
            // SAFETY: the program's promise.
            unsafe { put(result, data)? };
            given
        })
    }

    fn C_AsyncGetID(handle: CK_SESSION_HANDLE, name: *mut CK_UTF8CHAR, id: *mut CK_ULONG) {
        demand(!id.is_null(), CKR_ARGUMENTS_BAD)?;
        within(handle, |_, _, operations| {
            let awaited = operations.awaited.as_ref().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))?;
            // SAFETY: the program's promise.
            unsafe { names(name, awaited)? };
            // A signature takes less time than its session: none outlives it.
            refuse(CKR_STATE_UNSAVEABLE)
        })
    }

    fn C_AsyncJoin(
        handle: CK_SESSION_HANDLE,
        name: *mut CK_UTF8CHAR,
        id: CK_ULONG,
        data: *mut CK_BYTE,
        len: CK_ULONG,
    ) {
        let _ = (id, data, len);
        demand(!name.is_null(), CKR_ARGUMENTS_BAD)?;
        within(handle, |_, _, _| refuse(CKR_SAVED_STATE_INVALID))
    }
}
