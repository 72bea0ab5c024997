//! Public keys, and shared secrets.

use std::fmt;

use millstream_engines::sha3::Keccak;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::kem::{self, Encapsulate};
use super::kpke::{self, Expanded, Parse};
use super::ops::{Engine, Ops};
use super::set::{MESSAGE, SECRET, Set, bytes_of};
use crate::{Bound, Error, Kernel, Random};

/// A public key (the standard's encapsulation key), bound to a kernel, with its matrix expanded and its hash.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::mlkem::{PrivateKey, PublicKey, Set};
///
/// # struct Source;
/// # impl millstream_publickey::Random for Source {
/// #     fn fill(&mut self, bytes: &mut [u8]) -> Result<(), millstream_publickey::Error> {
/// #         bytes.fill(7);
/// #         Ok(())
/// #     }
/// # }
/// let (features, mut random) = (Features::hardware(), Source);
/// let ours = PrivateKey::generate(features, Set::MlKem768, &mut random)?;
/// let theirs = PublicKey::new(features, Set::MlKem768, ours.public_key().as_bytes())?;
/// let (ciphertext, secret) = theirs.encapsulate(&mut random)?;
/// assert_eq!(ours.decapsulate(&ciphertext)?, secret);
/// # Ok::<(), millstream_publickey::Error>(())
/// ```
#[derive(Clone)]
pub struct PublicKey {
    pub(super) set: Set,
    pub(super) kernel: Bound<Ops>,
    pub(super) keccak: Keccak,
    pub(super) bytes: Box<[u8]>,
    pub(super) expanded: Expanded,
}

impl PublicKey {
    /// Takes a key's encoding for the given kernels. The errors are those of [`PublicKey::new`].
    ///
    /// # Errors
    /// See [`PublicKey::new`].
    pub fn with_kernels(kernel: Bound<Ops>, keccak: Keccak, set: Set, bytes: &[u8]) -> Result<Self, Error> {
        let mut key = Self::unchecked(kernel, keccak, set, bytes)?;
        let engine = key.engine();
        let mut jobs = [Parse { bytes: &key.bytes, expanded: &mut key.expanded, valid: false }];
        kpke::parse(engine, set, &mut jobs);
        let [Parse { valid, .. }] = jobs;
        if valid { Ok(key) } else { Err(Self::not_reduced(set)) }
    }

    /// A key that is not expanded yet.
    pub(super) fn unchecked(
        kernel: Bound<Ops>,
        keccak: Keccak,
        set: Set,
        bytes: &[u8],
    ) -> Result<Self, Error> {
        let bytes = bytes_of(set, "public key", bytes, set.public_key_len(), set.takes_public_key())?;
        Ok(PublicKey { set, kernel, keccak, bytes: bytes.into(), expanded: Expanded::empty(set) })
    }

    /// The error of a key with a number that is not below q.
    pub(super) fn not_reduced(set: Set) -> Error {
        Error::Encoding { algorithm: set.name(), what: "public key" }
    }

    pub(super) fn engine(&self) -> Engine {
        Engine::new(self.kernel, self.keccak)
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

    /// Makes a secret, and the ciphertext of [`Set::ciphertext_len`] bytes from which the private key gets it: FIPS 203 §7.2.
    ///
    /// # Errors
    /// What `random` fails with.
    pub fn encapsulate(&self, random: &mut dyn Random) -> Result<(Vec<u8>, SharedSecret), Error> {
        let mut message = Zeroizing::new([0; MESSAGE]);
        random.fill(&mut *message)?;
        Ok(self.encapsulate_message(&message))
    }

    /// Makes the secret and the ciphertext that belong to 32 random bytes, the standard's m: FIPS 203 §6.2. The bytes must be secret, and
    /// be used once.
    pub fn encapsulate_message(&self, message: &[u8; MESSAGE]) -> (Vec<u8>, SharedSecret) {
        let mut ciphertext = vec![0; self.set.ciphertext_len()];
        let mut secret = SharedSecret([0; SECRET]);
        let job =
            Encapsulate { key: &self.expanded, message, ciphertext: &mut ciphertext, secret: &mut secret.0 };
        kem::encapsulate(self.engine(), self.set, &mut [job]);
        (ciphertext, secret)
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

/// A shared secret of 32 bytes, which may be used as a key. Secrets are compared in constant time.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct SharedSecret(pub(super) [u8; SECRET]);

impl SharedSecret {
    /// Makes the secret of a construction that stands on this one.
    pub(crate) fn from_bytes(bytes: [u8; SECRET]) -> Self {
        SharedSecret(bytes)
    }

    /// The secret's 32 bytes.
    pub fn as_bytes(&self) -> &[u8; SECRET] {
        &self.0
    }
}

impl PartialEq for SharedSecret {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for SharedSecret {}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a shared secret")
    }
}
