//! What functions answer to buffers that are too short, to data of no bytes, and to data and signatures of lengths that don't fit.
//!
//! Ref. PKCS #11 v3.2 §5.2 (conventions for functions that return output), §5.8 to §5.18.

use std::ptr::null_mut;

use cryptoki_sys::*;

use crate::functions::{Value, attributes, bare, loaded, number};
use crate::refusals::{Begin, begins, keys, with};
use crate::support::alone;

/// A function with an output, which it tells the length of, refuses to write where there is too little room, and writes then. Arguments are the place and
/// its length.
type Output<'a> = (&'a str, Box<dyn Fn() + 'a>, Box<dyn Fn(*mut u8, &mut CK_ULONG) -> CK_RV + 'a>);

/// Every function with an output: a question about its length and a buffer that is one byte short leave the operation as it is.
#[test]
fn lengths_are_told_and_short_buffers_change_nothing() {
    alone("lengths::lengths_are_told_and_short_buffers_change_nothing", || {
        let module = loaded();
        let session = module.log_in();
        let keys = keys(module, session);
        let (iv, text) = ([9u8; 16], [5u8; 32]);
        let at = text.as_ptr().cast_mut();
        let begin = |mechanism: CK_MECHANISM, key, begin: Begin| {
            Box::new(move || assert_eq!(begin(module, session, mechanism, key), CKR_OK)) as Box<dyn Fn()>
        };
        let digest =
            || Box::new(move || good!(module, C_DigestInit, session, &mut bare(CKM_SHA256))) as Box<dyn Fn()>;
        let cbc = with(CKM_AES_CBC, &iv);
        let params = [number(CKA_PARAMETER_SET, CKP_ML_KEM_512)];
        let (mut public, mut kem) = (attributes(&params), [0; 2]);
        let [kem_public, kem_private] = &mut kem;
        let (one, none, kind) = (public.as_mut_ptr(), null_mut(), &mut bare(CKM_ML_KEM_KEY_PAIR_GEN));
        good!(module, C_GenerateKeyPair, session, kind, one, 1, none, 0, kem_public, kem_private);
        let kem_public = kem[0];
        let recovered = std::cell::RefCell::new(vec![0u8; 256]);
        let outputs: Vec<Output<'_>> = vec![
            (
                "C_Encrypt",
                begin(cbc, keys.aes, begins!(C_EncryptInit)),
                Box::new(|out, len| call!(module, C_Encrypt, session, at, 32, out, len)),
            ),
            (
                "C_EncryptUpdate",
                begin(cbc, keys.aes, begins!(C_EncryptInit)),
                Box::new(|out, len| call!(module, C_EncryptUpdate, session, at, 32, out, len)),
            ),
            (
                "C_Decrypt",
                begin(cbc, keys.aes, begins!(C_DecryptInit)),
                Box::new(|out, len| call!(module, C_Decrypt, session, at, 32, out, len)),
            ),
            (
                "C_DecryptUpdate",
                begin(cbc, keys.aes, begins!(C_DecryptInit)),
                Box::new(|out, len| call!(module, C_DecryptUpdate, session, at, 32, out, len)),
            ),
            ("C_Digest", digest(), Box::new(|out, len| call!(module, C_Digest, session, at, 32, out, len))),
            ("C_DigestFinal", digest(), Box::new(|out, len| call!(module, C_DigestFinal, session, out, len))),
            (
                "C_GetOperationState",
                digest(),
                Box::new(|out, len| call!(module, C_GetOperationState, session, out, len)),
            ),
            (
                "C_Sign",
                begin(bare(CKM_SHA256_HMAC), keys.hmac, begins!(C_SignInit)),
                Box::new(|out, len| call!(module, C_Sign, session, at, 32, out, len)),
            ),
            (
                "C_SignFinal",
                begin(bare(CKM_ECDSA_SHA256), keys.ec[1], begins!(C_SignInit)),
                Box::new(|out, len| call!(module, C_SignFinal, session, out, len)),
            ),
            (
                "C_SignRecover",
                begin(bare(CKM_RSA_PKCS), keys.rsa[1], begins!(C_SignRecoverInit)),
                Box::new(|out, len| {
                    let told = call!(module, C_SignRecover, session, at, 32, out, len);
                    if told == CKR_OK && !out.is_null() {
                        // SAFETY: as many bytes were written there.
                        *recovered.borrow_mut() = unsafe { std::slice::from_raw_parts(out, 256) }.to_vec();
                    }
                    told
                }),
            ),
            (
                "C_VerifyRecover",
                begin(bare(CKM_RSA_PKCS), keys.rsa[0], begins!(C_VerifyRecoverInit)),
                Box::new(|out, len| {
                    let signature = recovered.borrow().as_ptr().cast_mut();
                    call!(module, C_VerifyRecover, session, signature, 256, out, len)
                }),
            ),
            (
                "C_SignMessage",
                begin(bare(CKM_SHA256_HMAC), keys.hmac, begins!(C_MessageSignInit)),
                Box::new(|out, len| call!(module, C_SignMessage, session, null_mut(), 0, at, 32, out, len)),
            ),
            (
                "C_WrapKey",
                Box::new(|| {}),
                Box::new(|out, len| {
                    call!(
                        module,
                        C_WrapKey,
                        session,
                        &mut bare(CKM_AES_KEY_WRAP),
                        keys.aes,
                        keys.hmac,
                        out,
                        len
                    )
                }),
            ),
            (
                "C_EncapsulateKey",
                Box::new(|| {}),
                Box::new(|out, len| {
                    let (mut key, kind) = (0, &mut bare(CKM_ML_KEM));
                    call!(
                        module,
                        C_EncapsulateKey,
                        session,
                        kind,
                        kem_public,
                        null_mut(),
                        0,
                        out,
                        len,
                        &mut key
                    )
                }),
            ),
        ];
        for (name, begin, write) in &outputs {
            begin();
            let mut len = 0;
            for _ in 0..2 {
                assert_eq!(write(null_mut(), &mut len), CKR_OK, "{name} is asked for its length");
                assert!(len > 0, "{name}");
            }
            let needs = len;
            let mut place = vec![0xaa; len as usize + 1];
            for short in [0, needs - 1] {
                len = short;
                assert_eq!(
                    write(place.as_mut_ptr(), &mut len),
                    CKR_BUFFER_TOO_SMALL,
                    "{name}: {short} of {needs}"
                );
                assert_eq!(len, needs, "{name} tells what it needs");
                assert!(place.iter().all(|byte| *byte == 0xaa), "{name} writes nothing");
            }
            len = needs;
            assert_eq!(write(place.as_mut_ptr(), &mut len), CKR_OK, "{name}");
            assert_eq!((len, place[needs as usize]), (needs, 0xaa), "{name}");
            good!(module, C_SessionCancel, session, CK_ULONG::MAX);
        }
        assert_eq!(outputs.len(), 14);
        // Lists and attributes.
        let mut count = 0;
        good!(module, C_GetMechanismList, 0, null_mut(), &mut count);
        let mut list = vec![0; count as usize];
        count -= 1;
        assert_eq!(call!(module, C_GetMechanismList, 0, list.as_mut_ptr(), &mut count), CKR_BUFFER_TOO_SMALL);
        assert_eq!(count as usize, list.len());
        good!(module, C_GetMechanismList, 0, list.as_mut_ptr(), &mut count);
        let mut slots = [0; 8];
        count = 0;
        assert_eq!(call!(module, C_GetSlotList, 1, slots.as_mut_ptr(), &mut count), CKR_BUFFER_TOO_SMALL);
        assert!(count > 0);
        let mut point = [0u8; 67];
        for (room, answer, len) in [(66, CKR_BUFFER_TOO_SMALL, CK_UNAVAILABLE_INFORMATION), (67, CKR_OK, 67)]
        {
            let mut wanted =
                CK_ATTRIBUTE { type_: CKA_EC_POINT, pValue: point.as_mut_ptr().cast(), ulValueLen: room };
            assert_eq!(call!(module, C_GetAttributeValue, session, keys.ec[0], &mut wanted, 1), answer);
            assert_eq!(wanted.ulValueLen, len);
        }
    });
}

/// Operations on nothing, and on data of lengths that don't fit.
#[test]
fn lengths_of_zero_and_wrong_ones_are_told_apart() {
    alone("lengths::lengths_of_zero_and_wrong_ones_are_told_apart", || {
        let module = loaded();
        let session = module.log_in();
        let keys = keys(module, session);
        let (iv, text, mut out) = ([9u8; 16], [5u8; 600], [0u8; 700]);
        let at = text.as_ptr().cast_mut();
        let mut cipher = |encrypts: bool, mechanism: CK_MECHANISM, key, n| {
            let (mut len, mut mechanism) = (700, mechanism);
            let told = if encrypts {
                good!(module, C_EncryptInit, session, &mut mechanism, key);
                call!(module, C_Encrypt, session, at, n, out.as_mut_ptr(), &mut len)
            } else {
                good!(module, C_DecryptInit, session, &mut mechanism, key);
                call!(module, C_Decrypt, session, at, n, out.as_mut_ptr(), &mut len)
            };
            // An error ends the operation, too.
            let again = call!(module, C_EncryptFinal, session, out.as_mut_ptr(), &mut { len });
            assert_eq!(again, CKR_OPERATION_NOT_INITIALIZED);
            if told == CKR_OK { Ok(len) } else { Err(told) }
        };
        let (cbc, pad) = (with(CKM_AES_CBC, &iv), with(CKM_AES_CBC_PAD, &iv));
        for (encrypts, mechanism, key, n, answer) in [
            (true, cbc, keys.aes, 0, Ok(0)),
            (true, cbc, keys.aes, 15, Err(CKR_DATA_LEN_RANGE)),
            (true, pad, keys.aes, 0, Ok(16)),
            (false, cbc, keys.aes, 15, Err(CKR_ENCRYPTED_DATA_LEN_RANGE)),
            (false, pad, keys.aes, 0, Err(CKR_ENCRYPTED_DATA_LEN_RANGE)),
            (false, pad, keys.aes, 15, Err(CKR_ENCRYPTED_DATA_LEN_RANGE)),
            (false, pad, keys.aes, 16, Err(CKR_ENCRYPTED_DATA_INVALID)),
            (true, bare(CKM_RSA_PKCS), keys.rsa[0], 0, Ok(256)),
            (true, bare(CKM_RSA_PKCS), keys.rsa[0], 246, Err(CKR_DATA_LEN_RANGE)),
            (false, bare(CKM_RSA_PKCS), keys.rsa[1], 0, Err(CKR_ENCRYPTED_DATA_LEN_RANGE)),
            (false, bare(CKM_RSA_PKCS), keys.rsa[1], 255, Err(CKR_ENCRYPTED_DATA_LEN_RANGE)),
        ] {
            let told = cipher(encrypts, mechanism, key, n);
            assert_eq!(told, answer, "{:#x} of {n} bytes, encrypts: {encrypts}", mechanism.mechanism);
        }
        let sign = |mechanism: CK_MECHANISM, key, n| {
            let (mut len, mut mechanism, mut out) = (700, mechanism, [0u8; 700]);
            good!(module, C_SignInit, session, &mut mechanism, key);
            let told = call!(module, C_Sign, session, at, n, out.as_mut_ptr(), &mut len);
            assert_eq!(call!(module, C_SignUpdate, session, at, 1), CKR_OPERATION_NOT_INITIALIZED);
            if told == CKR_OK { Ok(len) } else { Err(told) }
        };
        for (mechanism, key, n, answer) in [
            (CKM_SHA256_HMAC, keys.hmac, 0, Ok(32)),
            (CKM_ECDSA_SHA256, keys.ec[1], 0, Ok(64)),
            (CKM_RSA_PKCS, keys.rsa[1], 0, Ok(256)),
            (CKM_RSA_PKCS, keys.rsa[1], 246, Err(CKR_DATA_LEN_RANGE)),
            (CKM_RSA_X_509, keys.rsa[1], 257, Err(CKR_DATA_LEN_RANGE)),
            (CKM_ECDSA, keys.ec[1], 0, Err(CKR_DATA_LEN_RANGE)),
        ] {
            assert_eq!(sign(bare(mechanism), key, n), answer, "{mechanism:#x} of {n} bytes");
        }
        // Parts that together are too long end the operation.
        good!(module, C_SignInit, session, &mut bare(CKM_RSA_PKCS), keys.rsa[1]);
        let told: Vec<_> = (0..4).map(|_| call!(module, C_SignUpdate, session, at, 200)).collect();
        let first = told.iter().position(|value| *value != CKR_OK);
        if let Some(first) = first {
            assert!(
                told[first + 1..].iter().all(|value| *value == CKR_OPERATION_NOT_INITIALIZED),
                "{told:x?}"
            );
        } else {
            let (mut out, mut len) = ([0u8; 256], 256);
            assert_eq!(call!(module, C_SignFinal, session, out.as_mut_ptr(), &mut len), CKR_DATA_LEN_RANGE);
        }
        let signature = out.as_mut_ptr();
        for (mechanism, key, len, answer) in [
            (CKM_SHA256_HMAC, keys.hmac, 0, CKR_SIGNATURE_LEN_RANGE),
            (CKM_SHA256_HMAC, keys.hmac, 31, CKR_SIGNATURE_LEN_RANGE),
            (CKM_SHA256_HMAC, keys.hmac, 32, CKR_SIGNATURE_INVALID),
            (CKM_ECDSA_SHA256, keys.ec[0], 0, CKR_SIGNATURE_LEN_RANGE),
            (CKM_ECDSA_SHA256, keys.ec[0], 65, CKR_SIGNATURE_LEN_RANGE),
            (CKM_ECDSA_SHA256, keys.ec[0], 64, CKR_SIGNATURE_INVALID),
            (CKM_SHA256_RSA_PKCS, keys.rsa[0], 255, CKR_SIGNATURE_LEN_RANGE),
            (CKM_SHA256_RSA_PKCS, keys.rsa[0], 256, CKR_SIGNATURE_INVALID),
        ] {
            good!(module, C_VerifyInit, session, &mut bare(mechanism), key);
            let told = call!(module, C_Verify, session, at, 32, signature, len);
            assert_eq!(told, answer, "{mechanism:#x} with {len} bytes answers {told:#x}");
            let again = call!(module, C_Verify, session, at, 32, signature, len);
            assert_eq!(again, CKR_OPERATION_NOT_INITIALIZED);
        }
        let mut made = 0;
        let mut create = |values: &[Value]| {
            let head = [number(CKA_CLASS, CKO_SECRET_KEY), number(CKA_KEY_TYPE, CKK_AES)];
            let all = [&head[..], values].concat();
            let mut template = attributes(&all);
            call!(module, C_CreateObject, session, template.as_mut_ptr(), all.len() as CK_ULONG, &mut made)
        };
        for (values, answer) in [
            (vec![], CKR_TEMPLATE_INCOMPLETE),
            (vec![(CKA_VALUE, vec![])], CKR_ATTRIBUTE_VALUE_INVALID),
            (vec![(CKA_VALUE, vec![1; 15])], CKR_ATTRIBUTE_VALUE_INVALID),
            (vec![(CKA_VALUE, vec![1; 16]), (CKA_TOKEN, vec![])], CKR_ATTRIBUTE_VALUE_INVALID),
            (vec![(CKA_VALUE, vec![1; 16]), (CKA_ID, vec![])], CKR_OK),
        ] {
            let told = create(&values);
            assert_eq!(told, answer, "{values:?} answers {told:#x}");
        }
    });
}
