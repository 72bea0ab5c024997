//! The curve's part of a hybrid: X25519, or ECDH on a curve of NIST.

use std::ops::Deref;

use millstream_cpu::Features;
use zeroize::Zeroizing;

use super::Hybrid;
use crate::{Error, ecdh, x25519};

/// A private key.
pub(super) enum Scalar {
    X25519(x25519::PrivateKey),
    Curve(ecdh::PrivateKey),
}

impl Scalar {
    /// Makes a key of the first part of a seed that is a scalar.
    ///
    /// # Errors
    /// [`Error::Scalar`] if there is none, which happens once in 2^128.
    pub(super) fn from_seed(features: Features, hybrid: Hybrid, seed: &[u8]) -> Result<Self, Error> {
        let Some(curve) = hybrid.curve() else {
            return Ok(Scalar::X25519(x25519::PrivateKey::new(features, seed)?));
        };
        // All parts are tried, so that the time does not tell which is the first to fit.
        let mut found = Err(Error::Scalar { algorithm: curve.name() });
        for part in seed.chunks_exact(curve.bytes()) {
            found = found.or(ecdh::PrivateKey::new(features, curve, part));
        }
        found.map(Scalar::Curve)
    }

    pub(super) fn element(&self) -> Vec<u8> {
        match self {
            Scalar::X25519(key) => key.public_key().as_bytes().to_vec(),
            Scalar::Curve(key) => key.public().to_bytes().to_vec(),
        }
    }

    /// Computes the secret that this key shares with a peer's.
    pub(super) fn agree(&self, peer: &Element) -> Result<Zeroizing<Vec<u8>>, Error> {
        match (self, peer) {
            (Scalar::X25519(key), Element::X25519(peer)) => {
                Ok(Zeroizing::new(key.agree(peer)?.as_bytes().to_vec()))
            }
            (Scalar::Curve(key), Element::Curve(peer)) => {
                Ok(Zeroizing::new(key.agree(peer)?.deref().to_vec()))
            }
            (Scalar::X25519(_), Element::Curve(peer)) => Err(Error::Point { algorithm: peer.curve().name() }),
            (Scalar::Curve(key), Element::X25519(_)) => Err(Error::Point { algorithm: key.curve().name() }),
        }
    }
}

/// A public key.
#[derive(Clone)]
pub(super) enum Element {
    X25519(x25519::PublicKey),
    Curve(ecdh::PublicKey),
}

impl Element {
    /// Takes a point, which must not be compressed.
    pub(super) fn new(features: Features, hybrid: Hybrid, bytes: &[u8]) -> Result<Self, Error> {
        match hybrid.curve() {
            None => Ok(Element::X25519(x25519::PublicKey::new(bytes)?)),
            Some(curve) => Ok(Element::Curve(ecdh::PublicKey::new(features, curve, bytes)?)),
        }
    }
}
