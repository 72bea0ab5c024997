//! The published vectors with which libsrtp2 examines a type before it takes it.
//!
//! Ref. RFC 3711 appendix B.2, RFC 6188 §7 (counter mode); McGrew and Viega, "The Galois/Counter Mode of Operation", test cases 4 and 16
//! (GCM); RFC 2202 §3, case 1 (HMAC-SHA1).
#![allow(unsafe_code)]

use std::ptr::null;

use crate::abi::{AuthCase, CipherCase};
use crate::gcm;
use crate::icm;

/// A vector that stays where it is.
#[repr(transparent)]
pub struct Fixed<T>(pub T);

// SAFETY: it points to constants, and nobody writes to it.
unsafe impl<T> Sync for Fixed<T> {}

const ZEROS: [u8; 32] = [0; 32];
const ICM_128: &[u8; 30] = b"\x2b\x7e\x15\x16\x28\xae\xd2\xa6\xab\xf7\x15\x88\x09\xcf\x4f\x3c\
    \xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9\xfa\xfb\xfc\xfd";
const ICM_192: &[u8; 38] = b"\xea\xb2\x34\x76\x4e\x51\x7b\x2d\x3d\x16\x0d\x58\x7d\x8c\x86\x21\
    \x97\x40\xf6\x5f\x99\xb6\xbc\xf7\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9\xfa\xfb\xfc\xfd";
const ICM_256: &[u8; 46] = b"\x57\xf8\x2f\xe3\x61\x3f\xd1\x70\xa8\x5e\xc9\x3c\x40\xb1\xf0\x92\
    \x2e\xc4\xcb\x0d\xc0\x25\xb5\x82\x72\x14\x7c\xc4\x38\x94\x4a\x98\
    \xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9\xfa\xfb\xfc\xfd";
const KEYSTREAM_128: &[u8; 32] = b"\xe0\x3e\xad\x09\x35\xc9\x5e\x80\xe1\x66\xb1\x6d\xd9\x2b\x4e\xb4\
    \xd2\x35\x13\x16\x2b\x02\xd0\xf7\x2a\x43\xa2\xfe\x4a\x5f\x97\xab";
const KEYSTREAM_192: &[u8; 32] = b"\x35\x09\x6c\xba\x46\x10\x02\x8d\xc1\xb5\x75\x03\x80\x4c\xe3\x7c\
    \x5d\xe9\x86\x29\x1d\xcc\xe1\x61\xd5\x16\x5e\xc4\x56\x8f\x5c\x9a";
const KEYSTREAM_256: &[u8; 32] = b"\x92\xbd\xd2\x8a\x93\xc3\xf5\x25\x11\xc6\x77\xd0\x8b\x55\x15\xa4\
    \x9d\xa7\x1b\x23\x78\xa8\x54\xf6\x70\x50\x75\x6d\xed\x16\x5b\xac";

const GCM_KEY: [u8; 16] = *b"\xfe\xff\xe9\x92\x86\x65\x73\x1c\x6d\x6a\x8f\x94\x67\x30\x83\x08";
const GCM_IV: &[u8; 12] = b"\xca\xfe\xba\xbe\xfa\xce\xdb\xad\xde\xca\xf8\x88";
const GCM_AAD: &[u8; 20] =
    b"\xfe\xed\xfa\xce\xde\xad\xbe\xef\xfe\xed\xfa\xce\xde\xad\xbe\xef\xab\xad\xda\xd2";
const GCM_PLAIN: &[u8; 60] = b"\xd9\x31\x32\x25\xf8\x84\x06\xe5\xa5\x59\x09\xc5\xaf\xf5\x26\x9a\
    \x86\xa7\xa9\x53\x15\x34\xf7\xda\x2e\x4c\x30\x3d\x8a\x31\x8a\x72\
    \x1c\x3c\x0c\x95\x95\x68\x09\x53\x2f\xcf\x0e\x24\x49\xa6\xb5\x25\
    \xb1\x6a\xed\xf5\xaa\x0d\xe6\x57\xba\x63\x7b\x39";
const GCM_128: &[u8; 76] = b"\x42\x83\x1e\xc2\x21\x77\x74\x24\x4b\x72\x21\xb7\x84\xd0\xd4\x9c\
    \xe3\xaa\x21\x2f\x2c\x02\xa4\xe0\x35\xc1\x7e\x23\x29\xac\xa1\x2e\
    \x21\xd5\x14\xb2\x54\x66\x93\x1c\x7d\x8f\x6a\x5a\xac\x84\xaa\x05\
    \x1b\xa3\x0b\x39\x6a\x0a\xac\x97\x3d\x58\xe0\x91\
    \x5b\xc9\x4f\xbc\x32\x21\xa5\xdb\x94\xfa\xe9\x5a\xe7\x12\x1a\x47";
const GCM_256: &[u8; 76] = b"\x52\x2d\xc1\xf0\x99\x56\x7d\x07\xf4\x7f\x37\xa3\x2a\x84\x42\x7d\
    \x64\x3a\x8c\xdc\xbf\xe5\xc0\xc9\x75\x98\xa2\xbd\x25\x55\xd1\xaa\
    \x8c\xb0\x8e\x48\x59\x0d\xbb\x3d\xa7\xb0\x8b\x10\x56\x82\x88\x38\
    \xc5\xf6\x1e\x63\x93\xba\x7a\x0a\xbc\xc9\xf6\x62\
    \x76\xfc\x6e\xce\x0f\x4e\x17\x68\xcd\xdf\x88\x53\xbb\x2d\x55\x1b";

/// The key of 128 or 256 bits, and a salt that the vector does not use.
const fn gcm_key<const LEN: usize>() -> [u8; LEN] {
    let mut key = [0; LEN];
    let mut i = 0;
    while i < LEN - gcm::SALT {
        key[i] = GCM_KEY[i % 16];
        i += 1;
    }
    key
}

const GCM_KEY_128: &[u8; 28] = &gcm_key();
const GCM_KEY_256: &[u8; 44] = &gcm_key();

const fn icm(key: &'static [u8], keystream: &'static [u8; 32]) -> Fixed<CipherCase> {
    assert!(key.len() > icm::SALT);
    Fixed(CipherCase {
        key_len: key.len() as i32,
        key: key.as_ptr(),
        iv: ZEROS.as_ptr(),
        plain_len: 32,
        plain: ZEROS.as_ptr(),
        cipher_len: 32,
        cipher: keystream.as_ptr(),
        aad_len: 0,
        aad: null(),
        tag_len: 0,
        next: null(),
    })
}

const fn gcm(key: &'static [u8], cipher: &'static [u8; 76]) -> Fixed<CipherCase> {
    Fixed(CipherCase {
        key_len: key.len() as i32,
        key: key.as_ptr(),
        iv: GCM_IV.as_ptr(),
        plain_len: 60,
        plain: GCM_PLAIN.as_ptr(),
        cipher_len: 76,
        cipher: cipher.as_ptr(),
        aad_len: 20,
        aad: GCM_AAD.as_ptr(),
        tag_len: 16,
        next: null(),
    })
}

/// A vector for each key length of counter mode: 128, 192 and 256 bits.
pub static ICM: [Fixed<CipherCase>; 3] =
    [icm(ICM_128, KEYSTREAM_128), icm(ICM_192, KEYSTREAM_192), icm(ICM_256, KEYSTREAM_256)];

/// A vector for each key length of GCM: 128 and 256 bits.
pub static GCM: [Fixed<CipherCase>; 2] = [gcm(GCM_KEY_128, GCM_128), gcm(GCM_KEY_256, GCM_256)];

const SHA1_TAG: &[u8; 20] =
    b"\xb6\x17\x31\x86\x55\x05\x72\x64\xe2\x8b\xc0\xb6\xfb\x37\x8c\x8e\xf1\x46\xbe\x00";

/// A vector for HMAC-SHA1.
pub static SHA1: Fixed<AuthCase> = Fixed(AuthCase {
    key_len: 20,
    key: [0x0b_u8; 20].as_ptr(),
    data_len: 8,
    data: b"Hi There".as_ptr(),
    tag_len: 20,
    tag: SHA1_TAG.as_ptr(),
    next: null(),
});
