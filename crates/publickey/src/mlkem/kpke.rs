//! The scheme under the KEM, K-PKE, for several operations of one parameter set at once.
//!
//! Ref. FIPS 203 §5.

use super::ops::Engine;
use super::poly::{Factor, Poly};
use super::set::{MAX_RANK, POLY, Set};
use super::sponge::{self, Expansion, Message};
use crate::lattice::Work;

/// A public key in the form in which it is used.
#[derive(Clone)]
pub(super) struct Expanded {
    /// The matrix, row by row, and behind it the vector t.
    polys: Box<[Poly]>,
    /// The hash of the key's encoding.
    pub(super) hash: [u8; 32],
}

impl Expanded {
    pub(super) fn empty(set: Set) -> Self {
        let rank = set.rank();
        Expanded { polys: vec![Poly::ZERO; rank * rank + rank].into_boxed_slice(), hash: [0; 32] }
    }

    fn matrix(&self, rank: usize) -> &[Poly] {
        &self.polys[..rank * rank]
    }

    fn t(&self, rank: usize) -> &[Poly] {
        &self.polys[rank * rank..]
    }
}

/// A public key to expand.
pub(super) struct Parse<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) expanded: &'a mut Expanded,
    /// True if every number was below q.
    pub(super) valid: bool,
}

/// Decodes public keys, expands their matrices, and hashes them: FIPS 203 §5.2, algorithm 14, lines 2 to 8, and the check of the
/// modulus of §7.2.
pub(super) fn parse(engine: Engine, set: Set, keys: &mut [Parse<'_>]) {
    let rank = set.rank();
    for key in &mut *keys {
        let t = &mut key.expanded.polys[rank * rank..];
        key.valid = true;
        for (bytes, poly) in key.bytes.as_chunks::<POLY>().0.iter().zip(t) {
            key.valid &= engine.decode(bytes, poly);
        }
    }
    expand(engine, rank, keys.iter_mut().map(|key| (seed_of(key.bytes), &mut *key.expanded)));
    let mut digests = vec![[0; 64]; keys.len()];
    let messages: Vec<_> =
        keys.iter().map(|key| Message { head: &[], body: key.bytes, byte: None }).collect();
    sponge::h(engine.keccak, &messages, &mut digests);
    for (key, digest) in keys.iter_mut().zip(&digests) {
        key.expanded.hash.copy_from_slice(&digest[..32]);
    }
}

/// The seed of the matrix, which ends a public key's encoding.
fn seed_of(bytes: &[u8]) -> &[u8; 32] {
    bytes.last_chunk().expect("a public key is longer")
}

fn expand<'a>(engine: Engine, rank: usize, keys: impl Iterator<Item = (&'a [u8; 32], &'a mut Expanded)>) {
    let mut expansions: Vec<_> =
        keys.map(|(seed, expanded)| Expansion { seed, matrix: &mut expanded.polys[..rank * rank] }).collect();
    sponge::expand(engine, rank, &mut expansions);
}

/// A key pair to make.
pub(super) struct Generate<'a> {
    /// The standard's d.
    pub(super) seed: &'a [u8; 32],
    pub(super) public: &'a mut [u8],
    pub(super) expanded: &'a mut Expanded,
    /// The secret vector, transformed.
    pub(super) secret: &'a mut [Poly; MAX_RANK],
}

/// Makes key pairs: FIPS 203 §5.1, algorithm 13.
pub(super) fn generate(engine: Engine, set: Set, keys: &mut [Generate<'_>]) {
    let rank = set.rank();
    let mut digests = Work::new([0; 64], keys.len());
    let byte = Some(rank as u8);
    let messages: Vec<_> = keys.iter().map(|key| Message { head: &[], body: key.seed, byte }).collect();
    sponge::g(engine.keccak, &messages, &mut digests);
    let mut seeds = Work::new([0; 32], keys.len());
    for ((key, digest), seed) in keys.iter_mut().zip(&*digests).zip(&mut *seeds) {
        key.public[rank * POLY..].copy_from_slice(&digest[..32]);
        seed.copy_from_slice(&digest[32..]);
    }
    expand(engine, rank, keys.iter_mut().map(|key| (seed_of(key.public), &mut *key.expanded)));
    let mut noise = Work::new(Poly::ZERO, 2 * rank * keys.len());
    sponge::noise(engine, [2 * rank, 2 * rank, set.eta1()], &seeds, &mut noise);
    engine.ntt(&mut noise);
    let mut factors = Work::new(Factor::ZERO, rank);
    for (key, noise) in keys.iter_mut().zip(noise.chunks(2 * rank)) {
        let (secret, error) = noise.split_at(rank);
        engine.factor(secret, &mut factors);
        let (matrix, t) = key.expanded.polys.split_at_mut(rank * rank);
        for i in 0..rank {
            engine.multiply(&matrix[i * rank..], 1, &factors, &mut t[i]);
            engine.add(&mut t[i], &error[i]);
            engine.encode(&t[i], &mut key.public[i * POLY..(i + 1) * POLY]);
        }
        key.secret[..rank].copy_from_slice(secret);
    }
    let mut digests = vec![[0; 64]; keys.len()];
    let messages: Vec<_> =
        keys.iter().map(|key| Message { head: &[], body: key.public, byte: None }).collect();
    sponge::h(engine.keccak, &messages, &mut digests);
    for (key, digest) in keys.iter_mut().zip(&digests) {
        key.expanded.hash.copy_from_slice(&digest[..32]);
    }
}

/// A message to encrypt.
pub(super) struct Encrypt<'a> {
    pub(super) key: &'a Expanded,
    pub(super) message: &'a [u8; 32],
    pub(super) ciphertext: &'a mut [u8],
}

/// Encrypts messages under seeds of randomness: FIPS 203 §5.2, algorithm 14.
pub(super) fn encrypt(engine: Engine, set: Set, seeds: &[[u8; 32]], jobs: &mut [Encrypt<'_>]) {
    let rank = set.rank();
    let each = 2 * rank + 1;
    let mut noise = Work::new(Poly::ZERO, each * jobs.len());
    sponge::noise(engine, [each, rank, set.eta1()], seeds, &mut noise);
    let mut factors = Work::new(Factor::ZERO, rank);
    // The vector u, and behind it v.
    let mut sums = Work::new(Poly::ZERO, rank + 1);
    let mut message = Work::new(Poly::ZERO, 1);
    for (job, noise) in jobs.iter_mut().zip(noise.chunks_mut(each)) {
        let (y, errors) = noise.split_at_mut(rank);
        engine.ntt(y);
        engine.factor(y, &mut factors);
        let matrix = job.key.matrix(rank);
        for i in 0..rank {
            engine.multiply(&matrix[i..], rank, &factors, &mut sums[i]);
        }
        engine.multiply(job.key.t(rank), 1, &factors, &mut sums[rank]);
        engine.inverse(&mut sums);
        for (sum, error) in sums.iter_mut().zip(&*errors) {
            engine.add(sum, error);
        }
        engine.decompress(job.message, 1, &mut message[0]);
        engine.add(&mut sums[rank], &message[0]);
        let (u, v) = job.ciphertext.split_at_mut(32 * set.u_bits() * rank);
        for (poly, bytes) in sums.iter().zip(u.chunks_mut(32 * set.u_bits())) {
            engine.compress(poly, set.u_bits(), bytes);
        }
        engine.compress(&sums[rank], set.v_bits(), v);
    }
}

/// Decrypts a ciphertext under the secret vector: FIPS 203 §5.3, algorithm 15.
pub(super) fn decrypt(
    engine: Engine,
    set: Set,
    secret: &[Poly; MAX_RANK],
    ciphertext: &[u8],
    message: &mut [u8; 32],
) {
    let rank = set.rank();
    let (u, v) = ciphertext.split_at(32 * set.u_bits() * rank);
    let mut polys = Work::new(Poly::ZERO, rank);
    let mut factors = Work::new(Factor::ZERO, rank);
    let mut sums = Work::new(Poly::ZERO, 2);
    for (poly, bytes) in polys.iter_mut().zip(u.chunks(32 * set.u_bits())) {
        engine.decompress(bytes, set.u_bits(), poly);
    }
    engine.ntt(&mut polys);
    engine.factor(&polys, &mut factors);
    let (product, masked) = sums.split_at_mut(1);
    engine.multiply(&secret[..rank], 1, &factors, &mut product[0]);
    engine.inverse(product);
    engine.decompress(v, set.v_bits(), &mut masked[0]);
    engine.subtract_from(&mut product[0], &masked[0]);
    engine.compress(&product[0], 1, message);
}
