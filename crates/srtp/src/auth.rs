//! The type of authentication function that libsrtp2 takes, and its functions.
//!
//! # Safety
//! libsrtp2 promises, as the types of `auth.h` say: a state is one that `alloc` made and `dealloc` has not freed, and one thread at a
//! time uses it; a key and data are as long as the number beside them says; room for a tag is as long as `tag_len` says.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::{Auth, AuthType, BAD_PARAM, HMAC_SHA1, INIT_FAIL, OK, Status};
use crate::given::{bytes, guard};
use crate::sha1::{self, TAG};
use crate::vectors::{self, Fixed};

/// HMAC-SHA1.
pub static TYPE: Fixed<AuthType> = Fixed(AuthType {
    alloc,
    dealloc,
    init,
    compute,
    update,
    start,
    description: c"Millstream HMAC-SHA1".as_ptr(),
    test_data: &vectors::SHA1.0,
    id: HMAC_SHA1,
});

/// The state of a function: none until it has a key.
type State = Option<sha1::State>;

unsafe extern "C" fn alloc(made: *mut *mut Auth, key_len: c_int, out_len: c_int) -> Status {
    guard(|| {
        // RFC 3711 §5.2: the usual key has 20 bytes. libsrtp2 has no longer ones.
        let fits = (0..=TAG as c_int).contains(&key_len) && (0..=TAG as c_int).contains(&out_len);
        if !fits {
            return BAD_PARAM;
        }
        let state = Box::into_raw(Box::new(None::<sha1::State>)).cast();
        let auth = Auth { kind: &TYPE.0, state, out_len, key_len, prefix_len: 0 };
        // SAFETY: as libsrtp2 promises, room for a pointer.
        unsafe { made.write(Box::into_raw(Box::new(auth))) };
        OK
    })
}

unsafe extern "C" fn dealloc(auth: *mut Auth) -> Status {
    guard(|| {
        // SAFETY: as libsrtp2 promises. `alloc` made both boxes.
        unsafe {
            let auth = Box::from_raw(auth);
            drop(Box::from_raw(auth.state.cast::<State>()));
        }
        OK
    })
}

/// Returns bytes of which libsrtp2 gave a number with a sign; none for a negative one.
///
/// # Safety
/// As libsrtp2 promises.
unsafe fn counted<'a>(at: *const u8, len: c_int) -> Option<&'a [u8]> {
    // SAFETY: as the caller says.
    usize::try_from(len).ok().map(|len| unsafe { bytes(at, len) })
}

/// Returns the function of a state, if it has a key.
///
/// # Safety
/// As libsrtp2 promises.
unsafe fn keyed<'a>(at: *mut c_void) -> Result<&'a mut sha1::State, Status> {
    // SAFETY: as the caller says.
    unsafe { &mut *at.cast::<State>() }.as_mut().ok_or(INIT_FAIL)
}

unsafe extern "C" fn init(at: *mut c_void, key: *const u8, key_len: c_int) -> Status {
    guard(|| {
        // SAFETY: as libsrtp2 promises.
        let (state, key) = unsafe { (&mut *at.cast::<State>(), counted(key, key_len)) };
        let (Some(key), Ok(features)) = (key, millstream::features()) else { return INIT_FAIL };
        *state = Some(sha1::State::new(features, key));
        OK
    })
}

unsafe extern "C" fn start(at: *mut c_void) -> Status {
    guard(|| {
        // SAFETY: as libsrtp2 promises.
        match unsafe { keyed(at) } {
            Ok(function) => function.start(),
            Err(status) => return status,
        }
        OK
    })
}

unsafe extern "C" fn update(at: *mut c_void, data: *const u8, len: c_int) -> Status {
    guard(|| {
        // SAFETY: as libsrtp2 promises.
        match unsafe { (keyed(at), counted(data, len)) } {
            (Ok(function), Some(data)) => function.update(data),
            (Err(status), _) => return status,
            (Ok(_), None) => return BAD_PARAM,
        }
        OK
    })
}

unsafe extern "C" fn compute(
    at: *mut c_void,
    data: *const u8,
    len: c_int,
    tag_len: c_int,
    tag: *mut u8,
) -> Status {
    guard(|| {
        // SAFETY: as libsrtp2 promises.
        let (function, data) = unsafe { (keyed(at), counted(data, len)) };
        let (Some(data), 0..=20) = (data, tag_len) else { return BAD_PARAM };
        match function {
            Ok(function) => {
                let mut code = [0; TAG];
                let code = &mut code[..tag_len as usize];
                function.update(data);
                function.finish(code);
                // SAFETY: as libsrtp2 promises, room for so many bytes.
                unsafe { tag.copy_from_nonoverlapping(code.as_ptr(), code.len()) };
                OK
            }
            Err(status) => status,
        }
    })
}
