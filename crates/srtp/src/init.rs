//! The beginning: `srtp_init`, which registers the types.
//!
//! # Safety
//! The functions that are found by name have the types of libsrtp2's headers; the library stays loaded.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};

use crate::abi::{AuthType, CipherType, INIT_FAIL, OK, Status};
use crate::{auth, cipher};

/// The library's name for the linker.
const LIBRARY: &CStr = c"libsrtp2.so.1";

/// Returns a function of libsrtp2, which may have been loaded by a plug-in, where a search in the order of loading would not find it.
fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: both names end with a zero. The library is looked for, and not loaded.
    let found = unsafe {
        let library = libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        let library = if library.is_null() { libc::RTLD_NEXT } else { library };
        libc::dlsym(library, name.as_ptr())
    };
    (!found.is_null()).then_some(found)
}

/// Initialises libsrtp2 as its own function of this name does, and then puts Millstream's types of ciphers and of
/// authentication function in the place of its own. libsrtp2 examines each with published vectors, and keeps its own type where one fails.
///
/// Returns what the library's function returns; `srtp_err_status_init_fail` where there is none.
#[unsafe(no_mangle)]
pub extern "C" fn srtp_init() -> Status {
    let Some(init) =
        find(c"srtp_init").filter(|found| !std::ptr::eq(found.cast_const().cast(), srtp_init as *const ()))
    else {
        return INIT_FAIL;
    };
    // SAFETY: it is libsrtp2's function of that name.
    let status = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> Status>(init)() };
    if status == OK {
        register();
    }
    status
}

fn register() {
    type ReplaceCipher = unsafe extern "C" fn(*const CipherType, u32) -> Status;
    type ReplaceAuth = unsafe extern "C" fn(*const AuthType, u32) -> Status;
    if let Some(replace) = find(c"srtp_replace_cipher_type") {
        // SAFETY: it is libsrtp2's function of that name.
        let replace = unsafe { std::mem::transmute::<*mut c_void, ReplaceCipher>(replace) };
        for kind in &cipher::TYPES {
            // SAFETY: the type stays where it is. One that is refused changes nothing.
            unsafe { replace(&kind.0, kind.0.id) };
        }
    }
    if let Some(replace) = find(c"srtp_replace_auth_type") {
        // SAFETY: it is libsrtp2's function of that name.
        let replace = unsafe { std::mem::transmute::<*mut c_void, ReplaceAuth>(replace) };
        // SAFETY: as above.
        unsafe { replace(&auth::TYPE.0, auth::TYPE.0.id) };
    }
}
