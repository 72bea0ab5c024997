//! The message interface for signatures: one key, many messages, whole and in parts.

use std::ptr;

use cryptoki_sys::*;

use crate::functions::{Module, bare, loaded, number};
use crate::support::{PIN, alone};

const NONE: *mut std::ffi::c_void = ptr::null_mut();

fn signed(module: Module, session: CK_SESSION_HANDLE, text: &[u8], len: usize) -> Result<Vec<u8>, CK_RV> {
    let (mut out, mut out_len) = (vec![0; len], len as CK_ULONG);
    let (data, data_len) = (text.as_ptr().cast_mut(), text.len() as CK_ULONG);
    match call!(module, C_SignMessage, session, NONE, 0, data, data_len, out.as_mut_ptr(), &mut out_len) {
        CKR_OK => Ok(out[..out_len as usize].to_vec()),
        value => Err(value),
    }
}

fn verified(module: Module, session: CK_SESSION_HANDLE, text: &[u8], signature: &[u8]) -> CK_RV {
    let (data, data_len) = (text.as_ptr().cast_mut(), text.len() as CK_ULONG);
    let (signature, len) = (signature.as_ptr().cast_mut(), signature.len() as CK_ULONG);
    call!(module, C_VerifyMessage, session, NONE, 0, data, data_len, signature, len)
}

/// Signs a message in parts of five bytes.
fn in_parts(module: Module, session: CK_SESSION_HANDLE, text: &[u8], len: usize) -> Vec<u8> {
    good!(module, C_SignMessageBegin, session, NONE, 0);
    for part in text.chunks(5) {
        let (part, part_len) = (part.as_ptr().cast_mut(), part.len() as CK_ULONG);
        let (no_place, no_len) = (ptr::null_mut(), ptr::null_mut());
        good!(module, C_SignMessageNext, session, NONE, 0, part, part_len, no_place, no_len);
    }
    let (mut out, mut out_len) = (vec![0; len], 0);
    // The length is told first, and the message stays where it is.
    let no_place = ptr::null_mut();
    good!(module, C_SignMessageNext, session, NONE, 0, no_place, 0, no_place, &mut out_len);
    assert_eq!(out_len, len as CK_ULONG);
    good!(module, C_SignMessageNext, session, NONE, 0, no_place, 0, out.as_mut_ptr(), &mut out_len);
    out
}

#[test]
fn one_key_signs_many_messages() {
    alone("messages::one_key_signs_many_messages", || {
        let module = loaded();
        let session = module.log_in();
        let hmac = module.generate(session, CKM_GENERIC_SECRET_KEY_GEN, &[number(CKA_VALUE_LEN, 32)]);
        let (public, private) = module.pair(session, &[]);
        for (mechanism, signing, verifying, len) in
            [(CKM_SHA256_HMAC, hmac, hmac, 32), (CKM_ECDSA_SHA256, private, public, 64)]
        {
            good!(module, C_MessageSignInit, session, &mut bare(mechanism), signing);
            good!(module, C_MessageVerifyInit, session, &mut bare(mechanism), verifying);
            let again = call!(module, C_MessageSignInit, session, &mut bare(mechanism), signing);
            assert_eq!(again, CKR_OPERATION_ACTIVE);
            for text in [&b"a message"[..], b"", b"another, which is longer than its parts"] {
                let signature = signed(module, session, text, len).unwrap();
                assert_eq!(verified(module, session, text, &signature), CKR_OK);
                assert_eq!(verified(module, session, b"other", &signature), CKR_SIGNATURE_INVALID);
                let signature = in_parts(module, session, text, len);
                good!(module, C_VerifyMessageBegin, session, NONE, 0);
                let (data, data_len) = (text.as_ptr().cast_mut(), text.len() as CK_ULONG);
                let none = ptr::null_mut();
                good!(module, C_VerifyMessageNext, session, NONE, 0, data, data_len, none, 0);
                let (at, count) = (signature.as_ptr().cast_mut(), signature.len() as CK_ULONG);
                good!(module, C_VerifyMessageNext, session, NONE, 0, none, 0, at, count);
            }
            // A buffer that is too short costs nothing but another call.
            assert_eq!(signed(module, session, b"a", len - 1), Err(CKR_BUFFER_TOO_SMALL));
            signed(module, session, b"a", len).unwrap();
            // A message in parts keeps another from beginning, and the end from coming.
            good!(module, C_SignMessageBegin, session, NONE, 0);
            assert_eq!(signed(module, session, b"a", len), Err(CKR_OPERATION_ACTIVE));
            assert_eq!(call!(module, C_MessageSignFinal, session), CKR_OPERATION_ACTIVE);
            good!(module, C_MessageSignInit, session, ptr::null_mut(), 0);
            good!(module, C_MessageVerifyFinal, session,);
            assert_eq!(signed(module, session, b"a", len), Err(CKR_OPERATION_NOT_INITIALIZED));
        }
    });
}

#[test]
fn a_key_that_always_wants_the_pin_wants_it_for_each_message() {
    alone("messages::a_key_that_always_wants_the_pin_wants_it_for_each_message", || {
        let module = loaded();
        let session = module.log_in();
        let (_, private) =
            module.pair(session, &[(CKA_ALWAYS_AUTHENTICATE, vec![1]), (CKA_PRIVATE, vec![1])]);
        good!(module, C_MessageSignInit, session, &mut bare(CKM_ECDSA_SHA256), private);
        let mut pin = PIN.as_bytes().to_vec();
        for _ in 0..2 {
            assert_eq!(signed(module, session, b"a", 64), Err(CKR_USER_NOT_LOGGED_IN));
            good!(module, C_Login, session, CKU_CONTEXT_SPECIFIC, pin.as_mut_ptr(), pin.len() as CK_ULONG);
            signed(module, session, b"a", 64).unwrap();
        }
        good!(module, C_MessageSignFinal, session,);
    });
}
