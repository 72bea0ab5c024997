//! SLH-DSA through control words and operations: NIST's vectors, and what is refused.
//!
//! Ref. FIPS 205.

use std::sync::Arc;

use millstream_accelerator::{
    Key, LocalArena, Operation, SignatureScheme, Unit, VerifyingKey, algorithm_of_slh_dsa, generate_key,
    slh_dsa_set, status_of,
};
use millstream_cwq::{Algorithm, ControlWord, Opcode, Scheme, Status};
use millstream_engines::hash::{Hash, HashKernel};
use millstream_publickey::slhdsa::{self, Prehash, PrivateKey, Set};
use millstream_publickey::{Error, Random};
use millstream_testkit::{cavp, hex};

use crate::case::{Case, features, unit};
use crate::digests;
use crate::queue::{FORMS, Station};

/// The sets whose signatures are made here; the others take longer.
const SIGNED: [Set; 3] = [Set::Sha2_128f, Set::Shake128f, Set::Sha2_192f];

/// The signatures, verdicts and public keys of NIST's vectors, and those of each function of HashSLH-DSA.
pub fn cases() -> Vec<Case> {
    let mut cases = signatures();
    cases.extend(verdicts());
    cases.extend(functions());
    cases
}

#[test]
fn signatures_on_hashes_are_nists() {
    crate::vectors::run(&cases());
}

fn set_of(case: &cavp::Case) -> Set {
    let name = case["parameterSet"].to_lowercase();
    Set::ALL.into_iter().find(|set| set.name() == name).expect("a parameter set")
}

/// Returns true for a signature of a message itself within a context.
fn is_pure(case: &&cavp::Case) -> bool {
    case["signatureInterface"] == "external" && !case.contains_key("hashAlg")
}

/// Deterministic signatures with their public keys. The vectors have digests of signatures, so the engine's own stands in for each.
fn signatures() -> Vec<Case> {
    let vectors = cavp::acvp("slhdsa", "sigGen");
    let sha256 = HashKernel::best(features(), Hash::Sha256);
    let mut cases = vec![];
    for set in SIGNED {
        let of_set = vectors.iter().filter(|case| set_of(case) == set && case["deterministic"] == "True");
        let vector =
            of_set.filter(is_pure).min_by_key(|case| case["message"].len()).expect("one of each set");
        let (private, message) = (hex(&vector["sk"]), hex(&vector["message"]));
        let (context, key) = (hex(&vector["context"]), PrivateKey::new(features(), set, &private));
        let key = key.expect("a key of the vectors");
        let scheme = slhdsa::Scheme::Pure(&context);
        let signature = key.sign_deterministic(scheme, &message).expect("a signature");
        assert_eq!(sha256.digest(&signature)[..], hex(&vector["signatureDigest"]), "{set}");
        let algorithm = algorithm_of_slh_dsa(set);
        let case = |opcode| Case {
            algorithm,
            key: private.clone(),
            ..Case::new(format!("{set}, case {}", vector["tcId"]), opcode)
        };
        let sign = Case {
            iv: context.clone(),
            parameter: Scheme::DETERMINISTIC,
            state: signature,
            ..case(Opcode::Sign)
        };
        cases.push(sign.from(message, vec![]));
        let public = Case { mac: key.public_key().as_bytes().to_vec(), ..case(Opcode::PublicKey) };
        cases.push(public.from(vec![], vec![]));
    }
    cases
}

/// Two signatures of each set that verify, and two that do not.
fn verdicts() -> Vec<Case> {
    let vectors = cavp::acvp("slhdsa", "sigVer");
    let mut cases = vec![];
    for (set, verdict) in Set::ALL.into_iter().flat_map(|set| [(set, "True"), (set, "False")]) {
        let of_set = vectors.iter().filter(|case| set_of(case) == set && case["testPassed"] == verdict);
        let before = cases.len();
        for vector in of_set.filter(is_pure).take(2) {
            let status = if verdict == "True" { Status::Ok } else { Status::Authentication };
            let case = Case {
                algorithm: algorithm_of_slh_dsa(set),
                key: hex(&vector["pk"]),
                iv: hex(&vector["context"]),
                aad: hex(&vector["signature"]),
                status,
                ..Case::new(format!("{set}, case {}", vector["tcId"]), Opcode::Verify)
            };
            cases.push(case.from(hex(&vector["message"]), vec![]));
        }
        assert_eq!(cases.len() - before, 2, "{set} {verdict}");
    }
    cases
}

/// A digest by each function, signed and verified within a context.
fn functions() -> Vec<Case> {
    let set = Set::Sha2_128f;
    let key = PrivateKey::from_seeds(features(), set, &[9; 48]).expect("three seeds");
    let mut cases = vec![];
    for function in Prehash::ALL {
        let digest = vec![5; function.digest_len()];
        let signature = key.sign_deterministic(slhdsa::Scheme::Digest(function, digests::CONTEXT), &digest);
        let (name, algorithm) = (format!("HashSLH-DSA, {function:?}"), algorithm_of_slh_dsa(set));
        let state = signature.expect("a digest of the right length");
        let sign = digests::sign(name, algorithm, key.to_bytes().to_vec(), function.number(), digest, state);
        cases.extend(digests::around(&sign, key.public_key().as_bytes()));
        // One function in three is signed with here, too: a signature takes its time.
        if function.number() % 3 == 1 {
            cases.push(sign);
        }
    }
    cases
}

fn message_scheme(deterministic: bool) -> SignatureScheme {
    SignatureScheme::SlhDsa { digest: None, deterministic }
}

/// Random bytes come from the unit's source; where there is none, or none is wanted, a signature depends on nothing else.
#[test]
fn what_hedges_comes_from_the_source() {
    let set = Set::Sha2_128f;
    let key = PrivateKey::from_seeds(features(), set, &[1; 48]).expect("three seeds");
    let sign = |unit: &Unit, deterministic| {
        let mut place = vec![0; set.signature_len()];
        let scheme = message_scheme(deterministic);
        let mut operations = [Operation::sign_slh_dsa(&key, scheme, b"", b"message", &mut place)];
        unit.run(&mut operations);
        let [operation] = operations;
        operation.result().map_err(status_of).map(|()| place)
    };
    let mut unit = Unit::new(features());
    let plain = sign(&unit, true);
    assert_eq!(plain, Ok(key.sign_deterministic(slhdsa::Scheme::Pure(b""), b"message").expect("signed")));
    assert_eq!(plain, sign(&unit, false));
    unit.seed(&[3; 32]);
    let (one, two) = (sign(&unit, false), sign(&unit, false));
    assert!(one.is_ok() && two.is_ok() && one != two && one != plain);
    assert_eq!(sign(&unit, true), plain);
    unit.set_random(|_| Err(Error::Random));
    assert_eq!(sign(&unit, false), Err(Status::Parameter));
    assert_eq!(sign(&unit, true), plain, "what needs none does not ask");
}

/// An operation refuses a key or a scheme of another kind, a context that does not fit, and a place that is too short.
#[test]
fn what_does_not_fit_is_refused() {
    let set = Set::Sha2_128f;
    let key = PrivateKey::from_seeds(features(), set, &[1; 48]).expect("three seeds");
    let public = VerifyingKey::new(features(), algorithm_of_slh_dsa(set), key.public_key().as_bytes());
    let public = public.expect("32 bytes");
    let of_digest = SignatureScheme::SlhDsa { digest: Some(Prehash::Sha256), deterministic: true };
    let mut places = vec![vec![7; set.signature_len()]; 4];
    let [one, two, three, four] = &mut places[..] else { panic!("four places") };
    four.pop();
    let mut operations = [
        Operation::sign_slh_dsa(&key, SignatureScheme::Ed25519, b"", b"", one),
        Operation::sign_slh_dsa(&key, message_scheme(true), &[0; 256], b"", two),
        Operation::sign_slh_dsa(&key, of_digest, b"", &[1; 31], three),
        Operation::sign_slh_dsa(&key, message_scheme(true), b"", b"", four),
        Operation::verify_signature(&public, SignatureScheme::Ed25519, b"", b""),
        Operation::verify_in_context(&public, message_scheme(true), &[0; 256], b"", b""),
        Operation::verify_signature(&public, message_scheme(true), b"", b"short"),
    ];
    unit().run(&mut operations);
    let statuses = operations.iter().map(|operation| operation.result().map_err(status_of).err());
    let (parameter, length) = (Some(Status::Parameter), Some(Status::DataLength));
    let refused = [parameter, parameter, length, length, parameter, parameter, Some(Status::Authentication)];
    assert_eq!(statuses.collect::<Vec<_>>(), refused);
    assert!(places.iter().flatten().all(|byte| *byte == 7), "nothing is written");
}

/// A word whose place is one byte too short, or whose key has another root than that of its seeds, changes nothing.
#[test]
fn words_that_do_not_fit_write_nothing() {
    let (algorithm, set) = (Algorithm::SlhDsaSha2_128f, Set::Sha2_128f);
    let key = PrivateKey::from_seeds(features(), set, &[1; 48]).expect("three seeds");
    let mut bytes = key.to_bytes().to_vec();
    let mut station = Station::new(Arc::new(LocalArena::new(1 << 20)), 8);
    let length = set.signature_len();
    let sign = |key: Vec<u8>, context: usize, status| {
        let name = format!("{status:?}");
        let parameter = Scheme::DETERMINISTIC;
        let iv = vec![3; context];
        Case { algorithm, key, iv, parameter, status, ..Case::new(name, Opcode::Sign) }
            .from(vec![4; 10], vec![])
    };
    let good = Case {
        state: key.sign_deterministic(slhdsa::Scheme::Pure(&[3; 5]), &[4; 10]).expect("signed"),
        ..sign(bytes.clone(), 5, Status::Ok)
    };
    station.run(&[&good], FORMS[0]);
    let laid = station.lay(&good, 1, FORMS[0]);
    let before = station.snapshot();
    for (room, expected) in [(length - 1, Status::DataLength), (0, Status::DestinationRange)] {
        station.client.submit(&ControlWord { mac_key_len: room as u16, ..laid.word });
        station.accelerator.step(0);
        assert_eq!(station.client.completed().and_then(|done| done.status()), Some(expected), "{room}");
        assert!(station.snapshot() == before, "{room}");
    }
    bytes[63] ^= 1;
    station.run(&[&sign(bytes.clone(), 0, Status::KeyLength)], FORMS[1]);
    assert!(
        Key::new(features(), algorithm, &bytes).is_err()
            && Key::new(features(), algorithm, &[1; 48]).is_err()
    );
}

/// Keys that are made at random are whole, and have the length of their set.
#[test]
fn whole_keys_are_made_at_random() {
    struct Same(u8);
    impl Random for Same {
        fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
            bytes.fill(self.0);
            Ok(())
        }
    }
    for set in SIGNED {
        let (algorithm, len) = (algorithm_of_slh_dsa(set), set.private_key_len());
        let made = generate_key(features(), algorithm, len, &mut Same(7)).expect("a key");
        let expected =
            PrivateKey::from_seeds(features(), set, &vec![7; set.seeds_len()]).expect("three seeds");
        assert_eq!(made[..], expected.to_bytes()[..]);
        for wrong in [0, set.seeds_len(), len - 1, len + 1] {
            let refused = generate_key(features(), algorithm, wrong, &mut Same(7));
            assert_eq!(refused.map_err(status_of).err(), Some(Status::KeyLength), "{set} {wrong}");
        }
    }
}

/// Every scheme of a word is read as it was written, and representatives are of ML-DSA alone.
#[test]
fn schemes_come_back_from_words() {
    for digest in Prehash::ALL.into_iter().map(Some).chain([None]) {
        for deterministic in [false, true] {
            let scheme = SignatureScheme::SlhDsa { digest, deterministic };
            let mut word = ControlWord::EMPTY;
            scheme.write_to(&mut word);
            for set in Set::ALL {
                let algorithm = algorithm_of_slh_dsa(set);
                assert_eq!(slh_dsa_set(algorithm), Some(set));
                let read = |parameter| SignatureScheme::of_word(algorithm, Algorithm::None, parameter);
                assert_eq!((read(word.parameter), word.hash), (Some(scheme), 0));
                let representative = u32::from(Scheme::REPRESENTATIVE) << 8;
                for wrong in [word.parameter | 2, word.parameter | 1 << 16, 13 << 8, representative] {
                    assert_eq!(read(wrong), None, "{wrong:x}");
                }
            }
        }
    }
}
