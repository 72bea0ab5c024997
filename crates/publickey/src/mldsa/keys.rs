//! Making and expanding keys of one parameter set, several at once.
//!
//! Ref. FIPS 204 §6.1 and §7.2.

use super::ops::Engine;
use super::poly::{N, Poly};
use super::set::{DROPPED, SEED, Set, T1};
use super::sponge::{self, Expansion, Message};
use crate::lattice::Work;

/// A public key in the form in which it is used.
#[derive(Clone)]
pub(super) struct Expanded {
    /// The matrix, row by row, and behind each row a polynomial of -2^13 t1, all transformed. So one product of a row has all of w' in it.
    polys: Box<[Poly]>,
    /// The hash of the key's encoding, the standard's tr.
    pub(super) hash: [u8; 64],
}

impl Expanded {
    pub(super) fn empty(set: Set) -> Self {
        let count = set.rows() * (set.columns() + 1);
        Expanded { polys: vec![Poly::ZERO; count].into_boxed_slice(), hash: [0; 64] }
    }

    /// Returns the rows.
    pub(super) fn rows(&self, set: Set) -> impl Iterator<Item = &[Poly]> {
        self.polys.chunks(set.columns() + 1)
    }

    /// Sets the last polynomials of the rows.
    fn set_t1(&mut self, engine: Engine, set: Set, public: &[u8]) {
        let rows = self.polys.chunks_mut(set.columns() + 1);
        for (row, bytes) in rows.zip(public[32..].as_chunks::<T1>().0) {
            let last = &mut row[set.columns()..];
            engine.decode(bytes, 10, Some(0), &mut last[0]);
            for number in &mut last[0].0 {
                *number *= 1 << DROPPED;
            }
            engine.ntt(last);
        }
    }
}

/// The seed of the matrix, which begins a public key's encoding.
fn seed_of(public: &[u8]) -> &[u8; 32] {
    public.first_chunk().expect("a public key is longer")
}

/// A public key to expand.
pub(super) struct Parse<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) expanded: &'a mut Expanded,
}

/// Decodes public keys, expands their matrices, and hashes them: FIPS 204 §7.2, algorithm 23, and §6.3, algorithm 8, lines 5 and 6.
pub(super) fn parse(engine: Engine, set: Set, keys: &mut [Parse<'_>]) {
    for key in &mut *keys {
        key.expanded.set_t1(engine, set, key.bytes);
    }
    let mut expansions: Vec<_> = keys
        .iter_mut()
        .map(|key| Expansion { seed: seed_of(key.bytes), rows: &mut key.expanded.polys })
        .collect();
    sponge::expand(engine, set, &mut expansions);
    let messages: Vec<_> = keys.iter().map(|key| Message([key.bytes, &[], &[], &[]])).collect();
    let mut digests = vec![[0; 64]; keys.len()];
    sponge::h(engine.keccak, &messages, &mut digests);
    for (key, digest) in keys.iter_mut().zip(digests) {
        key.expanded.hash = digest;
    }
}

/// A key pair to make.
pub(super) struct Pair<'a> {
    /// The public key's encoding, of which the seed of the matrix is there at first.
    pub(super) public: &'a mut [u8],
    pub(super) expanded: &'a mut Expanded,
    /// The vectors s1 and s2, which are transformed, and room for t0, which will be.
    pub(super) vectors: &'a mut [Poly],
}

/// Makes the rest of key pairs whose small vectors are there: FIPS 204 §6.1, algorithm 6, lines 3 to 9.
pub(super) fn complete(engine: Engine, set: Set, keys: &mut [Pair<'_>]) {
    let (rows, columns) = (set.rows(), set.columns());
    let mut expansions: Vec<_> = keys
        .iter_mut()
        .map(|key| Expansion { seed: seed_of(key.public), rows: &mut key.expanded.polys })
        .collect();
    sponge::expand(engine, set, &mut expansions);
    let mut high = Work::new(Poly::ZERO, 1);
    for key in &mut *keys {
        let (s1, rest) = key.vectors.split_at_mut(columns);
        let (s2, t) = rest.split_at_mut(rows);
        engine.ntt(s1);
        for (row, sum) in key.expanded.rows(set).zip(&mut *t) {
            engine.multiply(&row[..columns], s1, sum);
        }
        engine.inverse(t);
        for ((t, s2), out) in t.iter_mut().zip(&*s2).zip(key.public[32..].chunks_mut(T1)) {
            engine.power2round(t, s2, &mut high[0]);
            engine.encode(&high[0], 10, None, out);
        }
        engine.ntt(s2);
        engine.ntt(t);
        key.expanded.set_t1(engine, set, key.public);
    }
    let messages: Vec<_> = keys.iter().map(|key| Message([key.public, &[], &[], &[]])).collect();
    let mut digests = vec![[0; 64]; keys.len()];
    sponge::h(engine.keccak, &messages, &mut digests);
    for (key, digest) in keys.iter_mut().zip(digests) {
        key.expanded.hash = digest;
    }
}

/// A key pair to make of its seed.
pub(super) struct Generate<'a> {
    pub(super) seed: &'a [u8; SEED],
    pub(super) pair: Pair<'a>,
    /// The standard's K.
    pub(super) key: &'a mut [u8; 32],
}

/// Makes key pairs: FIPS 204 §6.1, algorithm 6.
pub(super) fn generate(engine: Engine, set: Set, keys: &mut [Generate<'_>]) {
    let each = set.rows() + set.columns();
    let shape = [set.rows() as u8, set.columns() as u8];
    let messages: Vec<_> = keys.iter().map(|key| Message([key.seed, &shape, &[], &[]])).collect();
    let mut digests = Work::new([0; 128], keys.len());
    sponge::h(engine.keccak, &messages, &mut digests);
    let mut seeds = Work::new([0; 64], keys.len());
    for ((key, digest), seed) in keys.iter_mut().zip(&*digests).zip(&mut *seeds) {
        key.pair.public[..32].copy_from_slice(&digest[..32]);
        seed.copy_from_slice(&digest[32..96]);
        key.key.copy_from_slice(&digest[96..]);
    }
    let mut small = Work::new(Poly::ZERO, each * keys.len());
    sponge::small(engine, set, &seeds, &mut small);
    let mut pairs: Vec<_> = keys
        .iter_mut()
        .zip(small.chunks(each))
        .map(|(key, small)| {
            key.pair.vectors[..each].copy_from_slice(small);
            let Pair { public, expanded, vectors } = &mut key.pair;
            Pair { public, expanded, vectors }
        })
        .collect();
    complete(engine, set, &mut pairs);
}

/// The parts of an expanded private key: FIPS 204 §7.2, algorithms 24 and 25.
pub(super) struct Parts<B> {
    /// The seed of the matrix, the standard's rho.
    pub(super) seed: B,
    /// The standard's K.
    pub(super) key: B,
    /// The standard's tr.
    pub(super) hash: B,
    /// The encodings of s1 and s2.
    pub(super) small: B,
    /// The encodings of t0.
    pub(super) t0: B,
}

/// Takes an expanded key apart.
pub(super) fn parts(set: Set, bytes: &[u8]) -> Parts<&[u8]> {
    let (seed, rest) = bytes.split_at(32);
    let (key, rest) = rest.split_at(32);
    let (hash, rest) = rest.split_at(64);
    let (small, t0) = rest.split_at(set.small_len() * (set.rows() + set.columns()));
    Parts { seed, key, hash, small, t0 }
}

/// Returns polynomials that were transformed as they were before, around zero.
pub(super) fn untransformed(engine: Engine, vectors: &[Poly]) -> Work<Poly> {
    let one = Poly([1; N]);
    let mut products = Work::new(Poly::ZERO, vectors.len());
    for (vector, out) in vectors.iter().zip(&mut *products) {
        engine.multiply(std::slice::from_ref(vector), std::slice::from_ref(&one), out);
    }
    engine.inverse(&mut products);
    let mut plain = Work::new(Poly::ZERO, vectors.len());
    for (product, out) in products.iter().zip(&mut *plain) {
        engine.add_within(out, product, 1 << 22);
    }
    plain
}
