//! SLH-DSA by the C functions: keys, and signatures as another implementation computes them.

use cryptoki_sys::*;
use millstream::hash::Hash;
use millstream_testkit::hex;

use crate::functions::{bare, number};
use crate::lattices::{Client, with};
use crate::ml_dsa::{context, hashed};
use crate::support::alone;

const MESSAGE: &[u8] = b"a message that is hashed";

/// The root of the key of SLH-DSA-SHAKE-128f whose three seeds count from 0 on, as OpenSSL 4.0.3 computes it.
const ROOT: &str = "a90e4715b9a925c332801767fd786371";

/// A mechanism that signs a message, and the hash of a program that makes the digest instead.
type Signed = (CK_MECHANISM_TYPE, Option<(CK_MECHANISM_TYPE, Hash)>, &'static str);

/// Signatures of that key over the message within the context below, deterministic: their SHA-256 digests, computed with OpenSSL 4.0.3, of
/// HashSLH-DSA with Python's `hashlib` and an encoding of our own (FIPS 205 §10.2.2).
const SIGNED: [Signed; 11] = [
    (CKM_SLH_DSA, None, "917b62aa01778b8941ef27dff25eb3f3bbb0f4ed3e196729beb3e3f70cc72ac0"),
    (
        CKM_HASH_SLH_DSA_SHA224,
        Some((CKM_SHA224, Hash::Sha224)),
        "923102aa0910e16f77084da4411c513c2a9b89aea51d9ddefccf50c35fa23ec0",
    ),
    (
        CKM_HASH_SLH_DSA_SHA256,
        Some((CKM_SHA256, Hash::Sha256)),
        "570fd23b455b4cab61405b72395c886fea77ee79904db41ac226df7cfe9dbc83",
    ),
    (
        CKM_HASH_SLH_DSA_SHA384,
        Some((CKM_SHA384, Hash::Sha384)),
        "9f5864846cd6b9fe1b52e528614bfb354523620f78377b6aa370e9942cc685c8",
    ),
    (
        CKM_HASH_SLH_DSA_SHA512,
        Some((CKM_SHA512, Hash::Sha512)),
        "ed30052c714515d2653c8213daed9c0ccec08ce74d009030d8aca53806cd3398",
    ),
    (
        CKM_HASH_SLH_DSA_SHA3_224,
        Some((CKM_SHA3_224, Hash::Sha3_224)),
        "2315452afe9cadb47a13aa98130756a69b4d9ca30bc6e93485a78ef640e96761",
    ),
    (
        CKM_HASH_SLH_DSA_SHA3_256,
        Some((CKM_SHA3_256, Hash::Sha3_256)),
        "264acc36757f98c8e95c68e326be9b08e63394d94941dc9ab45364d89c7ce7bb",
    ),
    (
        CKM_HASH_SLH_DSA_SHA3_384,
        Some((CKM_SHA3_384, Hash::Sha3_384)),
        "1cc25e4984234d0a6d12985c80a7007ee90349bbbb58fcb8baf8fdede6aaa3eb",
    ),
    (
        CKM_HASH_SLH_DSA_SHA3_512,
        Some((CKM_SHA3_512, Hash::Sha3_512)),
        "38d48fdbd7bf62fdb10d71e78a62d70ece55764bc7e41951733428bd9bc09f85",
    ),
    (CKM_HASH_SLH_DSA_SHAKE128, None, "db1d8ba8aa9379084d7263b752b1191f18a46a9a375865dfc65c017021948a36"),
    (CKM_HASH_SLH_DSA_SHAKE256, None, "cf1614bd2e2f649fb346f6fba15b11dcf2e087f4b892799a5915e7bce73812ef"),
];

#[test]
fn messages_and_digests_are_signed_as_another_implementation_does() {
    alone("slh_dsa::messages_and_digests_are_signed_as_another_implementation_does", || {
        let client = Client::new();
        let value = [(0..48).collect(), hex(ROOT)].concat();
        let key = client.private(CKK_SLH_DSA, CKP_SLH_DSA_SHAKE_128F, &[(CKA_VALUE, &value)]).unwrap();
        assert_eq!(client.read(key, CKA_VALUE).unwrap(), value);
        assert_eq!(client.read(key, CKA_SEED), Err(CKR_ATTRIBUTE_TYPE_INVALID));
        let public = [
            number(CKA_CLASS, CKO_PUBLIC_KEY),
            number(CKA_KEY_TYPE, CKK_SLH_DSA),
            number(CKA_PARAMETER_SET, CKP_SLH_DSA_SHAKE_128F),
            (CKA_VALUE, value[32..].to_vec()),
        ];
        let public = client.create(&public).unwrap();
        let given = context(CKH_DETERMINISTIC_REQUIRED, b"a context");
        for (number, by_program, expected) in SIGNED {
            let expected = hex(expected);
            let mechanism = with(number, &given);
            let signature = client.sign(mechanism, key, MESSAGE).unwrap();
            assert_eq!(hashed(&signature, Hash::Sha256), expected, "{number:#x}");
            assert_eq!(client.verify(mechanism, public, MESSAGE, &signature), CKR_OK);
            assert_eq!(client.verify(mechanism, public, b"another", &signature), CKR_SIGNATURE_INVALID);
            let shorter = client.verify(mechanism, public, MESSAGE, &signature[1..]);
            assert_eq!(shorter, CKR_SIGNATURE_LEN_RANGE);
            let Some((function, hash)) = by_program else { continue };
            let given = CK_HASH_SIGN_ADDITIONAL_CONTEXT {
                hedgeVariant: given.hedgeVariant,
                pContext: given.pContext,
                ulContextLen: given.ulContextLen,
                hash: function,
            };
            let (mechanism, digest) = (with(CKM_HASH_SLH_DSA, &given), hashed(MESSAGE, hash));
            assert_eq!(client.verify(mechanism, public, &digest, &signature), CKR_OK);
            assert_eq!(client.sign(mechanism, key, MESSAGE), Err(CKR_DATA_LEN_RANGE));
        }
    });
}

/// Keys are made of a parameter set, and hedge signatures unless they are told not to. What is no key of the set is refused.
#[test]
fn keys_are_of_a_parameter_set() {
    alone("slh_dsa::keys_are_of_a_parameter_set", || {
        let client = Client::new();
        for (set, n, signature_len) in [
            (CKP_SLH_DSA_SHA2_128F, 16, 17_088),
            (CKP_SLH_DSA_SHA2_192F, 24, 35_664),
            (CKP_SLH_DSA_SHAKE_256F, 32, 49_856),
        ] {
            let domain = [number(CKA_PARAMETER_SET, set)];
            let open = [(CKA_SENSITIVE, vec![0]), (CKA_EXTRACTABLE, vec![1])];
            let [public, private] = client.pair(CKM_SLH_DSA_KEY_PAIR_GEN, &domain, &open).unwrap();
            let value = client.read(private, CKA_VALUE).unwrap();
            assert_eq!(value.len(), 4 * n);
            assert_eq!(client.read(public, CKA_VALUE).unwrap(), value[2 * n..]);
            let signatures = [0; 2].map(|_| client.sign(bare(CKM_SLH_DSA), private, b"text").unwrap());
            assert_eq!(signatures[0].len(), signature_len);
            assert!(signatures[0] != signatures[1], "random bytes hedge");
            let verdicts =
                signatures.map(|signature| client.verify(bare(CKM_SLH_DSA), public, b"text", &signature));
            assert_eq!(verdicts, [CKR_OK; 2]);
            assert_eq!(client.sign(bare(CKM_ML_DSA), private, b"text"), Err(CKR_KEY_TYPE_INCONSISTENT));
            let mut wrong = value.clone();
            *wrong.last_mut().unwrap() ^= 1;
            for (set, wrong) in [(set, &wrong[..]), (set, &value[..3 * n]), (set, &[]), (13, &value)] {
                assert!(
                    client.private(CKK_SLH_DSA, set, &[(CKA_VALUE, wrong)]).is_err(),
                    "{} bytes",
                    wrong.len()
                );
            }
        }
        assert_eq!(client.pair(CKM_SLH_DSA_KEY_PAIR_GEN, &[], &[]), Err(CKR_TEMPLATE_INCOMPLETE));
        let unknown = [number(CKA_PARAMETER_SET, 13)];
        assert_eq!(
            client.pair(CKM_SLH_DSA_KEY_PAIR_GEN, &unknown, &[]),
            Err(CKR_PARAMETER_SET_NOT_SUPPORTED)
        );
    });
}
