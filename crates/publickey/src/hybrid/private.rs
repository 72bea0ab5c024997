//! Private keys of hybrids.

use std::fmt;

use millstream_cpu::Features;
use zeroize::Zeroizing;

use super::curve::{Element, Scalar};
use super::public::PublicKey;
use super::{Hybrid, SEED, SharedSecret, shake256};
use crate::{Error, Random, mlkem};

/// The most bytes that a seed is expanded to: ML-KEM's 64, and P-256's 128.
const MAX_EXPANDED: usize = mlkem::SEED + 128;

/// A private key of a hybrid, with both of its parts ready.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::hybrid::{Hybrid, PrivateKey, PublicKey};
///
/// # struct Source;
/// # impl millstream_publickey::Random for Source {
/// #     fn fill(&mut self, bytes: &mut [u8]) -> Result<(), millstream_publickey::Error> {
/// #         bytes.fill(7);
/// #         Ok(())
/// #     }
/// # }
/// let (features, mut random) = (Features::hardware(), Source);
/// let ours = PrivateKey::generate(features, Hybrid::MlKem768X25519, &mut random)?;
/// let theirs = PublicKey::new(features, Hybrid::MlKem768X25519, ours.public_key().as_bytes())?;
/// let (ciphertext, secret) = theirs.encapsulate(&mut random)?;
/// assert_eq!(ours.decapsulate(&ciphertext)?, secret);
/// # Ok::<(), millstream_publickey::Error>(())
/// ```
pub struct PrivateKey {
    seed: Zeroizing<[u8; SEED]>,
    lattice: mlkem::PrivateKey,
    scalar: Scalar,
    public: PublicKey,
}

impl PrivateKey {
    /// Makes the key of a seed.
    ///
    /// # Errors
    /// [`Error::Scalar`] for a seed that gives no scalar of the curve, of which no example is known.
    pub fn from_seed(features: Features, hybrid: Hybrid, seed: &[u8; SEED]) -> Result<Self, Error> {
        let mut expanded = Zeroizing::new([0; MAX_EXPANDED]);
        let expanded = &mut expanded[..mlkem::SEED + hybrid.group_seed()];
        shake256(features, seed, expanded);
        let (of_lattice, of_curve) =
            expanded.split_first_chunk::<{ mlkem::SEED }>().expect("it begins with the seed of ML-KEM");
        let lattice = mlkem::PrivateKey::from_seed(features, hybrid.set(), of_lattice);
        let scalar = Scalar::from_seed(features, hybrid, of_curve)?;
        let element = scalar.element();
        let public = PublicKey {
            hybrid,
            features,
            bytes: [lattice.public_key().as_bytes(), &element].concat().into(),
            lattice: lattice.public_key().clone(),
            element: Element::new(features, hybrid, &element)?,
        };
        Ok(PrivateKey { seed: Zeroizing::new(*seed), lattice, scalar, public })
    }

    /// Makes a key of random bytes.
    ///
    /// # Errors
    /// What `random` fails with, and those of [`PrivateKey::from_seed`].
    pub fn generate(features: Features, hybrid: Hybrid, random: &mut dyn Random) -> Result<Self, Error> {
        let mut seed = Zeroizing::new([0; SEED]);
        random.fill(&mut *seed)?;
        Self::from_seed(features, hybrid, &seed)
    }

    /// The hybrid.
    pub fn hybrid(&self) -> Hybrid {
        self.public.hybrid
    }

    /// The seed.
    pub fn seed(&self) -> &[u8; SEED] {
        &self.seed
    }

    /// The public key.
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// Returns the secret in a ciphertext. A ciphertext whose part of ML-KEM was changed gives a secret that nobody else knows.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are [`Hybrid::ciphertext_len`] bytes, and those of the curve for what is no point, or of small
    /// order.
    pub fn decapsulate(&self, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        let PublicKey { hybrid, features, .. } = self.public;
        let (of_lattice, share) = hybrid.halves(
            ciphertext,
            ("ciphertext", hybrid.ciphertext_len(), hybrid.takes_ciphertext()),
            hybrid.set().ciphertext_len(),
        )?;
        let curve = self.scalar.agree(&Element::new(features, hybrid, share)?)?;
        let lattice = self.lattice.decapsulate(of_lattice)?;
        Ok(hybrid.combine(features, &lattice, &curve, share, self.public.element_bytes()))
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a private key of {}", self.hybrid())
    }
}
