//! Keys of a curve.
//!
//! Ref. FIPS 186-5 §A.2.2 (key pairs by rejection); SP 800-56A Rev. 3 §5.6.2.3.3 (validation of public keys); SEC 1 v2.0
//! §2.3.3 and §2.3.4 (points as bytes).
//!
//! # Safety
//! Each call through a kernel's functions is covered by the [`Bound`] in the key.
#![allow(unsafe_code)]

use std::fmt;

use millstream_cpu::Features;
use millstream_kernel::{Bound, Kernel};
use zeroize::Zeroizing;

use super::limbs;
use super::named::{Curve, MAX_BYTES, MAX_POINT};
use super::ops::{LIMBS, Ops, Point, Secret, Words};
use crate::{Error, Random};

/// A private key, bound to a kernel. [`sign`](PrivateKey::sign) and its kin belong to [`ecdsa`](crate::ecdsa), and
/// [`agree`](PrivateKey::agree) to [`ecdh`](crate::ecdh). One key should serve one of them.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::ecdsa::{Curve, PrivateKey};
///
/// let key = PrivateKey::new(Features::hardware(), Curve::P256, &[7; 32])?;
/// assert_eq!(key.public().to_bytes().len(), 65);
/// # Ok::<(), millstream_publickey::Error>(())
/// ```
#[derive(Clone)]
pub struct PrivateKey {
    pub(crate) kernel: Bound<Ops>,
    pub(crate) features: Features,
    pub(crate) scalar: Secret,
}

impl PrivateKey {
    /// Takes a scalar as big-endian bytes, for the fastest kernel that `features` allow.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are [`Curve::bytes`] of them, and [`Error::Scalar`] for zero and for what is not below
    /// the order.
    pub fn new(features: Features, curve: Curve, bytes: &[u8]) -> Result<Self, Error> {
        PrivateKey::with_kernel(features, curve.table().best(features), bytes)
    }

    /// Does the same with a given kernel. Hashes are on those that `features` allow.
    ///
    /// # Errors
    /// As [`PrivateKey::new`].
    pub fn with_kernel(features: Features, kernel: Bound<Ops>, bytes: &[u8]) -> Result<Self, Error> {
        let curve = kernel.ops().curve;
        if bytes.len() != curve.bytes() {
            return Err(curve.length("private key", bytes.len(), 1));
        }
        let scalar = Secret(limbs::from_bytes(bytes));
        if !is_scalar(curve, &scalar) {
            return Err(Error::Scalar { algorithm: curve.name() });
        }
        Ok(PrivateKey { kernel, features, scalar })
    }

    /// Makes a new key from a source of random bytes.
    ///
    /// # Errors
    /// [`Error::Random`], or what the source says, if it fails.
    pub fn generate(features: Features, curve: Curve, random: &mut dyn Random) -> Result<Self, Error> {
        let scalar = random_scalar(curve, random)?;
        Ok(PrivateKey { kernel: curve.table().best(features), features, scalar })
    }

    /// Computes the public key.
    pub fn public(&self) -> PublicKey {
        // SAFETY: `self.kernel` is bound.
        let point = unsafe { (self.kernel.ops().public)(&self.scalar) };
        PublicKey { kernel: self.kernel, point }
    }

    /// Takes the public key of a peer on the same curve, for the same kernel.
    ///
    /// # Errors
    /// As [`PublicKey::new`].
    pub fn peer(&self, bytes: &[u8]) -> Result<PublicKey, Error> {
        PublicKey::with_kernel(self.kernel, bytes)
    }

    /// Writes the scalar as big-endian bytes.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is room for [`Curve::bytes`] and no more.
    pub fn write(&self, bytes: &mut [u8]) -> Result<(), Error> {
        if bytes.len() != self.curve().bytes() {
            return Err(self.curve().length("private key", bytes.len(), 1));
        }
        limbs::to_bytes(&self.scalar.0, bytes);
        Ok(())
    }

    /// The curve.
    pub fn curve(&self) -> Curve {
        self.kernel.ops().curve
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a private key of {} on {}", self.curve(), self.kernel().name)
    }
}

/// A public key, bound to a kernel: a point of the curve that is not the identity.
#[derive(Clone)]
pub struct PublicKey {
    pub(crate) kernel: Bound<Ops>,
    pub(crate) point: Point,
}

impl PublicKey {
    /// Takes a point as SEC 1 encodes it, compressed or not, for the fastest kernel that `features` allow.
    ///
    /// # Errors
    /// [`Error::Encoding`] for a first byte other than 2, 3 and 4, [`Error::Length`] for a length that does not belong to it, and
    /// [`Error::Point`] for coordinates that are not below the prime or not those of a point of the curve.
    pub fn new(features: Features, curve: Curve, bytes: &[u8]) -> Result<Self, Error> {
        PublicKey::with_kernel(curve.table().best(features), bytes)
    }

    /// Does the same with a given kernel.
    ///
    /// # Errors
    /// As [`PublicKey::new`].
    pub fn with_kernel(kernel: Bound<Ops>, bytes: &[u8]) -> Result<Self, Error> {
        // No curve has a second point of the order one, two or another that is not its own, so a point of the curve is in the
        // group. The identity has an encoding of its own, a single zero, which is refused.
        let ops = kernel.ops();
        let wrong_length = Error::Length {
            algorithm: ops.curve.name(),
            what: "public key",
            given: bytes.len(),
            takes: "one coordinate after 2 or 3, two after 4",
        };
        let (first, rest) = bytes.split_first().ok_or(wrong_length)?;
        let coordinates = match first {
            2 | 3 => 1,
            4 => 2,
            _ => return Err(Error::Encoding { algorithm: ops.curve.name(), what: "public key" }),
        };
        if rest.len() != coordinates * ops.curve.bytes() {
            return Err(wrong_length);
        }
        let (x, y) = rest.split_at(ops.curve.bytes());
        let (x, y) = (coordinate(ops.curve, x)?, coordinate(ops.curve, y)?);
        let point = Point { x, y };
        let point = match first {
            4 => {
                // SAFETY: `kernel` is bound.
                let on_curve = unsafe { (ops.is_on_curve)(&point) };
                on_curve.then_some(point)
            }
            // SAFETY: `kernel` is bound.
            _ => unsafe { (ops.decompress)(&x, *first == 3) },
        };
        Ok(PublicKey { kernel, point: point.ok_or(Error::Point { algorithm: ops.curve.name() })? })
    }

    /// The point, uncompressed: 4, x, y.
    pub fn to_bytes(&self) -> EncodedPoint {
        self.encode(4, 2)
    }

    /// The point, compressed: 2 or 3 for the sign of y, and x.
    pub fn to_compressed(&self) -> EncodedPoint {
        self.encode(2 | (self.point.y[0] & 1) as u8, 1)
    }

    fn encode(&self, first: u8, coordinates: usize) -> EncodedPoint {
        let len = self.curve().bytes();
        let mut encoded = EncodedPoint { bytes: [0; MAX_POINT], len: (1 + coordinates * len) as u8 };
        encoded.bytes[0] = first;
        limbs::to_bytes(&self.point.x, &mut encoded.bytes[1..][..len]);
        if coordinates == 2 {
            limbs::to_bytes(&self.point.y, &mut encoded.bytes[1 + len..][..len]);
        }
        encoded
    }

    /// The curve.
    pub fn curve(&self) -> Curve {
        self.kernel.ops().curve
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a public key of {} on {}", self.curve(), self.kernel().name)
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.curve() == other.curve() && self.point == other.point
    }
}

impl Eq for PublicKey {}

/// A point in SEC 1's encoding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EncodedPoint {
    bytes: [u8; MAX_POINT],
    len: u8,
}

impl std::ops::Deref for EncodedPoint {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Debug for EncodedPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Returns true for a number above zero and below the order, in constant time.
pub(crate) fn is_scalar(curve: Curve, number: &Secret) -> bool {
    limbs::below_mask(&number.0, curve.order()) & !limbs::zero_mask(&number.0) != 0
}

/// Draws a scalar: FIPS 186-5 §A.2.2, where a number is refused in place of being reduced.
pub(crate) fn random_scalar(curve: Curve, random: &mut dyn Random) -> Result<Secret, Error> {
    let mut bytes = Zeroizing::new([0; MAX_BYTES]);
    let used = &mut bytes[..curve.bytes()];
    loop {
        random.fill(used)?;
        used[0] &= 0xff >> (8 * used.len() - curve.bits());
        let scalar = Secret(limbs::from_bytes(used));
        if is_scalar(curve, &scalar) {
            return Ok(scalar);
        }
    }
}

/// Reads a coordinate; an empty one is zero.
fn coordinate(curve: Curve, bytes: &[u8]) -> Result<Words, Error> {
    let number: [u64; LIMBS] = limbs::from_bytes(bytes);
    if limbs::below_mask(&number, curve.prime()) == 0 {
        return Err(Error::Point { algorithm: curve.name() });
    }
    Ok(number)
}
