//! The structures and numbers of libsrtp2 that a type of cipher or authentication function is made of.
//!
//! Ref. libsrtp 2.5: `cipher.h`, `auth.h`, `crypto_types.h` and `srtp.h`, which Debian installs in `/usr/include/srtp2`.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// `srtp_err_status_t`.
pub type Status = c_int;

/// `srtp_err_status_ok`.
pub const OK: Status = 0;
/// `srtp_err_status_fail`.
pub const FAIL: Status = 1;
/// `srtp_err_status_bad_param`.
pub const BAD_PARAM: Status = 2;
/// `srtp_err_status_init_fail`.
pub const INIT_FAIL: Status = 5;
/// `srtp_err_status_auth_fail`.
pub const AUTH_FAIL: Status = 7;
/// `srtp_err_status_cipher_fail`.
pub const CIPHER_FAIL: Status = 8;

/// `SRTP_AES_ICM_128`, `_192` and `_256`.
pub const ICM: [u32; 3] = [1, 4, 5];
/// `SRTP_AES_GCM_128` and `_256`.
pub const GCM: [u32; 2] = [6, 7];
/// `SRTP_HMAC_SHA1`.
pub const HMAC_SHA1: u32 = 3;

/// `srtp_cipher_type_t`.
#[repr(C)]
pub struct CipherType {
    pub alloc: unsafe extern "C" fn(*mut *mut Cipher, c_int, c_int) -> Status,
    pub dealloc: unsafe extern "C" fn(*mut Cipher) -> Status,
    pub init: unsafe extern "C" fn(*mut c_void, *const u8) -> Status,
    pub set_aad: Option<unsafe extern "C" fn(*mut c_void, *const u8, u32) -> Status>,
    pub encrypt: unsafe extern "C" fn(*mut c_void, *mut u8, *mut c_uint) -> Status,
    pub decrypt: unsafe extern "C" fn(*mut c_void, *mut u8, *mut c_uint) -> Status,
    pub set_iv: unsafe extern "C" fn(*mut c_void, *mut u8, c_int) -> Status,
    pub get_tag: Option<unsafe extern "C" fn(*mut c_void, *mut u8, *mut u32) -> Status>,
    pub description: *const c_char,
    pub test_data: *const CipherCase,
    pub id: u32,
}

/// `srtp_cipher_t`.
#[repr(C)]
pub struct Cipher {
    pub kind: *const CipherType,
    pub state: *mut c_void,
    pub key_len: c_int,
    pub algorithm: c_int,
}

/// `srtp_cipher_test_case_t`.
#[repr(C)]
pub struct CipherCase {
    pub key_len: c_int,
    pub key: *const u8,
    pub iv: *const u8,
    pub plain_len: c_uint,
    pub plain: *const u8,
    pub cipher_len: c_uint,
    pub cipher: *const u8,
    pub aad_len: c_int,
    pub aad: *const u8,
    pub tag_len: c_int,
    pub next: *const CipherCase,
}

/// `srtp_auth_type_t`.
#[repr(C)]
pub struct AuthType {
    pub alloc: unsafe extern "C" fn(*mut *mut Auth, c_int, c_int) -> Status,
    pub dealloc: unsafe extern "C" fn(*mut Auth) -> Status,
    pub init: unsafe extern "C" fn(*mut c_void, *const u8, c_int) -> Status,
    pub compute: unsafe extern "C" fn(*mut c_void, *const u8, c_int, c_int, *mut u8) -> Status,
    pub update: unsafe extern "C" fn(*mut c_void, *const u8, c_int) -> Status,
    pub start: unsafe extern "C" fn(*mut c_void) -> Status,
    pub description: *const c_char,
    pub test_data: *const AuthCase,
    pub id: u32,
}

/// `srtp_auth_t`.
#[repr(C)]
pub struct Auth {
    pub kind: *const AuthType,
    pub state: *mut c_void,
    pub out_len: c_int,
    pub key_len: c_int,
    pub prefix_len: c_int,
}

/// `srtp_auth_test_case_t`.
#[repr(C)]
pub struct AuthCase {
    pub key_len: c_int,
    pub key: *const u8,
    pub data_len: c_int,
    pub data: *const u8,
    pub tag_len: c_int,
    pub tag: *const u8,
    pub next: *const AuthCase,
}
