//! TLS 1.2: master secrets, keys of connections, exported keys and the MACs of `Finished` messages, compared with what openssl derives.

use std::process::Command;
use std::ptr;

use cryptoki_sys::*;

use crate::functions::{Module, Value, attributes, loaded, number};
use crate::support::alone;

const CLIENT: &[u8; 32] = &[0xc1; 32];
const SERVER: &[u8; 32] = &[0x5e; 32];

fn randoms() -> CK_SSL3_RANDOM_DATA {
    CK_SSL3_RANDOM_DATA {
        pClientRandom: CLIENT.as_ptr().cast_mut(),
        ulClientRandomLen: 32,
        pServerRandom: SERVER.as_ptr().cast_mut(),
        ulServerRandomLen: 32,
    }
}

fn with<T>(mechanism: CK_MECHANISM_TYPE, parameter: &mut T) -> CK_MECHANISM {
    let len = size_of::<T>() as CK_ULONG;
    CK_MECHANISM { mechanism, pParameter: ptr::from_mut(parameter).cast(), ulParameterLen: len }
}

/// Returns what openssl's TLS1-PRF gives.
fn prf(digest: &str, secret: &[u8], label: &[u8], seed: &[u8], len: usize) -> Vec<u8> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let run = Command::new("openssl")
        .args(["kdf", "-binary", "-keylen", &len.to_string()])
        .args(["-kdfopt", &format!("digest:{digest}"), "-kdfopt", &format!("hexsecret:{}", hex(secret))])
        .args(["-kdfopt", &format!("hexseed:{}", hex(&[label, seed].concat())), "TLS1-PRF"])
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    run.stdout
}

fn secret(module: Module, session: CK_SESSION_HANDLE, value: &[u8], more: &[Value]) -> CK_OBJECT_HANDLE {
    let mut template = vec![
        number(CKA_CLASS, CKO_SECRET_KEY),
        number(CKA_KEY_TYPE, CKK_GENERIC_SECRET),
        (CKA_VALUE, value.to_vec()),
        (CKA_DERIVE, vec![1]),
        (CKA_SIGN, vec![1]),
        (CKA_VERIFY, vec![1]),
    ];
    template.extend_from_slice(more);
    let (mut template, mut key) = (attributes(&template), 0);
    good!(module, C_CreateObject, session, template.as_mut_ptr(), template.len() as CK_ULONG, &mut key);
    key
}

fn value(module: Module, session: CK_SESSION_HANDLE, key: CK_OBJECT_HANDLE) -> Vec<u8> {
    let mut bytes = vec![0; 256];
    let mut wanted = CK_ATTRIBUTE {
        type_: CKA_VALUE,
        pValue: bytes.as_mut_ptr().cast(),
        ulValueLen: bytes.len() as CK_ULONG,
    };
    good!(module, C_GetAttributeValue, session, key, &mut wanted, 1);
    bytes.truncate(wanted.ulValueLen as usize);
    bytes
}

/// A key that may be read, as programs ask for it that compute with it themselves.
fn readable() -> Vec<Value> {
    vec![(CKA_SENSITIVE, vec![0]), (CKA_EXTRACTABLE, vec![1])]
}

fn derive(
    module: Module,
    session: CK_SESSION_HANDLE,
    mechanism: &mut CK_MECHANISM,
    base: CK_OBJECT_HANDLE,
    template: &[Value],
) -> Result<CK_OBJECT_HANDLE, CK_RV> {
    let (mut template, mut key) = (attributes(template), 0);
    let count = template.len() as CK_ULONG;
    match call!(module, C_DeriveKey, session, mechanism, base, template.as_mut_ptr(), count, &mut key) {
        CKR_OK => Ok(key),
        value => Err(value),
    }
}

#[test]
fn master_secrets_are_those_of_openssl() {
    alone("tls::master_secrets_are_those_of_openssl", || {
        let module = loaded();
        let session = module.log_in();
        let mut premaster = vec![0x77; 48];
        premaster[..2].copy_from_slice(&[3, 3]);
        let base = secret(module, session, &premaster, &readable());
        let seed = [&CLIENT[..], SERVER].concat();
        for (hash, name) in [(CKM_SHA256, "SHA256"), (CKM_SHA384, "SHA384")] {
            let mut version = CK_VERSION { major: 0, minor: 0 };
            let mut given = CK_TLS12_MASTER_KEY_DERIVE_PARAMS {
                RandomInfo: randoms(),
                pVersion: &mut version,
                prfHashMechanism: hash,
            };
            let mut mechanism = with(CKM_TLS12_MASTER_KEY_DERIVE, &mut given);
            let key = derive(module, session, &mut mechanism, base, &readable()).unwrap();
            assert_eq!(value(module, session, key), prf(name, &premaster, b"master secret", &seed, 48));
            assert_eq!((version.major, version.minor), (3, 3));
            // One of Diffie-Hellman has no version in front, and any length.
            given.pVersion = ptr::null_mut();
            let short = secret(module, session, &[9; 32], &readable());
            let mut mechanism = with(CKM_TLS12_MASTER_KEY_DERIVE_DH, &mut given);
            let key = derive(module, session, &mut mechanism, short, &readable()).unwrap();
            assert_eq!(value(module, session, key), prf(name, &[9; 32], b"master secret", &seed, 48));
            let mut mechanism = with(CKM_TLS12_MASTER_KEY_DERIVE, &mut given);
            let refused = derive(module, session, &mut mechanism, short, &readable());
            assert_eq!(refused, Err(CKR_KEY_SIZE_RANGE));

            let mut hashed = [0xab; 48];
            let mut given = CK_TLS12_EXTENDED_MASTER_KEY_DERIVE_PARAMS {
                prfHashMechanism: hash,
                pSessionHash: hashed.as_mut_ptr(),
                ulSessionHashLen: 48,
                pVersion: ptr::null_mut(),
            };
            for mechanism in [CKM_TLS12_EXTENDED_MASTER_KEY_DERIVE, CKM_TLS12_EXTENDED_MASTER_KEY_DERIVE_DH] {
                let key =
                    derive(module, session, &mut with(mechanism, &mut given), base, &readable()).unwrap();
                let expected = prf(name, &premaster, b"extended master secret", &hashed, 48);
                assert_eq!(value(module, session, key), expected);
            }
        }
        // A premaster secret is made with its version in front.
        let mut version = CK_VERSION { major: 3, minor: 3 };
        let template = [readable(), vec![(CKA_DERIVE, vec![1])]].concat();
        let (mut template, mut key) = (attributes(&template), 0);
        let mut mechanism = with(CKM_TLS_PRE_MASTER_KEY_GEN, &mut version);
        good!(module, C_GenerateKey, session, &mut mechanism, template.as_mut_ptr(), 3, &mut key);
        let made = value(module, session, key);
        assert_eq!((made.len(), &made[..2]), (48, &[3, 3][..]));
        assert_ne!(made[2..], [0; 46]);
    });
}

#[test]
fn keys_of_a_connection_are_those_of_openssl() {
    alone("tls::keys_of_a_connection_are_those_of_openssl", || {
        let module = loaded();
        let session = module.log_in();
        let base = secret(module, session, &[0x4d; 48], &readable());
        let seed = [&SERVER[..], CLIENT].concat();
        let (mut client, mut server) = ([0; 16], [0; 16]);
        let none = CK_SSL3_KEY_MAT_OUT {
            hClientMacSecret: 0,
            hServerMacSecret: 0,
            hClientKey: 0,
            hServerKey: 0,
            pIVClient: client.as_mut_ptr(),
            pIVServer: server.as_mut_ptr(),
        };
        let mut places = none;
        let mut given = CK_TLS12_KEY_MAT_PARAMS {
            ulMacSizeInBits: 256,
            ulKeySizeInBits: 128,
            ulIVSizeInBits: 128,
            bIsExport: CK_FALSE,
            RandomInfo: randoms(),
            pReturnedKeyMaterial: &mut places,
            prfHashMechanism: CKM_SHA256,
        };
        let template = [number(CKA_KEY_TYPE, CKK_AES), number(CKA_VALUE_LEN, 16)];
        let mut template = attributes(&template);
        let mut mechanism = with(CKM_TLS12_KEY_AND_MAC_DERIVE, &mut given);
        let null = ptr::null_mut();
        good!(module, C_DeriveKey, session, &mut mechanism, base, template.as_mut_ptr(), 2, null);
        let expected = prf("SHA256", &[0x4d; 48], b"key expansion", &seed, 2 * (32 + 16 + 16));
        let handles =
            [places.hClientMacSecret, places.hServerMacSecret, places.hClientKey, places.hServerKey];
        let found: Vec<u8> = handles.into_iter().flat_map(|key| value(module, session, key)).collect();
        assert_eq!([&found[..], &client, &server].concat(), expected);

        // An AEAD has no keys for MACs. What the master secret does not give away, its keys don't.
        let kept =
            secret(module, session, &[0x4d; 48], &[(CKA_SENSITIVE, vec![1]), (CKA_EXTRACTABLE, vec![0])]);
        (places, given.ulMacSizeInBits, given.ulIVSizeInBits) = (none, 0, 32);
        given.pReturnedKeyMaterial = &mut places;
        let mut mechanism = with(CKM_TLS12_KEY_AND_MAC_DERIVE, &mut given);
        good!(module, C_DeriveKey, session, &mut mechanism, kept, template.as_mut_ptr(), 2, null);
        assert_eq!((places.hClientMacSecret, places.hServerMacSecret), (0, 0));
        let mut wanted = CK_ATTRIBUTE { type_: CKA_VALUE, pValue: ptr::null_mut(), ulValueLen: 0 };
        let asked = call!(module, C_GetAttributeValue, session, places.hClientKey, &mut wanted, 1);
        assert_eq!(asked, CKR_ATTRIBUTE_SENSITIVE);
        let lax = [number(CKA_KEY_TYPE, CKK_AES), (CKA_SENSITIVE, vec![0])];
        let mut lax = attributes(&lax);
        let refused = call!(module, C_DeriveKey, session, &mut mechanism, kept, lax.as_mut_ptr(), 2, null);
        assert_eq!(refused, CKR_TEMPLATE_INCONSISTENT);
        // No key of 24 bits is left behind by a derivation that fails at its second pair.
        let all = || module.find(session, &[]).len();
        let before = all();
        (given.ulMacSizeInBits, given.ulKeySizeInBits) = (256, 24);
        let mut mechanism = with(CKM_TLS12_KEY_AND_MAC_DERIVE, &mut given);
        let short = [number(CKA_KEY_TYPE, CKK_AES)];
        let mut short = attributes(&short);
        let refused = call!(module, C_DeriveKey, session, &mut mechanism, base, short.as_mut_ptr(), 1, null);
        assert_eq!((refused, all()), (CKR_ATTRIBUTE_VALUE_INVALID, before));
    });
}

#[test]
fn exported_keys_and_finished_messages_are_those_of_openssl() {
    alone("tls::exported_keys_and_finished_messages_are_those_of_openssl", || {
        let module = loaded();
        let session = module.log_in();
        let base = secret(module, session, &[0x4d; 48], &readable());
        let mut label = b"EXPERIMENTAL any".to_vec();
        let mut context = b"context".to_vec();
        let mut given = CK_TLS_KDF_PARAMS {
            prfMechanism: CKM_SHA384,
            pLabel: label.as_mut_ptr(),
            ulLabelLength: label.len() as CK_ULONG,
            RandomInfo: randoms(),
            pContextData: ptr::null_mut(),
            ulContextDataLength: 0,
        };
        let template = [readable(), vec![number(CKA_VALUE_LEN, 40)]].concat();
        let seed = [&CLIENT[..], SERVER].concat();
        let key = derive(module, session, &mut with(CKM_TLS12_KDF, &mut given), base, &template).unwrap();
        assert_eq!(value(module, session, key), prf("SHA384", &[0x4d; 48], &label, &seed, 40));
        (given.pContextData, given.ulContextDataLength) = (context.as_mut_ptr(), 7);
        let key = derive(module, session, &mut with(CKM_TLS_KDF, &mut given), base, &template).unwrap();
        let seed = [&seed[..], &[0, 7], &context].concat();
        assert_eq!(value(module, session, key), prf("SHA384", &[0x4d; 48], &label, &seed, 40));

        let mut hashed = [0x1f; 32];
        for (side, label) in [(1, b"server finished"), (2, b"client finished")] {
            let mut given =
                CK_TLS_MAC_PARAMS { prfHashMechanism: CKM_SHA256, ulMacLength: 12, ulServerOrClient: side };
            let mut mechanism = with(CKM_TLS_MAC, &mut given);
            let (mut tag, mut len) = ([0; 12], 12);
            good!(module, C_SignInit, session, &mut mechanism, base);
            good!(module, C_Sign, session, hashed.as_mut_ptr(), 32, tag.as_mut_ptr(), &mut len);
            assert_eq!(tag.to_vec(), prf("SHA256", &[0x4d; 48], label, &hashed, 12));
            good!(module, C_VerifyInit, session, &mut mechanism, base);
            good!(module, C_Verify, session, hashed.as_mut_ptr(), 32, tag.as_mut_ptr(), 12);
            tag[11] ^= 1;
            good!(module, C_VerifyInit, session, &mut mechanism, base);
            let refused = call!(module, C_Verify, session, hashed.as_mut_ptr(), 32, tag.as_mut_ptr(), 12);
            assert_eq!(refused, CKR_SIGNATURE_INVALID);
        }
        let mut given =
            CK_TLS_MAC_PARAMS { prfHashMechanism: CKM_SHA256, ulMacLength: 12, ulServerOrClient: 3 };
        let refused = call!(module, C_SignInit, session, &mut with(CKM_TLS_MAC, &mut given), base);
        assert_eq!(refused, CKR_MECHANISM_PARAM_INVALID);
    });
}
