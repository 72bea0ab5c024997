//! The schemes of ML-DSA, and what each of them signs.
//!
//! Ref. FIPS 204 §5.2 to §5.4 and §6.2.

use millstream_cpu::Features;
use millstream_engines::hash::{Hash, HashKernel};
use millstream_engines::sha3::{Shake, Xof};

use super::set::{CONTEXT_MAX, MU, NAME};
use super::sponge::Message;
use crate::Error;

/// A way to sign a message. A signature of one scheme never verifies under another, or under another context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme<'a> {
    /// ML-DSA: the message itself is signed, within a context of 0 to 255 bytes.
    Pure(&'a [u8]),
    /// HashML-DSA: the message's digest by a function is signed, within a context of 0 to 255 bytes.
    Prehash(Prehash, &'a [u8]),
    /// The same, where the caller has hashed: what is given as the message is the digest.
    Digest(Prehash, &'a [u8]),
    /// ML-DSA, where the caller has computed the message's representative mu, with the key's hash and the context
    /// ([`PublicKey::representative`](super::PublicKey::representative)): what is given as the message is mu, 64 bytes.
    Representative,
}

/// A function that hashes messages for HashML-DSA.
///
/// The standard asks for a digest of at least twice the set's security in bits: 256 for ML-DSA-44, 384 for ML-DSA-65 and 512 for
/// ML-DSA-87. Shorter ones are taken, and make the signature as weak as they are.
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
    /// SHA-512/224. The caller has to hash: see [`Scheme::Digest`].
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

/// A message as it is signed: the standard's M', or mu.
pub(super) struct Input<'m> {
    prefix: [u8; PREFIX_MAX],
    prefix_len: usize,
    message: &'m [u8],
    digest: Option<([u8; 64], usize)>,
    /// True if the message is mu itself.
    pub(super) is_mu: bool,
}

impl<'m> Input<'m> {
    /// Prepares a message: FIPS 204 §5.2, algorithm 2, line 10; §5.4, algorithm 4, lines 10 to 23.
    ///
    /// # Errors
    /// [`Error::Length`] for a context that is too long, and for a digest or a representative of another length than it has.
    pub(super) fn new(features: Features, scheme: Scheme<'_>, message: &'m [u8]) -> Result<Self, Error> {
        let mut input = Input { prefix: [0; PREFIX_MAX], prefix_len: 0, message, digest: None, is_mu: false };
        let length = |what, given, takes| Error::Length { algorithm: NAME, what, given, takes };
        let (function, context) = match scheme {
            Scheme::Representative => {
                input.is_mu = true;
                let right = message.len() == MU;
                return if right {
                    Ok(input)
                } else {
                    Err(length("representative", message.len(), "64 bytes"))
                };
            }
            Scheme::Pure(context) => (None, context),
            Scheme::Prehash(function, context) | Scheme::Digest(function, context) => {
                (Some(function), context)
            }
        };
        let context_len =
            u8::try_from(context.len()).map_err(|_| length("context", context.len(), "at most 255 bytes"))?;
        input.push(&[u8::from(function.is_some()), context_len]);
        input.push(context);
        let Some(function) = function else { return Ok(input) };
        input.push(&IDENTIFIER);
        input.push(&[function.number()]);
        let hashed = match scheme {
            Scheme::Prehash(..) => function.digest(features, message),
            _ => None,
        };
        match hashed {
            Some(digest) => input.digest = Some((digest, function.digest_len())),
            None if message.len() == function.digest_len() => {}
            None => return Err(length("digest", message.len(), function.takes())),
        }
        Ok(input)
    }

    fn push(&mut self, bytes: &[u8]) {
        self.prefix[self.prefix_len..][..bytes.len()].copy_from_slice(bytes);
        self.prefix_len += bytes.len();
    }

    /// Returns the message, or its digest.
    fn body(&self) -> &[u8] {
        match &self.digest {
            Some((digest, len)) => &digest[..*len],
            None => self.message,
        }
    }

    /// Returns the message whose hash is mu: the hash of the key, and all that is signed.
    pub(super) fn behind<'a>(&'a self, key_hash: &'a [u8; 64]) -> Message<'a> {
        Message([key_hash, &self.prefix[..self.prefix_len], self.body(), &[]])
    }

    /// Returns mu, if that was given.
    pub(super) fn mu(&self) -> Option<&[u8; MU]> {
        self.message.try_into().ok().filter(|_| self.is_mu)
    }
}
