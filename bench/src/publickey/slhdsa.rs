//! SLH-DSA: our rows. OpenSSL has it from 3.5 on.
//!
//! Keys are objects that are made once. Ours keep the uppermost tree; OpenSSL computes it for each signature.

use millstream::Features;
use millstream::publickey::Error;
use millstream::publickey::slhdsa::{Lanes, PrivateKey, Scheme, Set, SignJob, VerifyJob};

use super::Row;
use super::cases::{Case, MESSAGE, Material, Operation};
use super::ours::{Counter, MANY, verdict};

/// The sets that are measured: of each level and each way to hash those that are used most.
pub const SETS: [Set; 4] = [Set::Sha2_128s, Set::Sha2_128f, Set::Sha2_192f, Set::Shake128f];

/// Returns the private key of seeds that count.
pub fn private_key(features: Features, set: Set) -> Result<Vec<u8>, Error> {
    let seeds: Vec<u8> = (0..set.seeds_len()).map(|i| i as u8).collect();
    Ok(PrivateKey::from_seeds(features, set, &seeds)?.to_bytes().to_vec())
}

/// Returns our rows.
pub fn rows(features: Features, set: Set, case: &Case, material: &Material) -> Result<Vec<Row>, Error> {
    let scheme = Scheme::Pure(b"");
    let key = PrivateKey::new(features, set, &material.private)?;
    let lanes = Lanes::new(features);
    let (one, public) = (key.kernel().name, key.public_key().clone());
    if case.operation == Operation::Sign {
        let (again, mut random) = (key.clone(), Counter(1));
        return Ok(vec![
            Row::new("millstream", one, 1, move |out| {
                out.extend(key.sign(MESSAGE, &mut random).expect("a signature"));
            }),
            Row::new("millstream", one, MANY, move |out| {
                let randomness: [[u8; 32]; MANY] = std::array::from_fn(|i| [i as u8; 32]);
                let mut jobs = randomness.each_ref().map(|randomness| {
                    SignJob::new(&again, scheme, MESSAGE, Some(&randomness[..set.node_len()]))
                });
                lanes.sign(&mut jobs);
                for job in jobs {
                    out.extend(job.signature.expect("it has run").expect("a signature"));
                }
            }),
        ]);
    }
    let (kept, signature) = (public.clone(), material.signature.clone());
    let same = signature.clone();
    Ok(vec![
        Row::new("millstream", one, 1, move |out| out.extend(verdict(&kept.verify(MESSAGE, &same)))),
        Row::new("millstream", one, MANY, move |out| {
            let mut jobs: [_; MANY] =
                std::array::from_fn(|_| VerifyJob::new(&public, scheme, MESSAGE, &signature));
            lanes.verify(&mut jobs);
            jobs.iter().for_each(|job| out.extend(verdict(job.verdict.as_ref().expect("it has run"))));
        }),
    ])
}
