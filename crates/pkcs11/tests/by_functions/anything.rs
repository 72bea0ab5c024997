//! Templates and parameters of any bytes, by the C functions.

use std::ptr;

use cryptoki_sys::*;
use millstream_testkit::Random;

use crate::functions::{loaded, number};
use crate::lattices::Client;
use crate::support::alone;

/// Programs pass any bytes as templates and parameters, with lengths that are true. Each call answers, none panics, and the session goes on.
#[test]
fn any_bytes_are_refused_or_taken() {
    alone("anything::any_bytes_are_refused_or_taken", || {
        let module = loaded();
        let session = module.log_in();
        let (public, private) = module.pair(session, &[]);
        let client = Client { module, session };
        let pairs = [
            (CKM_ML_KEM_KEY_PAIR_GEN, CKP_ML_KEM_512),
            (CKM_ML_DSA_KEY_PAIR_GEN, CKP_ML_DSA_44),
            (CKM_SLH_DSA_KEY_PAIR_GEN, CKP_SLH_DSA_SHA2_128F),
        ]
        .map(|(kind, set)| client.pair(kind, &[number(CKA_PARAMETER_SET, set)], &[]).unwrap());
        let [[for_kem, kem], [for_dsa, dsa], [for_slh_dsa, slh_dsa]] = pairs;
        let secret = module.generate(session, CKM_AES_KEY_GEN, &[number(CKA_VALUE_LEN, 32)]);
        let mut mechanisms = vec![0; 200];
        let mut count = 200;
        good!(module, C_GetMechanismList, 0, mechanisms.as_mut_ptr(), &mut count);
        mechanisms.truncate(count as usize);
        let mut random = Random::new(11);
        let mut below =
            move |most: usize| random.bytes(4).iter().fold(0, |n, byte| n * 256 + usize::from(*byte)) % most;
        // Parameters point here, to more bytes than any length in them says.
        let mut room = vec![4u8; 8192];
        let mut out = [0u8; 17_088];
        let (mut answered, mut of_sets) = ([0usize; 2], 0);
        for _ in 0..200_000 {
            let kind = mechanisms[below(mechanisms.len())];
            let lengths = [0, 4, 8, 12, 16, 24, 32, 40, 48, 56, 64, 72, 96];
            // RSA keys take seconds each, and a password's length may be behind a pointer.
            let fixed = [CKM_RSA_PKCS_KEY_PAIR_GEN, CKM_PKCS5_PBKD2].contains(&kind);
            let len = if fixed { 4 } else { lengths[below(lengths.len())] };
            let pointers: &[usize] = match kind {
                CKM_AES_GCM if len == 40 => &[0, 2],
                // The parameter of wrapping, and that of a message.
                CKM_AES_GCM if len == 56 || below(2) == 0 => &[0, 4],
                CKM_AES_GCM => &[0, 3],
                CKM_CHACHA20_POLY1305 => &[0, 2],
                CKM_RSA_PKCS_OAEP => &[3],
                CKM_ECDH1_DERIVE | CKM_ECDH1_COFACTOR_DERIVE => &[2, 4],
                CKM_HKDF_DERIVE | CKM_HKDF_DATA => &[3, 6],
                CKM_EDDSA => &[2],
                CKM_ML_DSA | CKM_HASH_ML_DSA => &[1],
                CKM_HASH_ML_DSA_SHA224..=CKM_HASH_ML_DSA_SHAKE256 => &[1],
                CKM_SLH_DSA | CKM_HASH_SLH_DSA => &[1],
                CKM_HASH_SLH_DSA_SHA224..=CKM_HASH_SLH_DSA_SHAKE256 => &[1],
                CKM_TLS12_MASTER_KEY_DERIVE | CKM_TLS12_MASTER_KEY_DERIVE_DH => &[0, 2, 4],
                CKM_TLS12_EXTENDED_MASTER_KEY_DERIVE | CKM_TLS12_EXTENDED_MASTER_KEY_DERIVE_DH => &[1, 3],
                CKM_TLS12_KEY_AND_MAC_DERIVE | CKM_TLS12_KEY_SAFE_DERIVE => &[4, 6, 8],
                CKM_TLS12_KDF | CKM_TLS_KDF => &[1, 3, 5, 7],
                _ => &[],
            };
            let words: Vec<usize> = (0..12)
                .map(|at| match (pointers.contains(&at), below(8)) {
                    (_, 0) => 0,
                    (true, _) => room.as_mut_ptr().addr() + below(8),
                    (false, 1) => usize::MAX - below(2),
                    (false, 2) => mechanisms[below(mechanisms.len())] as usize % 4096,
                    (false, 3) => below(4096),
                    (false, _) => below(33),
                })
                .collect();
            let parameter: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let mut mechanism = CK_MECHANISM {
                mechanism: kind,
                pParameter: parameter.as_ptr().cast_mut().cast(),
                ulParameterLen: len as CK_ULONG,
            };
            let kinds = [
                CKA_CLASS,
                CKA_KEY_TYPE,
                CKA_VALUE,
                CKA_VALUE_LEN,
                CKA_EC_PARAMS,
                CKA_EC_POINT,
                CKA_PARAMETER_SET,
                CKA_SEED,
                CKA_DECAPSULATE,
                CKA_ID,
                CKA_LABEL,
                CKA_SIGN,
                CKA_MODULUS,
                CKA_PUBLIC_EXPONENT,
                CKA_ALLOWED_MECHANISMS,
                CKA_EXTRACTABLE,
                CKA_SENSITIVE,
                CKA_START_DATE,
                CKA_CERTIFICATE_TYPE,
                CKA_SUBJECT,
                CKA_PRIVATE,
                0x7fff_0000,
                CK_ULONG::MAX,
            ];
            let mut template: Vec<CK_ATTRIBUTE> = (0..below(6))
                .map(|_| CK_ATTRIBUTE {
                    type_: kinds[below(kinds.len())],
                    // Values may be anywhere, and a length may stand at none.
                    pValue: if below(9) == 0 {
                        ptr::null_mut()
                    } else {
                        parameter[below(9)..].as_ptr().cast_mut().cast()
                    },
                    ulValueLen: [0, 1, 8, 10, 16, 32, 64, 65][below(8)],
                })
                .collect();
            let any = below(9) as CK_OBJECT_HANDLE;
            let keys = [public, private, secret, for_kem, kem, for_dsa, dsa, for_slh_dsa, slh_dsa, 0, any];
            let (key, other) = (keys[below(keys.len())], keys[below(keys.len())]);
            let (at, count) = (template.as_mut_ptr(), template.len() as CK_ULONG);
            let (mut made, mut made_too) = (0, 0);
            let mut out_len = [below(600), out.len()][below(2)] as CK_ULONG;
            let input = room.as_mut_ptr();
            let function = below(20);
            let value = match function {
                0 => call!(module, C_EncryptInit, session, &mut mechanism, key),
                1 => call!(module, C_DecryptInit, session, &mut mechanism, key),
                2 => call!(module, C_SignInit, session, &mut mechanism, key),
                3 => call!(module, C_VerifyInit, session, &mut mechanism, key),
                4 => call!(module, C_DigestInit, session, &mut mechanism),
                5 => call!(module, C_GenerateKey, session, &mut mechanism, at, count, &mut made),
                6 => call!(module, C_DeriveKey, session, &mut mechanism, key, at, count, &mut made),
                7 => call!(
                    module,
                    C_WrapKey,
                    session,
                    &mut mechanism,
                    key,
                    other,
                    out.as_mut_ptr(),
                    &mut out_len
                ),
                8 => {
                    call!(module, C_UnwrapKey, session, &mut mechanism, key, input, 40, at, count, &mut made)
                }
                9 => call!(module, C_CreateObject, session, at, count, &mut made),
                10 => call!(module, C_CopyObject, session, key, at, count, &mut made),
                11 => call!(module, C_FindObjectsInit, session, at, count),
                12 => call!(module, C_MessageEncryptInit, session, &mut mechanism, key),
                13 => call!(module, C_SignRecoverInit, session, &mut mechanism, key),
                14 => call!(module, C_VerifyRecoverInit, session, &mut mechanism, key),
                15 => call!(
                    module,
                    C_WrapKeyAuthenticated,
                    session,
                    &mut mechanism,
                    key,
                    other,
                    input,
                    below(40) as CK_ULONG,
                    out.as_mut_ptr(),
                    &mut out_len
                ),
                16 => call!(
                    module,
                    C_UnwrapKeyAuthenticated,
                    session,
                    &mut mechanism,
                    key,
                    input,
                    40,
                    at,
                    count,
                    input,
                    below(40) as CK_ULONG,
                    &mut made
                ),
                17 => call!(
                    module,
                    C_EncapsulateKey,
                    session,
                    &mut mechanism,
                    key,
                    at,
                    count,
                    out.as_mut_ptr(),
                    &mut out_len,
                    &mut made
                ),
                18 => call!(
                    module,
                    C_DecapsulateKey,
                    session,
                    &mut mechanism,
                    key,
                    at,
                    count,
                    input,
                    [768, below(2000)][below(2)] as CK_ULONG,
                    &mut made
                ),
                _ => call!(
                    module,
                    C_GenerateKeyPair,
                    session,
                    &mut mechanism,
                    at,
                    count,
                    at,
                    count,
                    &mut made,
                    &mut made_too
                ),
            };
            assert_ne!(value, CKR_GENERAL_ERROR, "{:#x}: {words:x?}", mechanism.mechanism);
            answered[usize::from(value == CKR_OK)] += 1;
            let signers = [for_dsa, dsa, for_slh_dsa, slh_dsa];
            let is_of_set =
                matches!(function, 17 | 18) || signers.contains(&key) && matches!(function, 2 | 3);
            of_sets += usize::from(value == CKR_OK && is_of_set);
            let data = below(200) as CK_ULONG;
            let values = [
                call!(module, C_Encrypt, session, input, data, out.as_mut_ptr(), &mut out_len),
                call!(module, C_Decrypt, session, input, data, out.as_mut_ptr(), &mut out_len),
                call!(module, C_Sign, session, input, data, out.as_mut_ptr(), &mut out_len),
                call!(module, C_Verify, session, input, data, out.as_mut_ptr(), 64),
                call!(module, C_SignRecover, session, input, data, out.as_mut_ptr(), &mut out_len),
                call!(module, C_VerifyRecover, session, input, data, out.as_mut_ptr(), &mut out_len),
            ];
            assert!(!values.contains(&CKR_GENERAL_ERROR), "{:#x}: {words:x?}", mechanism.mechanism);
            good!(module, C_SessionCancel, session, CK_FLAGS::MAX);
            for made in [made, made_too] {
                call!(module, C_DestroyObject, session, made);
            }
        }
        assert!(answered[0] > 10_000 && answered[1] > 2000 && of_sets > 20, "{answered:?}, {of_sets}");
        module.sign(session, private).unwrap();
    });
}
