//! The schemes of ML-DSA, and what each of them signs.
//!
//! Ref. FIPS 204 §5.2 to §5.4 and §6.2.

use millstream_cpu::Features;

use super::set::{MU, NAME};
use super::sponge::Message;
use crate::Error;
use crate::prehash::{Framed, Prehash};

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

/// A message as it is signed: the standard's M', or mu.
pub(super) struct Input<'m> {
    framed: Framed<'m>,
    /// True if the message is mu itself.
    pub(super) is_mu: bool,
}

impl<'m> Input<'m> {
    /// Prepares a message: FIPS 204 §5.2, algorithm 2, line 10; §5.4, algorithm 4, lines 10 to 23.
    ///
    /// # Errors
    /// [`Error::Length`] for a context that is too long, and for a digest or a representative of another length than it has.
    pub(super) fn new(features: Features, scheme: Scheme<'_>, message: &'m [u8]) -> Result<Self, Error> {
        let (context, hashed) = match scheme {
            Scheme::Representative if message.len() == MU => {
                return Ok(Input { framed: Framed::bare(message), is_mu: true });
            }
            Scheme::Representative => {
                let (what, given, takes) = ("representative", message.len(), "64 bytes");
                return Err(Error::Length { algorithm: NAME, what, given, takes });
            }
            Scheme::Pure(context) => (context, None),
            Scheme::Prehash(function, context) => (context, Some((function, false))),
            Scheme::Digest(function, context) => (context, Some((function, true))),
        };
        Ok(Input { framed: Framed::new(features, NAME, context, hashed, message)?, is_mu: false })
    }

    /// Returns the message whose hash is mu: the hash of the key, and all that is signed.
    pub(super) fn behind<'a>(&'a self, key_hash: &'a [u8; 64]) -> Message<'a> {
        Message([key_hash, self.framed.prefix(), self.framed.body(), &[]])
    }

    /// Returns mu, if that was given.
    pub(super) fn mu(&self) -> Option<&[u8; MU]> {
        self.framed.message.try_into().ok().filter(|_| self.is_mu)
    }
}
