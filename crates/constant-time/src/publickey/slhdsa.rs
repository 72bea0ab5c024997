//! Rows of SLH-DSA. What verifies is public.

use millstream_publickey::slhdsa::{PrivateKey, SLH_DSA, Scheme, Set};

use crate::Row;
use crate::trial::{Run, Trial};

/// The sets of the trials: the fastest of each way to hash.
const SETS: [Set; 3] = [Set::Sha2_128f, Set::Sha2_192f, Set::Shake128f];

/// The seed of the public key, which is part of it.
const PUBLIC_SEED: [u8; 32] = [0x70; 32];

const MESSAGE: &[u8] = b"a message, which is public";

pub(super) fn one(row: Row) -> Option<Vec<Trial>> {
    let (bound, features) = (SLH_DSA.named(row.features, row.name)?, row.features);
    let mut trials = Vec::new();
    for set in SETS {
        let n = set.node_len();
        let new = |what: &str, keys: usize, data: usize, run: Run| {
            Trial::new(row.algorithm, bound.kernel(), format!("{what} of {set}"), keys, &[data], run)
        };
        let key = move |secrets: &[u8]| {
            let seeds = [secrets, &PUBLIC_SEED[..n]].concat();
            PrivateKey::from_seeds_with_kernel(bound, features, set, &seeds).expect("three seeds")
        };
        trials.push(new(
            "key pair",
            2 * n,
            set.private_key_len(),
            Box::new(move |secrets, parts| parts[0].data.copy_from_slice(&key(secrets).to_bytes())),
        ));
        trials.push(new(
            "signature",
            3 * n,
            set.signature_len(),
            Box::new(move |secrets, parts| {
                let (secrets, randomness) = secrets.split_at(2 * n);
                let signature = key(secrets).sign_with(Scheme::Pure(&[]), MESSAGE, randomness);
                parts[0].data.copy_from_slice(&signature.expect("a signature"));
            }),
        ));
    }
    Some(trials)
}
