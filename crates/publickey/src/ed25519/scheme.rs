//! The three schemes of Ed25519, and what each hashes before a message.
//!
//! Ref. RFC 8032 §5.1 (the table of parameters) and §2 (dom2).

use millstream_engines::hash::{Digest, HashKernel, Hasher};
use zeroize::Zeroize;

use super::{CONTEXT_MAX, NAME};
use crate::Error;
use crate::curve25519::scalar::Scalar;

/// A scheme of Ed25519. A signature of one never verifies under another, or under another context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme<'a> {
    /// Ed25519: the message itself is signed.
    Pure,
    /// Ed25519ctx: the message itself is signed, within a context of 1 to 255 bytes.
    Context(&'a [u8]),
    /// Ed25519ph: the message's SHA-512 digest is signed, within a context of 0 to 255 bytes.
    Prehash(&'a [u8]),
    /// The same, where the caller has hashed: what is given as the message is the digest, 64 bytes.
    Digest(&'a [u8]),
}

/// The bytes that begin every dom2.
const DOMAIN: &[u8; 32] = b"SigEd25519 no Ed25519 collisions";
const DOMAIN_MAX: usize = DOMAIN.len() + 2 + CONTEXT_MAX;

/// A message as the scheme hashes it: dom2, and the message or its digest.
pub(super) struct Input<'m> {
    domain: [u8; DOMAIN_MAX],
    domain_len: usize,
    message: &'m [u8],
    digest: Option<[u8; 64]>,
}

impl<'m> Input<'m> {
    /// Prepares a message.
    ///
    /// # Errors
    /// [`Error::Length`] for a context that is too long, or empty in Ed25519ctx, and for a digest of another length than 64 bytes.
    pub(super) fn new(hash: HashKernel, scheme: Scheme<'_>, message: &'m [u8]) -> Result<Self, Error> {
        let mut input = Input { domain: [0; DOMAIN_MAX], domain_len: 0, message, digest: None };
        let (flag, context, takes) = match scheme {
            Scheme::Pure => return Ok(input),
            Scheme::Context(context) => (0, context, "1 to 255 bytes"),
            Scheme::Prehash(context) | Scheme::Digest(context) => (1, context, "at most 255 bytes"),
        };
        let refused = Error::Length { algorithm: NAME, what: "context", given: context.len(), takes };
        let len = u8::try_from(context.len()).map_err(|_| refused)?;
        if flag == 0 && len == 0 {
            return Err(refused);
        }
        input.domain_len = DOMAIN.len() + 2 + context.len();
        input.domain[..DOMAIN.len()].copy_from_slice(DOMAIN);
        input.domain[DOMAIN.len()..][..2].copy_from_slice(&[flag, len]);
        input.domain[DOMAIN.len() + 2..input.domain_len].copy_from_slice(context);
        if matches!(scheme, Scheme::Digest(_)) && message.len() != 64 {
            let (what, given) = ("digest", message.len());
            return Err(Error::Length { algorithm: NAME, what, given, takes: "64 bytes" });
        }
        if matches!(scheme, Scheme::Prehash(_)) {
            let mut digest = [0; 64];
            digest.copy_from_slice(&hash.digest(message));
            input.digest = Some(digest);
        }
        Ok(input)
    }

    /// Returns dom2, which is empty in Ed25519.
    pub(super) fn domain(&self) -> &[u8] {
        &self.domain[..self.domain_len]
    }

    /// Returns the message, or its digest in Ed25519ph.
    pub(super) fn message(&self) -> &[u8] {
        match &self.digest {
            Some(digest) => digest,
            None => self.message,
        }
    }
}

/// The digest of several parts.
pub(super) fn digest(hash: HashKernel, parts: &[&[u8]]) -> Digest {
    let mut hasher = Hasher::with_kernel(hash);
    for part in parts {
        hasher.update(part);
    }
    hasher.finish()
}

/// Reduces a digest modulo L, and clears it.
pub(super) fn reduce(mut digest: Digest) -> Scalar {
    let mut wide = [0; 64];
    wide.copy_from_slice(&digest);
    digest.zeroize();
    let scalar = Scalar::reduce(&wide);
    wide.zeroize();
    scalar
}
