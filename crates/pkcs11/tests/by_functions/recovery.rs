//! Signatures from which the message is recovered.

use std::ptr;

use cryptoki_sys::*;

use crate::functions::{Module, Value, attributes, bare, loaded, number};
use crate::support::alone;

/// A pair of RSA with 2048 bits.
struct Pair {
    module: Module,
    session: CK_SESSION_HANDLE,
    public: CK_OBJECT_HANDLE,
    private: CK_OBJECT_HANDLE,
}

/// A function that signs, or recovers.
type Function = unsafe extern "C" fn(CK_SESSION_HANDLE, *mut u8, CK_ULONG, *mut u8, *mut CK_ULONG) -> CK_RV;

impl Pair {
    fn new(public: &[Value], private: &[Value]) -> Self {
        let module = loaded();
        let session = module.log_in();
        let size = [number(CKA_MODULUS_BITS, 2048), (CKA_PUBLIC_EXPONENT, vec![1, 0, 1])];
        let given = [&size[..], public].concat();
        let (mut of_public, mut of_private) = (attributes(&given), attributes(private));
        let (public_len, private_len) = (of_public.len() as CK_ULONG, of_private.len() as CK_ULONG);
        let mechanism = &mut bare(CKM_RSA_PKCS_KEY_PAIR_GEN);
        let (at, private_at) = (of_public.as_mut_ptr(), of_private.as_mut_ptr());
        let (mut public, mut private) = (0, 0);
        good!(
            module,
            C_GenerateKeyPair,
            session,
            mechanism,
            at,
            public_len,
            private_at,
            private_len,
            &mut public,
            &mut private,
        );
        Pair { module, session, public, private }
    }

    /// Signs, and returns the signature.
    fn sign(&self, mechanism: CK_MECHANISM_TYPE, data: &[u8]) -> Result<Vec<u8>, CK_RV> {
        begun(call!(self.module, C_SignRecoverInit, self.session, &mut bare(mechanism), self.private))?;
        self.run(self.module.0.C_SignRecover.unwrap(), data)
    }

    /// Recovers the message.
    fn recover(&self, mechanism: CK_MECHANISM_TYPE, signature: &[u8]) -> Result<Vec<u8>, CK_RV> {
        begun(call!(self.module, C_VerifyRecoverInit, self.session, &mut bare(mechanism), self.public))?;
        self.run(self.module.0.C_VerifyRecover.unwrap(), signature)
    }

    fn run(&self, function: Function, input: &[u8]) -> Result<Vec<u8>, CK_RV> {
        let (mut out, mut len) = (vec![0; 512], 512);
        let (at, input_len) = (input.as_ptr().cast_mut(), input.len() as CK_ULONG);
        // SAFETY: the arguments are what the standard asks for.
        match unsafe { function(self.session, at, input_len, out.as_mut_ptr(), &mut len) } {
            CKR_OK => Ok(out[..len as usize].to_vec()),
            value => Err(value),
        }
    }
}

fn begun(value: CK_RV) -> Result<(), CK_RV> {
    if value == CKR_OK { Ok(()) } else { Err(value) }
}

#[test]
fn a_message_comes_back_from_its_signature() {
    alone("recovery::a_message_comes_back_from_its_signature", || {
        let pair = Pair::new(&[], &[]);
        for text in [&b"a message"[..], b"", &[7; 245]] {
            let signature = pair.sign(CKM_RSA_PKCS, text).unwrap();
            assert_eq!(signature.len(), 256);
            assert_eq!(pair.recover(CKM_RSA_PKCS, &signature).unwrap(), text);
            // The same operation without recovery makes the same signature.
            good!(pair.module, C_SignInit, pair.session, &mut bare(CKM_RSA_PKCS), pair.private);
            assert_eq!(pair.run(pair.module.0.C_Sign.unwrap(), text).unwrap(), signature);
            let block = pair.recover(CKM_RSA_X_509, &signature).unwrap();
            assert_eq!(block.len(), 256);
            assert!(block.starts_with(&[0, 1, 0xff]) && block.ends_with(text));
            // What is signed without a padding is the number itself.
            assert_eq!(pair.sign(CKM_RSA_X_509, &block).unwrap(), signature);
        }
        // A short number has zeros in front, which is no padding.
        let signature = pair.sign(CKM_RSA_X_509, b"number").unwrap();
        let number = pair.recover(CKM_RSA_X_509, &signature).unwrap();
        assert_eq!(number, [&[0; 250][..], b"number"].concat());
        assert_eq!(pair.recover(CKM_RSA_PKCS, &signature), Err(CKR_SIGNATURE_INVALID));
        assert_eq!(pair.sign(CKM_RSA_PKCS, &[7; 246]), Err(CKR_DATA_LEN_RANGE));
        assert_eq!(pair.sign(CKM_RSA_X_509, &[0; 257]), Err(CKR_DATA_LEN_RANGE));
        assert_eq!(pair.recover(CKM_RSA_PKCS, &signature[1..]), Err(CKR_SIGNATURE_LEN_RANGE));
        assert_eq!(pair.recover(CKM_RSA_PKCS, &[0xff; 256]), Err(CKR_SIGNATURE_INVALID));
    });
}

#[test]
fn an_operation_stays_until_its_result_was_given() {
    alone("recovery::an_operation_stays_until_its_result_was_given", || {
        let pair = Pair::new(&[], &[]);
        let (module, session) = (pair.module, pair.session);
        let mut text = *b"a message";
        let (mut signature, mut len) = ([0; 256], 0);
        let none = ptr::null_mut();
        let idle = call!(module, C_SignRecover, session, text.as_mut_ptr(), 9, none, &mut len);
        assert_eq!(idle, CKR_OPERATION_NOT_INITIALIZED);
        good!(module, C_SignRecoverInit, session, &mut bare(CKM_RSA_PKCS), pair.private);
        let again = call!(module, C_SignRecoverInit, session, &mut bare(CKM_RSA_PKCS), pair.private);
        assert_eq!(again, CKR_OPERATION_ACTIVE);
        good!(module, C_SignRecover, session, text.as_mut_ptr(), 9, none, &mut len);
        assert_eq!(len, 256);
        len = 255;
        let short =
            call!(module, C_SignRecover, session, text.as_mut_ptr(), 9, signature.as_mut_ptr(), &mut len);
        assert_eq!((short, len), (CKR_BUFFER_TOO_SMALL, 256));
        good!(module, C_SignRecover, session, text.as_mut_ptr(), 9, signature.as_mut_ptr(), &mut len);
        good!(module, C_VerifyRecoverInit, session, &mut bare(CKM_RSA_PKCS), pair.public);
        let (mut out, mut out_len) = ([0; 9], 0);
        good!(module, C_VerifyRecover, session, signature.as_mut_ptr(), 256, none, &mut out_len);
        assert_eq!(out_len, 9);
        out_len = 8;
        let (at, to) = (signature.as_mut_ptr(), out.as_mut_ptr());
        let short = call!(module, C_VerifyRecover, session, at, 256, to, &mut out_len);
        assert_eq!((short, out_len, out), (CKR_BUFFER_TOO_SMALL, 9, [0; 9]));
        good!(module, C_VerifyRecover, session, at, 256, to, &mut out_len);
        assert_eq!(out, text);
        let over = call!(module, C_VerifyRecover, session, at, 256, to, &mut out_len);
        assert_eq!(over, CKR_OPERATION_NOT_INITIALIZED);
        // A mechanism that is NULL ends an operation, and so does C_SessionCancel.
        for signs in [true, false] {
            let init = || match signs {
                true => call!(module, C_SignRecoverInit, session, &mut bare(CKM_RSA_PKCS), pair.private),
                false => call!(module, C_VerifyRecoverInit, session, &mut bare(CKM_RSA_PKCS), pair.public),
            };
            assert_eq!((init(), init()), (CKR_OK, CKR_OPERATION_ACTIVE));
            good!(module, C_SessionCancel, session, CKF_SIGN_RECOVER | CKF_VERIFY_RECOVER);
            assert_eq!(init(), CKR_OK);
            match signs {
                true => good!(module, C_SignRecoverInit, session, ptr::null_mut(), 0),
                false => good!(module, C_VerifyRecoverInit, session, ptr::null_mut(), 0),
            }
            assert_eq!(init(), CKR_OK);
            good!(module, C_SessionCancel, session, CKF_SIGN_RECOVER | CKF_VERIFY_RECOVER);
        }
    });
}

#[test]
fn only_keys_and_mechanisms_that_allow_it_recover() {
    alone("recovery::only_keys_and_mechanisms_that_allow_it_recover", || {
        let off = |kind| (kind, vec![0]);
        // A key that does not sign recovers nothing either, unless its template says so.
        let pair = Pair::new(&[off(CKA_VERIFY)], &[off(CKA_SIGN)]);
        assert_eq!(pair.sign(CKM_RSA_PKCS, b"a"), Err(CKR_KEY_FUNCTION_NOT_PERMITTED));
        assert_eq!(pair.recover(CKM_RSA_PKCS, &[0; 256]), Err(CKR_KEY_FUNCTION_NOT_PERMITTED));
        for mechanism in [CKM_SHA256_RSA_PKCS, CKM_RSA_PKCS_PSS, CKM_RSA_PKCS_OAEP, CKM_ECDSA, CKM_AES_CBC] {
            assert_eq!(pair.sign(mechanism, b"a"), Err(CKR_MECHANISM_INVALID), "{mechanism:#x}");
        }
        let mut info = CK_MECHANISM_INFO::default();
        for (mechanism, recovers) in
            [(CKM_RSA_PKCS, true), (CKM_RSA_X_509, true), (CKM_SHA256_RSA_PKCS, false)]
        {
            good!(pair.module, C_GetMechanismInfo, 0, mechanism, &mut info);
            let flags = CKF_SIGN_RECOVER | CKF_VERIFY_RECOVER;
            assert_eq!(info.flags & flags, if recovers { flags } else { 0 }, "{mechanism:#x}");
        }
        let (_, curve) = pair.module.pair(pair.session, &[(CKA_SIGN_RECOVER, vec![1])]);
        let of_curve = Pair { private: curve, ..pair };
        assert_eq!(of_curve.sign(CKM_RSA_PKCS, b"a"), Err(CKR_KEY_TYPE_INCONSISTENT));
    });
}
