//! Rows of ML-KEM.

use millstream_cpu::Features;
use millstream_engines::sha3::Keccak;
use millstream_publickey::mlkem::{
    DecapsulateJob, EncapsulateJob, KeyJob, Lanes, MAX_LANES, MESSAGE, ML_KEM, ML_KEM_LANES, PrivateKey,
    PublicKey, SECRET, SEED, Set,
};

use crate::trial::{Run, Trial};
use crate::{Part, Row};

/// The parameter set of the lanes' trials.
const LANES_SET: Set = Set::MlKem768;

/// Bytes of the secret vector in an expanded key, which come first.
fn vector_len(set: Set) -> usize {
    set.public_key_len() - 32
}

/// Bytes of an expanded key that are secret: the vector, and what decides about other ciphertexts.
fn secret_len(set: Set) -> usize {
    vector_len(set) + 32
}

/// An expanded key, of which only the secret parts are replaced.
fn expanded(features: Features, set: Set, secret: &[u8]) -> Vec<u8> {
    let mut bytes = PrivateKey::from_seed(features, set, &[9; SEED]).to_expanded().to_vec();
    let (vector, rejection) = secret.split_at(vector_len(set));
    bytes[..vector.len()].copy_from_slice(vector);
    let end = bytes.len() - rejection.len();
    bytes[end..].copy_from_slice(rejection);
    bytes
}

/// A public key, which is public.
fn public(features: Features, set: Set) -> PublicKey {
    PrivateKey::from_seed(features, set, &[9; SEED]).public_key().clone()
}

pub(super) fn one(row: Row) -> Option<Vec<Trial>> {
    let bound = ML_KEM.named(row.features, row.name)?;
    let keccak = Keccak::new(row.features);
    let mut trials = Vec::new();
    for set in Set::ALL {
        let trial = |what: &str, keys: usize, data: usize, run: Run| {
            let what = format!("{what} of {set}");
            Trial::new(row.algorithm, bound.kernel(), what, keys, &[data], run)
        };
        let public = public(row.features, set);
        trials.push(
            trial(
                "key pair",
                SEED,
                set.expanded_key_len(),
                Box::new(move |seed, parts| {
                    let key = PrivateKey::with_kernels(bound, keccak, set, seed).expect("a seed");
                    parts[0].data.copy_from_slice(&key.to_expanded());
                }),
            )
            .rejecting(),
        );
        trials.push(trial(
            "encapsulation",
            MESSAGE,
            set.ciphertext_len(),
            Box::new(move |message, parts| {
                let key = PublicKey::with_kernels(bound, keccak, set, public.as_bytes()).expect("a key");
                let message = message.try_into().expect("32 bytes");
                let (ciphertext, secret) = key.encapsulate_message(message);
                parts[0].data.copy_from_slice(&ciphertext);
                parts[0].put(secret.as_bytes());
            }),
        ));
        trials.push(trial(
            "decapsulation",
            secret_len(set),
            set.ciphertext_len(),
            Box::new(move |secret, parts| {
                let bytes = expanded(row.features, set, secret);
                let key = PrivateKey::with_kernels(bound, keccak, set, &bytes).expect("a key");
                let secret = key.decapsulate(parts[0].data).expect("as many bytes as there have to be");
                parts[0].put(secret.as_bytes());
            }),
        ));
    }
    Some(trials)
}

pub(super) fn lanes(row: Row) -> Option<Vec<Trial>> {
    let features = row.features;
    let lanes = Lanes::with_kernel(ML_KEM_LANES.named(features, row.name)?, features);
    let set = LANES_SET;
    let trial = |what: &str, key: usize, data: usize, run: Run| {
        Trial::new(row.algorithm, lanes.kernel(), what, MAX_LANES * key, &[data; MAX_LANES], run)
    };
    let public = public(features, set);
    Some(vec![
        trial(
            "key pairs",
            SEED,
            set.expanded_key_len(),
            Box::new(move |seeds, parts| {
                let mut jobs: Vec<_> =
                    seeds.as_chunks::<SEED>().0.iter().map(|seed| KeyJob::new(set, seed)).collect();
                lanes.keys(&mut jobs);
                for (part, job) in parts.iter_mut().zip(&jobs) {
                    part.data.copy_from_slice(&job.key.as_ref().expect("the job has run").to_expanded());
                }
            }),
        )
        .rejecting(),
        trial(
            "encapsulation",
            MESSAGE,
            set.ciphertext_len(),
            Box::new(move |messages, parts| {
                let messages = messages.as_chunks::<MESSAGE>().0;
                let mut jobs: Vec<_> =
                    messages.iter().map(|message| EncapsulateJob::new(&public, message)).collect();
                lanes.encapsulate(&mut jobs);
                for (part, job) in parts.iter_mut().zip(&jobs) {
                    let (ciphertext, secret) = job.result.as_ref().expect("the job has run");
                    part.data.copy_from_slice(ciphertext);
                    part.put(secret.as_bytes());
                }
            }),
        ),
        trial(
            "decapsulation",
            secret_len(set),
            set.ciphertext_len(),
            Box::new(move |secrets, parts| decapsulate(lanes, features, secrets, parts)),
        ),
    ])
}

fn decapsulate(lanes: Lanes, features: Features, secrets: &[u8], parts: &mut [Part<'_>]) {
    let keys: Vec<PrivateKey> = secrets
        .chunks(secret_len(LANES_SET))
        .map(|secret| {
            PrivateKey::new(features, LANES_SET, &expanded(features, LANES_SET, secret)).expect("a key")
        })
        .collect();
    let mut jobs: Vec<_> =
        keys.iter().zip(&*parts).map(|(key, part)| DecapsulateJob::new(key, part.data)).collect();
    lanes.decapsulate(&mut jobs);
    let secrets: Vec<[u8; SECRET]> = jobs
        .into_iter()
        .map(|job| *job.secret.expect("the job has run").expect("the right length").as_bytes())
        .collect();
    for (part, secret) in parts.iter_mut().zip(secrets) {
        part.put(&secret);
    }
}
