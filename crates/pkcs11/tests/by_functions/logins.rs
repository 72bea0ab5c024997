//! What functions answer to those who are not logged in, are logged in as another, or have a session that only reads.
//!
//! Ref. PKCS #11 v3.2 §5.6 (sessions and logins), §5.1.6 (return values).

use std::ptr::null_mut;

use cryptoki_sys::*;

use crate::functions::{P256, Value, attributes, bare, loaded, number};
use crate::support::{PIN, SO_PIN, alone};

/// What needs a login, another one, or a session that writes.
#[test]
fn sessions_and_logins_allow_what_the_standard_says() {
    alone("logins::sessions_and_logins_allow_what_the_standard_says", || {
        let module = loaded();
        let reading = || {
            let mut handle = 0;
            good!(module, C_OpenSession, 0, CKF_SERIAL_SESSION, null_mut(), None, &mut handle);
            handle
        };
        let login = |session, user, pin: &str| {
            let mut pin = pin.as_bytes().to_vec();
            call!(module, C_Login, session, user, pin.as_mut_ptr(), pin.len() as CK_ULONG)
        };
        let mut handle = 0;
        let parallel = call!(module, C_OpenSession, 0, CKF_RW_SESSION, null_mut(), None, &mut handle);
        assert_eq!(parallel, CKR_SESSION_PARALLEL_NOT_SUPPORTED);
        let session = module.open();
        let (template, private) =
            ([number(CKA_VALUE_LEN, 16)], [number(CKA_VALUE_LEN, 16), (CKA_TOKEN, vec![1])]);
        let generate = |session, values: &[Value]| {
            let (mut template, mut key) = (attributes(values), 0);
            let (at, count) = (template.as_mut_ptr(), template.len() as CK_ULONG);
            let told = call!(module, C_GenerateKey, session, &mut bare(CKM_AES_KEY_GEN), at, count, &mut key);
            if told == CKR_OK { Ok(key) } else { Err(told) }
        };
        let (mut pin, mut new) = (*b"000000", *b"123");
        let set = |session, old: &mut [u8], new: &mut [u8]| {
            let (o, n) = (old.len() as CK_ULONG, new.len() as CK_ULONG);
            call!(module, C_SetPIN, session, old.as_mut_ptr(), o, new.as_mut_ptr(), n)
        };
        // Nobody is logged in.
        let private_one = [&template[..], &[(CKA_PRIVATE, vec![1])]].concat();
        assert_eq!(generate(session, &private_one), Err(CKR_USER_NOT_LOGGED_IN));
        assert_eq!(call!(module, C_Logout, session,), CKR_USER_NOT_LOGGED_IN);
        assert_eq!(call!(module, C_InitPIN, session, pin.as_mut_ptr(), 6), CKR_USER_NOT_LOGGED_IN);
        assert_eq!(set(session, &mut pin, &mut PIN.as_bytes().to_vec()), CKR_PIN_INCORRECT);
        for (user, answer) in
            [(7, CKR_USER_TYPE_INVALID), (CKU_CONTEXT_SPECIFIC, CKR_OPERATION_NOT_INITIALIZED)]
        {
            assert_eq!(login(session, user, PIN), answer);
        }
        for wrong in ["000000", "1", ""] {
            assert_eq!(login(session, CKU_USER, wrong), CKR_PIN_INCORRECT, "{wrong:?}");
        }
        // The officer has no sessions that only read.
        let only = reading();
        assert_eq!(login(session, CKU_SO, SO_PIN), CKR_SESSION_READ_ONLY_EXISTS);
        good!(module, C_CloseSession, only,);
        assert_eq!(login(session, CKU_SO, SO_PIN), CKR_OK);
        let refused = call!(module, C_OpenSession, 0, CKF_SERIAL_SESSION, null_mut(), None, &mut handle);
        assert_eq!(refused, CKR_SESSION_READ_WRITE_SO_EXISTS);
        assert_eq!(login(session, CKU_USER, PIN), CKR_USER_ANOTHER_ALREADY_LOGGED_IN);
        assert_eq!(generate(session, &private_one), Err(CKR_USER_NOT_LOGGED_IN));
        assert_eq!(call!(module, C_InitPIN, session, new.as_mut_ptr(), 3), CKR_PIN_LEN_RANGE);
        good!(module, C_Logout, session,);
        // The user, in a session that writes and in one that reads.
        assert_eq!(login(session, CKU_USER, PIN), CKR_OK);
        assert_eq!(login(session, CKU_USER, PIN), CKR_USER_ALREADY_LOGGED_IN);
        assert_eq!(login(session, CKU_SO, SO_PIN), CKR_USER_ANOTHER_ALREADY_LOGGED_IN);
        assert_eq!(set(session, &mut PIN.as_bytes().to_vec(), &mut new), CKR_PIN_LEN_RANGE);
        let kept = generate(session, &private).unwrap();
        let only = reading();
        let here = generate(only, &template).unwrap();
        assert_eq!(generate(only, &private), Err(CKR_SESSION_READ_ONLY));
        let mut made = 0;
        let stays = [(CKA_TOKEN, vec![1])];
        let label = [(CKA_LABEL, b"other".to_vec())];
        let values = [
            number(CKA_CLASS, CKO_SECRET_KEY),
            number(CKA_KEY_TYPE, CKK_AES),
            (CKA_VALUE, vec![1; 16]),
            (CKA_TOKEN, vec![1]),
        ];
        let (mut stays, mut label, mut values) =
            (attributes(&stays), attributes(&label), attributes(&values));
        let params = [(CKA_EC_PARAMS, P256.to_vec())];
        let (mut public, mut other) = (attributes(&params), 0);
        let (kind, at) = (&mut bare(CKM_EC_KEY_PAIR_GEN), stays.as_mut_ptr());
        let told = [
            call!(module, C_CreateObject, only, values.as_mut_ptr(), 4, &mut made),
            call!(module, C_CopyObject, only, here, at, 1, &mut made),
            call!(
                module,
                C_GenerateKeyPair,
                only,
                kind,
                public.as_mut_ptr(),
                1,
                at,
                1,
                &mut made,
                &mut other
            ),
            call!(module, C_SetAttributeValue, only, kept, label.as_mut_ptr(), 1),
            call!(module, C_DestroyObject, only, kept),
            set(only, &mut PIN.as_bytes().to_vec(), &mut PIN.as_bytes().to_vec()),
        ];
        assert_eq!(told, [CKR_SESSION_READ_ONLY; 6], "{told:x?}");
        // It reads and uses them, and has objects of its own.
        good!(module, C_EncryptInit, only, &mut bare(CKM_AES_ECB), kept);
        good!(module, C_SetAttributeValue, only, here, label.as_mut_ptr(), 1);
        good!(module, C_DestroyObject, only, here);
        // After the logout the private key is not there. Whether an operation with it goes on is left to the token.
        good!(module, C_Logout, session,);
        assert_eq!(
            call!(module, C_EncryptInit, session, &mut bare(CKM_AES_ECB), kept),
            CKR_KEY_HANDLE_INVALID
        );
    });
}
