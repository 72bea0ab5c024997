//! Rows of ML-DSA. What verifies is public, the seed of the matrix among it; a signature tells nothing of the attempts before it, which may be known
//! (FIPS 204 §6.2, §7.3).

use millstream_publickey::mldsa::{
    KeyJob, Lanes, MAX_LANES, ML_DSA, ML_DSA_LANES, PrivateKey, RANDOMNESS, SEED, Scheme, Set, SignJob,
};

use crate::trial::{Run, Trial};
use crate::{Part, Row};

/// The parameter set of the lanes' trials.
const LANES_SET: Set = Set::MlDsa44;

const MESSAGE: &[u8] = b"a message, which is public";

pub(super) fn one(row: Row) -> Option<Vec<Trial>> {
    let (bound, features) = (ML_DSA.named(row.features, row.name)?, row.features);
    let mut trials = Vec::new();
    for set in Set::ALL {
        let new = |what: &str, keys: usize, data: usize, run: Run| {
            Trial::new(row.algorithm, bound.kernel(), format!("{what} of {set}"), keys, &[data], run)
                .rejecting()
        };
        let key = move |bytes: &[u8]| PrivateKey::with_kernel(bound, features, set, bytes);
        trials.push(new(
            "key pair",
            SEED,
            set.expanded_key_len(),
            Box::new(move |seed, parts| {
                parts[0].data.copy_from_slice(&key(seed).expect("a seed").to_expanded());
            }),
        ));
        trials.push(new(
            "signature",
            SEED + RANDOMNESS,
            set.signature_len(),
            Box::new(move |secrets, parts| {
                let (seed, randomness) = secrets.split_at(SEED);
                let randomness = randomness.try_into().expect("32 bytes");
                let signature = key(seed).expect("a seed").sign_with(Scheme::Pure(&[]), MESSAGE, randomness);
                parts[0].data.copy_from_slice(&signature.expect("a signature"));
            }),
        ));
        let expanded = new(
            "expanded key",
            SEED,
            set.expanded_key_len(),
            Box::new(move |_, parts| {
                let taken = key(parts[0].data).expect("the key of a seed").to_expanded();
                parts[0].data.copy_from_slice(&taken);
            }),
        );
        trials.push(expanded.prepared(move |seed, parts| {
            parts[0].data.copy_from_slice(&key(seed).expect("a seed").to_expanded());
        }));
    }
    Some(trials)
}

pub(super) fn lanes(row: Row) -> Option<Vec<Trial>> {
    let lanes = Lanes::with_kernel(ML_DSA_LANES.named(row.features, row.name)?, row.features);
    let set = LANES_SET;
    let trial = |what: &str, key: usize, data: usize, run: Run| {
        Trial::new(row.algorithm, lanes.kernel(), what, MAX_LANES * key, &[data; MAX_LANES], run).rejecting()
    };
    Some(vec![
        trial(
            "key pairs",
            SEED,
            set.expanded_key_len(),
            Box::new(move |seeds, parts| {
                for (part, key) in parts.iter_mut().zip(keys(lanes, seeds.as_chunks().0)) {
                    part.data.copy_from_slice(&key.to_expanded());
                }
            }),
        ),
        trial(
            "signatures",
            SEED + RANDOMNESS,
            set.signature_len(),
            Box::new(move |secrets, parts| sign(lanes, secrets, parts)),
        ),
    ])
}

fn keys(lanes: Lanes, seeds: &[[u8; SEED]]) -> Vec<PrivateKey> {
    let mut jobs: Vec<_> = seeds.iter().map(|seed| KeyJob::new(LANES_SET, seed)).collect();
    lanes.keys(&mut jobs);
    jobs.into_iter().map(|job| job.key.expect("the job has run")).collect()
}

fn sign(lanes: Lanes, secrets: &[u8], parts: &mut [Part<'_>]) {
    let (seeds, randomness) = secrets.split_at(MAX_LANES * SEED);
    let keys = keys(lanes, seeds.as_chunks().0);
    let randomness = randomness.as_chunks::<RANDOMNESS>().0;
    let mut jobs: Vec<_> = keys
        .iter()
        .zip(randomness)
        .map(|(key, randomness)| SignJob::new(key, Scheme::Pure(&[]), MESSAGE, randomness))
        .collect();
    lanes.sign(&mut jobs);
    for (part, job) in parts.iter_mut().zip(jobs) {
        let signature = job.signature.expect("the job has run").expect("a signature");
        part.data.copy_from_slice(&signature);
    }
}
