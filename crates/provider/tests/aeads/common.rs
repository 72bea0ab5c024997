//! The shared part of these tests: contexts of AEADs, and whole messages.
//!
//! # Safety
//! As in the support module: functions of libcrypto are called as its manual says.

use std::ffi::{c_int, c_uint};
use std::ptr;

use millstream_testkit::Random;

use crate::support::{self, CipherContext, Library, Refused, done, libcrypto};
pub const AEADS: &[&str] = &["AES-128-GCM", "AES-192-GCM", "AES-256-GCM", "ChaCha20-Poly1305"];
pub const TAG: usize = 16;

/// Numbers of `EVP_CIPHER_CTX_ctrl`.
pub const SET_IV_LEN: c_int = 0x09;
pub const GET_TAG: c_int = 0x10;
pub const SET_TAG: c_int = 0x11;
pub const SET_IV_FIXED: c_int = 0x12;
pub const IV_GEN: c_int = 0x13;
pub const TLS_AAD: c_int = 0x16;
pub const SET_IV_INV: c_int = 0x18;

/// The calls that contexts of AEADs have beside those of other ciphers.
pub trait AeadContext {
    fn ctrl(&mut self, number: c_int, len: c_int, data: &mut [u8]) -> c_int;
    fn tag(&mut self, len: usize) -> Result<Vec<u8>, Refused>;
    fn expect(&mut self, tag: &[u8]) -> Result<(), Refused>;
    fn fix(&mut self, iv: &[u8]);
    /// Announces a record, and returns how many bytes it has more than its data.
    fn announce(&mut self, aad: &[u8]) -> c_int;
    /// A record in place; what was returned.
    fn record(&mut self, record: &mut [u8]) -> c_int;
}

impl AeadContext for CipherContext {
    fn ctrl(&mut self, number: c_int, len: c_int, data: &mut [u8]) -> c_int {
        let data = if data.is_empty() { ptr::null_mut() } else { data.as_mut_ptr() };
        // SAFETY: data is as long as it says, or the call takes none.
        unsafe { (libcrypto().EVP_CIPHER_CTX_ctrl)(self.0, number, len, data.cast()) }
    }

    fn tag(&mut self, len: usize) -> Result<Vec<u8>, Refused> {
        let mut tag = vec![0; len];
        done(self.ctrl(GET_TAG, len as c_int, &mut tag)).map(|()| tag)
    }

    fn expect(&mut self, tag: &[u8]) -> Result<(), Refused> {
        done(self.ctrl(SET_TAG, tag.len() as c_int, &mut tag.to_vec()))
    }

    fn fix(&mut self, iv: &[u8]) {
        assert_eq!(self.ctrl(SET_IV_FIXED, iv.len() as c_int, &mut iv.to_vec()), 1);
    }

    fn announce(&mut self, aad: &[u8]) -> c_int {
        self.ctrl(TLS_AAD, aad.len() as c_int, &mut aad.to_vec())
    }

    fn record(&mut self, record: &mut [u8]) -> c_int {
        let at = record.as_mut_ptr();
        // SAFETY: in place.
        unsafe { (libcrypto().EVP_Cipher)(self.0, at, at, record.len() as c_uint) }
    }
}

/// Tells whether keys go to a service.
pub fn isolated() -> bool {
    std::env::var_os("MILLSTREAM_SOCKET").is_some()
}

/// A cipher of that name, isolated where there is a service.
pub fn cipher(library: &Library, name: &str) -> Option<support::Cipher> {
    library.cipher_with(name, if isolated() { c"?millstream.isolated=yes" } else { c"" })
}

/// Encrypts in pieces; what comes out, and the tag.
pub fn seal(
    library: &Library,
    name: &str,
    key: &[u8],
    iv: &[u8],
    aad: &[&[u8]],
    pieces: &[&[u8]],
) -> (Vec<u8>, Vec<u8>) {
    let mut context = begin(library, name, true, key, iv);
    for aad in aad {
        context.associate(aad).unwrap();
    }
    let mut out = Vec::new();
    for piece in pieces {
        out.extend(context.update(piece).unwrap());
    }
    assert!(context.finish().unwrap().is_empty());
    (out, context.tag(TAG).unwrap())
}

/// A context for a vector of any length.
pub fn begin(library: &Library, name: &str, encrypt: bool, key: &[u8], iv: &[u8]) -> CipherContext {
    let cipher = cipher(library, name).unwrap_or_else(|| panic!("no {name}"));
    let mut context = CipherContext::new();
    context.init(Some(&cipher), encrypt, None, None, &[]).unwrap();
    assert_eq!(context.ctrl(SET_IV_LEN, iv.len() as c_int, &mut []), 1);
    context.init(None, encrypt, Some(key), Some(iv), &[]).unwrap();
    context
}

/// Decrypts in pieces, the tag set before the data or after; what came out, and whether the tag was right.
pub fn open(
    context: &mut CipherContext,
    early: bool,
    tag: &[u8],
    aad: &[&[u8]],
    pieces: &[&[u8]],
) -> (Vec<u8>, bool) {
    if early {
        context.expect(tag).unwrap();
    }
    for aad in aad {
        context.associate(aad).unwrap();
    }
    let mut out = Vec::new();
    for piece in pieces {
        out.extend(context.update(piece).unwrap());
    }
    if !early {
        context.expect(tag).unwrap();
    }
    let ended = context.finish();
    if let Err(why) = &ended {
        // The default provider raises no error either: callers who go on would take it for one of theirs.
        assert_eq!(why.code, 0, "a wrong tag puts no error into the queue: {}", why.text);
    }
    (out, ended.is_ok())
}

/// Three pieces of any length.
pub fn cut<'a>(random: &mut Random, whole: &'a [u8]) -> [&'a [u8]; 3] {
    let (a, b) = (random.below(whole.len() + 1), random.below(whole.len() + 1));
    let (a, b) = (a.min(b), a.max(b));
    [&whole[..a], &whole[a..b], &whole[b..]]
}
