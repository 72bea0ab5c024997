//! Private keys, and signatures one at a time.
//!
//! Ref. RFC 8032 §5.1.5 and §5.1.6.
//!
//! # Safety
//! Each call through a table's functions is covered by the [`Bound`] it goes through.
#![allow(unsafe_code)]

use std::fmt;

use millstream_cpu::Features;
use millstream_engines::hash::{Digest, Hash, HashKernel};
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::public::PublicKey;
use super::scheme::{Input, Scheme, digest, reduce};
use super::{ED25519, KEY, NAME, Ops, SIGNATURE};
use crate::curve25519::scalar::{Scalar, clamp};
use crate::{Bound, Error, Kernel, Random};

/// A private key, bound to a kernel.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::ed25519::PrivateKey;
///
/// let key = PrivateKey::new(Features::hardware(), &[7; 32])?;
/// let signature = key.sign(b"a message");
/// key.public_key().verify(b"a message", &signature)?;
/// assert!(key.public_key().verify(b"another", &signature).is_err());
/// # Ok::<(), millstream_publickey::Error>(())
/// ```
#[derive(Clone)]
pub struct PrivateKey {
    pub(super) kernel: Bound<Ops>,
    pub(super) hash: HashKernel,
    pub(super) secrets: Secrets,
    pub(super) public: [u8; KEY],
}

/// The secrets that a seed gives: RFC 8032 §5.1.5, steps 1 and 2.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(super) struct Secrets {
    seed: [u8; KEY],
    pub(super) scalar: Scalar,
    pub(super) prefix: [u8; 32],
}

impl Secrets {
    /// Takes a seed and its SHA-512 digest, which is cleared.
    pub(super) fn new(seed: &[u8; KEY], digest: &mut Digest) -> Self {
        let mut secrets = Secrets { seed: *seed, scalar: Scalar::ZERO, prefix: [0; 32] };
        let mut scalar = [0; 32];
        scalar.copy_from_slice(&digest[..32]);
        secrets.prefix.copy_from_slice(&digest[32..]);
        digest.zeroize();
        clamp(&mut scalar);
        secrets.scalar = Scalar::unreduced(&scalar);
        scalar.zeroize();
        secrets
    }
}

impl PrivateKey {
    /// Takes the 32 bytes of a key, the seed, for the fastest kernels that `features` allow.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are 32 bytes.
    pub fn new(features: Features, seed: &[u8]) -> Result<Self, Error> {
        Self::with_kernel(ED25519.best(features), features, seed)
    }

    /// Takes the 32 bytes of a key for the given kernel. SHA-512 has the fastest that `features` allow.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are 32 bytes.
    pub fn with_kernel(kernel: Bound<Ops>, features: Features, seed: &[u8]) -> Result<Self, Error> {
        let seed: &[u8; KEY] = seed.try_into().map_err(|_| Error::Length {
            algorithm: NAME,
            what: "private key",
            given: seed.len(),
            takes: "32 bytes",
        })?;
        let hash = HashKernel::best(features, Hash::Sha512);
        let secrets = Secrets::new(seed, &mut hash.digest(seed));
        // SAFETY: `kernel` is bound.
        let public = unsafe { (kernel.ops().multiply_base)(&secrets.scalar) };
        Ok(PrivateKey { kernel, hash, secrets, public })
    }

    /// Makes a key of random bytes.
    ///
    /// # Errors
    /// What `random` fails with.
    pub fn generate(features: Features, random: &mut dyn Random) -> Result<Self, Error> {
        let mut seed = [0; KEY];
        let key = random.fill(&mut seed).and_then(|()| PrivateKey::new(features, &seed));
        seed.zeroize();
        key
    }

    /// The key's 32 bytes, the seed.
    pub fn seed(&self) -> &[u8; KEY] {
        &self.secrets.seed
    }

    /// The public key's 32 bytes.
    pub fn public_bytes(&self) -> &[u8; KEY] {
        &self.public
    }

    /// Returns the public key, on the same kernel.
    pub fn public_key(&self) -> PublicKey {
        PublicKey::of_private(self.kernel, self.hash, &self.public)
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Signs a message by Ed25519. The signature depends on the key and the message alone.
    pub fn sign(&self, message: &[u8]) -> [u8; SIGNATURE] {
        self.sign_parts(&[], message)
    }

    /// Signs a message by any of the schemes.
    ///
    /// # Errors
    /// [`Error::Length`] for a context that is too long, or empty in Ed25519ctx.
    pub fn sign_by(&self, scheme: Scheme<'_>, message: &[u8]) -> Result<[u8; SIGNATURE], Error> {
        let input = Input::new(self.hash, scheme, message)?;
        Ok(self.sign_parts(input.domain(), input.message()))
    }

    /// RFC 8032 §5.1.6.
    fn sign_parts(&self, domain: &[u8], message: &[u8]) -> [u8; SIGNATURE] {
        // Step 2.
        let r = reduce(digest(self.hash, &[domain, &self.secrets.prefix, message]));
        // Step 3.
        // SAFETY: `self.kernel` is bound.
        let point = unsafe { (self.kernel.ops().multiply_base)(&r) };
        // Step 4.
        let k = reduce(digest(self.hash, &[domain, &point, &self.public, message]));
        self.finish(&point, &k, &r)
    }

    /// Steps 5 and 6 of RFC 8032 §5.1.6: R and S = r + k s.
    #[inline]
    pub(super) fn finish(&self, point: &[u8; 32], k: &Scalar, r: &Scalar) -> [u8; SIGNATURE] {
        let mut signature = [0; SIGNATURE];
        signature[..32].copy_from_slice(point);
        signature[32..].copy_from_slice(&k.multiply_add(&self.secrets.scalar, r).to_bytes());
        signature
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a private key of {NAME} on {}", self.kernel().name)
    }
}
