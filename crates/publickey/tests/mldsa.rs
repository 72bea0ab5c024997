//! ML-DSA's lanes against one at a time, its schemes, and keys and signatures that are refused.

use millstream_cpu::Features;
use millstream_publickey::mldsa::{
    KeyJob, Lanes, MAX_LANES, ML_DSA, ML_DSA_LANES, Prehash, PrivateKey, PublicKey, PublicKeyJob, Scheme,
    Set, SignJob, VerifyJob,
};
use millstream_publickey::{Engine, Error};
use millstream_testkit::{Random, feature_subsets};

/// More than two groups of the widest lanes.
const MOST: usize = 2 * MAX_LANES + 3;

fn set(i: usize) -> Set {
    Set::ALL[i % 3]
}

/// Keys of all sets, mixed.
fn keys(random: &mut Random, count: usize) -> Vec<PrivateKey> {
    (0..count).map(|i| PrivateKey::from_seed(Features::hardware(), set(i), &random.array())).collect()
}

/// Every number of jobs, of one set and of mixed sets, of messages of every length about a block's, gives in each place what one at a time
/// gives.
#[test]
fn every_lane_gives_what_one_at_a_time_gives() {
    let features = Features::hardware();
    let mut random = Random::new(3);
    let seeds: Vec<[u8; 32]> = (0..MOST).map(|_| random.array()).collect();
    let randomness: Vec<[u8; 32]> = (0..MOST).map(|_| random.array()).collect();
    let text = [0x5a; 300];
    for kernel in ML_DSA_LANES.available(features) {
        let lanes = Lanes::with_kernel(kernel, features);
        for count in 0..=MOST {
            let set = |i: usize| if count % 2 == 0 { Set::MlDsa65 } else { set(i) };
            let message = |i: usize| &text[..(37 * count + 53 * i) % 300];
            let scheme = |i: usize| match i % 4 {
                0 => Scheme::Pure(&text[..i]),
                1 => Scheme::Prehash(Prehash::Sha512, &text[..i]),
                2 => Scheme::Pure(&[]),
                _ => Scheme::Prehash(Prehash::Shake256, &[]),
            };
            let mut jobs: Vec<_> = (0..count).map(|i| KeyJob::new(set(i), &seeds[i])).collect();
            lanes.keys(&mut jobs);
            let keys: Vec<_> = jobs.into_iter().map(|job| job.key.expect("the job has run")).collect();
            let mut parses: Vec<_> =
                keys.iter().map(|key| PublicKeyJob::new(key.set(), key.public_key().as_bytes())).collect();
            lanes.public_keys(&mut parses);
            let publics: Vec<_> =
                parses.into_iter().map(|job| job.key.expect("the job has run").expect("a key")).collect();
            let mut jobs: Vec<_> =
                (0..count).map(|i| SignJob::new(&keys[i], scheme(i), message(i), &randomness[i])).collect();
            lanes.sign(&mut jobs);
            let signatures: Vec<_> = jobs
                .into_iter()
                .map(|job| job.signature.expect("the job has run").expect("a signature"))
                .collect();
            let mut jobs: Vec<_> = (0..count)
                .map(|i| VerifyJob::new(&publics[i], scheme(i), message(i), &signatures[i]))
                .collect();
            lanes.verify(&mut jobs);
            for (i, job) in jobs.into_iter().enumerate() {
                assert_eq!(job.verdict, Some(Ok(())), "{lanes:?}, {i} of {count}");
                let key = PrivateKey::from_seed(features, set(i), &seeds[i]);
                assert_eq!(key.to_expanded(), keys[i].to_expanded(), "{lanes:?}, {i} of {count}");
                let signature = key.sign_with(scheme(i), message(i), &randomness[i]);
                assert!(signature.as_ref() == Ok(&signatures[i]), "{lanes:?}, {i} of {count}");
                assert_eq!(key.public_key().verify_by(scheme(i), message(i), &signatures[i]), Ok(()));
            }
        }
    }
}

/// A changed signature in one lane is refused there, and the others are right.
#[test]
fn a_changed_signature_touches_no_other_lane() {
    let features = Features::hardware();
    let mut random = Random::new(4);
    for key in keys(&mut random, 3) {
        let right = key.sign_deterministic(Scheme::Pure(b"context"), b"message").expect("a signature");
        for kernel in ML_DSA_LANES.available(features) {
            for lane in 0..MAX_LANES {
                let mut changed = right.clone();
                changed[(37 * lane * lane) % right.len()] ^= 1 << lane;
                let job = |signature| {
                    VerifyJob::new(key.public_key(), Scheme::Pure(b"context"), b"message", signature)
                };
                let mut jobs = [0; MAX_LANES].map(|_| job(&right));
                jobs[lane] = job(&changed);
                Lanes::with_kernel(kernel, features).verify(&mut jobs);
                for (at, job) in jobs.into_iter().enumerate() {
                    let expected = if at == lane { Err(Error::Signature) } else { Ok(()) };
                    assert_eq!(job.verdict, Some(expected));
                }
            }
        }
    }
}

/// Every bit of a signature counts.
#[test]
fn every_changed_bit_is_noticed() {
    let mut random = Random::new(5);
    for key in keys(&mut random, 3) {
        let mut signature = key.sign_deterministic(Scheme::Pure(&[]), b"message").expect("a signature");
        for bit in 0..8 * signature.len() {
            signature[bit / 8] ^= 1 << (bit % 8);
            let verdict = key.public_key().verify(b"message", &signature);
            assert_eq!(verdict, Err(Error::Signature), "{}, bit {bit}", key.set());
            signature[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(key.public_key().verify(b"message", &signature), Ok(()));
    }
}

/// FIPS 204 §7.1, algorithm 21: places that do not rise, ends that fall or are too large, and places behind the last.
#[test]
fn hints_in_another_form_are_refused() {
    let mut random = Random::new(9);
    for key in keys(&mut random, 3) {
        let (ones, rows) = match key.set() {
            Set::MlDsa44 => (80, 4),
            Set::MlDsa65 => (55, 6),
            Set::MlDsa87 => (75, 8),
        };
        let signature = key.sign_deterministic(Scheme::Pure(&[]), b"message").expect("a signature");
        let hint = signature.len() - ones - rows;
        let ends = signature.len() - rows;
        let first = usize::from(signature[ends]);
        let last = usize::from(signature[signature.len() - 1]);
        assert!(first >= 2 && last < ones, "this test needs such a signature");
        let changed = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut changed = signature.clone();
            change(&mut changed);
            assert_ne!(changed, signature);
            assert_eq!(key.public_key().verify(b"message", &changed), Err(Error::Signature));
        };
        changed(&|bytes| bytes.swap(hint, hint + 1));
        changed(&|bytes| bytes[hint + 1] = bytes[hint]);
        changed(&|bytes| bytes[hint + last] = 1);
        changed(&|bytes| bytes[hint + ones - 1] = 255);
        changed(&|bytes| bytes[ends + 1] = bytes[ends] - 1);
        changed(&|bytes| bytes[ends + rows - 1] = ones as u8 + 1);
        changed(&|bytes| bytes[ends] = 255);
    }
}

#[test]
fn every_wrong_length_is_refused() {
    let features = Features::hardware();
    for key in keys(&mut Random::new(6), 3) {
        let set = key.set();
        let longest = set.expanded_key_len().max(set.signature_len()) + 3;
        let bytes = vec![0; longest];
        for len in 0..=longest {
            let bytes = &bytes[..len];
            let refused = |result: Result<(), Error>| matches!(result, Err(Error::Length { given, .. }) if given == len);
            let private = PrivateKey::new(features, set, bytes).map(|_| ());
            assert_eq!(refused(private), len != 32 && len != set.expanded_key_len(), "{set} {len}");
            let public = PublicKey::new(features, set, bytes).map(|_| ());
            assert_eq!(refused(public), len != set.public_key_len(), "{set} {len}");
            let verified = key.public_key().verify(b"message", bytes);
            assert_eq!(refused(verified), len != set.signature_len(), "{set} {len}");
        }
        let signature = key.sign_deterministic(Scheme::Pure(&[]), b"message").expect("a signature");
        let job = |bytes| VerifyJob::new(key.public_key(), Scheme::Pure(&[]), b"message", bytes);
        let mut jobs = [job(&signature[1..]), job(&signature)];
        Lanes::new(features).verify(&mut jobs);
        assert!(matches!(jobs[0].verdict, Some(Err(Error::Length { .. }))));
        assert_eq!(jobs[1].verdict, Some(Ok(())));
        let public = key.public_key().as_bytes();
        let mut jobs = [PublicKeyJob::new(set, &public[1..]), PublicKeyJob::new(set, public)];
        Lanes::new(features).public_keys(&mut jobs);
        let [short, right] = jobs.map(|job| job.key.expect("the job has run"));
        assert!(matches!(short, Err(Error::Length { .. })) && right.as_ref() == Ok(key.public_key()));
    }
}

/// Contexts have at most 255 bytes, digests and representatives the length that they have. An error in one lane touches no other.
#[test]
fn what_a_scheme_does_not_take_is_refused() {
    let features = Features::hardware();
    let key = PrivateKey::from_seed(features, Set::MlDsa44, &[1; 32]);
    let long = [0; 256];
    let length = |result: Result<Vec<u8>, Error>| matches!(result, Err(Error::Length { .. }));
    for function in Prehash::ALL {
        for scheme in [Scheme::Pure(&long), Scheme::Prehash(function, &long), Scheme::Digest(function, &long)]
        {
            assert!(length(key.sign_deterministic(scheme, b"message")));
            let verdict = key.public_key().verify_by(scheme, b"message", &[0; 2420]);
            assert!(matches!(verdict, Err(Error::Length { what: "context", given: 256, .. })));
        }
        let scheme = Scheme::Digest(function, &long[..255]);
        for len in 0..=65 {
            let signed = key.sign_deterministic(scheme, &long[..len]);
            assert_eq!(length(signed), len != function.digest_len(), "{function:?} {len}");
        }
    }
    for len in [0, 63, 65] {
        assert!(length(key.sign_deterministic(Scheme::Representative, &long[..len])));
    }
    let zero = [0; 32];
    let mut jobs = [
        SignJob::new(&key, Scheme::Pure(&long), b"message", &zero),
        SignJob::new(&key, Scheme::Pure(&long[..255]), b"message", &zero),
    ];
    Lanes::new(features).sign(&mut jobs);
    let [refused, signed] = jobs.map(|job| job.signature.expect("the job has run"));
    assert!(length(refused));
    assert_eq!(signed, key.sign_deterministic(Scheme::Pure(&long[..255]), b"message"));
}

/// A signature verifies under its scheme, its context and its key alone; a digest and a representative stand for their message.
#[test]
fn schemes_are_apart() {
    let features = Features::hardware();
    let key = PrivateKey::from_seed(features, Set::MlDsa65, &[1; 32]);
    let public = key.public_key();
    let digest = [7; 64];
    let schemes = [
        Scheme::Pure(&[]),
        Scheme::Pure(b"a"),
        Scheme::Digest(Prehash::Sha512, &[]),
        Scheme::Digest(Prehash::Sha512, b"a"),
        Scheme::Digest(Prehash::Sha3_512, &[]),
        Scheme::Digest(Prehash::Shake256, &[]),
        Scheme::Representative,
    ];
    let other = PrivateKey::from_seed(features, Set::MlDsa65, &[2; 32]);
    for signed_by in schemes {
        let signature = key.sign_deterministic(signed_by, &digest).expect("a signature");
        for scheme in schemes {
            let right = scheme == signed_by;
            assert_eq!(public.verify_by(scheme, &digest, &signature).is_ok(), right, "{scheme:?}");
            assert!(
                other.public_key().verify_by(scheme, &digest, &signature).is_err()
                    || scheme == Scheme::Representative
            );
        }
        let mu = public.representative(signed_by, &digest).expect("a representative");
        assert_eq!(public.verify_by(Scheme::Representative, &mu, &signature), Ok(()));
        assert_eq!(key.sign_deterministic(Scheme::Representative, &mu), Ok(signature));
    }
    let message = b"a message";
    let mut random = Random::new(8);
    let hash = millstream_engines::hash::HashKernel::best(features, millstream_engines::hash::Hash::Sha512);
    let given = key.sign_with(Scheme::Digest(Prehash::Sha512, b"a"), &hash.digest(message), &random.array());
    let verdict =
        public.verify_by(Scheme::Prehash(Prehash::Sha512, b"a"), message, &given.expect("a signature"));
    assert_eq!(verdict, Ok(()));
}

/// FIPS 204 §7.2: coefficients of s1 and s2 that are too large, and a hash, t0 or a seed that do not fit the rest.
#[test]
fn an_expanded_key_that_does_not_fit_is_refused() {
    let features = Features::hardware();
    for key in keys(&mut Random::new(8), 3) {
        let (set, whole) = (key.set(), key.to_expanded());
        let again = PrivateKey::new(features, set, &whole).expect("the key's own form");
        assert_eq!((again.to_expanded(), again.seed()), (whole.clone(), None));
        let refused = Some(Error::Encoding { algorithm: set.name(), what: "private key" });
        // K, from 32 to 64, is any bytes.
        for at in (0..whole.len()).step_by(61).chain([0, 31, 64, 127, 128, whole.len() - 1]) {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            let result = PrivateKey::new(features, set, &changed).err();
            assert_eq!(result, if (32..64).contains(&at) { None } else { refused }, "{set}, byte {at}");
        }
        for kernel in ML_DSA.available(features) {
            let mut changed = whole.clone();
            changed[128] = 0xff;
            assert_eq!(PrivateKey::with_kernel(kernel, features, set, &changed).err(), refused, "{set}");
        }
    }
}

#[test]
fn keys_and_signatures_are_made_of_random_bytes() {
    struct Source(Option<u8>);
    impl millstream_publickey::Random for Source {
        fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
            bytes.fill(self.0.ok_or(Error::Random)?);
            Ok(())
        }
    }
    let features = Features::hardware();
    let key = PrivateKey::generate(features, Set::MlDsa44, &mut Source(Some(7))).expect("a source");
    assert_eq!(key.seed(), Some(&[7; 32]));
    let signed = key.sign(b"message", &mut Source(Some(8))).expect("a source");
    assert_eq!(Ok(&signed), key.sign_with(Scheme::Pure(&[]), b"message", &[8; 32]).as_ref());
    assert_ne!(Ok(&signed), key.sign_deterministic(Scheme::Pure(&[]), b"message").as_ref());
    assert_eq!(key.public_key().verify(b"message", &signed), Ok(()));
    let failed = PrivateKey::generate(features, Set::MlDsa44, &mut Source(None)).map(|_| ());
    assert_eq!(failed, Err(Error::Random));
    assert_eq!(key.sign(b"message", &mut Source(None)), Err(Error::Random));
    assert!(!format!("{key:?}").contains("7, 7"), "a key's text shows no secret");
}

#[test]
fn every_subset_of_the_features_gives_the_same() {
    let engines: [&dyn Engine; 2] = [&&ML_DSA, &&ML_DSA_LANES];
    let requirements = engines.iter().flat_map(|engine| engine.kernels()).map(|kernel| kernel.requires);
    let expected = PrivateKey::from_seed(Features::none(), Set::MlDsa65, &[5; 32]);
    let signed = expected.sign_deterministic(Scheme::Pure(&[]), b"message").expect("a signature");
    for features in feature_subsets(requirements) {
        let key = PrivateKey::from_seed(features, Set::MlDsa65, &[5; 32]);
        assert_eq!(key.to_expanded(), expected.to_expanded());
        assert_eq!(key.sign_deterministic(Scheme::Pure(&[]), b"message").as_ref(), Ok(&signed));
        let job = |_| VerifyJob::new(key.public_key(), Scheme::Pure(&[]), b"message", &signed);
        let mut jobs = [0; MAX_LANES].map(job);
        Lanes::new(features).verify(&mut jobs);
        assert!(jobs.into_iter().all(|job| job.verdict == Some(Ok(()))));
    }
}
