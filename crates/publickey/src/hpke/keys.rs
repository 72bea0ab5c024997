//! Keys of every encapsulation.

use std::fmt;

use millstream_cpu::Features;
use millstream_engines::sha3::Xof;
use zeroize::Zeroizing;

use super::derive::{Labelled, derive};
use super::suite::Kem;
use crate::{Error, Random, ecdh, hybrid, mlkem, x448, x25519};

/// The receiver's private key, or that of a sender who authenticates himself.
pub struct PrivateKey {
    pub(super) features: Features,
    pub(super) scalar: Private,
    public: PublicKey,
}

/// A private key by its kind.
pub(super) enum Private {
    X25519(x25519::PrivateKey),
    X448(x448::PrivateKey),
    Curve(ecdh::PrivateKey),
    MlKem(Box<mlkem::PrivateKey>),
    Hybrid(Box<hybrid::PrivateKey>),
}

impl PrivateKey {
    /// Takes the [`Kem::private_key_len`] bytes of a key: a scalar, or a seed.
    ///
    /// # Errors
    /// Those of the encapsulation, as [`Error::Length`] and [`Error::Scalar`].
    pub fn new(features: Features, kem: Kem, bytes: &[u8]) -> Result<Self, Error> {
        let of_seed = |what| Error::Length {
            algorithm: super::NAME,
            what: "private key",
            given: bytes.len(),
            takes: what,
        };
        let scalar = match kem {
            Kem::X25519 => Private::X25519(x25519::PrivateKey::new(features, bytes)?),
            Kem::X448 => Private::X448(x448::PrivateKey::new(features, bytes)?),
            Kem::Curve(curve) => Private::Curve(ecdh::PrivateKey::new(features, curve, bytes)?),
            Kem::MlKem(set) => {
                let seed = bytes.try_into().map_err(|_| of_seed("a seed of 64 bytes"))?;
                Private::MlKem(Box::new(mlkem::PrivateKey::from_seed(features, set, seed)))
            }
            Kem::Hybrid(hybrid) => {
                let seed = bytes.try_into().map_err(|_| of_seed("a seed of 32 bytes"))?;
                Private::Hybrid(Box::new(hybrid::PrivateKey::from_seed(features, hybrid, seed)?))
            }
        };
        let public = Public::of(&scalar);
        let bytes = public.to_bytes();
        Ok(PrivateKey { features, scalar, public: PublicKey { features, element: public, bytes } })
    }

    /// Derives a key from secret keying material of at least [`Kem::private_key_len`] bytes: DeriveKeyPair, RFC 9180 §7.1.3.
    ///
    /// # Errors
    /// [`Error::Scalar`] if 256 attempts give no scalar of the curve, of which no example is known.
    pub fn derive(features: Features, kem: Kem, ikm: &[u8]) -> Result<Self, Error> {
        let mut bytes = Zeroizing::new(vec![0; kem.private_key_len()]);
        let suite_id = kem.suite_id();
        let labelled = Labelled { features, hash: kem.hash(), suite_id: &suite_id };
        match kem {
            Kem::MlKem(_) | Kem::Hybrid(_) => {
                derive((features, Xof::Shake256), &suite_id, ikm, b"DeriveKeyPair", b"", &mut bytes)?;
                Self::new(features, kem, &bytes)
            }
            Kem::X25519 | Kem::X448 => {
                let prk = labelled.extract(b"", b"dkp_prk", ikm);
                labelled.expand(&prk, b"sk", b"", &mut bytes)?;
                Self::new(features, kem, &bytes)
            }
            Kem::Curve(curve) => {
                let prk = labelled.extract(b"", b"dkp_prk", ikm);
                for counter in 0..=u8::MAX {
                    labelled.expand(&prk, b"candidate", &[counter], &mut bytes)?;
                    bytes[0] &= 0xff >> (8 * curve.bytes() - curve.bits());
                    match Self::new(features, kem, &bytes) {
                        Err(Error::Scalar { .. }) => {}
                        made => return made,
                    }
                }
                Err(Error::Scalar { algorithm: super::NAME })
            }
        }
    }

    /// Makes a key of random bytes.
    ///
    /// # Errors
    /// What `random` fails with, and those of [`PrivateKey::derive`].
    pub fn generate(features: Features, kem: Kem, random: &mut dyn Random) -> Result<Self, Error> {
        let mut ikm = Zeroizing::new(vec![0; kem.private_key_len()]);
        random.fill(&mut ikm)?;
        Self::derive(features, kem, &ikm)
    }

    /// The encapsulation.
    pub fn kem(&self) -> Kem {
        self.public.kem()
    }

    /// The public key.
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// Returns the key's [`Kem::private_key_len`] bytes, which [`PrivateKey::new`] takes.
    ///
    /// # Panics
    /// Never: a curve's key has room for its scalar.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(match &self.scalar {
            Private::X25519(key) => key.as_bytes().to_vec(),
            Private::X448(key) => key.as_bytes().to_vec(),
            Private::Curve(key) => {
                let mut bytes = vec![0; key.curve().bytes()];
                key.write(&mut bytes).expect("there is room for a scalar");
                bytes
            }
            Private::MlKem(key) => key.seed().expect("the key was made of a seed").to_vec(),
            Private::Hybrid(key) => key.seed().to_vec(),
        })
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a private key of HPKE for {:?}", self.kem())
    }
}

/// The receiver's public key, or that of a sender who authenticates himself.
#[derive(Clone)]
pub struct PublicKey {
    pub(super) features: Features,
    pub(super) element: Public,
    bytes: Vec<u8>,
}

/// A public key by its kind.
#[derive(Clone)]
pub(super) enum Public {
    X25519(x25519::PublicKey),
    X448(x448::PublicKey),
    Curve(ecdh::PublicKey),
    MlKem(Box<mlkem::PublicKey>),
    Hybrid(Box<hybrid::PublicKey>),
}

impl Public {
    fn of(key: &Private) -> Self {
        match key {
            Private::X25519(key) => Public::X25519(key.public_key()),
            Private::X448(key) => Public::X448(key.public_key()),
            Private::Curve(key) => Public::Curve(key.public()),
            Private::MlKem(key) => Public::MlKem(Box::new(key.public_key().clone())),
            Private::Hybrid(key) => Public::Hybrid(Box::new(key.public_key().clone())),
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        match self {
            Public::X25519(key) => key.as_bytes().to_vec(),
            Public::X448(key) => key.as_bytes().to_vec(),
            Public::Curve(key) => key.to_bytes().to_vec(),
            Public::MlKem(key) => key.as_bytes().to_vec(),
            Public::Hybrid(key) => key.as_bytes().to_vec(),
        }
    }
}

impl PublicKey {
    /// Takes a key's encoding. Points of the curves of NIST are not compressed (RFC 9180 §7.1.1).
    ///
    /// # Errors
    /// Those of the encapsulation, as [`Error::Length`], [`Error::Encoding`] and [`Error::Point`].
    pub fn new(features: Features, kem: Kem, bytes: &[u8]) -> Result<Self, Error> {
        let element = match kem {
            Kem::X25519 => Public::X25519(x25519::PublicKey::new(bytes)?),
            Kem::X448 => Public::X448(x448::PublicKey::new(bytes)?),
            Kem::Curve(curve) if bytes.first() != Some(&4) => {
                return Err(Error::Encoding { algorithm: curve.name(), what: "public key" });
            }
            Kem::Curve(curve) => Public::Curve(ecdh::PublicKey::new(features, curve, bytes)?),
            Kem::MlKem(set) => Public::MlKem(Box::new(mlkem::PublicKey::new(features, set, bytes)?)),
            Kem::Hybrid(hybrid) => Public::Hybrid(Box::new(hybrid::PublicKey::new(features, hybrid, bytes)?)),
        };
        Ok(PublicKey { features, element, bytes: bytes.to_vec() })
    }

    /// The encapsulation.
    pub fn kem(&self) -> Kem {
        match &self.element {
            Public::X25519(_) => Kem::X25519,
            Public::X448(_) => Kem::X448,
            Public::Curve(key) => Kem::Curve(key.curve()),
            Public::MlKem(key) => Kem::MlKem(key.set()),
            Public::Hybrid(key) => Kem::Hybrid(key.hybrid()),
        }
    }

    /// The key's encoding.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Takes a hybrid's key as it is, so that nothing of it is expanded again.
impl From<&hybrid::PublicKey> for PublicKey {
    fn from(key: &hybrid::PublicKey) -> Self {
        let element = Public::Hybrid(Box::new(key.clone()));
        PublicKey { features: key.features(), bytes: element.to_bytes(), element }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a public key of HPKE for {:?}", self.kem())
    }
}
