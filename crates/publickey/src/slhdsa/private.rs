//! Private keys, and signatures one at a time.

use std::fmt;

use millstream_cpu::Features;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use super::hypertree;
use super::message::{Choice, Scheme, framed, randomizer};
use super::ops::{Engine, Ops};
use super::public::PublicKey;
use super::secret::Secret;
use super::set::{MAX_N, Set, What, bytes_of};
use super::sign;
use super::work::Sign;
use crate::prehash::Framed;
use crate::{Bound, Error, Kernel, Random};

/// A private key, bound to a kernel, with the uppermost tree of its public key. It takes [`Set::kept_private_len`] bytes.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::slhdsa::{PrivateKey, Set};
///
/// # struct Source;
/// # impl millstream_publickey::Random for Source {
/// #     fn fill(&mut self, bytes: &mut [u8]) -> Result<(), millstream_publickey::Error> {
/// #         bytes.fill(7);
/// #         Ok(())
/// #     }
/// # }
/// let mut random = Source;
/// let key = PrivateKey::generate(Features::hardware(), Set::Shake128f, &mut random)?;
/// let signature = key.sign(b"a message", &mut random)?;
/// key.public_key().verify(b"a message", &signature)?;
/// assert!(key.public_key().verify(b"another", &signature).is_err());
/// # Ok::<(), millstream_publickey::Error>(())
/// ```
#[derive(Clone)]
pub struct PrivateKey {
    pub(super) public: PublicKey,
    pub(super) secret: Secret,
    /// The uppermost tree, level by level from the leaves to the root.
    uppermost: Box<[u8]>,
}

impl PrivateKey {
    /// Takes a key's encoding for the given kernel. The hashes have the fastest kernels that `features` allow.
    ///
    /// # Errors
    /// See [`PrivateKey::new`].
    pub fn with_kernel(
        kernel: Bound<Ops>,
        features: Features,
        set: Set,
        bytes: &[u8],
    ) -> Result<Self, Error> {
        let bytes = bytes_of(set, What::PrivateKey, bytes)?;
        let (seeds, root) = bytes.split_at(set.seeds_len());
        let key = Self::from_seeds_with_kernel(kernel, features, set, seeds)?;
        // The verdict is public.
        let same: bool = key.root().ct_eq(root).into();
        if same { Ok(key) } else { Err(Error::Encoding { algorithm: set.name(), what: "private key" }) }
    }

    /// Makes the key of three seeds for the given kernel.
    ///
    /// # Errors
    /// See [`PrivateKey::from_seeds`].
    pub fn from_seeds_with_kernel(
        kernel: Bound<Ops>,
        features: Features,
        set: Set,
        seeds: &[u8],
    ) -> Result<Self, Error> {
        let mut keys = [Self::without_root(kernel, features, set, seeds)?];
        Self::make(&Engine::new(kernel, features), set, &mut keys);
        let [key] = keys;
        Ok(key)
    }

    /// A key whose root is not computed yet.
    pub(super) fn without_root(
        kernel: Bound<Ops>,
        features: Features,
        set: Set,
        seeds: &[u8],
    ) -> Result<Self, Error> {
        let (seeds, n) = (bytes_of(set, What::Seeds, seeds)?, set.node_len());
        let mut public = [0; 2 * MAX_N];
        public[..n].copy_from_slice(&seeds[2 * n..]);
        let public = PublicKey::with_kernel(kernel, features, set, &public[..2 * n])?;
        Ok(PrivateKey { public, secret: Secret::new(n, seeds), uppermost: Box::default() })
    }

    /// Computes the roots of keys of one set: FIPS 205 §9.1, algorithm 18.
    pub(super) fn make(engine: &Engine, set: Set, keys: &mut [PrivateKey]) {
        let parts: Vec<_> = keys.iter().map(|key| (&key.public.seed, &key.secret)).collect();
        let trees = hypertree::uppermost(engine, set, &parts);
        for (key, tree) in keys.iter_mut().zip(trees) {
            let n = set.node_len();
            key.public.bytes[n..].copy_from_slice(&tree[tree.len() - n..]);
            key.uppermost = tree;
        }
    }

    fn root(&self) -> &[u8] {
        &self.public.bytes[self.set().node_len()..]
    }

    /// The parameter set.
    pub fn set(&self) -> Set {
        self.public.set
    }

    /// The public key.
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.public.kernel()
    }

    /// Returns the key's encoding, [`Set::private_key_len`] bytes: the two secret seeds, and the public key.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.set().private_key_len()));
        bytes.extend_from_slice(self.secret.seed());
        bytes.extend_from_slice(self.secret.message_key());
        bytes.extend_from_slice(&self.public.bytes);
        bytes
    }

    /// Signs a message by SLH-DSA without a context, with fresh random bytes.
    ///
    /// # Errors
    /// What `random` fails with.
    pub fn sign(&self, message: &[u8], random: &mut dyn Random) -> Result<Vec<u8>, Error> {
        self.sign_by(Scheme::Pure(&[]), message, random)
    }

    /// Signs a message by any of the schemes, with fresh random bytes: FIPS 205 §10.2, algorithms 22 and 23. This is the form to prefer: a
    /// signature whose computation was disturbed gives less away.
    ///
    /// # Errors
    /// What `random` fails with, and what [`PrivateKey::sign_with`] fails with.
    pub fn sign_by(
        &self,
        scheme: Scheme<'_>,
        message: &[u8],
        random: &mut dyn Random,
    ) -> Result<Vec<u8>, Error> {
        let mut randomness = Zeroizing::new([0; MAX_N]);
        let randomness = &mut randomness[..self.set().node_len()];
        random.fill(randomness)?;
        self.sign_with(scheme, message, randomness)
    }

    /// Signs a message without random bytes. The signature depends on the key, the scheme and the message alone.
    ///
    /// # Errors
    /// See [`PrivateKey::sign_with`].
    pub fn sign_deterministic(&self, scheme: Scheme<'_>, message: &[u8]) -> Result<Vec<u8>, Error> {
        self.sign_with(scheme, message, &self.public.bytes[..self.set().node_len()])
    }

    /// Signs a message with the given random bytes, the standard's `addrnd`, [`Set::node_len`] of them. Returns [`Set::signature_len`]
    /// bytes.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of random bytes, for a context that is too long, and for a digest of another length than it has.
    pub fn sign_with(&self, scheme: Scheme<'_>, message: &[u8], randomness: &[u8]) -> Result<Vec<u8>, Error> {
        let message = framed(self.public.features, scheme, message)?;
        let (mut signature, choice) = self.begin(&message, randomness)?;
        sign::sign(&self.public.engine(), self.set(), &mut [self.job(&choice, &mut signature)]);
        Ok(signature)
    }

    /// Returns a signature that has nothing but its random bytes yet, and the leaves that the message chooses.
    pub(super) fn begin(&self, message: &Framed<'_>, randomness: &[u8]) -> Result<(Vec<u8>, Choice), Error> {
        let (features, set) = (self.public.features, self.set());
        let randomness = bytes_of(set, What::Randomness, randomness)?;
        let mut node = randomizer(features, set, self.secret.message_key(), randomness, message);
        let front = &node[..set.node_len()];
        let mut signature = vec![0; set.signature_len()];
        signature[..front.len()].copy_from_slice(front);
        let choice = Choice::new(features, set, front, &self.public.bytes, message);
        node.zeroize();
        Ok((signature, choice))
    }

    /// A message to sign.
    pub(super) fn job<'a>(&'a self, choice: &'a Choice, signature: &'a mut [u8]) -> Sign<'a> {
        let (seed, secret) = (&self.public.seed, &self.secret);
        Sign { seed, secret, uppermost: &self.uppermost, choice, signature }
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a private key of {} on {}", self.set(), self.kernel().name)
    }
}
