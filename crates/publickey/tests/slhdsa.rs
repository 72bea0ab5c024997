//! SLH-DSA's rows and lanes against one another, its schemes, and keys and signatures that are refused.

use std::collections::BTreeSet;

use millstream_cpu::Features;
use millstream_engines::sha3::KECCAK;
use millstream_engines::sha256::SHA256_FOLD;
use millstream_engines::sha512::SHA512_FOLD;
use millstream_publickey::slhdsa::{
    CONTEXT_MAX, KeyJob, Lanes, MAX_PUBLIC_KEY, MAX_SIGNATURE, Prehash, PrivateKey, PublicKey, SLH_DSA,
    Scheme, Set, SignJob, VerifyJob,
};
use millstream_publickey::{Engine, Error};
use millstream_testkit::{Random, feature_subsets};

const PURE: Scheme<'_> = Scheme::Pure(&[]);

/// The sets whose signatures take the least time, of each way to hash.
const FAST: [Set; 3] = [Set::Sha2_128f, Set::Sha2_192f, Set::Shake128f];

fn key(random: &mut Random, set: Set) -> PrivateKey {
    PrivateKey::from_seeds(Features::hardware(), set, &random.bytes(set.seeds_len())).expect("a key")
}

/// FIPS 205 §11, table 2.
#[test]
fn lengths_are_those_of_the_standard() {
    let expected = [
        (Set::Sha2_128s, Set::Shake128s, 32, 7856),
        (Set::Sha2_128f, Set::Shake128f, 32, 17_088),
        (Set::Sha2_192s, Set::Shake192s, 48, 16_224),
        (Set::Sha2_192f, Set::Shake192f, 48, 35_664),
        (Set::Sha2_256s, Set::Shake256s, 64, 29_792),
        (Set::Sha2_256f, Set::Shake256f, 64, 49_856),
    ];
    for (sha2, shake, public, signature) in expected {
        for set in [sha2, shake] {
            assert_eq!((set.public_key_len(), set.signature_len()), (public, signature), "{set}");
            assert_eq!((set.private_key_len(), set.seeds_len()), (2 * public, 3 * public / 2), "{set}");
            assert!(set.public_key_len() <= MAX_PUBLIC_KEY && set.signature_len() <= MAX_SIGNATURE);
            assert!(set.kept_private_len() <= 24 << 10, "{set}");
        }
    }
}

/// Every set, signed and verified with the best kernels; with a context, hashed before, and with random bytes.
#[test]
fn every_set_signs_and_verifies() {
    let mut random = Random::new(205);
    for set in Set::ALL {
        let signer = key(&mut random, set);
        let again = PrivateKey::new(Features::hardware(), set, &signer.to_bytes()).expect("its encoding");
        assert_eq!(again.public_key(), signer.public_key());
        let scheme = Scheme::Prehash(Prehash::Shake256, b"context");
        let signature =
            again.sign_with(scheme, b"message", &random.bytes(set.node_len())).expect("a signature");
        assert_eq!(signature.len(), set.signature_len());
        let public =
            PublicKey::new(Features::hardware(), set, signer.public_key().as_bytes()).expect("a key");
        assert_eq!(public.verify_by(scheme, b"message", &signature), Ok(()), "{set}");
        assert_eq!(public.verify_by(scheme, b"massage", &signature), Err(Error::Signature), "{set}");
    }
}

/// All rows give the same keys and signatures, alone and side by side with others, of one set and of mixed sets.
#[test]
fn every_row_gives_the_same() {
    let features = Features::hardware();
    let mut random = Random::new(7);
    const MOST: usize = 9;
    let sets: Vec<Set> = (0..MOST).map(|i| FAST[i * i % 3]).collect();
    let seeds: Vec<_> = sets.iter().map(|set| random.bytes(set.seeds_len())).collect();
    let randomness: Vec<_> = sets.iter().map(|set| random.bytes(set.node_len())).collect();
    let message = |i: usize| &[0x5a; 300][..37 * i];
    let expected: Vec<_> = (0..MOST)
        .map(|i| {
            let key = PrivateKey::from_seeds(features, sets[i], &seeds[i]).expect("a key");
            let signature = key.sign_with(Scheme::Pure(&seeds[i]), message(i), &randomness[i]);
            (key, signature.expect("a signature"))
        })
        .collect();
    for kernel in SLH_DSA.available(features) {
        let lanes = Lanes::with_kernel(kernel, features);
        for count in [0, 1, 5, MOST] {
            let mut jobs: Vec<_> = (0..count).map(|i| KeyJob::new(sets[i], &seeds[i])).collect();
            lanes.keys(&mut jobs);
            let keys: Vec<_> =
                jobs.into_iter().map(|job| job.key.expect("the job has run").expect("a key")).collect();
            let mut jobs: Vec<_> = (0..count)
                .map(|i| SignJob::new(&keys[i], Scheme::Pure(&seeds[i]), message(i), Some(&randomness[i])))
                .collect();
            lanes.sign(&mut jobs);
            let mut verified = Vec::new();
            for (i, job) in jobs.iter().enumerate() {
                let (key, signature) = &expected[i];
                assert_eq!(keys[i].to_bytes(), key.to_bytes(), "{lanes:?}, {i} of {count}");
                assert!(job.signature.as_ref() == Some(&Ok(signature.clone())), "{lanes:?}, {i} of {count}");
                let scheme = Scheme::Pure(&seeds[i]);
                verified.push(VerifyJob::new(keys[i].public_key(), scheme, message(i), signature));
            }
            lanes.verify(&mut verified);
            assert!(verified.iter().all(|job| job.verdict == Some(Ok(()))), "{lanes:?}, {count}");
        }
    }
}

/// A job that is refused touches no other.
#[test]
fn a_refused_job_touches_no_other() {
    let lanes = Lanes::new(Features::hardware());
    let (set, seeds) = (Set::Sha2_128f, [3; 48]);
    let mut jobs = [KeyJob::new(set, &seeds), KeyJob::new(set, &seeds[1..]), KeyJob::new(set, &seeds)];
    lanes.keys(&mut jobs);
    let [first, second, third] = jobs.map(|job| job.key.expect("the job has run"));
    assert!(matches!(second, Err(Error::Length { given: 47, .. })));
    let (first, third) = (first.expect("a key"), third.expect("a key"));
    assert_eq!(first.to_bytes(), third.to_bytes());
    let long = [0; CONTEXT_MAX + 1];
    let mut jobs = [
        SignJob::new(&first, Scheme::Pure(&long), b"message", None),
        SignJob::new(&first, PURE, b"message", None),
        SignJob::new(&third, PURE, b"message", Some(&[0; 15])),
    ];
    lanes.sign(&mut jobs);
    let [refused, signature, short] = jobs.map(|job| job.signature.expect("the job has run"));
    assert!(matches!(refused, Err(Error::Length { what: "context", given: 256, .. })));
    assert!(matches!(short, Err(Error::Length { what: "randomness", given: 15, .. })));
    let signature = signature.expect("a signature");
    assert_eq!(Ok(&signature), first.sign_deterministic(PURE, b"message").as_ref());
    let mut changed = signature.clone();
    changed[1000] ^= 1;
    let job = |signature| VerifyJob::new(first.public_key(), PURE, b"message", signature);
    let mut jobs = [job(&changed), job(&signature), job(&signature[1..]), job(&signature)];
    lanes.verify(&mut jobs);
    let [changed, right, short, last] = jobs.map(|job| job.verdict.expect("the job has run"));
    assert_eq!((changed, right, last), (Err(Error::Signature), Ok(()), Ok(())));
    assert!(matches!(short, Err(Error::Length { what: "signature", given: 17_087, .. })));
}

/// Every part of a signature counts: the random bytes, each tree of FORS, each layer's chains and path.
#[test]
fn changes_anywhere_are_noticed() {
    let mut random = Random::new(5);
    for set in [Set::Sha2_128f, Set::Sha2_256f, Set::Shake128f] {
        let signer = key(&mut random, set);
        let signature = signer.sign_deterministic(PURE, b"message").expect("a signature");
        let changed: Vec<Vec<u8>> = (0..signature.len() / set.node_len())
            .step_by(5)
            .map(|node| {
                let mut changed = signature.clone();
                changed[node * set.node_len() + random.below(set.node_len())] ^= 1 << random.below(8);
                changed
            })
            .collect();
        let mut jobs: Vec<_> = changed
            .iter()
            .map(|signature| VerifyJob::new(signer.public_key(), PURE, b"message", signature))
            .collect();
        Lanes::new(Features::hardware()).verify(&mut jobs);
        assert!(jobs.iter().all(|job| job.verdict == Some(Err(Error::Signature))), "{set}");
        assert_eq!(signer.public_key().verify(b"message", &signature), Ok(()));
    }
}

#[test]
fn every_wrong_length_is_refused() {
    let features = Features::hardware();
    let bytes = vec![7; MAX_SIGNATURE + 1];
    let signer = key(&mut Random::new(11), Set::Sha2_128f);
    for set in Set::ALL {
        let lengths = |right: usize| (0..right).chain([right + 1]);
        for given in lengths(set.public_key_len()) {
            let refused = PublicKey::new(features, set, &bytes[..given]).map(|_| ());
            assert!(matches!(refused, Err(Error::Length { what: "public key", .. })), "{set}: {refused:?}");
        }
        for given in lengths(set.private_key_len()) {
            let refused = PrivateKey::new(features, set, &bytes[..given]).map(|_| ());
            assert!(matches!(refused, Err(Error::Length { what: "private key", .. })), "{set}: {refused:?}");
        }
        for given in lengths(set.seeds_len()) {
            let refused = PrivateKey::from_seeds(features, set, &bytes[..given]).map(|_| ());
            assert!(matches!(refused, Err(Error::Length { what: "seeds", .. })), "{set}: {refused:?}");
        }
        let public =
            PublicKey::new(features, set, &bytes[..set.public_key_len()]).expect("any bytes are a key");
        for given in lengths(set.signature_len()) {
            let refused = public.verify(b"message", &bytes[..given]);
            assert!(matches!(refused, Err(Error::Length { what: "signature", .. })), "{set}: {refused:?}");
            let takes = format!("takes {} bytes", set.signature_len());
            assert!(refused.expect_err("refused").to_string().ends_with(&takes), "{set}");
        }
    }
    for given in lengths_of_digests() {
        let refused = signer.sign_deterministic(Scheme::Digest(Prehash::Sha256, &[]), &bytes[..given]);
        assert!(matches!(refused, Err(Error::Length { what: "digest", .. })));
    }
}

fn lengths_of_digests() -> [usize; 3] {
    [0, 31, 33]
}

/// A key whose root is another is refused.
#[test]
fn a_private_key_that_does_not_fit_is_refused() {
    let signer = key(&mut Random::new(12), Set::Shake128f);
    for at in [0, 33, 63] {
        let mut bytes = signer.to_bytes();
        bytes[at] ^= 1;
        let refused = PrivateKey::new(Features::hardware(), Set::Shake128f, &bytes).map(|_| ());
        assert!(matches!(refused, Err(Error::Encoding { what: "private key", .. })), "{at}: {refused:?}");
    }
}

/// A signature verifies under its own scheme and context alone. Contexts have up to 255 bytes.
#[test]
fn schemes_are_apart() {
    let signer = key(&mut Random::new(13), Set::Sha2_128f);
    let context = [0x63; CONTEXT_MAX + 1];
    let digest = [9; 32];
    let schemes = [
        Scheme::Pure(&[]),
        Scheme::Pure(&context[..1]),
        Scheme::Pure(&context[..CONTEXT_MAX]),
        Scheme::Prehash(Prehash::Sha256, &[]),
        Scheme::Prehash(Prehash::Sha512_256, &[]),
        Scheme::Prehash(Prehash::Sha256, &context[..CONTEXT_MAX]),
        Scheme::Digest(Prehash::Sha256, &[]),
        Scheme::Digest(Prehash::Shake128, &[]),
        Scheme::Internal,
    ];
    for (i, signed) in schemes.into_iter().enumerate() {
        let signature = signer.sign_deterministic(signed, &digest).expect("a signature");
        for (j, scheme) in schemes.into_iter().enumerate() {
            let expected = if i == j { Ok(()) } else { Err(Error::Signature) };
            assert_eq!(signer.public_key().verify_by(scheme, &digest, &signature), expected, "{i} as {j}");
        }
    }
    for scheme in [Scheme::Pure(&context), Scheme::Prehash(Prehash::Sha256, &context)] {
        let refused = signer.sign_deterministic(scheme, b"message").map(|_| ());
        assert!(matches!(refused, Err(Error::Length { what: "context", given: 256, .. })));
    }
    // The digest that the caller computes, and the same computed here.
    let message = b"a message";
    let by_caller = millstream_engines::sha256::digest(Features::hardware(), message);
    let here = signer.sign_deterministic(Scheme::Prehash(Prehash::Sha256, b"c"), message);
    assert_eq!(here, signer.sign_deterministic(Scheme::Digest(Prehash::Sha256, b"c"), &by_caller));
    // The standard's internal interface takes what the others frame.
    let framed = [&[0, 1, b'c'][..], message].concat();
    let pure = signer.sign_deterministic(Scheme::Pure(b"c"), message);
    assert_eq!(pure, signer.sign_deterministic(Scheme::Internal, &framed));
}

/// A source that gives one byte again and again, or fails.
struct Source(Option<u8>);

impl millstream_publickey::Random for Source {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.fill(self.0.ok_or(Error::Random)?);
        Ok(())
    }
}

#[test]
fn keys_and_signatures_are_made_of_random_bytes() {
    let (features, set) = (Features::hardware(), Set::Sha2_128f);
    let made = PrivateKey::generate(features, set, &mut Source(Some(7))).expect("a key");
    let expected = PrivateKey::from_seeds(features, set, &[7; 48]).expect("a key");
    assert_eq!(made.to_bytes(), expected.to_bytes());
    let signature = made.sign(b"message", &mut Source(Some(8))).expect("a signature");
    assert!(expected.sign_with(PURE, b"message", &[8; 16]) == Ok(signature.clone()));
    assert!(made.sign_deterministic(PURE, b"message") != Ok(signature));
    let failed = PrivateKey::generate(features, set, &mut Source(None)).map(|_| ());
    assert_eq!(failed, Err(Error::Random));
    assert_eq!(made.sign(b"message", &mut Source(None)), Err(Error::Random));
    assert!(!format!("{made:?}").contains("7, 7"), "a key's text shows no secret");
}

/// Every choice of kernels that a subset of the features makes gives the same.
#[test]
fn every_subset_of_the_features_gives_the_same() {
    let engines: [&dyn Engine; 4] = [&&SLH_DSA, &&SHA256_FOLD, &&SHA512_FOLD, &&KECCAK];
    let requirements = engines.iter().flat_map(|engine| engine.kernels()).map(|kernel| kernel.requires);
    let expected = FAST.map(|set| {
        let key = PrivateKey::from_seeds(Features::none(), set, &vec![5; set.seeds_len()]).expect("a key");
        key.sign_deterministic(PURE, b"message").expect("a signature")
    });
    let mut choices = BTreeSet::new();
    for features in feature_subsets(requirements) {
        let choice = [
            SLH_DSA.best(features).kernel().name,
            SHA256_FOLD.best(features).kernel().name,
            SHA512_FOLD.best(features).kernel().name,
            KECCAK.best(features).kernel().name,
        ];
        if !choices.insert(choice) {
            continue;
        }
        for (set, expected) in FAST.into_iter().zip(&expected) {
            let key = PrivateKey::from_seeds(features, set, &vec![5; set.seeds_len()]).expect("a key");
            assert!(key.sign_deterministic(PURE, b"message").as_ref() == Ok(expected), "{set}: {choice:?}");
            assert_eq!(key.public_key().verify(b"message", expected), Ok(()), "{set}: {choice:?}");
        }
    }
    assert!(!choices.is_empty());
}
