//! Messages that are signed, as digests.

use millstream_cpu::Features;
use millstream_engines::hash::{Digest, Hash, HashKernel};

use crate::weierstrass::ops::{LIMBS, Words};
use crate::weierstrass::{Curve, limbs};

/// The digest of a message, and the hash that makes the nonces.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::hash::{Hash, HashKernel};
/// use millstream_publickey::ecdsa::Message;
///
/// let digest = HashKernel::best(Features::hardware(), Hash::Sha384).digest(b"sample");
/// let (made, given) = (
///     Message::hashed(Features::hardware(), Hash::Sha384, b"sample"),
///     Message::digest(Hash::Sha384, &digest),
/// );
/// assert_eq!(made.as_bytes(), given.as_bytes());
/// ```
#[derive(Clone, Debug)]
pub struct Message<'a> {
    digest: Bytes<'a>,
    hash: Hash,
}

#[derive(Clone, Debug)]
enum Bytes<'a> {
    Made(Digest),
    Given(&'a [u8]),
}

impl<'a> Message<'a> {
    /// Hashes a message.
    pub fn hashed(features: Features, hash: Hash, message: &[u8]) -> Self {
        Message { digest: Bytes::Made(HashKernel::best(features, hash).digest(message)), hash }
    }

    /// Takes a digest of any length. The leftmost bits count, as many as the order of the curve has. `hash` is the one that
    /// made it, which RFC 6979 makes nonces with, too.
    pub fn digest(hash: Hash, digest: &'a [u8]) -> Self {
        Message { digest: Bytes::Given(digest), hash }
    }

    /// The digest.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.digest {
            Bytes::Made(digest) => digest,
            Bytes::Given(bytes) => bytes,
        }
    }

    pub(super) fn hash(&self) -> Hash {
        self.hash
    }

    /// The leftmost bits as a number, which may not be below the order: FIPS 186-5 §6.4.1 step 2.
    pub(crate) fn number(&self, curve: Curve) -> Words {
        leftmost(curve, self.as_bytes())
    }
}

/// Returns the leftmost bits of a string as a number: bits2int of RFC 6979 §2.3.2.
pub(super) fn leftmost(curve: Curve, bytes: &[u8]) -> Words {
    let used = &bytes[..bytes.len().min(curve.bytes())];
    let mut number: [u64; LIMBS] = limbs::from_bytes(used);
    let excess = (8 * used.len()).saturating_sub(curve.bits());
    if excess > 0 {
        for i in 0..LIMBS {
            let above = if i + 1 < LIMBS { number[i + 1] } else { 0 };
            number[i] = number[i] >> excess | above << (64 - excess);
        }
    }
    number
}
