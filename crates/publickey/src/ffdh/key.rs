//! Private keys, public keys, and the agreement.
//!
//! Ref. RFC 7919 §5.1 (validation), §5.2 (short exponents); RFC 8446 §7.4.1 (the secret as long as the prime).
//!
//! # Safety
//! Each call through a kernel's functions is covered by the [`Bound`] in the key.
#![allow(unsafe_code)]

use std::fmt;
use std::ops::Deref;

use millstream_cpu::Features;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::group::{Group, MAX_BYTES};
use super::{FFDH, NAME, Number, Ops};
use crate::montgomery::{WORDS, words};
use crate::{Bound, Error, Kernel, Random};

/// A private key: an exponent, bound to a kernel.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::ffdh::{Group, PrivateKey, PublicKey};
///
/// let features = Features::hardware();
/// let ours = PrivateKey::new(features, Group::Ffdhe2048, &[1; 32])?;
/// let theirs = PrivateKey::new(features, Group::Ffdhe2048, &[2; 32])?;
/// let sent = theirs.public_key().to_bytes();
/// let secret = ours.agree(&PublicKey::new(Group::Ffdhe2048, &sent)?)?;
/// assert_eq!(secret, theirs.agree(&ours.public_key())?);
/// # Ok::<(), millstream_publickey::Error>(())
/// ```
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct PrivateKey {
    #[zeroize(skip)]
    kernel: Bound<Ops>,
    #[zeroize(skip)]
    group: Group,
    exponent: Number,
    /// Words of the exponent in use.
    #[zeroize(skip)]
    len: usize,
}

impl PrivateKey {
    /// Takes an exponent as big-endian bytes, for the fastest kernel that `features` allow. The number of bytes decides how long an agreement
    /// takes, the exponent itself does not.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are from 1 to [`Group::bytes`] of them; [`Error::Scalar`] for zero, and for an exponent that is not below the
    /// order of the group.
    pub fn new(features: Features, group: Group, bytes: &[u8]) -> Result<Self, Error> {
        PrivateKey::with_kernel(FFDH.best(features), group, bytes)
    }

    /// Does the same with a given kernel.
    ///
    /// # Errors
    /// Fails as [`PrivateKey::new`].
    pub fn with_kernel(kernel: Bound<Ops>, group: Group, bytes: &[u8]) -> Result<Self, Error> {
        if bytes.is_empty() || bytes.len() > group.bytes() {
            return Err(length("private key", bytes.len(), "1 byte to as many as the prime has"));
        }
        let len = bytes.len().div_ceil(8);
        let mut key = PrivateKey { kernel, group, exponent: [0; WORDS], len };
        words::read(bytes, &mut key.exponent);
        // The order is the prime without its lowest bit, halved.
        let mut order = [0; WORDS];
        order[..group.prime().len()].copy_from_slice(group.prime());
        words::halve(&mut order, 0, u64::MAX);
        if words::less(&key.exponent, &order) & !words::is_zero(&key.exponent) == 0 {
            return Err(Error::Scalar { algorithm: NAME });
        }
        Ok(key)
    }

    /// Makes a new key of [`Group::private_bytes`] from a source of random bytes.
    ///
    /// # Errors
    /// [`Error::Random`], or what the source says, if it fails; [`Error::Scalar`] if it gives nothing but zeros.
    pub fn generate(features: Features, group: Group, random: &mut dyn Random) -> Result<Self, Error> {
        let mut bytes = Zeroizing::new([0; MAX_BYTES]);
        let bytes = &mut bytes[..group.private_bytes()];
        random.fill(bytes)?;
        PrivateKey::new(features, group, bytes)
    }

    /// The group.
    pub fn group(&self) -> Group {
        self.group
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Computes the public key.
    pub fn public_key(&self) -> PublicKey {
        let mut base = [0; WORDS];
        base[0] = 2;
        PublicKey { group: self.group, number: *self.power(&base) }
    }

    /// Computes the secret that is shared with a peer.
    ///
    /// # Errors
    /// [`Error::Element`] when the peer's key belongs to another group.
    pub fn agree(&self, peer: &PublicKey) -> Result<SharedSecret, Error> {
        if peer.group != self.group {
            return Err(Error::Element { algorithm: NAME });
        }
        let number = self.power(&peer.number);
        let mut secret = SharedSecret(Encoded::zero(self.group));
        words::write(&number[..], &mut secret.0.bytes[..self.group.bytes()]);
        Ok(secret)
    }

    fn power(&self, base: &Number) -> Zeroizing<Number> {
        let mut out = Zeroizing::new([0; WORDS]);
        // SAFETY: `self.kernel` is bound.
        unsafe {
            (self.kernel.ops().power)(self.group.modulus(), base, &self.exponent[..self.len], &mut out);
        }
        out
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a private key of {} on {}", self.group, self.kernel().name)
    }
}

/// A public key: a number from 2 to p - 2.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    group: Group,
    number: Number,
}

impl PublicKey {
    /// Takes a number as big-endian bytes, as long as the prime (RFC 8446 §4.2.8.1) or shorter, as an INTEGER is.
    ///
    /// # Errors
    /// [`Error::Length`] when it is longer; [`Error::Element`] unless it is from 2 to p - 2.
    pub fn new(group: Group, bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > group.bytes() {
            return Err(length("public key", bytes.len(), "no more bytes than the prime has"));
        }
        let mut number = [0; WORDS];
        words::read(bytes, &mut number);
        let (mut last, mut two) = ([0; WORDS], [0; WORDS]);
        last[..group.prime().len()].copy_from_slice(group.prime());
        words::subtract(&mut last, &[1], u64::MAX);
        two[0] = 2;
        if words::less(&number, &two) != 0 || words::less(&number, &last) == 0 {
            return Err(Error::Element { algorithm: NAME });
        }
        Ok(PublicKey { group, number })
    }

    /// The group.
    pub fn group(&self) -> Group {
        self.group
    }

    /// The number, as long as the prime.
    pub fn to_bytes(&self) -> Encoded {
        let mut encoded = Encoded::zero(self.group);
        words::write(&self.number, &mut encoded.bytes[..self.group.bytes()]);
        encoded
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a public key of {}", self.group)
    }
}

/// A number as big-endian bytes, as long as the prime.
#[derive(Clone, PartialEq, Eq)]
pub struct Encoded {
    bytes: [u8; MAX_BYTES],
    len: usize,
}

impl Encoded {
    fn zero(group: Group) -> Self {
        Encoded { bytes: [0; MAX_BYTES], len: group.bytes() }
    }
}

impl Deref for Encoded {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A shared secret as big-endian bytes, as long as the prime. It is wiped when it is dropped, and compared in constant time.
#[derive(Clone)]
pub struct SharedSecret(Encoded);

impl Deref for SharedSecret {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq for SharedSecret {
    fn eq(&self, other: &Self) -> bool {
        self[..].ct_eq(&other[..]).into()
    }
}

impl Eq for SharedSecret {}

impl Drop for SharedSecret {
    fn drop(&mut self) {
        self.0.bytes.zeroize();
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a shared secret of {} bytes", self.len())
    }
}

fn length(what: &'static str, given: usize, takes: &'static str) -> Error {
    Error::Length { algorithm: NAME, what, given, takes }
}
