//! Messages as ML-DSA and SLH-DSA sign them: framed with a context, and hashed before if the caller likes.
//!
//! Ref. FIPS 204 §5.2 and §5.4; FIPS 205 §10.2.

use millstream_cpu::Features;
use millstream_engines::hash::{Hash, HashKernel};
use millstream_engines::sha3::{Shake, Xof};

use crate::Error;

/// The longest context, in bytes.
pub const CONTEXT_MAX: usize = 255;

/// A function that hashes messages for HashML-DSA and HashSLH-DSA.
///
/// The standards ask for a digest of at least twice the set's security in bits: 256 for ML-DSA-44 and the sets of SLH-DSA with 128 bits,
/// 384 for ML-DSA-65 and the sets with 192 bits, and 512 for ML-DSA-87 and the sets with 256 bits. Shorter ones are taken, and make the
/// signature as weak as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prehash {
    /// SHA-224.
    Sha224,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
    /// SHA-512/224. The caller has to hash, and gives the digest.
    Sha512_224,
    /// SHA-512/256.
    Sha512_256,
    /// SHA3-224.
    Sha3_224,
    /// SHA3-256.
    Sha3_256,
    /// SHA3-384.
    Sha3_384,
    /// SHA3-512.
    Sha3_512,
    /// SHAKE128 with a digest of 32 bytes.
    Shake128,
    /// SHAKE256 with a digest of 64 bytes.
    Shake256,
}

impl Prehash {
    /// Every function.
    pub const ALL: [Prehash; 12] = [
        Prehash::Sha224,
        Prehash::Sha256,
        Prehash::Sha384,
        Prehash::Sha512,
        Prehash::Sha512_224,
        Prehash::Sha512_256,
        Prehash::Sha3_224,
        Prehash::Sha3_256,
        Prehash::Sha3_384,
        Prehash::Sha3_512,
        Prehash::Shake128,
        Prehash::Shake256,
    ];

    /// Returns the bytes of a digest.
    pub const fn digest_len(self) -> usize {
        match self {
            Prehash::Sha224 | Prehash::Sha512_224 | Prehash::Sha3_224 => 28,
            Prehash::Sha256 | Prehash::Sha512_256 | Prehash::Sha3_256 | Prehash::Shake128 => 32,
            Prehash::Sha384 | Prehash::Sha3_384 => 48,
            Prehash::Sha512 | Prehash::Sha3_512 | Prehash::Shake256 => 64,
        }
    }

    const fn takes(self) -> &'static str {
        match self.digest_len() {
            28 => "28 bytes",
            32 => "32 bytes",
            48 => "48 bytes",
            _ => "64 bytes",
        }
    }

    /// Returns the function whose [number](Prehash::number) that is, if one has it.
    pub fn from_number(number: u8) -> Option<Self> {
        Prehash::ALL.into_iter().find(|function| function.number() == number)
    }

    /// Returns the last number of the object identifier, below 2.16.840.1.101.3.4.2: 1 to 12.
    pub const fn number(self) -> u8 {
        match self {
            Prehash::Sha256 => 1,
            Prehash::Sha384 => 2,
            Prehash::Sha512 => 3,
            Prehash::Sha224 => 4,
            Prehash::Sha512_224 => 5,
            Prehash::Sha512_256 => 6,
            Prehash::Sha3_224 => 7,
            Prehash::Sha3_256 => 8,
            Prehash::Sha3_384 => 9,
            Prehash::Sha3_512 => 10,
            Prehash::Shake128 => 11,
            Prehash::Shake256 => 12,
        }
    }

    /// Returns the hash that the function is; none for SHA-512/224, which the caller has to compute, and for what is no hash.
    pub const fn hash(self) -> Option<Hash> {
        match self {
            Prehash::Sha224 => Some(Hash::Sha224),
            Prehash::Sha256 => Some(Hash::Sha256),
            Prehash::Sha384 => Some(Hash::Sha384),
            Prehash::Sha512 => Some(Hash::Sha512),
            Prehash::Sha512_256 => Some(Hash::Sha512_256),
            Prehash::Sha3_224 => Some(Hash::Sha3_224),
            Prehash::Sha3_256 => Some(Hash::Sha3_256),
            Prehash::Sha3_384 => Some(Hash::Sha3_384),
            Prehash::Sha3_512 => Some(Hash::Sha3_512),
            Prehash::Sha512_224 | Prehash::Shake128 | Prehash::Shake256 => None,
        }
    }

    /// Returns the function with an output of any length that the function is; none for a hash.
    pub const fn xof(self) -> Option<Xof> {
        match self {
            Prehash::Shake128 => Some(Xof::Shake128),
            Prehash::Shake256 => Some(Xof::Shake256),
            _ => None,
        }
    }

    /// Returns the digest of a message, at the front of 64 bytes; none for SHA-512/224.
    fn digest(self, features: Features, message: &[u8]) -> Option<[u8; 64]> {
        let mut digest = [0; 64];
        let place = &mut digest[..self.digest_len()];
        match (self.hash(), self.xof()) {
            (Some(hash), _) => place.copy_from_slice(&HashKernel::best(features, hash).digest(message)),
            (None, Some(xof)) => {
                let mut shake = Shake::new(features, xof);
                shake.update(message);
                shake.finish().squeeze(place);
            }
            (None, None) => return None,
        }
        Some(digest)
    }
}

/// The encoding of an object identifier below 2.16.840.1.101.3.4.2, but for its last number.
const IDENTIFIER: [u8; 10] = [0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];

/// The bytes before a message at most: two, the context, and the function's identifier.
const PREFIX_MAX: usize = 2 + CONTEXT_MAX + IDENTIFIER.len() + 1;

/// A message with what stands in front of it: the standards' M'.
pub(crate) struct Framed<'m> {
    prefix: [u8; PREFIX_MAX],
    prefix_len: usize,
    pub(crate) message: &'m [u8],
    digest: Option<([u8; 64], usize)>,
}

/// A function that hashes before, and whether the caller has done so.
pub(crate) type Hashed = (Prehash, bool);

impl<'m> Framed<'m> {
    /// A message with nothing in front of it.
    pub(crate) fn bare(message: &'m [u8]) -> Self {
        Framed { prefix: [0; PREFIX_MAX], prefix_len: 0, message, digest: None }
    }

    /// Prepares a message: FIPS 204 §5.2, algorithm 2, line 10; §5.4, algorithm 4, lines 10 to 23; FIPS 205 §10.2, algorithms 22 and 23.
    ///
    /// # Errors
    /// [`Error::Length`] for a context that is too long, and for a digest of another length than it has.
    pub(crate) fn new(
        features: Features,
        algorithm: &'static str,
        context: &[u8],
        hashed: Option<Hashed>,
        message: &'m [u8],
    ) -> Result<Self, Error> {
        let length = |what, given, takes| Error::Length { algorithm, what, given, takes };
        let mut framed = Framed::bare(message);
        let context_len =
            u8::try_from(context.len()).map_err(|_| length("context", context.len(), "at most 255 bytes"))?;
        framed.push(&[u8::from(hashed.is_some()), context_len]);
        framed.push(context);
        let Some((function, by_caller)) = hashed else { return Ok(framed) };
        framed.push(&IDENTIFIER);
        framed.push(&[function.number()]);
        let digest = if by_caller { None } else { function.digest(features, message) };
        match digest {
            Some(digest) => framed.digest = Some((digest, function.digest_len())),
            None if message.len() == function.digest_len() => {}
            None => return Err(length("digest", message.len(), function.takes())),
        }
        Ok(framed)
    }

    fn push(&mut self, bytes: &[u8]) {
        self.prefix[self.prefix_len..][..bytes.len()].copy_from_slice(bytes);
        self.prefix_len += bytes.len();
    }

    /// Returns what stands in front of the message.
    pub(crate) fn prefix(&self) -> &[u8] {
        &self.prefix[..self.prefix_len]
    }

    /// Returns the message, or its digest.
    pub(crate) fn body(&self) -> &[u8] {
        match &self.digest {
            Some((digest, len)) => &digest[..*len],
            None => self.message,
        }
    }
}
