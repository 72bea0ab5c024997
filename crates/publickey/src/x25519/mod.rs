//! X25519, the key agreement on curve25519.
//!
//! Ref. RFC 7748 §5 and §6.1.
//!
//! # Safety
//! Each call through a table's functions is covered by the [`Bound`] it goes through.
#![allow(unsafe_code)]

mod arch;
mod ladder;
mod lanes;

use std::fmt;

use millstream_cpu::{FeatureSet, Features};
use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::{AlgorithmInfo, Bound, Error, Kernel, Random, Row, Standing, Table, Timing};

pub use lanes::{Job, KeyJob, LANES, Lanes, LanesOps, X25519_LANES};

const NAME: &str = "x25519";

/// Bytes of a private key, of a public key, and of a shared secret.
pub const KEY: usize = 32;

/// The functions of a kernel.
#[derive(Debug)]
pub struct Ops {
    /// The function X25519 of RFC 7748 §5: a scalar and a u-coordinate.
    multiply: unsafe fn(&[u8; KEY], &[u8; KEY]) -> [u8; KEY],
    /// The same for the base point, u = 9.
    multiply_base: unsafe fn(&[u8; KEY]) -> [u8; KEY],
}

/// The kernels of X25519, best first.
pub static X25519: Table<Ops> = Table::new(
    AlgorithmInfo { name: NAME, standing: Standing::Current, standard: "RFC 7748 §5", key_bits: &[256] },
    ROWS,
    known_answer,
);

const ROWS: &[Row<Ops>] = &[Row {
    kernel: Kernel {
        name: "portable",
        requires: FeatureSet::EMPTY,
        timing: Timing::Constant,
        note: "51-bit limbs in 128-bit products",
    },
    ops: ladder::PORTABLE,
}];

/// RFC 7748 §6.1: Alice's private key, Bob's public key, and their secret.
const VECTOR: [&[u8; KEY]; 3] = [
    b"\x77\x07\x6d\x0a\x73\x18\xa5\x7d\x3c\x16\xc1\x72\x51\xb2\x66\x45\
      \xdf\x4c\x2f\x87\xeb\xc0\x99\x2a\xb1\x77\xfb\xa5\x1d\xb9\x2c\x2a",
    b"\xde\x9e\xdb\x7d\x7b\x7d\xc1\xb4\xd3\x5b\x61\xc2\xec\xe4\x35\x37\
      \x3f\x83\x43\xc8\x5b\x78\x67\x4d\xad\xfc\x7e\x14\x6f\x88\x2b\x4f",
    b"\x4a\x5d\x9d\x5b\xa4\xce\x2d\xe1\x72\x8e\x3b\xf4\x80\x35\x0f\x25\
      \xe0\x7e\x21\xc9\x47\xd1\x9e\x33\x76\xf0\x9b\x3c\x1e\x16\x17\x42",
];

fn known_answer(kernel: Bound<Ops>) -> bool {
    let [private, public, secret] = VECTOR;
    PrivateKey::with_kernel(kernel, private)
        .and_then(|key| key.agree(&PublicKey(*public)))
        .is_ok_and(|shared| shared.as_bytes() == secret)
}

/// A private key, bound to a kernel.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::x25519::{PrivateKey, PublicKey};
///
/// let features = Features::hardware();
/// let (ours, theirs) = (PrivateKey::new(features, &[1; 32])?, PrivateKey::new(features, &[2; 32])?);
/// let secret = ours.agree(&theirs.public_key())?;
/// assert_eq!(secret, theirs.agree(&ours.public_key())?);
/// # Ok::<(), millstream_publickey::Error>(())
/// ```
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct PrivateKey {
    #[zeroize(skip)]
    kernel: Bound<Ops>,
    bytes: [u8; KEY],
}

impl PrivateKey {
    /// Takes the 32 bytes of a key for the fastest kernel that `features` allow. Every 32 bytes are a key.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are 32 bytes.
    pub fn new(features: Features, bytes: &[u8]) -> Result<Self, Error> {
        Self::with_kernel(X25519.best(features), bytes)
    }

    /// Takes the 32 bytes of a key for the given kernel.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are 32 bytes.
    pub fn with_kernel(kernel: Bound<Ops>, bytes: &[u8]) -> Result<Self, Error> {
        let bytes = *key_bytes(bytes, "private key")?;
        Ok(PrivateKey { kernel, bytes })
    }

    /// Makes a key of random bytes.
    ///
    /// # Errors
    /// What `random` fails with.
    pub fn generate(features: Features, random: &mut dyn Random) -> Result<Self, Error> {
        let mut key = PrivateKey { kernel: X25519.best(features), bytes: [0; KEY] };
        random.fill(&mut key.bytes)?;
        Ok(key)
    }

    /// The key's 32 bytes as they were given.
    pub fn as_bytes(&self) -> &[u8; KEY] {
        &self.bytes
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Computes the public key.
    pub fn public_key(&self) -> PublicKey {
        // SAFETY: `self.kernel` is bound.
        PublicKey(unsafe { (self.kernel.ops().multiply_base)(&self.bytes) })
    }

    /// Computes the secret that this key shares with a peer's.
    ///
    /// # Errors
    /// [`Error::Point`] when the secret is zero: the peer's point has a small order, and the secret would be the same for
    /// every private key (RFC 7748 §6.1).
    pub fn agree(&self, peer: &PublicKey) -> Result<SharedSecret, Error> {
        // SAFETY: `self.kernel` is bound.
        SharedSecret::checked(unsafe { (self.kernel.ops().multiply)(&self.bytes, &peer.0) })
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a private key of {NAME} on {}", self.kernel().name)
    }
}

/// A public key: any 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; KEY]);

impl PublicKey {
    /// Takes the 32 bytes of a key. The top bit does not count, and numbers from p on are reduced (RFC 7748 §5).
    ///
    /// # Errors
    /// [`Error::Length`] unless there are 32 bytes.
    pub fn new(bytes: &[u8]) -> Result<Self, Error> {
        key_bytes(bytes, "public key").map(|bytes| PublicKey(*bytes))
    }

    /// The key's 32 bytes.
    pub fn as_bytes(&self) -> &[u8; KEY] {
        &self.0
    }
}

/// A shared secret, which is not yet a key: a key derivation has to follow. Secrets are compared in constant time.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct SharedSecret([u8; KEY]);

impl SharedSecret {
    /// Lets a product out unless it is zero.
    fn checked(mut product: [u8; KEY]) -> Result<Self, Error> {
        let secret = SharedSecret(product);
        product.zeroize();
        // The verdict is public, the bytes are not.
        let zero: Choice = secret.0.ct_eq(&[0; KEY]);
        if bool::from(zero) { Err(Error::Point { algorithm: NAME }) } else { Ok(secret) }
    }

    /// The secret's 32 bytes.
    pub fn as_bytes(&self) -> &[u8; KEY] {
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

fn key_bytes<'a>(bytes: &'a [u8], what: &'static str) -> Result<&'a [u8; KEY], Error> {
    bytes.try_into().map_err(|_| Error::Length {
        algorithm: NAME,
        what,
        given: bytes.len(),
        takes: "32 bytes",
    })
}
