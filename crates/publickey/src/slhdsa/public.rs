//! Public keys, and verification one at a time.

use std::fmt;

use millstream_cpu::Features;

use super::group::Seed;
use super::message::{Choice, Scheme, framed};
use super::ops::{Engine, Ops};
use super::set::{Set, What, bytes_of};
use super::verify::verify_vartime;
use super::work::Verify;
use crate::prehash::Framed;
use crate::{Bound, Error, Kernel};

/// A public key, bound to a kernel, with what the hashes begin with computed once.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::slhdsa::{PrivateKey, PublicKey, Scheme, Set};
///
/// let (features, set) = (Features::hardware(), Set::Sha2_128f);
/// let signer = PrivateKey::from_seeds(features, set, &[7; 48])?;
/// let signature = signer.sign_deterministic(Scheme::Pure(b"a context"), b"a message")?;
/// let key = PublicKey::new(features, set, signer.public_key().as_bytes())?;
/// key.verify_by(Scheme::Pure(b"a context"), b"a message", &signature)?;
/// assert!(key.verify(b"a message", &signature).is_err(), "the context is another");
/// # Ok::<(), millstream_publickey::Error>(())
/// ```
#[derive(Clone)]
pub struct PublicKey {
    pub(super) set: Set,
    pub(super) kernel: Bound<Ops>,
    pub(super) features: Features,
    pub(super) bytes: Box<[u8]>,
    pub(super) seed: Seed,
}

impl PublicKey {
    /// Takes a key's encoding for the given kernel. The hashes have the fastest kernels that `features` allow.
    ///
    /// # Errors
    /// See [`PublicKey::new`].
    pub fn with_kernel(
        kernel: Bound<Ops>,
        features: Features,
        set: Set,
        bytes: &[u8],
    ) -> Result<Self, Error> {
        let bytes = bytes_of(set, What::PublicKey, bytes)?;
        let seed = Engine::new(kernel, features).seed(set, &bytes[..set.node_len()]);
        Ok(PublicKey { set, kernel, features, bytes: bytes.into(), seed })
    }

    pub(super) fn engine(&self) -> Engine {
        Engine::new(self.kernel, self.features)
    }

    /// The parameter set.
    pub fn set(&self) -> Set {
        self.set
    }

    /// The key's encoding.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Verifies a signature of SLH-DSA without a context.
    ///
    /// # Errors
    /// - [`Error::Length`] unless the signature has [`Set::signature_len`] bytes;
    /// - [`Error::Signature`] when it does not verify.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        self.verify_by(Scheme::Pure(&[]), message, signature)
    }

    /// Verifies a signature of any of the schemes: FIPS 205 §10.3, algorithms 24 and 25.
    ///
    /// # Errors
    /// As for [`PublicKey::verify`], and [`Error::Length`] for a context that is too long, and for a digest of another length than it has.
    pub fn verify_by(&self, scheme: Scheme<'_>, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        let message = framed(self.features, scheme, message)?;
        let choice = self.choice(&message, signature)?;
        let mut jobs = [self.job(&choice, signature)];
        verify_vartime(&self.engine(), self.set, &mut jobs);
        let [Verify { valid, .. }] = jobs;
        if valid { Ok(()) } else { Err(Error::Signature) }
    }

    /// Returns the leaves that a message chooses with a signature's random bytes, if the signature is as long as it has to be.
    pub(super) fn choice(&self, message: &Framed<'_>, signature: &[u8]) -> Result<Choice, Error> {
        let signature = bytes_of(self.set, What::Signature, signature)?;
        let randomizer = &signature[..self.set.node_len()];
        Ok(Choice::new(self.features, self.set, randomizer, &self.bytes, message))
    }

    /// A signature to verify, of the right length.
    pub(super) fn job<'a>(&'a self, choice: &'a Choice, signature: &'a [u8]) -> Verify<'a> {
        let root = &self.bytes[self.set.node_len()..];
        Verify { seed: &self.seed, root, choice, signature, valid: false }
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.set == other.set && self.bytes == other.bytes
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a public key of {} on {}", self.set, self.kernel().name)
    }
}
