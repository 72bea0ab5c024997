//! ML-KEM's lanes against one at a time, and keys and ciphertexts that are refused.

use millstream_cpu::Features;
use millstream_publickey::mlkem::{
    DecapsulateJob, EncapsulateJob, KeyJob, Lanes, MAX_LANES, ML_KEM, ML_KEM_LANES, PrivateKey, PublicKey,
    PublicKeyJob, Set,
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

/// Every number of jobs, of one set and of mixed sets, gives in each place what one at a time gives.
#[test]
fn every_lane_gives_what_one_at_a_time_gives() {
    let features = Features::hardware();
    let mut random = Random::new(3);
    let seeds: Vec<[u8; 64]> = (0..MOST).map(|_| random.array()).collect();
    let messages: Vec<[u8; 32]> = (0..MOST).map(|_| random.array()).collect();
    for kernel in ML_KEM_LANES.available(features) {
        let lanes = Lanes::with_kernel(kernel, features);
        for count in 0..=MOST {
            let set = |i: usize| if count % 2 == 0 { Set::MlKem768 } else { set(i) };
            let mut jobs: Vec<_> = (0..count).map(|i| KeyJob::new(set(i), &seeds[i])).collect();
            lanes.keys(&mut jobs);
            let keys: Vec<_> = jobs.into_iter().map(|job| job.key.expect("the job has run")).collect();
            let mut parses: Vec<_> =
                keys.iter().map(|key| PublicKeyJob::new(key.set(), key.public_key().as_bytes())).collect();
            lanes.public_keys(&mut parses);
            let publics: Vec<_> =
                parses.into_iter().map(|job| job.key.expect("the job has run").expect("a key")).collect();
            let mut jobs: Vec<_> =
                publics.iter().zip(&messages).map(|(key, m)| EncapsulateJob::new(key, m)).collect();
            lanes.encapsulate(&mut jobs);
            let sent: Vec<_> = jobs.into_iter().map(|job| job.result.expect("the job has run")).collect();
            let mut jobs: Vec<_> =
                keys.iter().zip(&sent).map(|(key, (sent, _))| DecapsulateJob::new(key, sent)).collect();
            lanes.decapsulate(&mut jobs);
            for (i, job) in jobs.into_iter().enumerate() {
                let key = PrivateKey::from_seed(features, set(i), &seeds[i]);
                assert_eq!(key.to_expanded(), keys[i].to_expanded(), "{lanes:?}, {i} of {count}");
                let (ciphertext, secret) = key.public_key().encapsulate_message(&messages[i]);
                assert!(sent[i] == (ciphertext, secret.clone()), "{lanes:?}, {i} of {count}");
                assert_eq!(job.secret, Some(Ok(secret)), "{lanes:?}, {i} of {count}");
            }
        }
    }
}

/// A changed ciphertext in one lane gives the secret of a rejection there, the same as one at a time, and the others are right.
#[test]
fn a_changed_ciphertext_touches_no_other_lane() {
    let features = Features::hardware();
    let mut random = Random::new(4);
    for set in Set::ALL {
        let key = PrivateKey::from_seed(features, set, &random.array());
        let (right, secret) = key.public_key().encapsulate_message(&random.array());
        for kernel in ML_KEM_LANES.available(features) {
            for lane in 0..MAX_LANES {
                let mut changed = right.clone();
                changed[(37 * lane * lane) % right.len()] ^= 1 << lane;
                let mut jobs = [0; MAX_LANES].map(|_| DecapsulateJob::new(&key, &right));
                jobs[lane].ciphertext = &changed;
                Lanes::with_kernel(kernel, features).decapsulate(&mut jobs);
                for (at, job) in jobs.into_iter().enumerate() {
                    let given = job.secret.expect("the job has run");
                    if at == lane {
                        assert_eq!(given, key.decapsulate(&changed));
                        assert_ne!(given, Ok(secret.clone()));
                    } else {
                        assert_eq!(given, Ok(secret.clone()));
                    }
                }
            }
        }
    }
}

/// Every bit of a ciphertext counts.
#[test]
fn every_changed_bit_gives_another_secret() {
    let mut random = Random::new(5);
    for key in keys(&mut random, 3) {
        let (mut ciphertext, secret) = key.public_key().encapsulate_message(&random.array());
        for bit in 0..8 * ciphertext.len() {
            ciphertext[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(key.decapsulate(&ciphertext), Ok(secret.clone()), "{}, bit {bit}", key.set());
            ciphertext[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(key.decapsulate(&ciphertext), Ok(secret));
    }
}

#[test]
fn every_wrong_length_is_refused() {
    let features = Features::hardware();
    let lanes = Lanes::new(features);
    for key in keys(&mut Random::new(6), 3) {
        let set = key.set();
        let longest = set.expanded_key_len() + 3;
        let bytes = vec![0; longest];
        let (sent, secret) = key.public_key().encapsulate_message(&[1; 32]);
        for len in 0..=longest {
            let bytes = &bytes[..len];
            let refused = |result: Result<(), Error>| matches!(result, Err(Error::Length { given, .. }) if given == len);
            let private = PrivateKey::new(features, set, bytes).map(|_| ());
            assert_eq!(refused(private), len != 64 && len != set.expanded_key_len(), "{set} {len}");
            let public = PublicKey::new(features, set, bytes).map(|_| ());
            assert_eq!(refused(public), len != set.public_key_len(), "{set} {len}");
            let decapsulated = key.decapsulate(bytes).map(|_| ());
            assert_eq!(refused(decapsulated), len != set.ciphertext_len(), "{set} {len}");
        }
        let mut jobs = [DecapsulateJob::new(&key, &sent), DecapsulateJob::new(&key, &sent[1..])];
        lanes.decapsulate(&mut jobs);
        let [right, short] = jobs.map(|job| job.secret.expect("the job has run"));
        assert_eq!(right, Ok(secret));
        assert!(matches!(short, Err(Error::Length { .. })));
        let public = key.public_key().as_bytes();
        let mut jobs = [PublicKeyJob::new(set, &public[1..]), PublicKeyJob::new(set, public)];
        lanes.public_keys(&mut jobs);
        let [short, right] = jobs.map(|job| job.key.expect("the job has run"));
        assert!(matches!(short, Err(Error::Length { .. })) && right.as_ref() == Ok(key.public_key()));
    }
}

/// FIPS 203 §7.2: each number of a public key that is not below q is noticed, wherever it is, on every row.
#[test]
fn every_number_beyond_the_modulus_is_refused() {
    let features = Features::hardware();
    let keccak = millstream_engines::sha3::Keccak::new(features);
    for key in keys(&mut Random::new(7), 3) {
        let (set, public) = (key.set(), key.public_key().as_bytes());
        let numbers = (set.public_key_len() - 32) / 3 * 2;
        for (i, value) in (0..numbers).zip([3329_u16, 4095, 3330].into_iter().cycle()) {
            let mut bytes = public.to_vec();
            let (at, odd) = (i / 2 * 3, i % 2 == 1);
            if odd {
                bytes[at + 1] = bytes[at + 1] & 0xf | (value << 4) as u8;
                bytes[at + 2] = (value >> 4) as u8;
            } else {
                bytes[at] = value as u8;
                bytes[at + 1] = bytes[at + 1] & 0xf0 | (value >> 8) as u8;
            }
            for kernel in ML_KEM.available(features) {
                let refused = PublicKey::with_kernels(kernel, keccak, set, &bytes).map(|_| ());
                let expected = Error::Encoding { algorithm: set.name(), what: "public key" };
                assert_eq!(refused, Err(expected), "{set}, number {i}");
            }
        }
    }
}

/// FIPS 203 §7.3: an expanded key whose hash is not that of its public key is refused.
#[test]
fn an_expanded_key_that_does_not_fit_is_refused() {
    let features = Features::hardware();
    for key in keys(&mut Random::new(8), 3) {
        let (set, whole) = (key.set(), key.to_expanded());
        let again = PrivateKey::new(features, set, &whole).expect("the key's own form");
        assert_eq!((again.to_expanded(), again.seed()), (whole.clone(), None));
        let vector = set.public_key_len() - 32;
        let refused = Some(Error::Encoding { algorithm: set.name(), what: "private key" });
        for at in (vector..whole.len() - 32).step_by(61).chain([vector, whole.len() - 33]) {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert_eq!(PrivateKey::new(features, set, &changed).err(), refused, "{set}, byte {at}");
        }
    }
}

#[test]
fn keys_and_secrets_are_made_of_random_bytes() {
    struct Source(Option<u8>);
    impl millstream_publickey::Random for Source {
        fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
            bytes.fill(self.0.ok_or(Error::Random)?);
            Ok(())
        }
    }
    let features = Features::hardware();
    let key = PrivateKey::generate(features, Set::MlKem512, &mut Source(Some(7))).expect("a source");
    assert_eq!(key.seed(), Some(&[7; 64]));
    let made = key.public_key().encapsulate(&mut Source(Some(8))).expect("a source");
    assert!(made == key.public_key().encapsulate_message(&[8; 32]));
    let failed = PrivateKey::generate(features, Set::MlKem512, &mut Source(None)).map(|_| ());
    assert_eq!(failed, Err(Error::Random));
    assert_eq!(key.public_key().encapsulate(&mut Source(None)).map(|_| ()), Err(Error::Random));
    assert!(!format!("{key:?}").contains("7, 7"), "a key's text shows no secret");
}

#[test]
fn every_subset_of_the_features_gives_the_same() {
    let engines: [&dyn Engine; 2] = [&&ML_KEM, &&ML_KEM_LANES];
    let requirements = engines.iter().flat_map(|engine| engine.kernels()).map(|kernel| kernel.requires);
    let expected = PrivateKey::from_seed(Features::none(), Set::MlKem768, &[5; 64]);
    let (sent, secret) = expected.public_key().encapsulate_message(&[6; 32]);
    for features in feature_subsets(requirements) {
        let key = PrivateKey::from_seed(features, Set::MlKem768, &[5; 64]);
        assert_eq!(key.to_expanded(), expected.to_expanded());
        assert_eq!(key.decapsulate(&sent), Ok(secret.clone()));
        let mut jobs = [0; MAX_LANES].map(|_| DecapsulateJob::new(&key, &sent));
        Lanes::new(features).decapsulate(&mut jobs);
        assert!(jobs.into_iter().all(|job| job.secret == Some(Ok(secret.clone()))));
    }
}
