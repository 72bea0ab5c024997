//! ECDSA on P-256, P-384 and P-521.
//!
//! A signature is r and s side by side, each as long as a scalar of the curve. Nonces are hedged: they are MACs over random bytes, the
//! key and the message, so a source of random bytes that fails quietly reveals nothing. Deterministic ones are those of RFC 6979.
//!
//! Ref. FIPS 186-5 §6; RFC 6979.
//!
//! # Safety
//! Each call through a kernel's functions is covered by the [`Bound`](crate::Bound) in the key.
#![allow(unsafe_code)]

#[cfg(test)]
mod given_nonces;
mod lanes;
mod message;
mod nonce;
mod presign;
mod signature;

use zeroize::Zeroizing;

pub use crate::weierstrass::{
    Curve, EncodedPoint, Lanes, MAX_BYTES, MAX_POINT, PrivateKey, PublicJob, PublicKey,
};
pub use lanes::{SignJob, VerifyJob};
pub use message::Message;
#[doc(hidden)]
pub use presign::Presignature;
pub use signature::{MAX_SIGNATURE, Signature};

use crate::weierstrass::ops::{Pair, Secret, Words};
use crate::{Error, Random};
use nonce::{Deterministic, HEDGE, Hedged};

impl PrivateKey {
    /// Signs a message with a hedged nonce.
    ///
    /// ```
    /// use millstream_cpu::Features;
    /// use millstream_engines::hash::Hash;
    /// use millstream_publickey::ecdsa::{Curve, Message, PrivateKey};
    /// use millstream_publickey::{Error, Random};
    ///
    /// /// The system's random bytes.
    /// struct System;
    ///
    /// impl Random for System {
    ///     fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
    ///         use std::io::Read;
    ///         let mut file = std::fs::File::open("/dev/urandom").map_err(|_| Error::Random)?;
    ///         file.read_exact(bytes).map_err(|_| Error::Random)
    ///     }
    /// }
    ///
    /// let key = PrivateKey::generate(Features::hardware(), Curve::P256, &mut System)?;
    /// let message = Message::hashed(Features::hardware(), Hash::Sha256, b"to be signed");
    /// let signature = key.sign(&message, &mut System)?;
    /// key.public().verify(&message, &signature)?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Random`], or what the source says, if it fails.
    pub fn sign(&self, message: &Message<'_>, random: &mut dyn Random) -> Result<Signature, Error> {
        let mut hedge = Zeroizing::new([0; HEDGE]);
        random.fill(&mut *hedge)?;
        let mut nonces = Hedged::new(self, message, &hedge);
        Ok(self.sign_from(message, || nonces.next()))
    }

    /// Signs a message with the nonce of RFC 6979: the same message always has the same signature.
    pub fn sign_deterministic(&self, message: &Message<'_>) -> Signature {
        let mut nonces = Deterministic::new(self, message);
        self.sign_from(message, || nonces.next())
    }

    fn sign_from(&self, message: &Message<'_>, mut nonce: impl FnMut() -> Secret) -> Signature {
        let number = message.number(self.curve());
        loop {
            let pair = self.sign_number(&number, &nonce());
            // FIPS 186-5 §6.4.1 steps 10 and 11.
            if let Some(signature) = Signature::new(self.curve(), &pair) {
                return signature;
            }
        }
    }

    fn sign_number(&self, number: &Words, nonce: &Secret) -> Pair {
        // SAFETY: `self.kernel` is bound.
        unsafe { (self.kernel.ops().sign)(&self.scalar, number, nonce) }
    }
}

impl PublicKey {
    /// Verifies a signature, in variable time.
    ///
    /// # Errors
    /// [`Error::Length`] unless the signature has twice [`Curve::bytes`], and [`Error::Signature`] if it is not one of the
    /// message under this key.
    pub fn verify(&self, message: &Message<'_>, signature: &[u8]) -> Result<(), Error> {
        let pair = signature::read(self.curve(), signature)?;
        let number = message.number(self.curve());
        // SAFETY: `self.kernel` is bound.
        let right = unsafe { (self.kernel.ops().verify_vartime)(&self.point, &number, &pair) };
        if right { Ok(()) } else { Err(Error::Signature) }
    }
}
