//! Signatures of several messages of one parameter set at once. A lane whose candidate is accepted takes the next message.
//!
//! # What is public
//! How many candidates are rejected, and by which polynomial, may be seen from the time that a signature takes (FIPS 204 §3.3). The
//! vector z comes first: whatever the secret is, equally many values of y make a coefficient of z too large. What is examined behind it
//! depends on z, the challenge, the public key and t0 alone, none of which a forger gains by. The challenges of rejected
//! candidates are hashes of what nobody knows, and are taken for public too.
//!
//! Ref. FIPS 204 §6.2.

use super::coding;
use super::keys::Expanded;
use super::message::Input;
use super::ops::Engine;
use super::poly::Poly;
use super::secret::Secret;
use super::set::{MU, RANDOMNESS, Set};
use super::sponge::{self, Mask, Message};
use crate::Error;
use crate::lattice::Work;

/// The most candidates of a signature. That so many are rejected happens with a chance of less than 2^-256 (FIPS 204, appendix C); it
/// means that the key or the processor is faulty.
const CANDIDATES_MAX: u16 = 1000;

/// A message to sign.
pub(super) struct Sign<'a> {
    pub(super) key: &'a Expanded,
    pub(super) private: &'a Secret,
    pub(super) input: &'a Input<'a>,
    pub(super) randomness: &'a [u8; RANDOMNESS],
    pub(super) signature: &'a mut [u8],
    /// Nothing before the message has been signed.
    pub(super) verdict: Result<(), Error>,
}

/// A message in a lane.
#[derive(Clone, Copy)]
struct Lane {
    job: usize,
    /// The candidates before this one.
    rejected: u16,
}

/// Returns the representatives of messages: FIPS 204 §6.2, algorithm 7, line 6.
pub(super) fn representatives<'a>(
    engine: Engine,
    jobs: impl Iterator<Item = (&'a Expanded, &'a Input<'a>)> + Clone,
    mus: &mut [[u8; MU]],
) {
    let messages: Vec<_> = jobs.clone().map(|(key, input)| input.behind(&key.hash)).collect();
    if jobs.clone().any(|(_, input)| !input.is_mu) {
        sponge::h(engine.keccak, &messages, mus);
    }
    for ((_, input), mu) in jobs.zip(mus) {
        if let Some(given) = input.mu() {
            *mu = *given;
        }
    }
}

/// Signs messages, in as many lanes as are given: FIPS 204 §6.2, algorithm 7.
pub(super) fn sign(engine: Engine, set: Set, lanes: usize, jobs: &mut [Sign<'_>]) {
    let mut mus = vec![[0; MU]; jobs.len()];
    representatives(engine, jobs.iter().map(|job| (job.key, job.input)), &mut mus);
    let messages: Vec<_> =
        jobs.iter().zip(&mus).map(|(job, mu)| Message([&job.private.key, job.randomness, mu, &[]])).collect();
    let mut seeds = Work::new([0; 64], jobs.len());
    sponge::h(engine.keccak, &messages, &mut seeds);
    let mut next = lanes.min(jobs.len());
    let mut active: Vec<_> = (0..next).map(|job| Lane { job, rejected: 0 }).collect();
    let mut turn = Turn::new(engine, set, next);
    while !active.is_empty() {
        turn.candidates(&active, jobs, &seeds, &mus);
        let mut accepted = turn.examine(&active, jobs).into_iter();
        active.retain_mut(|lane| {
            let job = &mut jobs[lane.job];
            lane.rejected += 1;
            if accepted.next() == Some(true) {
                job.verdict = Ok(());
            } else if lane.rejected < CANDIDATES_MAX {
                return true;
            }
            *lane = Lane { job: next, rejected: 0 };
            next += 1;
            lane.job < jobs.len()
        });
    }
}

/// The candidates of one turn, one for each lane, and room for what is computed of them.
struct Turn {
    engine: Engine,
    set: Set,
    /// The vectors y, which become z.
    y: Work<Poly>,
    /// The low bits of the vectors w, which become the hints.
    low: Work<Poly>,
    high: Work<Poly>,
    encoded: Work<u8>,
    hashes: Vec<[u8; 64]>,
    challenges: Work<Poly>,
    factors: Work<Poly>,
}

impl Turn {
    fn new(engine: Engine, set: Set, lanes: usize) -> Self {
        let (rows, columns) = (set.rows(), set.columns());
        Turn {
            engine,
            set,
            y: Work::new(Poly::ZERO, columns * lanes),
            low: Work::new(Poly::ZERO, rows * lanes),
            high: Work::new(Poly::ZERO, rows * lanes),
            encoded: Work::new(0, rows * set.high_len() * lanes),
            hashes: vec![[0; 64]; lanes],
            challenges: Work::new(Poly::ZERO, lanes),
            factors: Work::new(Poly::ZERO, columns),
        }
    }

    /// Makes the commitments and the challenges of candidates: algorithm 7, lines 11 to 17.
    fn candidates(&mut self, active: &[Lane], jobs: &[Sign<'_>], seeds: &[[u8; 64]], mus: &[[u8; MU]]) {
        let (engine, set) = (self.engine, self.set);
        let (rows, columns, count) = (set.rows(), set.columns(), active.len());
        let masks: Vec<_> = active
            .iter()
            .map(|lane| Mask { seed: &seeds[lane.job], first: lane.rejected * columns as u16 })
            .collect();
        sponge::masks(engine, set, &masks, &mut self.y[..columns * count]);
        for (i, lane) in active.iter().enumerate() {
            self.factors.copy_from_slice(&self.y[columns * i..columns * (i + 1)]);
            engine.ntt(&mut self.factors);
            let low = &mut self.low[rows * i..rows * (i + 1)];
            for (row, sum) in jobs[lane.job].key.rows(set).zip(&mut *low) {
                engine.multiply(&row[..columns], &self.factors, sum);
            }
            engine.inverse(low);
            let encoded = self.encoded[rows * set.high_len() * i..].chunks_mut(set.high_len());
            for ((low, high), out) in low.iter_mut().zip(&mut self.high[rows * i..]).zip(encoded) {
                engine.decompose(low, set.gamma2(), high);
                engine.encode(high, set.gamma2().high_bits(), None, out);
            }
        }
        let encoded = self.encoded.chunks(rows * set.high_len());
        let messages: Vec<_> = active
            .iter()
            .zip(encoded)
            .map(|(lane, encoded)| Message([&mus[lane.job], encoded, &[], &[]]))
            .collect();
        sponge::h(engine.keccak, &messages, &mut self.hashes[..count]);
        let hashes: Vec<_> = self.hashes[..count].iter().map(|hash| &hash[..set.hash_len()]).collect();
        sponge::challenges_vartime(engine.keccak, set, &hashes, &mut self.challenges[..count]);
        engine.ntt(&mut self.challenges[..count]);
    }

    /// Returns for each candidate whether it was accepted. A signature was written then.
    fn examine(&mut self, active: &[Lane], jobs: &mut [Sign<'_>]) -> Vec<bool> {
        (0..active.len()).map(|i| self.examine_one(i, &mut jobs[active[i].job])).collect()
    }

    /// Lines 18 to 33 of algorithm 7.
    fn examine_one(&mut self, i: usize, job: &mut Sign<'_>) -> bool {
        let (engine, set) = (self.engine, self.set);
        let (rows, columns) = (set.rows(), set.columns());
        let challenge = &self.challenges[i..i + 1];
        let y = &mut self.y[columns * i..columns * (i + 1)];
        let low = &mut self.low[rows * i..rows * (i + 1)];
        let high = &self.high[rows * i..rows * (i + 1)];
        let product = &mut self.factors[..1];
        for (s1, y) in job.private.s1(set).iter().zip(&mut *y) {
            times(engine, s1, challenge, product);
            if !engine.add_within(y, &product[0], set.gamma1() - set.beta()) {
                return false;
            }
        }
        let gamma2 = set.gamma2();
        for (s2, low) in job.private.s2(set).iter().zip(&mut *low) {
            times(engine, s2, challenge, product);
            if !engine.subtract_within(low, &product[0], gamma2.value() - set.beta()) {
                return false;
            }
        }
        let mut ones = 0;
        for ((t0, low), high) in job.private.t0(set).iter().zip(&mut *low).zip(high) {
            times(engine, t0, challenge, product);
            ones += engine.hint(low, &product[0], high, gamma2);
            if ones > set.ones() {
                return false;
            }
        }
        let (hash, rest) = job.signature.split_at_mut(set.hash_len());
        let (z, hint) = rest.split_at_mut(columns * set.z_len());
        hash.copy_from_slice(&self.hashes[i][..set.hash_len()]);
        for (y, out) in y.iter().zip(z.chunks_mut(set.z_len())) {
            engine.encode(y, set.z_bits(), Some(set.gamma1()), out);
        }
        coding::pack_hint(set, low, hint);
        true
    }
}

/// Multiplies a transformed polynomial by a challenge.
fn times(engine: Engine, poly: &Poly, challenge: &[Poly], product: &mut [Poly]) {
    engine.multiply(std::slice::from_ref(poly), challenge, &mut product[0]);
    engine.inverse(product);
}
