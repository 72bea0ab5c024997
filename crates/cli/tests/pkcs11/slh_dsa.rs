//! SLH-DSA with keys of a token: the service makes them, takes them, and signs with them as this process does.
#![allow(non_snake_case, unsafe_code)]

use cryptoki_sys::*;
use millstream::hash::{Hash, digest};
use millstream::publickey::mldsa::Prehash;
use millstream::publickey::slhdsa::{PrivateKey, PublicKey, Scheme, Set};

use crate::bed::{alone, make};
use crate::raw::{Functions, Value, bare, call, good, number, with};

const TEXT: &[u8] = b"a text that is signed";
const CONTEXT: &[u8] = b"a context";

/// The sets, with their numbers.
const SETS: [(Set, CK_ULONG); 12] = [
    (Set::Sha2_128s, CKP_SLH_DSA_SHA2_128S),
    (Set::Sha2_128f, CKP_SLH_DSA_SHA2_128F),
    (Set::Sha2_192s, CKP_SLH_DSA_SHA2_192S),
    (Set::Sha2_192f, CKP_SLH_DSA_SHA2_192F),
    (Set::Sha2_256s, CKP_SLH_DSA_SHA2_256S),
    (Set::Sha2_256f, CKP_SLH_DSA_SHA2_256F),
    (Set::Shake128s, CKP_SLH_DSA_SHAKE_128S),
    (Set::Shake128f, CKP_SLH_DSA_SHAKE_128F),
    (Set::Shake192s, CKP_SLH_DSA_SHAKE_192S),
    (Set::Shake192f, CKP_SLH_DSA_SHAKE_192F),
    (Set::Shake256s, CKP_SLH_DSA_SHAKE_256S),
    (Set::Shake256f, CKP_SLH_DSA_SHAKE_256F),
];

fn within(context: &[u8], hedge: CK_HEDGE_TYPE) -> CK_SIGN_ADDITIONAL_CONTEXT {
    CK_SIGN_ADDITIONAL_CONTEXT {
        hedgeVariant: hedge,
        pContext: context.as_ptr().cast_mut(),
        ulContextLen: context.len() as CK_ULONG,
    }
}

fn sha256(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 32];
    digest(millstream::features().unwrap(), Hash::Sha256, bytes, &mut out).unwrap();
    out
}

/// A key that comes into the token signs there what it signs here, in every set, and so it does after the service was started again.
#[test]
fn keys_of_all_sets_sign_in_the_service_as_they_do_here() {
    alone("slh_dsa::keys_of_all_sets_sign_in_the_service_as_they_do_here", |bed| {
        let mut service = bed.serve();
        make(&service);
        let (functions, features) = (Functions::get(), millstream::features().unwrap());
        let session = functions.logged_in();
        let mut given = within(CONTEXT, CKH_DETERMINISTIC_REQUIRED);
        let pure = with(CKM_SLH_DSA, &mut given);
        let mut kept = Vec::new();
        for (set, number_of_set) in SETS {
            let key = PrivateKey::from_seeds(features, set, &vec![5; set.seeds_len()]).unwrap();
            let template: Vec<Value> = vec![
                number(CKA_CLASS, CKO_PRIVATE_KEY),
                number(CKA_KEY_TYPE, CKK_SLH_DSA),
                number(CKA_PARAMETER_SET, number_of_set),
                (CKA_TOKEN, vec![1]),
                (CKA_VALUE, key.to_bytes().to_vec()),
            ];
            let object = functions.create(session, &template);
            let signature = functions.sign(session, pure, object, TEXT).unwrap();
            let here = key.sign_deterministic(Scheme::Pure(CONTEXT), TEXT).unwrap();
            assert!(signature == here, "{set:?}");
            assert_eq!(signature.len(), set.signature_len());
            assert_eq!(functions.read(session, object, CKA_VALUE), Err(CKR_ATTRIBUTE_SENSITIVE));
            kept.push((object, signature));
        }
        drop(service);
        service = bed.serve();
        let (object, signature) = &kept[1];
        assert!(functions.sign(session, pure, *object, TEXT).unwrap() == *signature);
        drop(service);
        assert_eq!(functions.sign(session, pure, *object, TEXT), Err(CKR_DEVICE_REMOVED));
    });
}

/// A pair that the service makes signs texts and digests within contexts, at once, in parts and in flight, and its private key does not come here.
#[test]
fn pairs_that_the_worker_made_sign() {
    alone("slh_dsa::pairs_that_the_worker_made_sign", |bed| {
        let service = bed.serve();
        make(&service);
        let functions = Functions::get();
        let session = functions.logged_in();
        // One set with a small tree and one with a large tree.
        for (set, number_of_set) in [SETS[5], SETS[0]] {
            let domain = [number(CKA_PARAMETER_SET, number_of_set)];
            let stays = [(CKA_TOKEN, vec![1]), (CKA_LABEL, set.name().into())];
            let [public, private] = functions.pair(session, CKM_SLH_DSA_KEY_PAIR_GEN, &domain, &stays);
            for (what, expected) in [
                (CKA_LOCAL, Ok(vec![1])),
                (CKA_NEVER_EXTRACTABLE, Ok(vec![1])),
                (CKA_VALUE, Err(CKR_ATTRIBUTE_SENSITIVE)),
            ] {
                assert_eq!(functions.read(session, private, what), expected, "{what:#x}");
            }
            let encoded = functions.read(session, public, CKA_VALUE).unwrap();
            let key = PublicKey::new(millstream::features().unwrap(), set, &encoded).unwrap();
            sign_texts(&functions, session, set, [public, private]);
            let signature = functions.sign(session, bare(CKM_SLH_DSA), private, TEXT).unwrap();
            key.verify_by(Scheme::Pure(b""), TEXT, &signature).unwrap();
            sign_digests(&functions, session, &key, [public, private]);
        }
    });
}

/// Signs texts within a context, hedged and in all ways that a session has.
fn sign_texts(
    functions: &Functions,
    session: CK_SESSION_HANDLE,
    set: Set,
    [public, private]: [CK_OBJECT_HANDLE; 2],
) {
    let mut given = within(CONTEXT, CKH_HEDGE_PREFERRED);
    let mut pure = with(CKM_SLH_DSA, &mut given);
    let hedged = [(); 2].map(|()| functions.sign(session, pure, private, TEXT).unwrap());
    assert!(hedged[0] != hedged[1], "random bytes hedge");
    for signature in hedged {
        assert_eq!(functions.verify(session, pure, public, TEXT, &signature), CKR_OK);
        let without = functions.verify(session, bare(CKM_SLH_DSA), public, TEXT, &signature);
        assert_eq!(without, CKR_SIGNATURE_INVALID, "made within a context");
    }
    // In parts, into a place whose length the session tells.
    good!(functions, C_SignInit(session, &mut pure, private));
    for part in TEXT.chunks(5) {
        good!(functions, C_SignUpdate(session, part.as_ptr().cast_mut(), part.len() as CK_ULONG));
    }
    let mut len = 0;
    good!(functions, C_SignFinal(session, std::ptr::null_mut(), &mut len));
    assert_eq!(len as usize, set.signature_len());
    let mut signature = vec![0; len as usize - 1];
    len -= 1;
    let told = call!(functions, C_SignFinal(session, signature.as_mut_ptr(), &mut len));
    assert_eq!((told, len as usize), (CKR_BUFFER_TOO_SMALL, set.signature_len()));
    signature.push(0);
    good!(functions, C_SignFinal(session, signature.as_mut_ptr(), &mut len));
    assert_eq!(functions.verify(session, pure, public, TEXT, &signature), CKR_OK);
    // In flight from several sessions of one thread.
    let sessions = [(); 4].map(|()| functions.session(CKF_ASYNC_SESSION));
    let mut places = vec![vec![0; set.signature_len()]; sessions.len()];
    for (other, place) in sessions.iter().zip(&mut places) {
        let (at, n, mut len) = (TEXT.as_ptr().cast_mut(), TEXT.len() as CK_ULONG, place.len() as CK_ULONG);
        good!(functions, C_SignInit(*other, &mut pure, private));
        let begun = call!(functions, C_Sign(*other, at, n, place.as_mut_ptr(), &mut len));
        assert_eq!(begun, CKR_PENDING);
    }
    for (other, place) in sessions.iter().zip(&places) {
        assert_eq!(functions.complete(*other), Ok(place.len()));
        assert_eq!(functions.verify(*other, pure, public, TEXT, place), CKR_OK);
        good!(functions, C_CloseSession(*other));
    }
    // A text travels whole: of a longer one the program or the module makes a digest.
    let long = vec![7; (64 << 10) + 1];
    assert_eq!(functions.sign(session, pure, private, &long), Err(CKR_DATA_LEN_RANGE));
    let signature = functions.sign(session, pure, private, &long[1..]).unwrap();
    assert_eq!(functions.verify(session, pure, public, &long[1..], &signature), CKR_OK);
}

/// Signs digests, which the module or the program makes.
fn sign_digests(
    functions: &Functions,
    session: CK_SESSION_HANDLE,
    key: &PublicKey,
    [public, private]: [CK_OBJECT_HANDLE; 2],
) {
    let long = vec![7; 100_000];
    let mut given = within(CONTEXT, CKH_DETERMINISTIC_REQUIRED);
    let hashes = with(CKM_HASH_SLH_DSA_SHA256, &mut given);
    let signature = functions.sign(session, hashes, private, &long).unwrap();
    key.verify_by(Scheme::Digest(Prehash::Sha256, CONTEXT), &sha256(&long), &signature).unwrap();
    assert_eq!(functions.verify(session, hashes, public, &long, &signature), CKR_OK);
    let mut by_program = CK_HASH_SIGN_ADDITIONAL_CONTEXT {
        hedgeVariant: given.hedgeVariant,
        pContext: given.pContext,
        ulContextLen: given.ulContextLen,
        hash: CKM_SHA256,
    };
    let takes = with(CKM_HASH_SLH_DSA, &mut by_program);
    assert!(functions.sign(session, takes, private, &sha256(&long)).unwrap() == signature);
    assert_eq!(functions.sign(session, takes, private, &[7; 31]), Err(CKR_DATA_LEN_RANGE));
}
