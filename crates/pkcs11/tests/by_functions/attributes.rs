//! Attributes that the module itself answers for: check values, unique identifiers, allowed mechanisms, and the history of a key.
//!
//! Ref. PKCS #11 v3.2 §4.4 (objects), §4.7 (keys), §4.10.1 (check values).

use std::ptr::null_mut;

use cryptoki_sys::*;

use crate::functions::{Module, Value, attributes, bare, loaded, number};
use crate::support::alone;

const YES: [u8; 1] = [1];
const NO: [u8; 1] = [0];

fn create(module: Module, session: CK_SESSION_HANDLE, values: &[Value]) -> Result<CK_OBJECT_HANDLE, CK_RV> {
    let (mut template, mut object) = (attributes(values), 0);
    let count = template.len() as CK_ULONG;
    match call!(module, C_CreateObject, session, template.as_mut_ptr(), count, &mut object) {
        CKR_OK => Ok(object),
        value => Err(value),
    }
}

/// Returns the template of a secret key.
fn secret(key_type: CK_KEY_TYPE, value: &[u8], more: &[Value]) -> Vec<Value> {
    let values =
        [number(CKA_CLASS, CKO_SECRET_KEY), number(CKA_KEY_TYPE, key_type), (CKA_VALUE, value.to_vec())];
    [&values[..], more].concat()
}

fn read(
    module: Module,
    session: CK_SESSION_HANDLE,
    object: CK_OBJECT_HANDLE,
    kind: CK_ATTRIBUTE_TYPE,
) -> Result<Vec<u8>, CK_RV> {
    let mut value = vec![0; 512];
    let mut wanted = CK_ATTRIBUTE { type_: kind, pValue: value.as_mut_ptr().cast(), ulValueLen: 512 };
    match call!(module, C_GetAttributeValue, session, object, &mut wanted, 1) {
        CKR_OK => Ok(value[..wanted.ulValueLen as usize].to_vec()),
        value => Err(value),
    }
}

fn set(
    module: Module,
    session: CK_SESSION_HANDLE,
    object: CK_OBJECT_HANDLE,
    kind: CK_ATTRIBUTE_TYPE,
    value: &[u8],
) -> CK_RV {
    let values = [(kind, value.to_vec())];
    let mut template = attributes(&values);
    call!(module, C_SetAttributeValue, session, object, template.as_mut_ptr(), 1)
}

fn copy(
    module: Module,
    session: CK_SESSION_HANDLE,
    object: CK_OBJECT_HANDLE,
    values: &[Value],
) -> Result<CK_OBJECT_HANDLE, CK_RV> {
    let (mut template, mut made) = (attributes(values), 0);
    let count = template.len() as CK_ULONG;
    match call!(module, C_CopyObject, session, object, template.as_mut_ptr(), count, &mut made) {
        CKR_OK => Ok(made),
        value => Err(value),
    }
}

#[test]
fn check_values_are_those_of_the_standard() {
    alone("attributes::check_values_are_those_of_the_standard", || {
        let module = loaded();
        let session = module.log_in();
        // FIPS 197's cipher of a block of zeros under a key of zeros, DES's under its odd form, and SHA-1 of "abc".
        let cases: [(CK_KEY_TYPE, &[u8], [u8; 3]); 4] = [
            (CKK_AES, &[0; 16], [0x66, 0xe9, 0x4b]),
            (CKK_AES, &[0; 32], [0xdc, 0x95, 0xc0]),
            (CKK_DES3, &[1; 24], [0x8c, 0xa6, 0x4d]),
            (CKK_GENERIC_SECRET, b"abc", [0xa9, 0x99, 0x3e]),
        ];
        for (key_type, value, check) in cases {
            let key = create(module, session, &secret(key_type, value, &[])).unwrap();
            assert_eq!(read(module, session, key, CKA_CHECK_VALUE), Ok(check.to_vec()), "{key_type:#x}");
            // The right one may be given, and another may not.
            let given = |check: &[u8]| secret(key_type, value, &[(CKA_CHECK_VALUE, check.to_vec())]);
            create(module, session, &given(&check)).unwrap();
            for wrong in [[check[0] ^ 1, check[1], check[2]].as_slice(), &check[..2]] {
                assert_eq!(create(module, session, &given(wrong)), Err(CKR_ATTRIBUTE_VALUE_INVALID));
            }
            // An empty one is for who wants none, also later.
            let without = create(module, session, &given(&[])).unwrap();
            assert_eq!(read(module, session, without, CKA_CHECK_VALUE), Ok(vec![]));
            assert_eq!(set(module, session, key, CKA_CHECK_VALUE, &[1, 2, 3]), CKR_ATTRIBUTE_READ_ONLY);
            assert_eq!(set(module, session, key, CKA_CHECK_VALUE, &[]), CKR_OK);
            assert_eq!(read(module, session, key, CKA_CHECK_VALUE), Ok(vec![]));
        }
    });
}

#[test]
fn an_identifier_is_of_one_object_alone() {
    alone("attributes::an_identifier_is_of_one_object_alone", || {
        let module = loaded();
        let session = module.log_in();
        let stays = [number(CKA_VALUE_LEN, 16), (CKA_TOKEN, YES.to_vec())];
        let (token, other) = (
            module.generate(session, CKM_AES_KEY_GEN, &stays),
            module.generate(session, CKM_AES_KEY_GEN, &[number(CKA_VALUE_LEN, 16)]),
        );
        let (public, private) = module.pair(session, &[(CKA_TOKEN, YES.to_vec())]);
        let copied = copy(module, session, token, &[(CKA_TOKEN, NO.to_vec())]).unwrap();
        let objects = [token, other, public, private, copied];
        let names = objects.map(|object| read(module, session, object, CKA_UNIQUE_ID).unwrap());
        for (object, name) in objects.iter().zip(&names) {
            assert!(!name.is_empty());
            assert_eq!(module.find(session, &[(CKA_UNIQUE_ID, name.clone())]), [*object]);
            assert_eq!(set(module, session, *object, CKA_UNIQUE_ID, b"mine"), CKR_ATTRIBUTE_READ_ONLY);
        }
        let mine = secret(CKK_AES, &[7; 16], &[(CKA_UNIQUE_ID, b"mine".to_vec())]);
        assert_eq!(create(module, session, &mine), Err(CKR_ATTRIBUTE_READ_ONLY));
        // An object of the token keeps its identifier, whoever looks for it.
        good!(module, C_Finalize, null_mut());
        module.initialise();
        let session = module.log_in();
        let again = module.find(session, &[(CKA_UNIQUE_ID, names[0].clone())]);
        assert_eq!(again.len(), 1);
        assert!(module.find(session, &[(CKA_UNIQUE_ID, names[1].clone())]).is_empty());
    });
}

#[test]
fn a_key_is_used_by_the_mechanisms_that_it_allows() {
    alone("attributes::a_key_is_used_by_the_mechanisms_that_it_allows", || {
        let module = loaded();
        let session = module.log_in();
        let list = [CKM_AES_ECB, CKM_AES_CMAC].map(CK_ULONG::to_ne_bytes).concat();
        for in_token in [NO, YES] {
            let template = [
                number(CKA_VALUE_LEN, 16),
                (CKA_ALLOWED_MECHANISMS, list.clone()),
                (CKA_TOKEN, in_token.to_vec()),
            ];
            let key = module.generate(session, CKM_AES_KEY_GEN, &template);
            assert_eq!(read(module, session, key, CKA_ALLOWED_MECHANISMS), Ok(list.clone()));
            let mut vector = [0; 16];
            let mut cbc = CK_MECHANISM {
                mechanism: CKM_AES_CBC,
                pParameter: vector.as_mut_ptr().cast(),
                ulParameterLen: 16,
            };
            let told = [
                call!(module, C_EncryptInit, session, &mut cbc, key),
                call!(module, C_EncryptInit, session, &mut bare(CKM_AES_ECB), key),
                call!(module, C_SignInit, session, &mut bare(CKM_AES_CMAC), key),
                call!(module, C_VerifyInit, session, &mut bare(CKM_AES_CMAC_GENERAL), key),
                call!(module, C_MessageEncryptInit, session, &mut bare(CKM_AES_GCM), key),
            ];
            let refused = CKR_MECHANISM_INVALID;
            assert_eq!(told, [refused, CKR_OK, CKR_OK, refused, refused], "{told:x?}");
            good!(module, C_SessionCancel, session, CK_ULONG::MAX);
            // The list is the key's for good.
            let more = [CKM_AES_CBC].map(CK_ULONG::to_ne_bytes).concat();
            assert_eq!(set(module, session, key, CKA_ALLOWED_MECHANISMS, &more), CKR_ATTRIBUTE_READ_ONLY);
            let wider = copy(module, session, key, &[(CKA_ALLOWED_MECHANISMS, more)]);
            assert_eq!(wider, Err(CKR_ATTRIBUTE_READ_ONLY));
        }
        let odd = secret(CKK_AES, &[7; 16], &[(CKA_ALLOWED_MECHANISMS, list[..9].to_vec())]);
        assert_eq!(create(module, session, &odd), Err(CKR_ATTRIBUTE_VALUE_INVALID));
    });
}

#[test]
fn the_history_of_a_key_is_told_as_it_was() {
    alone("attributes::the_history_of_a_key_is_told_as_it_was", || {
        let module = loaded();
        let session = module.log_in();
        let kinds = [CKA_SENSITIVE, CKA_ALWAYS_SENSITIVE, CKA_EXTRACTABLE, CKA_NEVER_EXTRACTABLE, CKA_LOCAL];
        let history = |key| kinds.map(|kind| read(module, session, key, kind) == Ok(YES.to_vec()));
        let flags = |sensitive: [u8; 1], extractable: [u8; 1]| {
            [(CKA_SENSITIVE, sensitive.to_vec()), (CKA_EXTRACTABLE, extractable.to_vec())]
        };
        let made = |sensitive, extractable| {
            let template = [&[number(CKA_VALUE_LEN, 16)][..], &flags(sensitive, extractable)].concat();
            module.generate(session, CKM_AES_KEY_GEN, &template)
        };
        let kept = made(YES, NO);
        assert_eq!(history(kept), [true, true, false, true, true]);
        // A key that was open once has that history for good.
        let open = made(NO, YES);
        assert_eq!(history(open), [false, false, true, false, true]);
        assert_eq!(set(module, session, open, CKA_SENSITIVE, &YES), CKR_OK);
        assert_eq!(set(module, session, open, CKA_EXTRACTABLE, &NO), CKR_OK);
        assert_eq!(history(open), [true, false, false, false, true]);
        assert_eq!(read(module, session, open, CKA_VALUE), Err(CKR_ATTRIBUTE_SENSITIVE));
        // There is no way back, neither by a change nor by a copy, and the history is not for programs to write.
        for (kind, value) in [(CKA_SENSITIVE, NO), (CKA_EXTRACTABLE, YES)] {
            assert_eq!(set(module, session, open, kind, &value), CKR_ATTRIBUTE_READ_ONLY);
            let copied = copy(module, session, open, &[(kind, value.to_vec())]);
            assert_eq!(copied, Err(CKR_TEMPLATE_INCONSISTENT));
        }
        for (kind, other) in [(CKA_ALWAYS_SENSITIVE, YES), (CKA_NEVER_EXTRACTABLE, YES), (CKA_LOCAL, NO)] {
            assert_eq!(set(module, session, open, kind, &other), CKR_ATTRIBUTE_READ_ONLY);
            let said = secret(CKK_AES, &[7; 16], &[(kind, YES.to_vec())]);
            assert_eq!(create(module, session, &said), Err(CKR_ATTRIBUTE_READ_ONLY));
        }
        // A copy has the history of its original, and a key that was given was outside before.
        assert_eq!(history(copy(module, session, kept, &[]).unwrap())[..4], [true, true, false, true]);
        let given = create(module, session, &secret(CKK_AES, &[7; 16], &flags(YES, NO))).unwrap();
        assert_eq!(history(given), [true, false, false, false, false]);
    });
}

/// Objects of a session that nobody is logged in for: they can be made and used, unless the program says that they are private.
#[test]
fn a_session_without_a_login_has_objects_of_its_own() {
    alone("attributes::a_session_without_a_login_has_objects_of_its_own", || {
        let module = loaded();
        let session = module.open();
        let key = create(module, session, &secret(CKK_AES, &[7; 16], &[])).unwrap();
        let made = module.generate(session, CKM_AES_KEY_GEN, &[number(CKA_VALUE_LEN, 16)]);
        for key in [key, made] {
            assert_eq!(read(module, session, key, CKA_PRIVATE), Ok(NO.to_vec()));
            good!(module, C_EncryptInit, session, &mut bare(CKM_AES_ECB), key);
            good!(module, C_EncryptInit, session, null_mut(), 0);
        }
        for kind in [CKA_PRIVATE, CKA_TOKEN] {
            let wanted = secret(CKK_AES, &[7; 16], &[(kind, YES.to_vec())]);
            assert_eq!(create(module, session, &wanted), Err(CKR_USER_NOT_LOGGED_IN), "{kind:#x}");
        }
        // With a login the default is private, and the object goes with the logout.
        let session = module.log_in();
        let private = create(module, session, &secret(CKK_AES, &[7; 16], &[])).unwrap();
        assert_eq!(read(module, session, private, CKA_PRIVATE), Ok(YES.to_vec()));
        good!(module, C_Logout, session,);
        assert_eq!(read(module, session, private, CKA_PRIVATE), Err(CKR_OBJECT_HANDLE_INVALID));
        assert_eq!(read(module, session, key, CKA_PRIVATE), Ok(NO.to_vec()));
    });
}
