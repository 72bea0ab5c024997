//! Private keys, as a seed or expanded, and signatures one at a time.

use std::fmt;

use millstream_cpu::Features;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::keys::{self, Expanded, Generate, Pair, Parts, parts};
use super::message::{Input, Scheme};
use super::ops::{Engine, Ops};
use super::poly::Poly;
use super::public::PublicKey;
use super::secret::Secret;
use super::set::{DROPPED, RANDOMNESS, SEED, Set, T0, bytes_of};
use super::sign::{self, Sign};
use crate::lattice::Work;
use crate::{Bound, Error, Kernel, Random};

/// A private key, bound to a kernel, with the matrix of its public key expanded. It takes [`Set::kept_private_len`] bytes.
///
/// The seed of 32 bytes is the form to keep: it is shorter, and nothing in it can be wrong.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::mldsa::{PrivateKey, Set};
///
/// # struct Source;
/// # impl millstream_publickey::Random for Source {
/// #     fn fill(&mut self, bytes: &mut [u8]) -> Result<(), millstream_publickey::Error> {
/// #         bytes.fill(7);
/// #         Ok(())
/// #     }
/// # }
/// let mut random = Source;
/// let key = PrivateKey::generate(Features::hardware(), Set::MlDsa65, &mut random)?;
/// let signature = key.sign(b"a message", &mut random)?;
/// key.public_key().verify(b"a message", &signature)?;
/// assert!(key.public_key().verify(b"another", &signature).is_err());
/// # Ok::<(), millstream_publickey::Error>(())
/// ```
#[derive(Clone)]
pub struct PrivateKey {
    pub(super) public: PublicKey,
    pub(super) secret: Secret,
}

impl PrivateKey {
    /// Takes a key in either form for the given kernel. The hashes have the fastest kernels that `features` allow.
    ///
    /// # Errors
    /// See [`PrivateKey::new`].
    pub fn with_kernel(
        kernel: Bound<Ops>,
        features: Features,
        set: Set,
        bytes: &[u8],
    ) -> Result<Self, Error> {
        match bytes.try_into() {
            Ok(seed) => Ok(Self::from_seed_with_kernel(kernel, features, set, seed)),
            Err(_) => Self::from_expanded(kernel, features, set, bytes),
        }
    }

    pub(super) fn from_seed_with_kernel(
        kernel: Bound<Ops>,
        features: Features,
        set: Set,
        seed: &[u8; SEED],
    ) -> Self {
        let mut keys = [Self::of_seed(kernel, features, set, seed)];
        Self::make(keys[0].public.engine(), set, &mut keys);
        let [key] = keys;
        key
    }

    /// A key with its seed, which is all that it has yet.
    pub(super) fn of_seed(kernel: Bound<Ops>, features: Features, set: Set, seed: &[u8; SEED]) -> Self {
        let mut key = Self::empty(kernel, features, set);
        key.secret.seed = Some(*seed);
        key
    }

    fn empty(kernel: Bound<Ops>, features: Features, set: Set) -> Self {
        let bytes = vec![0; set.public_key_len()].into();
        PrivateKey {
            public: PublicKey { set, kernel, features, bytes, expanded: Expanded::empty(set) },
            secret: Secret::empty(set),
        }
    }

    /// Makes keys of their seeds.
    pub(super) fn make(engine: Engine, set: Set, keys: &mut [PrivateKey]) {
        let mut jobs: Vec<_> = keys
            .iter_mut()
            .filter_map(|key| {
                let PublicKey { bytes, expanded, .. } = &mut key.public;
                let Secret { vectors, key, seed } = &mut key.secret;
                let pair = Pair { public: bytes, expanded, vectors };
                seed.as_ref().map(|seed| Generate { seed, pair, key })
            })
            .collect();
        keys::generate(engine, set, &mut jobs);
    }

    /// Takes an expanded key: FIPS 204 §7.2, algorithm 25.
    fn from_expanded(kernel: Bound<Ops>, features: Features, set: Set, bytes: &[u8]) -> Result<Self, Error> {
        let bytes = bytes_of(set, "private key", bytes, set.expanded_key_len(), set.takes_private_key())?;
        let mut key = Self::empty(kernel, features, set);
        let engine = key.public.engine();
        let Parts { seed, key: nonce_key, hash, small, t0 } = parts(set, bytes);
        key.public.bytes[..32].copy_from_slice(seed);
        key.secret.key.copy_from_slice(nonce_key);
        let mut valid = true;
        let vectors = &mut key.secret.vectors;
        for (bytes, poly) in small.chunks(set.small_len()).zip(&mut *vectors) {
            engine.decode(bytes, set.small_bits(), Some(set.eta()), poly);
            valid &= engine.within(poly, set.eta() + 1);
        }
        // The verdicts are public.
        let refused = Error::Encoding { algorithm: set.name(), what: "private key" };
        if !valid {
            return Err(refused);
        }
        let expanded = &mut key.public.expanded;
        keys::complete(engine, set, &mut [Pair { public: &mut key.public.bytes, expanded, vectors }]);
        let same = key.t0().ct_eq(t0) & key.public.expanded.hash.ct_eq(hash);
        if same.into() { Ok(key) } else { Err(refused) }
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

    /// Returns the seed, nothing if the key was given in its expanded form.
    pub fn seed(&self) -> Option<&[u8; SEED]> {
        self.secret.seed.as_ref()
    }

    /// Returns the expanded form, [`Set::expanded_key_len`] bytes: FIPS 204 §7.2, algorithm 24.
    pub fn to_expanded(&self) -> Zeroizing<Vec<u8>> {
        let (engine, set) = (self.public.engine(), self.public.set);
        let mut bytes = Zeroizing::new(Vec::with_capacity(set.expanded_key_len()));
        bytes.extend_from_slice(&self.public.bytes[..32]);
        bytes.extend_from_slice(&self.secret.key);
        bytes.extend_from_slice(&self.public.expanded.hash);
        let small = keys::untransformed(engine, &self.secret.vectors[..set.rows() + set.columns()]);
        let mut encoded = Zeroizing::new(vec![0; set.small_len()]);
        for poly in small.iter() {
            engine.encode(poly, set.small_bits(), Some(set.eta()), &mut encoded);
            bytes.extend_from_slice(&encoded);
        }
        bytes.extend_from_slice(&self.t0());
        bytes
    }

    /// Returns the encoding of t0.
    fn t0(&self) -> Zeroizing<Vec<u8>> {
        let (engine, set) = (self.public.engine(), self.public.set);
        let mut bytes = Zeroizing::new(vec![0; T0 * set.rows()]);
        let polys: Work<Poly> = keys::untransformed(engine, self.secret.t0(set));
        for (poly, out) in polys.iter().zip(bytes.chunks_mut(T0)) {
            engine.encode(poly, DROPPED as usize, Some(1 << (DROPPED - 1)), out);
        }
        bytes
    }

    /// Signs a message by ML-DSA without a context, with fresh random bytes.
    ///
    /// # Errors
    /// What `random` fails with, and [`Error::Fault`].
    pub fn sign(&self, message: &[u8], random: &mut dyn Random) -> Result<Vec<u8>, Error> {
        self.sign_by(Scheme::Pure(&[]), message, random)
    }

    /// Signs a message by any of the schemes, with fresh random bytes: FIPS 204 §5.2, algorithm 2, and §5.4, algorithm 4. This is the form
    /// to prefer: a signature whose computation was disturbed gives less away.
    ///
    /// # Errors
    /// What `random` fails with, and what [`PrivateKey::sign_with`] fails with.
    pub fn sign_by(
        &self,
        scheme: Scheme<'_>,
        message: &[u8],
        random: &mut dyn Random,
    ) -> Result<Vec<u8>, Error> {
        let mut randomness = Zeroizing::new([0; RANDOMNESS]);
        random.fill(&mut *randomness)?;
        self.sign_with(scheme, message, &randomness)
    }

    /// Signs a message without random bytes. The signature depends on the key, the scheme and the message alone.
    ///
    /// # Errors
    /// See [`PrivateKey::sign_with`].
    pub fn sign_deterministic(&self, scheme: Scheme<'_>, message: &[u8]) -> Result<Vec<u8>, Error> {
        self.sign_with(scheme, message, &[0; RANDOMNESS])
    }

    /// Signs a message with the given random bytes, the standard's rnd: FIPS 204 §6.2. Returns [`Set::signature_len`] bytes.
    ///
    /// # Errors
    /// - [`Error::Length`] for a context that is too long, and for a digest or a representative of another length than it has;
    /// - [`Error::Fault`] if a thousand candidates were rejected, which does not happen while the processor works.
    pub fn sign_with(
        &self,
        scheme: Scheme<'_>,
        message: &[u8],
        randomness: &[u8; RANDOMNESS],
    ) -> Result<Vec<u8>, Error> {
        let input = Input::new(self.public.features, scheme, message)?;
        let mut signature = vec![0; self.set().signature_len()];
        let mut jobs = [self.job(&input, randomness, &mut signature)];
        sign::sign(self.public.engine(), self.set(), 1, &mut jobs);
        let [Sign { verdict, .. }] = jobs;
        verdict.map(|()| signature)
    }

    /// A message to sign.
    pub(super) fn job<'a>(
        &'a self,
        input: &'a Input<'a>,
        randomness: &'a [u8; RANDOMNESS],
        signature: &'a mut [u8],
    ) -> Sign<'a> {
        let (key, private) = (&self.public.expanded, &self.secret);
        Sign { key, private, input, randomness, signature, verdict: Err(Error::Fault) }
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a private key of {} on {}", self.set(), self.kernel().name)
    }
}
