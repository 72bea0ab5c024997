//! The schemes of SLH-DSA, what each of them signs, and the digest that chooses the leaves.
//!
//! Ref. FIPS 205 §9.2, §10.2 and §11.

use millstream_cpu::Features;
use millstream_engines::hash::{Digest, Hash, Hasher};
use millstream_engines::hmac::HmacKey;
use millstream_engines::sha3::{Shake, Xof};

use super::group::Node;
use super::set::{Family, MAX_DIGEST, MAX_N, NAME, Set};
use crate::Error;
use crate::prehash::{Framed, Prehash};

/// A way to sign a message. A signature of one scheme never verifies under another, or under another context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme<'a> {
    /// SLH-DSA: the message itself is signed, within a context of 0 to 255 bytes.
    Pure(&'a [u8]),
    /// HashSLH-DSA: the message's digest by a function is signed, within a context of 0 to 255 bytes.
    Prehash(Prehash, &'a [u8]),
    /// The same, where the caller has hashed: what is given as the message is the digest.
    Digest(Prehash, &'a [u8]),
    /// The standard's internal interface, for tests and for those who frame messages themselves: what is given as the message is all that
    /// is signed (FIPS 205 §9.2 and §9.3).
    Internal,
}

/// Prepares a message: FIPS 205 §10.2, algorithm 22, line 8; algorithm 23, lines 8 to 24.
///
/// # Errors
/// [`Error::Length`] for a context that is too long, and for a digest of another length than it has.
pub(super) fn framed<'m>(
    features: Features,
    scheme: Scheme<'_>,
    message: &'m [u8],
) -> Result<Framed<'m>, Error> {
    let (context, hashed) = match scheme {
        Scheme::Internal => return Ok(Framed::bare(message)),
        Scheme::Pure(context) => (context, None),
        Scheme::Prehash(function, context) => (context, Some((function, false))),
        Scheme::Digest(function, context) => (context, Some((function, true))),
    };
    Framed::new(features, NAME, context, hashed, message)
}

/// Returns the random bytes at the front of a signature: FIPS 205 §9.2, algorithm 19, line 3.
pub(super) fn randomizer(
    features: Features,
    set: Set,
    key: &[u8],
    randomness: &[u8],
    message: &Framed<'_>,
) -> Node {
    let n = set.node_len();
    let mut node = [0; MAX_N];
    let parts = [randomness, message.prefix(), message.body()];
    if let Some(hash) = hash_of(set) {
        let mut mac = HmacKey::new(features, hash, key).start();
        parts.iter().for_each(|part| mac.update(part));
        node[..n].copy_from_slice(&mac.finish()[..n]);
    } else {
        let mut shake = Shake::new(features, Xof::Shake256);
        shake.update(key);
        parts.iter().for_each(|part| shake.update(part));
        shake.finish().squeeze(&mut node[..n]);
    }
    node
}

/// The hash of messages of a set of SHA-2: FIPS 205 §11.2.
fn hash_of(set: Set) -> Option<Hash> {
    match set.family() {
        Family::Sha256 => Some(Hash::Sha256),
        Family::Sha512 => Some(Hash::Sha512),
        Family::Shake => None,
    }
}

/// The leaves that a message chooses.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// The leaf in each tree of FORS.
    pub(super) fors: Vec<usize>,
    /// The number of the lowest tree.
    tree: u64,
    /// The leaf in it.
    leaf: usize,
}

impl Choice {
    /// Hashes a message with the random bytes at the front of its signature, and a public key: FIPS 205 §9.2, algorithm 19, lines 6 to 10.
    pub(super) fn new(
        features: Features,
        set: Set,
        randomizer: &[u8],
        public: &[u8],
        message: &Framed<'_>,
    ) -> Self {
        let mut digest = [0; MAX_DIGEST];
        let parts = [randomizer, public, message.prefix(), message.body()];
        if let Some(hash) = hash_of(set) {
            let mut hasher = Hasher::new(features, hash);
            parts.iter().for_each(|part| hasher.update(part));
            let inner = hasher.finish();
            let seed = [randomizer, &public[..set.node_len()], &inner];
            mask(features, hash, &seed, &mut digest[..set.shape().digest_len()]);
        } else {
            let mut shake = Shake::new(features, Xof::Shake256);
            parts.iter().for_each(|part| shake.update(part));
            shake.finish().squeeze(&mut digest);
        }
        Self::of_digest(set, &digest)
    }

    fn of_digest(set: Set, digest: &[u8; MAX_DIGEST]) -> Self {
        let shape = set.shape();
        let (bits, tree_bits) = (shape.fors_height, shape.tree_bits());
        let (indices, rest) = digest.split_at(shape.indices_len());
        let (tree, rest) = rest.split_at(tree_bits.div_ceil(8));
        let number = |bytes: &[u8]| bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        let bit = |at: usize| usize::from(indices[at / 8] >> (7 - at % 8) & 1);
        let index = |i: usize| (i * bits..(i + 1) * bits).fold(0, |index, at| index << 1 | bit(at));
        Choice {
            fors: (0..shape.fors_trees).map(index).collect(),
            tree: number(tree) & u64::MAX >> (64 - tree_bits),
            leaf: number(&rest[..shape.height.div_ceil(8)]) as usize & ((1 << shape.height) - 1),
        }
    }

    /// Returns the tree of a layer and the leaf in it: FIPS 205 §7.1, algorithm 12, lines 7 to 9.
    pub(super) fn place(&self, set: Set, layer: usize) -> (u64, usize) {
        if layer == 0 {
            return (self.tree, self.leaf);
        }
        let height = set.shape().height;
        let below = self.tree >> (height * (layer - 1));
        let tree = if layer == set.shape().layers - 1 { 0 } else { below >> height };
        (tree, below as usize & ((1 << height) - 1))
    }
}

/// MGF1 with the seed in pieces: RFC 8017 §B.2.1.
fn mask(features: Features, hash: Hash, seed: &[&[u8]], out: &mut [u8]) {
    for (counter, out) in (0u32..).zip(out.chunks_mut(hash.output_len())) {
        let mut hasher = Hasher::new(features, hash);
        seed.iter().for_each(|part| hasher.update(part));
        hasher.update(&counter.to_be_bytes());
        let digest: Digest = hasher.finish();
        out.copy_from_slice(&digest[..out.len()]);
    }
}

/// The digits of a node to the base of 16, and of their checksum: FIPS 205 §5.2, algorithm 7, lines 1 to 7.
pub(super) fn digits(node: &[u8], digits: &mut [u32]) {
    let mut sum = 0;
    for (i, byte) in node.iter().enumerate() {
        digits[2 * i] = u32::from(byte >> 4);
        digits[2 * i + 1] = u32::from(byte & 15);
        sum += 30 - digits[2 * i] - digits[2 * i + 1];
    }
    let rest = &mut digits[2 * node.len()..];
    (rest[0], rest[1], rest[2]) = (sum >> 8, sum >> 4 & 15, sum & 15);
}
