//! Public keys of hybrids.

use std::fmt;

use millstream_cpu::Features;
use zeroize::Zeroizing;

use super::curve::{Element, Scalar};
use super::{Hybrid, MAX_RANDOMNESS, SharedSecret};
use crate::{Error, Random, mlkem};

/// A public key of a hybrid, with both of its parts ready: the key of ML-KEM, then the point.
#[derive(Clone)]
pub struct PublicKey {
    pub(super) hybrid: Hybrid,
    pub(super) features: Features,
    pub(super) bytes: Box<[u8]>,
    pub(super) lattice: mlkem::PublicKey,
    pub(super) element: Element,
}

impl PublicKey {
    /// Takes a key's encoding.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are [`Hybrid::public_key_len`] bytes, and those of the parts.
    pub fn new(features: Features, hybrid: Hybrid, bytes: &[u8]) -> Result<Self, Error> {
        let (of_lattice, point) = hybrid.halves(
            bytes,
            ("public key", hybrid.public_key_len(), hybrid.takes_public_key()),
            hybrid.set().public_key_len(),
        )?;
        Ok(PublicKey {
            hybrid,
            features,
            lattice: mlkem::PublicKey::new(features, hybrid.set(), of_lattice)?,
            element: Element::new(features, hybrid, point)?,
            bytes: bytes.into(),
        })
    }

    pub(crate) fn features(&self) -> Features {
        self.features
    }

    /// The hybrid.
    pub fn hybrid(&self) -> Hybrid {
        self.hybrid
    }

    /// The key's encoding.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Makes a secret, and the ciphertext of [`Hybrid::ciphertext_len`] bytes from which the private key gets it.
    ///
    /// # Errors
    /// What `random` fails with, and [`Error::Point`] for a key of X25519 of small order.
    pub fn encapsulate(&self, random: &mut dyn Random) -> Result<(Vec<u8>, SharedSecret), Error> {
        let mut randomness = Zeroizing::new([0; MAX_RANDOMNESS]);
        let randomness = &mut randomness[..self.hybrid.randomness()];
        random.fill(randomness)?;
        let (message, of_curve) = randomness.split_first_chunk().expect("the message of ML-KEM comes first");
        let own = Scalar::from_seed(self.features, self.hybrid, of_curve)?;
        let curve = own.agree(&self.element)?;
        let share = own.element();
        let (mut ciphertext, lattice) = self.lattice.encapsulate_message(message);
        let secret = self.hybrid.combine(self.features, &lattice, &curve, &share, self.element_bytes());
        ciphertext.extend(share);
        Ok((ciphertext, secret))
    }

    /// The point's encoding.
    pub(super) fn element_bytes(&self) -> &[u8] {
        &self.bytes[self.hybrid.set().public_key_len()..]
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.hybrid == other.hybrid && self.bytes == other.bytes
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a public key of {}", self.hybrid)
    }
}

impl Hybrid {
    /// Checks the length of a key or ciphertext, and parts ML-KEM's bytes from the point.
    pub(super) fn halves<'a>(
        self,
        bytes: &'a [u8],
        (what, len, takes): (&'static str, usize, &'static str),
        at: usize,
    ) -> Result<(&'a [u8], &'a [u8]), Error> {
        if bytes.len() != len {
            return Err(Error::Length { algorithm: self.name(), what, given: bytes.len(), takes });
        }
        Ok(bytes.split_at(at))
    }
}
