//! X448, the key agreement on curve448.
//!
//! Ref. RFC 7748 §5 and §6.2.
//!
//! # Safety
//! Each call through a table's functions is covered by the [`Bound`] it goes through.
#![allow(unsafe_code)]

use std::fmt;

use millstream_cpu::{FeatureSet, Features};
use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::curve448::field::{BYTES, Fe};
use crate::{AlgorithmInfo, Bound, Error, Kernel, Random, Row, Standing, Table, Timing};

const NAME: &str = "x448";

/// Bytes of a private key, of a public key, and of a shared secret.
pub const KEY: usize = BYTES;

/// (A - 2) / 4 for the curve's A = 156326.
const A24: u32 = 39_081;

/// The functions of a kernel.
#[derive(Debug)]
pub struct Ops {
    /// The function X448 of RFC 7748 §5: a scalar and a u-coordinate.
    multiply: unsafe fn(&[u8; KEY], &[u8; KEY]) -> [u8; KEY],
}

/// The kernels of X448, best first.
pub static X448: Table<Ops> = Table::new(
    AlgorithmInfo { name: NAME, standing: Standing::Current, standard: "RFC 7748 §5", key_bits: &[448] },
    ROWS,
    known_answer,
);

const ROWS: &[Row<Ops>] = &[Row {
    kernel: Kernel {
        name: "portable",
        requires: FeatureSet::EMPTY,
        timing: Timing::Constant,
        note: "56-bit limbs in 128-bit products, one operation at a time",
    },
    ops: Ops { multiply: ladder },
}];

/// RFC 7748 §6.2: Alice's private key, Bob's public key, and their secret.
const VECTOR: [&[u8; KEY]; 3] = [
    b"\x9a\x8f\x49\x25\xd1\x51\x9f\x57\x75\xcf\x46\xb0\x4b\x58\x00\xd4\xee\x9e\xe8\xba\xe8\xbc\x55\x65\xd4\x98\xc2\x8d\
      \xd9\xc9\xba\xf5\x74\xa9\x41\x97\x44\x89\x73\x91\x00\x63\x82\xa6\xf1\x27\xab\x1d\x9a\xc2\xd8\xc0\xa5\x98\x72\x6b",
    b"\x3e\xb7\xa8\x29\xb0\xcd\x20\xf5\xbc\xfc\x0b\x59\x9b\x6f\xec\xcf\x6d\xa4\x62\x71\x07\xbd\xb0\xd4\xf3\x45\xb4\x30\
      \x27\xd8\xb9\x72\xfc\x3e\x34\xfb\x42\x32\xa1\x3c\xa7\x06\xdc\xb5\x7a\xec\x3d\xae\x07\xbd\xc1\xc6\x7b\xf3\x36\x09",
    b"\x07\xff\xf4\x18\x1a\xc6\xcc\x95\xec\x1c\x16\xa9\x4a\x0f\x74\xd1\x2d\xa2\x32\xce\x40\xa7\x75\x52\x28\x1d\x28\x2b\
      \xb6\x0c\x0b\x56\xfd\x24\x64\xc3\x35\x54\x39\x36\x52\x1c\x24\x40\x30\x85\xd5\x9a\x44\x9a\x50\x37\x51\x4a\x87\x9d",
];

fn known_answer(kernel: Bound<Ops>) -> bool {
    let [private, public, secret] = VECTOR;
    let key = PrivateKey::with_kernel(kernel, private);
    key.and_then(|key| key.agree(&PublicKey(*public))).is_ok_and(|shared| shared.as_bytes() == secret)
}

/// A private key, bound to a kernel.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::x448::PrivateKey;
///
/// let features = Features::hardware();
/// let (ours, theirs) = (PrivateKey::new(features, &[1; 56])?, PrivateKey::new(features, &[2; 56])?);
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
    /// Takes the 56 bytes of a key for the fastest kernel that `features` allow. Every 56 bytes are a key.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are 56 bytes.
    pub fn new(features: Features, bytes: &[u8]) -> Result<Self, Error> {
        Self::with_kernel(X448.best(features), bytes)
    }

    /// Takes the 56 bytes of a key for the given kernel.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are 56 bytes.
    pub fn with_kernel(kernel: Bound<Ops>, bytes: &[u8]) -> Result<Self, Error> {
        Ok(PrivateKey { kernel, bytes: *key_bytes(bytes, "private key")? })
    }

    /// Makes a key of random bytes.
    ///
    /// # Errors
    /// What `random` fails with.
    pub fn generate(features: Features, random: &mut dyn Random) -> Result<Self, Error> {
        let mut key = PrivateKey { kernel: X448.best(features), bytes: [0; KEY] };
        random.fill(&mut key.bytes)?;
        Ok(key)
    }

    /// The key's 56 bytes as they were given.
    pub fn as_bytes(&self) -> &[u8; KEY] {
        &self.bytes
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Computes the public key: the multiple of u = 5.
    pub fn public_key(&self) -> PublicKey {
        let mut base = [0; KEY];
        base[0] = 5;
        // SAFETY: `self.kernel` is bound.
        PublicKey(unsafe { (self.kernel.ops().multiply)(&self.bytes, &base) })
    }

    /// Computes the secret that this key shares with a peer's.
    ///
    /// # Errors
    /// [`Error::Point`] when the secret is zero: the peer's point has a small order, and the secret would be the same for
    /// every private key (RFC 7748 §6.2).
    pub fn agree(&self, peer: &PublicKey) -> Result<SharedSecret, Error> {
        // SAFETY: `self.kernel` is bound.
        let secret = SharedSecret(unsafe { (self.kernel.ops().multiply)(&self.bytes, &peer.0) });
        // The verdict is public, the bytes are not.
        let zero: Choice = secret.0.ct_eq(&[0; KEY]);
        if bool::from(zero) { Err(Error::Point { algorithm: NAME }) } else { Ok(secret) }
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a private key of {NAME} on {}", self.kernel().name)
    }
}

/// A public key: any 56 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; KEY]);

impl PublicKey {
    /// Takes the 56 bytes of a key. Numbers from p on are reduced (RFC 7748 §5).
    ///
    /// # Errors
    /// [`Error::Length`] unless there are 56 bytes.
    pub fn new(bytes: &[u8]) -> Result<Self, Error> {
        key_bytes(bytes, "public key").map(|bytes| PublicKey(*bytes))
    }

    /// The key's 56 bytes.
    pub fn as_bytes(&self) -> &[u8; KEY] {
        &self.0
    }
}

/// A shared secret, which is not yet a key: a key derivation has to follow. Secrets are compared in constant time.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct SharedSecret([u8; KEY]);

impl SharedSecret {
    /// The secret's 56 bytes.
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
    let given = bytes.len();
    bytes.try_into().map_err(|_| Error::Length { algorithm: NAME, what, given, takes: "56 bytes" })
}

/// The function X448.
fn ladder(scalar: &[u8; KEY], u: &[u8; KEY]) -> [u8; KEY] {
    let mut scalar = *scalar;
    scalar[0] &= 252;
    scalar[KEY - 1] |= 128;
    let x1 = Fe::from_bytes(u);
    let (mut x2, mut z2, mut x3, mut z3) = (Fe::ONE, Fe::ZERO, x1, Fe::ONE);
    let mut before = 0;
    for t in (0..8 * KEY).rev() {
        let bit = u64::from(scalar[t / 8] >> (t % 8) & 1);
        let swap = (before ^ bit).wrapping_neg();
        before = bit;
        Fe::swap(swap, &mut x2, &mut x3);
        Fe::swap(swap, &mut z2, &mut z3);
        let (a, b) = (x2.add(z2), x2.sub(z2));
        let (c, d) = (x3.add(z3), x3.sub(z3));
        let (da, cb) = (d.mul(a), c.mul(b));
        let (aa, bb) = (a.square(), b.square());
        x3 = da.add(cb).square();
        z3 = x1.mul(da.sub(cb).square());
        let e = aa.sub(bb);
        x2 = aa.mul(bb);
        z2 = e.mul(aa.add(e.times_small(A24)));
    }
    // The last bit of the scalar is 0, so nothing is left to swap.
    scalar.zeroize();
    x2.mul(z2.invert()).to_bytes()
}
