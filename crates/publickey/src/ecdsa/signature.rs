//! Signatures as bytes.

use std::fmt;
use std::ops::Deref;

use crate::Error;
use crate::weierstrass::key::is_scalar;
use crate::weierstrass::ops::{Pair, Secret};
use crate::weierstrass::{Curve, MAX_BYTES, limbs};

/// The bytes of the longest signature.
pub const MAX_SIGNATURE: usize = 2 * MAX_BYTES;

/// A signature: r and s, each in as many big-endian bytes as the curve's scalars have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    bytes: [u8; MAX_SIGNATURE],
    len: u8,
}

impl Signature {
    /// Returns the bytes of a pair; none if one of its numbers is zero.
    pub(crate) fn new(curve: Curve, pair: &Pair) -> Option<Self> {
        if (limbs::zero_mask(&pair.r) | limbs::zero_mask(&pair.s)) != 0 {
            return None;
        }
        let len = curve.bytes();
        let mut signature = Signature { bytes: [0; MAX_SIGNATURE], len: 2 * len as u8 };
        limbs::to_bytes(&pair.r, &mut signature.bytes[..len]);
        limbs::to_bytes(&pair.s, &mut signature.bytes[len..2 * len]);
        Some(signature)
    }
}

impl Deref for Signature {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Reads the numbers of a signature: FIPS 186-5 §6.4.2 step 1.
pub(crate) fn read(curve: Curve, bytes: &[u8]) -> Result<Pair, Error> {
    if bytes.len() != 2 * curve.bytes() {
        return Err(curve.length("signature", bytes.len(), 2));
    }
    let (r, s) = bytes.split_at(curve.bytes());
    let pair = Pair { r: limbs::from_bytes(r), s: limbs::from_bytes(s) };
    if !(is_scalar(curve, &Secret(pair.r)) && is_scalar(curve, &Secret(pair.s))) {
        return Err(Error::Signature);
    }
    Ok(pair)
}
