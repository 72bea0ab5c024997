//! Verification of several signatures of one parameter set at once. All of it is public.
//!
//! Ref. FIPS 204 §6.3.

use super::coding;
use super::keys::Expanded;
use super::message::Input;
use super::ops::Engine;
use super::poly::Poly;
use super::set::{MU, Set};
use super::sign::representatives;
use super::sponge::{self, Message};

/// A signature to verify, which is as long as it has to be.
pub(super) struct Verify<'a> {
    pub(super) key: &'a Expanded,
    pub(super) input: &'a Input<'a>,
    pub(super) signature: &'a [u8],
    /// True if it was right.
    pub(super) valid: bool,
}

/// Verifies signatures: FIPS 204 §6.3, algorithm 8.
pub(super) fn verify_vartime(engine: Engine, set: Set, jobs: &mut [Verify<'_>]) {
    let (rows, columns, count) = (set.rows(), set.columns(), jobs.len());
    let mut mus = vec![[0; MU]; count];
    representatives(engine, jobs.iter().map(|job| (job.key, job.input)), &mut mus);
    let hashes: Vec<_> = jobs.iter().map(|job| &job.signature[..set.hash_len()]).collect();
    let mut challenges = vec![Poly::ZERO; count];
    sponge::challenges_vartime(engine.keccak, set, &hashes, &mut challenges);
    // The vector z, and behind it the challenge.
    let mut factors = vec![Poly::ZERO; columns + 1];
    let (mut hints, mut sums) = (vec![Poly::ZERO; rows], vec![Poly::ZERO; rows]);
    let mut encoded = vec![0; rows * set.high_len() * count];
    let bound = set.gamma1() - set.beta();
    for (i, job) in jobs.iter_mut().enumerate() {
        let (z, hint) = job.signature[set.hash_len()..].split_at(columns * set.z_len());
        job.valid = coding::unpack_hint(set, hint, &mut hints);
        for (bytes, poly) in z.chunks(set.z_len()).zip(&mut factors) {
            engine.decode(bytes, set.z_bits(), Some(set.gamma1()), poly);
            job.valid &= engine.within(poly, bound);
        }
        if !job.valid {
            continue;
        }
        factors[columns] = challenges[i];
        engine.ntt(&mut factors);
        for (row, sum) in job.key.rows(set).zip(&mut sums) {
            engine.multiply(row, &factors, sum);
        }
        engine.inverse(&mut sums);
        let encoded = encoded[rows * set.high_len() * i..].chunks_mut(set.high_len());
        for ((sum, hint), out) in sums.iter_mut().zip(&hints).zip(encoded) {
            engine.use_hint(sum, hint, set.gamma2());
            engine.encode(sum, set.gamma2().high_bits(), None, out);
        }
    }
    let messages: Vec<_> = mus
        .iter()
        .zip(encoded.chunks(rows * set.high_len()))
        .map(|(mu, encoded)| Message([mu, encoded, &[], &[]]))
        .collect();
    let mut digests = vec![[0; 64]; count];
    sponge::h(engine.keccak, &messages, &mut digests);
    for (job, digest) in jobs.iter_mut().zip(&digests) {
        job.valid &= digest[..set.hash_len()] == job.signature[..set.hash_len()];
    }
}
