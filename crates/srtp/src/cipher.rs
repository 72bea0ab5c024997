//! The types of ciphers that libsrtp2 takes, and their functions.
//!
//! # Safety
//! libsrtp2 promises, as the types of `cipher.h` say: a state is one that `alloc` made and `dealloc` has not freed, and one thread at
//! a time uses it; a key is as long as `alloc` was told; an initialisation vector has 16 bytes in counter mode and 12 in GCM; data is
//! as long as its count says, or NULL where that is 0. A packet to open has its tag behind it. Room for a tag is as long as `alloc` was told.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint, c_void};

use millstream::EngineError;

use crate::abi::{AUTH_FAIL, BAD_PARAM, CIPHER_FAIL, Cipher, CipherType, GCM, ICM, INIT_FAIL, OK, Status};
use crate::gcm;
use crate::given::{bytes, bytes_mut, guard};
use crate::icm::{self, Icm};
use crate::vectors::{self, Fixed};

/// Bytes of a key and its salt, in the order of [`ICM`].
const ICM_KEYS: [usize; 3] = [16 + icm::SALT, 24 + icm::SALT, 32 + icm::SALT];

/// Bytes of a key and its salt, in the order of [`GCM`].
const GCM_KEYS: [usize; 2] = [16 + gcm::SALT, 32 + gcm::SALT];

/// The state of a cipher: none until it has a key.
struct State<T> {
    key_len: usize,
    tag_len: usize,
    keyed: Option<T>,
}

/// The types of ciphers, in the order in which they are registered.
pub static TYPES: [Fixed<CipherType>; 5] = [of_icm(0), of_icm(1), of_icm(2), of_gcm(0), of_gcm(1)];

const fn of_icm(at: usize) -> Fixed<CipherType> {
    Fixed(CipherType {
        alloc: icm_alloc,
        dealloc: dealloc::<Icm>,
        init: icm_init,
        set_aad: None,
        encrypt: icm_apply,
        decrypt: icm_apply,
        set_iv: icm_set_iv,
        get_tag: None,
        description: [
            c"Millstream AES-128 counter mode",
            c"Millstream AES-192 counter mode",
            c"Millstream AES-256 counter mode",
        ][at]
            .as_ptr(),
        test_data: &vectors::ICM[at].0,
        id: ICM[at],
    })
}

const fn of_gcm(at: usize) -> Fixed<CipherType> {
    Fixed(CipherType {
        alloc: gcm_alloc,
        dealloc: dealloc::<gcm::State>,
        init: gcm_init,
        set_aad: Some(gcm_set_aad),
        encrypt: gcm_encrypt,
        decrypt: gcm_decrypt,
        set_iv: gcm_set_iv,
        get_tag: Some(gcm_get_tag),
        description: [c"Millstream AES-128 GCM", c"Millstream AES-256 GCM"][at].as_ptr(),
        test_data: &vectors::GCM[at].0,
        id: GCM[at],
    })
}

/// Makes a cipher without a key, of the type at that place of [`TYPES`].
///
/// # Safety
/// As at the head of this file: `made` is room for a pointer.
unsafe fn alloc<T>(made: *mut *mut Cipher, at: usize, key_len: usize, tag_len: usize) -> Status {
    let state = Box::into_raw(Box::new(State::<T> { key_len, tag_len, keyed: None }));
    let kind = &TYPES[at].0;
    let cipher = Cipher { kind, state: state.cast(), key_len: key_len as c_int, algorithm: kind.id as c_int };
    // SAFETY: as the caller says.
    unsafe { made.write(Box::into_raw(Box::new(cipher))) };
    OK
}

unsafe extern "C" fn dealloc<T>(cipher: *mut Cipher) -> Status {
    guard(|| {
        // SAFETY: as libsrtp2 promises. `alloc` made both boxes.
        unsafe {
            let cipher = Box::from_raw(cipher);
            drop(Box::from_raw(cipher.state.cast::<State<T>>()));
        }
        OK
    })
}

/// Returns the state behind a pointer.
///
/// # Safety
/// As libsrtp2 promises.
unsafe fn state<'a, T>(state: *mut c_void) -> &'a mut State<T> {
    // SAFETY: as the caller says.
    unsafe { &mut *state.cast() }
}

/// Returns the cipher of a state, if it has a key.
///
/// # Safety
/// As libsrtp2 promises.
unsafe fn keyed<'a, T>(at: *mut c_void) -> Result<&'a mut T, Status> {
    // SAFETY: as the caller says.
    unsafe { state::<T>(at) }.keyed.as_mut().ok_or(INIT_FAIL)
}

unsafe extern "C" fn icm_alloc(made: *mut *mut Cipher, key_len: c_int, _: c_int) -> Status {
    guard(|| {
        let Some(at) = ICM_KEYS.iter().position(|len| *len as c_int == key_len) else { return BAD_PARAM };
        // SAFETY: as libsrtp2 promises.
        unsafe { alloc::<Icm>(made, at, ICM_KEYS[at], 0) }
    })
}

unsafe extern "C" fn icm_init(at: *mut c_void, key: *const u8) -> Status {
    guard(|| {
        // SAFETY: as libsrtp2 promises.
        let state = unsafe { state::<Icm>(at) };
        // SAFETY: as libsrtp2 promises.
        let key = unsafe { bytes(key, state.key_len) };
        let cipher = millstream::features().ok().and_then(|features| Icm::new(features, key).ok());
        state.keyed = cipher;
        if state.keyed.is_some() { OK } else { INIT_FAIL }
    })
}

unsafe extern "C" fn icm_set_iv(at: *mut c_void, iv: *mut u8, _: c_int) -> Status {
    guard(|| {
        // SAFETY: as libsrtp2 promises.
        match unsafe { keyed::<Icm>(at) } {
            // SAFETY: as libsrtp2 promises.
            Ok(cipher) => cipher.begin(unsafe { iv.cast::<[u8; 16]>().read_unaligned() }),
            Err(status) => return status,
        }
        OK
    })
}

unsafe extern "C" fn icm_apply(at: *mut c_void, data: *mut u8, len: *mut c_uint) -> Status {
    guard(|| {
        // SAFETY: as libsrtp2 promises.
        match unsafe { keyed::<Icm>(at) } {
            // SAFETY: as libsrtp2 promises.
            Ok(cipher) => cipher.apply(unsafe { bytes_mut(data, *len as usize) }),
            Err(status) => return status,
        }
        OK
    })
}

unsafe extern "C" fn gcm_alloc(made: *mut *mut Cipher, key_len: c_int, tag_len: c_int) -> Status {
    guard(|| {
        let at = GCM_KEYS.iter().position(|len| *len as c_int == key_len);
        let (Some(at), 8 | 16) = (at, tag_len) else { return BAD_PARAM };
        // SAFETY: as libsrtp2 promises.
        unsafe { alloc::<gcm::State>(made, ICM.len() + at, GCM_KEYS[at], tag_len as usize) }
    })
}

unsafe extern "C" fn gcm_init(at: *mut c_void, key: *const u8) -> Status {
    guard(|| {
        // SAFETY: as libsrtp2 promises.
        let state = unsafe { state::<gcm::State>(at) };
        // SAFETY: as libsrtp2 promises.
        let key = unsafe { bytes(key, state.key_len) };
        let features = millstream::features().ok();
        state.keyed = features.and_then(|features| gcm::State::new(features, key, state.tag_len).ok());
        if state.keyed.is_some() { OK } else { INIT_FAIL }
    })
}

unsafe extern "C" fn gcm_set_iv(at: *mut c_void, iv: *mut u8, _: c_int) -> Status {
    guard(|| {
        // SAFETY: as libsrtp2 promises.
        match unsafe { keyed::<gcm::State>(at) } {
            // SAFETY: as libsrtp2 promises.
            Ok(cipher) => cipher.begin(unsafe { iv.cast::<[u8; 12]>().read_unaligned() }),
            Err(status) => return status,
        }
        OK
    })
}

unsafe extern "C" fn gcm_set_aad(at: *mut c_void, aad: *const u8, len: u32) -> Status {
    guard(|| {
        // SAFETY: as libsrtp2 promises.
        let aad = unsafe { bytes(aad, len as usize) };
        // SAFETY: as libsrtp2 promises.
        match unsafe { keyed::<gcm::State>(at) } {
            Ok(cipher) => [BAD_PARAM, OK][usize::from(cipher.add(aad))],
            Err(status) => status,
        }
    })
}

unsafe extern "C" fn gcm_encrypt(at: *mut c_void, data: *mut u8, len: *mut c_uint) -> Status {
    guard(|| {
        // SAFETY: as libsrtp2 promises.
        let (cipher, data) = unsafe { (keyed::<gcm::State>(at), bytes_mut(data, *len as usize)) };
        match cipher.map(|cipher| cipher.seal(data)) {
            Ok(Ok(())) => OK,
            Ok(Err(_)) => CIPHER_FAIL,
            Err(status) => status,
        }
    })
}

unsafe extern "C" fn gcm_get_tag(at: *mut c_void, tag: *mut u8, len: *mut u32) -> Status {
    guard(|| {
        // SAFETY: as libsrtp2 promises.
        match unsafe { keyed::<gcm::State>(at) } {
            Ok(cipher) => {
                let made = cipher.tag();
                // SAFETY: as libsrtp2 promises.
                unsafe {
                    bytes_mut(tag, made.len()).copy_from_slice(made);
                    len.write(made.len() as u32);
                }
                OK
            }
            Err(status) => status,
        }
    })
}

unsafe extern "C" fn gcm_decrypt(at: *mut c_void, data: *mut u8, len: *mut c_uint) -> Status {
    guard(|| {
        // SAFETY: as libsrtp2 promises.
        let (cipher, packet) = unsafe { (keyed::<gcm::State>(at), bytes_mut(data, *len as usize)) };
        match cipher.map(|cipher| cipher.open(packet)) {
            Ok(Ok(opened)) => {
                // SAFETY: as libsrtp2 promises.
                unsafe { len.write(opened as c_uint) };
                OK
            }
            Ok(Err(EngineError::Authentication)) => AUTH_FAIL,
            Ok(Err(_)) => CIPHER_FAIL,
            Err(status) => status,
        }
    })
}
