//! Private keys, as a seed or expanded.

use std::fmt;

use millstream_engines::sha3::Keccak;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::kem::{self, Decapsulate};
use super::kpke::{self, Expanded, Generate, Parse};
use super::ops::{Engine, Ops};
use super::poly::Poly;
use super::public::{PublicKey, SharedSecret};
use super::secret::Secret;
use super::set::{MAX_RANK, POLY, SECRET, SEED, Set, bytes_of};
use crate::{Bound, Error, Kernel};

/// A private key (the standard's decapsulation key), bound to a kernel, with the matrix of its public key expanded.
///
/// The seed of 64 bytes, d and z one behind the other, is the form to keep: it is shorter, and nothing in it can be wrong.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::mlkem::{PrivateKey, Set};
///
/// let key = PrivateKey::from_seed(Features::hardware(), Set::MlKem768, &[1; 64]);
/// let (ciphertext, secret) = key.public_key().encapsulate_message(&[2; 32]);
/// assert_eq!(key.decapsulate(&ciphertext)?, secret);
/// // Another ciphertext is not an error: it gives a secret that nobody else knows.
/// let mut other = ciphertext;
/// other[0] ^= 1;
/// assert_ne!(key.decapsulate(&other)?, secret);
/// # Ok::<(), millstream_publickey::Error>(())
/// ```
pub struct PrivateKey {
    pub(super) public: PublicKey,
    pub(super) secret: Box<Secret>,
}

impl PrivateKey {
    /// Takes a key in either form for the given kernels.
    ///
    /// # Errors
    /// See [`PrivateKey::new`].
    pub fn with_kernels(kernel: Bound<Ops>, keccak: Keccak, set: Set, bytes: &[u8]) -> Result<Self, Error> {
        match bytes.try_into() {
            Ok(seed) => Ok(Self::from_seed_with_kernels(kernel, keccak, set, seed)),
            Err(_) => Self::from_expanded(kernel, keccak, set, bytes),
        }
    }

    pub(super) fn from_seed_with_kernels(
        kernel: Bound<Ops>,
        keccak: Keccak,
        set: Set,
        seed: &[u8; SEED],
    ) -> Self {
        let mut keys = [Self::of_seed(kernel, keccak, set, seed)];
        Self::make(keys[0].public.engine(), set, &mut keys);
        let [key] = keys;
        key
    }

    /// A key with its seed, which is all that it has yet.
    pub(super) fn of_seed(kernel: Bound<Ops>, keccak: Keccak, set: Set, seed: &[u8; SEED]) -> Self {
        let mut key = Self::empty(kernel, keccak, set);
        key.secret.seed = Some(*seed);
        key.secret.rejection.copy_from_slice(&seed[32..]);
        key
    }

    fn empty(kernel: Bound<Ops>, keccak: Keccak, set: Set) -> Self {
        let bytes = vec![0; set.public_key_len()].into();
        PrivateKey {
            public: PublicKey { set, kernel, keccak, bytes, expanded: Expanded::empty(set) },
            secret: Box::new(Secret { vector: [Poly::ZERO; MAX_RANK], rejection: [0; 32], seed: None }),
        }
    }

    /// Makes keys of their seeds.
    pub(super) fn make(engine: Engine, set: Set, keys: &mut [PrivateKey]) {
        let seeds: Vec<Zeroizing<[u8; 32]>> = keys
            .iter()
            .map(|key| {
                let mut seed = Zeroizing::new([0; 32]);
                if let Some(whole) = &key.secret.seed {
                    seed.copy_from_slice(&whole[..32]);
                }
                seed
            })
            .collect();
        let mut jobs: Vec<_> = keys
            .iter_mut()
            .zip(&seeds)
            .map(|(key, seed)| Generate {
                seed,
                public: &mut key.public.bytes,
                expanded: &mut key.public.expanded,
                secret: &mut key.secret.vector,
            })
            .collect();
        kpke::generate(engine, set, &mut jobs);
    }

    /// Takes an expanded key: FIPS 203 §7.3.
    fn from_expanded(kernel: Bound<Ops>, keccak: Keccak, set: Set, bytes: &[u8]) -> Result<Self, Error> {
        let bytes = bytes_of(set, "private key", bytes, set.expanded_key_len(), set.takes_private_key())?;
        let mut key = Self::empty(kernel, keccak, set);
        let engine = key.public.engine();
        let (vector, rest) = bytes.split_at(POLY * set.rank());
        let (public, rest) = rest.split_at(set.public_key_len());
        let (hash, rejection) = rest.split_at(32);
        for (bytes, poly) in vector.as_chunks::<POLY>().0.iter().zip(&mut key.secret.vector) {
            // The standard reduces these numbers.
            engine.decode(bytes, poly);
        }
        key.secret.rejection.copy_from_slice(rejection);
        key.public.bytes.copy_from_slice(public);
        let expanded = &mut key.public.expanded;
        let mut jobs = [Parse { bytes: &key.public.bytes, expanded, valid: false }];
        kpke::parse(engine, set, &mut jobs);
        let [Parse { valid, .. }] = jobs;
        // The verdict is public.
        let same: bool = key.public.expanded.hash.ct_eq(hash).into();
        if valid && same {
            Ok(key)
        } else {
            Err(Error::Encoding { algorithm: set.name(), what: "private key" })
        }
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

    /// Returns the seed, d and z, nothing if the key was given in its expanded form.
    pub fn seed(&self) -> Option<&[u8; SEED]> {
        self.secret.seed.as_ref()
    }

    /// Returns the expanded form, [`Set::expanded_key_len`] bytes: FIPS 203 §6.1.
    pub fn to_expanded(&self) -> Zeroizing<Vec<u8>> {
        let (engine, set) = (self.public.engine(), self.public.set);
        let mut bytes = Zeroizing::new(vec![0; set.expanded_key_len()]);
        let (vector, rest) = bytes.split_at_mut(POLY * set.rank());
        let (public, rest) = rest.split_at_mut(set.public_key_len());
        for (poly, out) in self.secret.vector.iter().zip(vector.as_chunks_mut::<POLY>().0) {
            engine.encode(poly, out);
        }
        public.copy_from_slice(&self.public.bytes);
        rest[..32].copy_from_slice(&self.public.expanded.hash);
        rest[32..].copy_from_slice(&self.secret.rejection);
        bytes
    }

    /// Returns the secret in a ciphertext: FIPS 203 §7.3. A ciphertext that was not made for this key gives a secret that nobody else
    /// knows, in the same time.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are [`Set::ciphertext_len`] bytes.
    pub fn decapsulate(&self, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        let ciphertext = self.ciphertext(ciphertext)?;
        let mut secret = SharedSecret([0; SECRET]);
        let job = Decapsulate {
            key: &self.public.expanded,
            private: &self.secret,
            ciphertext,
            secret: &mut secret.0,
        };
        kem::decapsulate(self.public.engine(), self.public.set, &mut [job]);
        Ok(secret)
    }

    /// Checks a ciphertext's length.
    pub(super) fn ciphertext<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], Error> {
        let set = self.public.set;
        bytes_of(set, "ciphertext", bytes, set.ciphertext_len(), set.takes_ciphertext())
    }
}

impl Clone for PrivateKey {
    fn clone(&self) -> Self {
        let secret =
            Secret { vector: self.secret.vector, rejection: self.secret.rejection, seed: self.secret.seed };
        PrivateKey { public: self.public.clone(), secret: Box::new(secret) }
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a private key of {} on {}", self.set(), self.kernel().name)
    }
}
