//! Signatures of ML-DSA by the C functions: hedging and contexts, and HashML-DSA as another implementation computes it.

use std::ptr;

use cryptoki_sys::*;
use millstream::hash::{Hash, digest};
use millstream_testkit::hex;

use crate::functions::{bare, number};
use crate::lattices::{Client, with};
use crate::support::alone;

pub fn context(hedge: CK_HEDGE_TYPE, context: &[u8]) -> CK_SIGN_ADDITIONAL_CONTEXT {
    CK_SIGN_ADDITIONAL_CONTEXT {
        hedgeVariant: hedge,
        pContext: context.as_ptr().cast_mut(),
        ulContextLen: context.len() as CK_ULONG,
    }
}

pub fn hashed(bytes: &[u8], hash: Hash) -> Vec<u8> {
    let mut out = vec![0; hash.output_len()];
    digest(millstream::features().unwrap(), hash, bytes, &mut out).unwrap();
    out
}

/// A function that makes a program's digests: its number, and the hash, where the library has it.
type Function = (CK_MECHANISM_TYPE, Option<Hash>);

/// HashML-DSA-44 of the seed 0, 1 to 31, the message and the context below, deterministic: the SHA-256 digests of the signatures, computed with
/// `dilithium-py` 1.5.1 and Python's `hashlib`. Beside each are the mechanism that hashes and the hash that a program may use instead.
const HASHED: [(Option<CK_MECHANISM_TYPE>, Option<Function>, &str); 12] = [
    (
        Some(CKM_HASH_ML_DSA_SHA224),
        Some((CKM_SHA224, Some(Hash::Sha224))),
        "bf0f2c7aaca6c4f362483421bdae1a66f47adfcf2083bf39633157e4f53cd240",
    ),
    (
        Some(CKM_HASH_ML_DSA_SHA256),
        Some((CKM_SHA256, Some(Hash::Sha256))),
        "a13871f776bff3d50d23760a35cfb0919788c980037d260375bb6f60276d48e1",
    ),
    (
        Some(CKM_HASH_ML_DSA_SHA384),
        Some((CKM_SHA384, Some(Hash::Sha384))),
        "31d0b7bac545fda46c489679e3865126217309d487710621247ae45bb9017429",
    ),
    (
        Some(CKM_HASH_ML_DSA_SHA512),
        Some((CKM_SHA512, Some(Hash::Sha512))),
        "52df0ec7aee06374a149c9bebd162bda14fe4d38657c84a8f5658fca84b9ccde",
    ),
    (
        Some(CKM_HASH_ML_DSA_SHA3_224),
        Some((CKM_SHA3_224, Some(Hash::Sha3_224))),
        "eb77188580f1e8284673ebe175526d4302216f446521ccaa60dc1f0372fbafee",
    ),
    (
        Some(CKM_HASH_ML_DSA_SHA3_256),
        Some((CKM_SHA3_256, Some(Hash::Sha3_256))),
        "145375cd5b7e54a73f642ce16c3058ea0e504364610a27762078132cc012895d",
    ),
    (
        Some(CKM_HASH_ML_DSA_SHA3_384),
        Some((CKM_SHA3_384, Some(Hash::Sha3_384))),
        "a6b1dd24cd34181eb229d73980ab9fd528dc6b9ca62ca707c7fbd85fbf3dae51",
    ),
    (
        Some(CKM_HASH_ML_DSA_SHA3_512),
        Some((CKM_SHA3_512, Some(Hash::Sha3_512))),
        "81022ecf68e1e1290b5ceae1761ff3f30f30cb47f6313dba9a22a261b784275d",
    ),
    (
        Some(CKM_HASH_ML_DSA_SHAKE128),
        None,
        "edcbb9ad6fb70171e63dc2c468a857787f3826fc8f3850f842fa869159a3e6c5",
    ),
    (
        Some(CKM_HASH_ML_DSA_SHAKE256),
        None,
        "bf45779846988b00e1a1c5002f640e9dcfae63615bbad23a3a8912aa2bf6b7ba",
    ),
    (
        None,
        Some((CKM_SHA512_256, Some(Hash::Sha512_256))),
        "16e13f237d54f7660c40b011a1c1fb0dafd5dc818bfd5f9aa233b3b6d82703e0",
    ),
    (None, Some((CKM_SHA512_224, None)), "41d70b2c99a7d6e909b848160c14e1575d374ba4178805e1373fab6883e9d8ba"),
];

const MESSAGE: &[u8] = b"a message that is hashed";

/// The SHA-512/224 digest of that message, which the module does not compute.
const SHA512_224: &str = "7f7541b6aef66be85f07133997f0df3411798489fa00399e749e68ad";

#[test]
fn digests_are_signed_as_another_implementation_does() {
    alone("ml_dsa::digests_are_signed_as_another_implementation_does", || {
        let client = Client::new();
        let seed: Vec<u8> = (0..32).collect();
        let key = client.private(CKK_ML_DSA, CKP_ML_DSA_44, &[(CKA_SEED, &seed)]).unwrap();
        let info = client.read(key, CKA_PUBLIC_KEY_INFO).unwrap();
        let value = info[info.len() - 1312..].to_vec();
        let known = hex("9f107644c1084526af3bc8098680b05499a2325a644e388fb4f970e058d19d46");
        assert_eq!(hashed(&value, Hash::Sha256), known);
        let public = [
            number(CKA_CLASS, CKO_PUBLIC_KEY),
            number(CKA_KEY_TYPE, CKK_ML_DSA),
            number(CKA_PARAMETER_SET, CKP_ML_DSA_44),
            (CKA_VALUE, value),
        ];
        let public = client.create(&public).unwrap();
        let given = context(CKH_DETERMINISTIC_REQUIRED, b"a context");
        for (by_module, by_program, expected) in HASHED {
            let expected = hex(expected);
            if let Some(mechanism) = by_module {
                let mechanism = with(mechanism, &given);
                let signature = client.sign(mechanism, key, MESSAGE).unwrap();
                assert_eq!(hashed(&signature, Hash::Sha256), expected, "{mechanism:?}");
                assert_eq!(client.verify(mechanism, public, MESSAGE, &signature), CKR_OK);
                assert_eq!(client.verify(mechanism, public, b"another", &signature), CKR_SIGNATURE_INVALID);
                assert_eq!(
                    client.verify(mechanism, public, MESSAGE, &signature[1..]),
                    CKR_SIGNATURE_LEN_RANGE
                );
                let pure = with(CKM_ML_DSA, &given);
                assert_eq!(client.verify(pure, public, MESSAGE, &signature), CKR_SIGNATURE_INVALID);
                assert_eq!(in_parts(client, mechanism, key), signature);
            }
            let Some((function, hash)) = by_program else { continue };
            let digested = hash.map_or_else(|| hex(SHA512_224), |hash| hashed(MESSAGE, hash));
            let given = CK_HASH_SIGN_ADDITIONAL_CONTEXT {
                hedgeVariant: given.hedgeVariant,
                pContext: given.pContext,
                ulContextLen: given.ulContextLen,
                hash: function,
            };
            let mechanism = with(CKM_HASH_ML_DSA, &given);
            let signature = client.sign(mechanism, key, &digested).unwrap();
            assert_eq!(hashed(&signature, Hash::Sha256), expected, "{function:#x}");
            assert_eq!(client.verify(mechanism, public, &digested, &signature), CKR_OK);
            assert_eq!(client.sign(mechanism, key, MESSAGE), Err(CKR_DATA_LEN_RANGE));
            assert_eq!(client.verify(mechanism, public, MESSAGE, &signature), CKR_DATA_LEN_RANGE);
        }
        for function in [CKM_MD5, CKM_SHA_1, CKM_SHA256_HMAC, CKM_ML_DSA, 0] {
            let given = CK_HASH_SIGN_ADDITIONAL_CONTEXT { hash: function, ..Default::default() };
            let refused = client.sign(with(CKM_HASH_ML_DSA, &given), key, &[0; 32]);
            assert_eq!(refused, Err(CKR_MECHANISM_PARAM_INVALID), "{function:#x}");
        }
        assert_eq!(client.sign(bare(CKM_HASH_ML_DSA), key, &[0; 32]), Err(CKR_MECHANISM_PARAM_INVALID));
    });
}

/// Signs the message in parts, by the functions for one message and by those for many.
fn in_parts(client: Client, mut mechanism: CK_MECHANISM, key: CK_OBJECT_HANDLE) -> Vec<u8> {
    let Client { module, session } = client;
    let (mut out, mut len) = (vec![0; 2420], 2420);
    good!(module, C_SignInit, session, &mut mechanism, key);
    for part in MESSAGE.chunks(7) {
        good!(module, C_SignUpdate, session, part.as_ptr().cast_mut(), part.len() as CK_ULONG);
    }
    good!(module, C_SignFinal, session, out.as_mut_ptr(), &mut len);
    let (mut again, none) = (vec![0; 2420], ptr::null_mut());
    good!(module, C_MessageSignInit, session, &mut mechanism, key);
    let (at, text_len) = (MESSAGE.as_ptr().cast_mut(), MESSAGE.len() as CK_ULONG);
    good!(module, C_SignMessage, session, none, 0, at, text_len, again.as_mut_ptr(), &mut len);
    good!(module, C_MessageSignFinal, session);
    assert_eq!((len, &again), (2420, &out));
    out
}

#[test]
fn hedging_and_contexts_are_what_the_parameter_says() {
    alone("ml_dsa::hedging_and_contexts_are_what_the_parameter_says", || {
        let client = Client::new();
        let set = [number(CKA_PARAMETER_SET, CKP_ML_DSA_65)];
        let [public, private] = client.pair(CKM_ML_DSA_KEY_PAIR_GEN, &set, &[]).unwrap();
        let twice = |given: &CK_SIGN_ADDITIONAL_CONTEXT| {
            [0; 2].map(|_| client.sign(with(CKM_ML_DSA, given), private, b"text").unwrap())
        };
        for (hedge, same) in
            [(CKH_HEDGE_PREFERRED, false), (CKH_HEDGE_REQUIRED, false), (CKH_DETERMINISTIC_REQUIRED, true)]
        {
            let given = context(hedge, b"here");
            let signatures = twice(&given);
            assert_eq!(signatures[0] == signatures[1], same, "{hedge}");
            // Whoever verifies need not know, and the value is ignored there.
            let ignored = context(77, b"here");
            let verify =
                |given, signature| client.verify(with(CKM_ML_DSA, given), public, b"text", signature);
            assert!(signatures.iter().all(|signature| verify(&ignored, signature) == CKR_OK));
            assert_eq!(verify(&context(hedge, b"there"), &signatures[0]), CKR_SIGNATURE_INVALID);
            assert_eq!(
                client.verify(bare(CKM_ML_DSA), public, b"text", &signatures[0]),
                CKR_SIGNATURE_INVALID
            );
        }
        // No parameter is the same as an empty context.
        let signature = client.sign(bare(CKM_ML_DSA), private, b"").unwrap();
        assert_eq!(signature.len(), 3309);
        assert_eq!(client.verify(with(CKM_ML_DSA, &context(0, b"")), public, b"", &signature), CKR_OK);
        let long = vec![7; 256];
        assert!(client.sign(with(CKM_ML_DSA, &context(0, &long[1..])), private, b"text").is_ok());
        for bad in [
            context(0, &long),
            context(3, b""),
            CK_SIGN_ADDITIONAL_CONTEXT { ulContextLen: 1, ..Default::default() },
            CK_SIGN_ADDITIONAL_CONTEXT { ulContextLen: CK_ULONG::MAX, ..context(0, b"x") },
        ] {
            let refused = client.sign(with(CKM_ML_DSA, &bad), private, b"text");
            assert_eq!(refused, Err(CKR_MECHANISM_PARAM_INVALID), "{bad:?}");
        }
        let other = CK_HASH_SIGN_ADDITIONAL_CONTEXT::default();
        for mechanism in [CKM_ML_DSA, CKM_HASH_ML_DSA_SHA256] {
            let refused = client.sign(with(mechanism, &other), private, b"text");
            assert_eq!(refused, Err(CKR_MECHANISM_PARAM_INVALID), "{mechanism:#x}");
        }
        let (_, of_curve) = client.module.pair(client.session, &[]);
        assert_eq!(client.sign(bare(CKM_ML_DSA), of_curve, b"text"), Err(CKR_KEY_TYPE_INCONSISTENT));
        assert_eq!(client.sign(bare(CKM_ECDSA), private, b"text"), Err(CKR_KEY_TYPE_INCONSISTENT));
        assert_eq!(client.sign(bare(CKM_ML_DSA), public, b"text"), Err(CKR_KEY_FUNCTION_NOT_PERMITTED));
    });
}
