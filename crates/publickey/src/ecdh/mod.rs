//! ECDH on P-256, P-384 and P-521.
//!
//! Ref. SP 800-56A Rev. 3 §5.7.1.2 (ECC CDH; the cofactor of these curves is 1).
//!
//! # Safety
//! Each call through a kernel's functions is covered by the [`Bound`](crate::Bound) in the key.
#![allow(unsafe_code)]

mod lanes;

use std::ops::Deref;

use zeroize::{Zeroize, ZeroizeOnDrop};

pub use crate::weierstrass::{
    Curve, EncodedPoint, Lanes, MAX_BYTES, MAX_POINT, PrivateKey, PublicJob, PublicKey,
};
pub use lanes::AgreeJob;

use crate::Error;
use crate::weierstrass::limbs;
use crate::weierstrass::ops::Secret;

/// A shared secret: the x coordinate, in as many big-endian bytes as the curve's coordinates have.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct SharedSecret {
    bytes: [u8; MAX_BYTES],
    len: u8,
}

impl SharedSecret {
    pub(crate) fn new(curve: Curve, x: &Secret) -> Self {
        let mut shared = SharedSecret { bytes: [0; MAX_BYTES], len: curve.bytes() as u8 };
        limbs::to_bytes(&x.0, &mut shared.bytes[..curve.bytes()]);
        shared
    }
}

impl Deref for SharedSecret {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl PrivateKey {
    /// Computes the secret that this key shares with that of a peer.
    ///
    /// ```
    /// use millstream_cpu::Features;
    /// use millstream_publickey::ecdh::{Curve, PrivateKey, PublicKey};
    ///
    /// let features = Features::hardware();
    /// let (ours, theirs) =
    ///     (PrivateKey::new(features, Curve::P384, &[1; 48])?, PrivateKey::new(features, Curve::P384, &[2; 48])?);
    /// let peer = PublicKey::new(features, Curve::P384, &theirs.public().to_bytes())?;
    /// assert_eq!(*ours.agree(&peer)?, *theirs.agree(&ours.public())?);
    /// # Ok::<(), millstream_publickey::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Point`] if the peer's point is of another curve. It is not the identity and neither is the product, because both
    /// were checked when the keys were made.
    pub fn agree(&self, peer: &PublicKey) -> Result<SharedSecret, Error> {
        if self.curve() != peer.curve() {
            return Err(Error::Point { algorithm: self.curve().name() });
        }
        // SAFETY: `self.kernel` is bound.
        let x = unsafe { (self.kernel.ops().agree)(&self.scalar, &peer.point) };
        Ok(SharedSecret::new(self.curve(), &x))
    }
}
