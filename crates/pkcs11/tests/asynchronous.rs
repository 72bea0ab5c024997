//! Asynchronous sessions, by the functions themselves: one thread begins many signatures, and collects them.
#![allow(non_snake_case)]

mod support;

use std::ptr::{null_mut, without_provenance_mut};
use std::time::Instant;

use cryptoki_sys::*;
use support::{PIN, alone};

/// The functions of version 3.2, from the module that is linked into this test.
struct Functions(CK_FUNCTION_LIST_3_2);

macro_rules! call {
    ($functions:expr, $name:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the pointers are those of values that outlive the call, with their lengths.
        unsafe { ($functions.0.$name.unwrap())($($argument),*) }
    };
}

impl Functions {
    fn get() -> Self {
        let mut interface = null_mut();
        let mut version = CK_VERSION { major: 3, minor: 2 };
        // SAFETY: the arguments are a name that may be NULL, a version, and a place.
        let got =
            unsafe { millstream_pkcs11::abi::C_GetInterface(null_mut(), &mut version, &mut interface, 0) };
        assert_eq!(got, CKR_OK);
        // SAFETY: the interface of that version has such a list.
        let functions = Functions(unsafe { *(*interface).pFunctionList.cast::<CK_FUNCTION_LIST_3_2>() });
        assert_eq!(call!(functions, C_Initialize(null_mut())), CKR_OK);
        functions
    }

    fn session(&self, flags: CK_FLAGS) -> CK_SESSION_HANDLE {
        let mut session = 0;
        let flags = flags | CKF_SERIAL_SESSION | CKF_RW_SESSION;
        assert_eq!(call!(self, C_OpenSession(0, flags, null_mut(), None, &mut session)), CKR_OK);
        session
    }

    fn pair(
        &self,
        session: CK_SESSION_HANDLE,
        kind: CK_MECHANISM_TYPE,
        public: &mut CK_ATTRIBUTE,
    ) -> [u64; 2] {
        let (mut public_key, mut private_key) = (0, 0);
        let mut mechanism = mechanism(kind);
        let made = call!(
            self,
            C_GenerateKeyPair(
                session,
                &mut mechanism,
                public,
                1,
                null_mut(),
                0,
                &mut public_key,
                &mut private_key
            )
        );
        assert_eq!(made, CKR_OK);
        [public_key, private_key]
    }

    fn begin(
        &self,
        session: CK_SESSION_HANDLE,
        kind: CK_MECHANISM_TYPE,
        key: u64,
        text: &[u8],
        out: &mut [u8],
    ) -> CK_RV {
        let mut mechanism = mechanism(kind);
        assert_eq!(call!(self, C_SignInit(session, &mut mechanism, key)), CKR_OK);
        let mut len = out.len() as CK_ULONG;
        let text = (text.as_ptr().cast_mut(), text.len() as CK_ULONG);
        call!(self, C_Sign(session, text.0, text.1, out.as_mut_ptr(), &mut len))
    }

    fn complete(&self, session: CK_SESSION_HANDLE, name: &[u8]) -> (CK_RV, CK_ASYNC_DATA) {
        let mut data =
            CK_ASYNC_DATA { ulVersion: 0, pValue: null_mut(), ulValue: 0, hObject: 0, hAdditionalObject: 0 };
        (call!(self, C_AsyncComplete(session, name.as_ptr().cast_mut(), &mut data)), data)
    }

    fn verify(
        &self,
        session: CK_SESSION_HANDLE,
        kind: CK_MECHANISM_TYPE,
        key: u64,
        text: &[u8],
        signature: &[u8],
    ) {
        let mut mechanism = mechanism(kind);
        assert_eq!(call!(self, C_VerifyInit(session, &mut mechanism, key)), CKR_OK);
        let (text, signature) =
            ((text.as_ptr().cast_mut(), text.len()), (signature.as_ptr().cast_mut(), signature.len()));
        assert_eq!(
            call!(self, C_Verify(session, text.0, text.1 as CK_ULONG, signature.0, signature.1 as CK_ULONG)),
            CKR_OK
        );
    }
}

fn mechanism(kind: CK_MECHANISM_TYPE) -> CK_MECHANISM {
    CK_MECHANISM { mechanism: kind, pParameter: null_mut(), ulParameterLen: 0 }
}

fn log_in(functions: &Functions, session: CK_SESSION_HANDLE) {
    let pin = PIN.as_bytes();
    let logged = call!(functions, C_Login(session, CKU_USER, pin.as_ptr().cast_mut(), pin.len() as CK_ULONG));
    assert_eq!(logged, CKR_OK);
}

const SIGN: &[u8] = b"C_Sign\0";

#[test]
fn one_thread_collects_what_it_began_in_many_sessions() {
    alone("one_thread_collects_what_it_began_in_many_sessions", || {
        let functions = Functions::get();
        let plain = functions.session(0);
        log_in(&functions, plain);
        let mut bits: CK_ULONG = 2048;
        let mut modulus = CK_ATTRIBUTE {
            type_: CKA_MODULUS_BITS,
            pValue: (&raw mut bits).cast(),
            ulValueLen: size_of::<CK_ULONG>() as CK_ULONG,
        };
        let rsa = functions.pair(plain, CKM_RSA_PKCS_KEY_PAIR_GEN, &mut modulus);
        let mut params = *b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";
        let mut curve = CK_ATTRIBUTE {
            type_: CKA_EC_PARAMS,
            pValue: params.as_mut_ptr().cast(),
            ulValueLen: params.len() as CK_ULONG,
        };
        let p256 = functions.pair(plain, CKM_EC_KEY_PAIR_GEN, &mut curve);
        let [dsa, hashes] =
            [(CKM_ML_DSA_KEY_PAIR_GEN, CKP_ML_DSA_65), (CKM_SLH_DSA_KEY_PAIR_GEN, CKP_SLH_DSA_SHA2_128F)]
                .map(|(generate, mut set)| {
                    let mut set = CK_ATTRIBUTE {
                        type_: CKA_PARAMETER_SET,
                        pValue: (&raw mut set).cast(),
                        ulValueLen: size_of::<CK_ULONG>() as CK_ULONG,
                    };
                    functions.pair(plain, generate, &mut set)
                });
        let sessions: Vec<_> = (0..64).map(|_| functions.session(CKF_ASYNC_SESSION)).collect();
        for (kind, keys, bytes) in [
            (CKM_SHA256_RSA_PKCS, rsa, 256),
            (CKM_ECDSA_SHA256, p256, 64),
            (CKM_RSA_X_509, rsa, 256),
            (CKM_ML_DSA, dsa, 3309),
            (CKM_HASH_ML_DSA_SHAKE256, dsa, 3309),
            (CKM_SLH_DSA, hashes, 17_088),
            (CKM_HASH_SLH_DSA_SHA256, hashes, 17_088),
        ] {
            let mut places = vec![vec![0; bytes]; sessions.len()];
            let begin = Instant::now();
            for (i, (session, place)) in sessions.iter().zip(&mut places).enumerate() {
                let text = format!("message {i}");
                assert_eq!(functions.begin(*session, kind, keys[1], text.as_bytes(), place), CKR_PENDING);
            }
            assert!(
                places.iter().all(|place| place.iter().all(|byte| *byte == 0)),
                "nothing was written yet"
            );
            // A second operation has to wait, and another function's name means nothing.
            let mut again = mechanism(kind);
            assert_eq!(call!(functions, C_SignInit(sessions[0], &mut again, keys[1])), CKR_OPERATION_ACTIVE);
            assert_eq!(functions.complete(sessions[0], b"C_SignFinal\0").0, CKR_OPERATION_NOT_INITIALIZED);
            let mut id = 0;
            let saved = call!(functions, C_AsyncGetID(sessions[0], SIGN.as_ptr().cast_mut(), &mut id));
            assert_eq!(saved, CKR_STATE_UNSAVEABLE);
            for (session, place) in sessions.iter().zip(&places).rev() {
                let (value, data) = functions.complete(*session, SIGN);
                assert_eq!(
                    (value, data.pValue, data.ulValue),
                    (CKR_OK, place.as_ptr().cast_mut(), bytes as CK_ULONG)
                );
            }
            let gathered = begin.elapsed();
            assert_eq!(functions.complete(sessions[0], SIGN).0, CKR_OPERATION_NOT_INITIALIZED);
            for (i, place) in places.iter().enumerate() {
                functions.verify(plain, kind, keys[0], format!("message {i}").as_bytes(), place);
            }
            let begin = Instant::now();
            for (i, place) in places.iter_mut().enumerate() {
                let text = format!("message {i}");
                assert_eq!(functions.begin(plain, kind, keys[1], text.as_bytes(), place), CKR_OK);
            }
            println!("{kind:#x}: {:?} gathered, {:?} one after another", gathered / 64, begin.elapsed() / 64);
        }
    });
}

#[test]
fn a_session_that_ends_takes_its_signature_with_it() {
    alone("a_session_that_ends_takes_its_signature_with_it", || {
        let functions = Functions::get();
        let plain = functions.session(0);
        log_in(&functions, plain);
        let mut params = *b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";
        let mut curve = CK_ATTRIBUTE {
            type_: CKA_EC_PARAMS,
            pValue: params.as_mut_ptr().cast(),
            ulValueLen: params.len() as CK_ULONG,
        };
        let keys = functions.pair(plain, CKM_EC_KEY_PAIR_GEN, &mut curve);
        let (gone, cancelled, stays) = (
            functions.session(CKF_ASYNC_SESSION),
            functions.session(CKF_ASYNC_SESSION),
            functions.session(CKF_ASYNC_SESSION),
        );
        let mut places = vec![[0; 64]; 3];
        for (session, place) in [gone, cancelled, stays].into_iter().zip(&mut places) {
            assert_eq!(functions.begin(session, CKM_ECDSA_SHA256, keys[1], b"text", place), CKR_PENDING);
        }
        assert_eq!(call!(functions, C_CloseSession(gone)), CKR_OK);
        assert_eq!(call!(functions, C_SessionCancel(cancelled, CKF_SIGN)), CKR_OK);
        assert_eq!(functions.complete(cancelled, SIGN).0, CKR_OPERATION_NOT_INITIALIZED);
        assert_eq!(functions.complete(stays, SIGN).0, CKR_OK);
        assert_eq!((places[0], places[1]), ([0; 64], [0; 64]));
        functions.verify(plain, CKM_ECDSA_SHA256, keys[0], b"text", &places[2]);
        // A buffer that is too small is told at once, and the operation goes on.
        let mut again = mechanism(CKM_ECDSA_SHA256);
        assert_eq!(call!(functions, C_SignInit(stays, &mut again, keys[1])), CKR_OK);
        let mut len = 3;
        let text = b"text".as_ptr().cast_mut();
        assert_eq!(
            call!(functions, C_Sign(stays, text, 4, places[2].as_mut_ptr(), &mut len)),
            CKR_BUFFER_TOO_SMALL
        );
        assert_eq!(len, 64);
        assert_eq!(call!(functions, C_Sign(stays, text, 4, places[2].as_mut_ptr(), &mut len)), CKR_PENDING);
        assert_eq!(functions.complete(stays, SIGN).0, CKR_OK);
        let joined =
            call!(functions, C_AsyncJoin(stays, SIGN.as_ptr().cast_mut(), 1, without_provenance_mut(0), 0));
        assert_eq!(joined, CKR_SAVED_STATE_INVALID);
        assert_eq!(call!(functions, C_Finalize(null_mut())), CKR_OK);
        assert_eq!(functions.complete(stays, SIGN).0, CKR_CRYPTOKI_NOT_INITIALIZED);
    });
}
