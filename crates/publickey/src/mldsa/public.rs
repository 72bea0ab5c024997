//! Public keys, and verification one at a time.

use std::fmt;

use millstream_cpu::Features;
use millstream_engines::sha3::Keccak;

use super::keys::{self, Expanded, Parse};
use super::message::{Input, Scheme};
use super::ops::{Engine, Ops};
use super::set::{MU, Set, bytes_of};
use super::sign::representatives;
use super::verify::{Verify, verify_vartime};
use crate::{Bound, Error, Kernel};

/// A public key, bound to a kernel, with its matrix expanded and its hash. It takes [`Set::kept_public_len`] bytes.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::mldsa::{PrivateKey, PublicKey, Scheme, Set};
///
/// let features = Features::hardware();
/// let signer = PrivateKey::from_seed(features, Set::MlDsa65, &[7; 32]);
/// let signature = signer.sign_deterministic(Scheme::Pure(b"a context"), b"a message")?;
/// let key = PublicKey::new(features, Set::MlDsa65, signer.public_key().as_bytes())?;
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
    pub(super) expanded: Expanded,
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
        let mut key = Self::not_expanded(kernel, features, set, bytes)?;
        let engine = key.engine();
        keys::parse(engine, set, &mut [Parse { bytes: &key.bytes, expanded: &mut key.expanded }]);
        Ok(key)
    }

    /// A key that is not expanded yet.
    pub(super) fn not_expanded(
        kernel: Bound<Ops>,
        features: Features,
        set: Set,
        bytes: &[u8],
    ) -> Result<Self, Error> {
        let bytes = bytes_of(set, "public key", bytes, set.public_key_len(), set.takes_public_key())?;
        Ok(PublicKey { set, kernel, features, bytes: bytes.into(), expanded: Expanded::empty(set) })
    }

    pub(super) fn engine(&self) -> Engine {
        Engine::new(self.kernel, Keccak::new(self.features))
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

    /// The hash of the key's encoding, the standard's tr. A message that comes in pieces can be hashed behind it, for [`Scheme::Representative`].
    pub fn hash(&self) -> &[u8; 64] {
        &self.expanded.hash
    }

    /// Returns a message's representative mu, which is all of the message that signing and verifying need: FIPS 204 §6.2, algorithm 7,
    /// line 6.
    ///
    /// # Errors
    /// [`Error::Length`] for a context that is too long, and for a digest or a representative of another length than it has.
    pub fn representative(&self, scheme: Scheme<'_>, message: &[u8]) -> Result<[u8; MU], Error> {
        let input = Input::new(self.features, scheme, message)?;
        let mut mus = [[0; MU]];
        representatives(self.engine(), [(&self.expanded, &input)].into_iter(), &mut mus);
        let [mu] = mus;
        Ok(mu)
    }

    /// Verifies a signature of ML-DSA without a context.
    ///
    /// # Errors
    /// - [`Error::Length`] unless the signature has [`Set::signature_len`] bytes;
    /// - [`Error::Signature`] when it does not verify, or is not encoded as the standard says.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        self.verify_by(Scheme::Pure(&[]), message, signature)
    }

    /// Verifies a signature of any of the schemes: FIPS 204 §5.3, algorithm 3, and §5.4, algorithm 5.
    ///
    /// # Errors
    /// As for [`PublicKey::verify`], and [`Error::Length`] for a context that is too long, and for a digest or a representative of
    /// another length than it has.
    pub fn verify_by(&self, scheme: Scheme<'_>, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        let input = Input::new(self.features, scheme, message)?;
        let signature = self.signature(signature)?;
        let mut jobs = [Verify { key: &self.expanded, input: &input, signature, valid: false }];
        verify_vartime(self.engine(), self.set, &mut jobs);
        let [Verify { valid, .. }] = jobs;
        if valid { Ok(()) } else { Err(Error::Signature) }
    }

    /// Checks a signature's length.
    pub(super) fn signature<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], Error> {
        let set = self.set;
        bytes_of(set, "signature", bytes, set.signature_len(), set.takes_signature())
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
