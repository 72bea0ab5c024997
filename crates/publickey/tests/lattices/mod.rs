//! ML-KEM and ML-DSA beside those of another library: random and extreme inputs, another one in each lane, on every row.
//!
//! The file that has this module names the crate `publickey`, and `Features`.

use millstream_testkit::Random;

use super::Features;
use super::publickey::mldsa::{self, ML_DSA_LANES, SignJob, VerifyJob};
use super::publickey::mlkem::{self, DecapsulateJob, EncapsulateJob, KeyJob, ML_KEM_LANES, PublicKeyJob};

/// Every lane of the widest kernel twice, and one more.
pub const COUNT: usize = 17;
/// Each lane meets each kind of input.
const ROUNDS: usize = 17;

/// Bytes of one of four kinds: none set, all set, one set, random ones.
pub fn bytes(random: &mut Random, kind: usize, len: usize) -> Vec<u8> {
    match kind % 4 {
        0 => vec![0; len],
        1 => vec![0xff; len],
        2 => {
            let mut bytes = vec![0; len];
            bytes[random.below(len)] = 1 << random.below(8);
            bytes
        }
        _ => {
            let mut bytes = vec![0; len];
            random.fill(&mut bytes);
            bytes
        }
    }
}

pub fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("its length is the array's")
}

/// Signatures to verify: right ones, changed ones, and other bytes.
pub fn to_verify(random: &mut Random, round: usize, right: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let one = |(i, right): (usize, &Vec<u8>)| {
        let mut signature = right.clone();
        match (i + round) % 4 {
            0 => signature = bytes(random, i / 4, signature.len()),
            1 => {
                let at = random.below(signature.len());
                signature[at] ^= 1 << random.below(8);
            }
            _ => {}
        }
        signature
    };
    right.iter().enumerate().map(one).collect()
}

type Generate<'a, const SEED: usize> = &'a dyn Fn([u8; SEED]) -> (Vec<u8>, Vec<u8>);
type Encapsulate<'a> = &'a dyn Fn(&[u8], [u8; 32]) -> Option<(Vec<u8>, [u8; 32])>;
type Decapsulate<'a> = &'a dyn Fn(&[u8], &[u8]) -> [u8; 32];
type Sign<'a> = &'a dyn Fn(&[u8], &[u8], &[u8], [u8; 32]) -> Vec<u8>;
type Verify<'a> = &'a dyn Fn(&[u8], &[u8], &[u8], &[u8]) -> bool;

/// The functions of another library for one set of ML-KEM.
pub struct Kem<'a> {
    pub set: mlkem::Set,
    /// Returns the private and the public key of a seed.
    pub generate: Generate<'a, 64>,
    /// Returns the ciphertext and the secret, nothing for a public key that is refused.
    pub encapsulate: Encapsulate<'a>,
    pub decapsulate: Decapsulate<'a>,
}

/// A public key of one kind: one that belongs to a seed, or such with numbers of which all are the least, the greatest, or one beyond.
fn public_key(random: &mut Random, kind: usize, right: &[u8]) -> Vec<u8> {
    let mut key = right.to_vec();
    let numbers = key.len() - 32;
    let three: [u8; 3] = match kind % 5 {
        // Two numbers of 3328, the greatest.
        0 => [0x00, 0x0d, 0xd0],
        1 => [0; 3],
        2 => {
            // One number of 3329, which is refused.
            let at = 3 * random.below(numbers / 3);
            key[at..at + 3].copy_from_slice(&[0x01, 0x0d, 0x00]);
            return key;
        }
        _ => return key,
    };
    key[..numbers].chunks_mut(3).for_each(|chunk| chunk.copy_from_slice(&three));
    key
}

impl Kem<'_> {
    /// Compares all operations in all lanes.
    pub fn compare_in_every_lane(&self) {
        let Kem { set, generate, encapsulate, decapsulate } = self;
        let features = Features::hardware();
        let mut random = Random::new(24);
        let mut refused = 0;
        for round in 0..ROUNDS {
            let seeds: Vec<[u8; 64]> =
                (0..COUNT).map(|i| array(&bytes(&mut random, round + i, 64))).collect();
            let expected: Vec<_> = seeds.iter().map(|seed| generate(*seed)).collect();
            let messages: Vec<[u8; 32]> =
                (0..COUNT).map(|i| array(&bytes(&mut random, round / 4 + i, 32))).collect();
            let publics: Vec<_> = expected
                .iter()
                .enumerate()
                .map(|(i, (_, right))| public_key(&mut random, round + i, right))
                .collect();
            let sent: Vec<_> = publics.iter().zip(&messages).map(|(key, m)| encapsulate(key, *m)).collect();
            // The ciphertexts are those that were sent to the key, or to a changed one, or other bytes.
            let ciphertexts: Vec<Vec<u8>> = (0..COUNT)
                .map(|i| match &sent[i] {
                    Some((sent, _)) if i % 3 > 0 => sent.clone(),
                    _ => bytes(&mut random, round + i / 3, set.ciphertext_len()),
                })
                .collect();
            for kernel in ML_KEM_LANES.available(features) {
                let lanes = mlkem::Lanes::with_kernel(kernel, features);
                let mut jobs: Vec<_> = seeds.iter().map(|seed| KeyJob::new(*set, seed)).collect();
                lanes.keys(&mut jobs);
                let keys: Vec<_> = jobs.into_iter().map(|job| job.key.expect("the job has run")).collect();
                for (i, key) in keys.iter().enumerate() {
                    let ours = (key.to_expanded().to_vec(), key.public_key().as_bytes().to_vec());
                    assert!(ours == expected[i], "{set} in {lanes:?}: key {i} of round {round}");
                }
                let mut jobs: Vec<_> = publics.iter().map(|key| PublicKeyJob::new(*set, key)).collect();
                lanes.public_keys(&mut jobs);
                let taken: Vec<_> =
                    jobs.into_iter().map(|job| job.key.expect("the job has run").ok()).collect();
                let mut jobs = Vec::new();
                for i in 0..COUNT {
                    assert_eq!(taken[i].is_some(), sent[i].is_some(), "{set} in {lanes:?}: public key {i}");
                    jobs.extend(taken[i].as_ref().map(|key| EncapsulateJob::new(key, &messages[i])));
                    refused += usize::from(taken[i].is_none());
                }
                lanes.encapsulate(&mut jobs);
                let ours = jobs.into_iter().map(|job| job.result.expect("the job has run"));
                for ((ciphertext, secret), theirs) in ours.zip(sent.iter().flatten()) {
                    assert!(ciphertext == theirs.0 && *secret.as_bytes() == theirs.1, "{set} in {lanes:?}");
                }
                let mut jobs: Vec<_> =
                    keys.iter().zip(&ciphertexts).map(|(key, sent)| DecapsulateJob::new(key, sent)).collect();
                lanes.decapsulate(&mut jobs);
                for (i, job) in jobs.into_iter().enumerate() {
                    let secret = job.secret.expect("the job has run").expect("its length is right");
                    let theirs = decapsulate(&expected[i].0, &ciphertexts[i]);
                    assert!(*secret.as_bytes() == theirs, "{set} in {lanes:?}: secret {i} of round {round}");
                }
            }
        }
        assert!(refused > ROUNDS, "{set}: {refused} public keys were refused");
    }
}

/// The functions of another library for one set of ML-DSA.
pub struct Dsa<'a> {
    pub set: mldsa::Set,
    /// Returns the private and the public key of a seed.
    pub generate: Generate<'a, 32>,
    /// Signs a message within a context, with random bytes.
    pub sign: Sign<'a>,
    /// Verifies the signature of a message within a context.
    pub verify: Verify<'a>,
}

impl Dsa<'_> {
    /// Compares all operations in all lanes.
    pub fn compare_in_every_lane(&self) {
        let Dsa { set, generate, sign, verify } = self;
        let features = Features::hardware();
        let mut random = Random::new(25);
        let mut refused = 0;
        for round in 0..4 {
            let seeds: Vec<[u8; 32]> =
                (0..COUNT).map(|i| array(&bytes(&mut random, round + i, 32))).collect();
            let expected: Vec<_> = seeds.iter().map(|seed| generate(*seed)).collect();
            // Messages and contexts of other lengths in each lane: across the blocks of SHAKE256.
            let messages: Vec<_> =
                (0..COUNT).map(|i| bytes(&mut random, i + round, 1 + 17 * i * (round + 1))).collect();
            let contexts: Vec<_> =
                (0..COUNT).map(|i| bytes(&mut random, i, 255 * (i % 3) / 2 + 1)[1..].to_vec()).collect();
            let randomness: Vec<[u8; 32]> =
                (0..COUNT).map(|i| array(&bytes(&mut random, i / 4 + round, 32))).collect();
            let signatures: Vec<_> =
                (0..COUNT).map(|i| sign(&expected[i].0, &messages[i], &contexts[i], randomness[i])).collect();
            let given = to_verify(&mut random, round, &signatures);
            for kernel in ML_DSA_LANES.available(features) {
                let lanes = mldsa::Lanes::with_kernel(kernel, features);
                let mut jobs: Vec<_> = seeds.iter().map(|seed| mldsa::KeyJob::new(*set, seed)).collect();
                lanes.keys(&mut jobs);
                let keys: Vec<_> = jobs.into_iter().map(|job| job.key.expect("the job has run")).collect();
                for (i, key) in keys.iter().enumerate() {
                    let ours = (key.to_expanded().to_vec(), key.public_key().as_bytes().to_vec());
                    assert!(ours == expected[i], "{set} in {lanes:?}: key {i} of round {round}");
                }
                let scheme = |i: usize| mldsa::Scheme::Pure(&contexts[i]);
                let mut jobs: Vec<_> = (0..COUNT)
                    .map(|i| SignJob::new(&keys[i], scheme(i), &messages[i], &randomness[i]))
                    .collect();
                lanes.sign(&mut jobs);
                for (i, job) in jobs.into_iter().enumerate() {
                    let signature = job.signature.expect("the job has run").expect("a signature");
                    assert!(signature == signatures[i], "{set} in {lanes:?}: signature {i} of round {round}");
                }
                let mut jobs: Vec<_> = (0..COUNT)
                    .map(|i| VerifyJob::new(keys[i].public_key(), scheme(i), &messages[i], &given[i]))
                    .collect();
                lanes.verify(&mut jobs);
                for (i, job) in jobs.into_iter().enumerate() {
                    let verdict = job.verdict.expect("the job has run").is_ok();
                    let theirs = verify(&expected[i].1, &messages[i], &contexts[i], &given[i]);
                    assert_eq!(verdict, theirs, "{set} in {lanes:?}: verdict {i} of round {round}");
                    refused += usize::from(!verdict);
                }
            }
        }
        assert!(refused >= 4 * COUNT / 3, "{set}: {refused} signatures were refused");
    }
}
