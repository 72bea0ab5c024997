//! Private keys, and signatures.
//!
//! Ref. RFC 8032 §5.2.5 and §5.2.6.
//!
//! # Safety
//! Each call through a table's functions is covered by the [`Bound`] it goes through.
#![allow(unsafe_code)]

use std::fmt;

use millstream_cpu::Features;
use millstream_engines::sha3::{Shake, Xof, XofKernel};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::public::PublicKey;
use super::scheme::{Input, Scheme};
use super::{ED448, KEY, NAME, Ops, SIGNATURE};
use crate::curve448::scalar::{DIGEST, Scalar};
use crate::{Bound, Error, Kernel, Random};

/// A private key, bound to a kernel.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::ed448::PrivateKey;
///
/// let key = PrivateKey::new(Features::hardware(), &[7; 57])?;
/// let signature = key.sign(b"a message");
/// key.public_key().verify(b"a message", &signature)?;
/// assert!(key.public_key().verify(b"another", &signature).is_err());
/// # Ok::<(), millstream_publickey::Error>(())
/// ```
#[derive(Clone)]
pub struct PrivateKey {
    kernel: Bound<Ops>,
    hash: XofKernel,
    secrets: Secrets,
    public: [u8; KEY],
}

/// The secrets that a seed gives: RFC 8032 §5.2.5, steps 1 and 2.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
struct Secrets {
    seed: [u8; KEY],
    scalar: Scalar,
    prefix: [u8; KEY],
}

impl Secrets {
    fn new(hash: XofKernel, seed: &[u8; KEY]) -> Self {
        let mut digest = Zeroizing::new([0; DIGEST]);
        let mut shake = Shake::with_kernel(hash);
        shake.update(seed);
        shake.finish().squeeze(&mut *digest);
        let mut scalar = Zeroizing::new([0; 56]);
        scalar.copy_from_slice(&digest[..56]);
        scalar[0] &= 252;
        scalar[55] |= 128;
        let mut secrets = Secrets { seed: *seed, scalar: Scalar::unreduced(&scalar), prefix: [0; KEY] };
        secrets.prefix.copy_from_slice(&digest[KEY..]);
        secrets
    }
}

impl PrivateKey {
    /// Takes the 57 bytes of a key, the seed, for the fastest kernels that `features` allow.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are 57 bytes.
    pub fn new(features: Features, seed: &[u8]) -> Result<Self, Error> {
        Self::with_kernel(ED448.best(features), features, seed)
    }

    /// Takes the 57 bytes of a key for the given kernel. SHAKE256 has the fastest that `features` allow.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are 57 bytes.
    pub fn with_kernel(kernel: Bound<Ops>, features: Features, seed: &[u8]) -> Result<Self, Error> {
        let given = seed.len();
        let length = |_| Error::Length { algorithm: NAME, what: "private key", given, takes: "57 bytes" };
        let seed: &[u8; KEY] = seed.try_into().map_err(length)?;
        let hash = XofKernel::best(features, Xof::Shake256);
        let secrets = Secrets::new(hash, seed);
        // SAFETY: `kernel` is bound.
        let public = unsafe { (kernel.ops().multiply_base)(&secrets.scalar) };
        Ok(PrivateKey { kernel, hash, secrets, public })
    }

    /// Makes a key of random bytes.
    ///
    /// # Errors
    /// What `random` fails with.
    pub fn generate(features: Features, random: &mut dyn Random) -> Result<Self, Error> {
        let mut seed = Zeroizing::new([0; KEY]);
        random.fill(&mut *seed)?;
        PrivateKey::new(features, &*seed)
    }

    /// The key's 57 bytes, the seed.
    pub fn seed(&self) -> &[u8; KEY] {
        &self.secrets.seed
    }

    /// Returns the public key, on the same kernel.
    pub fn public_key(&self) -> PublicKey {
        PublicKey::with_kernels(self.kernel, self.hash, &self.public)
            .expect("a multiple of the base point is on the curve")
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Signs a message by Ed448 without a context. The signature depends on the key and the message alone.
    pub fn sign(&self, message: &[u8]) -> [u8; SIGNATURE] {
        self.sign_input(&Input::plain(self.hash, message))
    }

    /// Signs a message by either scheme.
    ///
    /// # Errors
    /// [`Error::Length`] for a context that is too long.
    pub fn sign_by(&self, scheme: Scheme<'_>, message: &[u8]) -> Result<[u8; SIGNATURE], Error> {
        Ok(self.sign_input(&Input::new(self.hash, scheme, message)?))
    }

    /// RFC 8032 §5.2.6.
    fn sign_input(&self, input: &Input<'_>) -> [u8; SIGNATURE] {
        // Step 2.
        let r = input.scalar(&[&self.secrets.prefix]);
        // Step 3.
        // SAFETY: `self.kernel` is bound.
        let point = unsafe { (self.kernel.ops().multiply_base)(&r) };
        // Step 4.
        let k = input.scalar(&[&point, &self.public]);
        // Steps 5 and 6.
        let mut signature = [0; SIGNATURE];
        signature[..KEY].copy_from_slice(&point);
        signature[KEY..SIGNATURE - 1].copy_from_slice(&k.multiply_add(&self.secrets.scalar, &r).to_bytes());
        signature
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a private key of {NAME} on {}", self.kernel().name)
    }
}
