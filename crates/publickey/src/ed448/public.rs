//! Public keys, and verification.
//!
//! Ref. RFC 8032 §5.2.3 and §5.2.7.
//!
//! # Safety
//! Each call through a table's functions is covered by the [`Bound`] it goes through.
#![allow(unsafe_code)]

use std::fmt;

use millstream_cpu::Features;
use millstream_engines::sha3::{Xof, XofKernel};

use super::scheme::{Input, Scheme};
use super::{ED448, KEY, NAME, Ops, SIGNATURE};
use crate::curve448::edwards::Point;
use crate::curve448::scalar::Scalar;
use crate::{Bound, Error, Kernel};

/// A public key, bound to a kernel. The point is decoded once.
#[derive(Clone)]
pub struct PublicKey {
    kernel: Bound<Ops>,
    hash: XofKernel,
    bytes: [u8; KEY],
    point: Point,
}

impl PublicKey {
    /// Takes the 57 bytes of a key for the fastest kernels that `features` allow.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are 57 bytes; [`Error::Point`] when they are not the one encoding of a point.
    pub fn new(features: Features, bytes: &[u8]) -> Result<Self, Error> {
        Self::with_kernel(ED448.best(features), features, bytes)
    }

    /// Does the same for the given kernel. SHAKE256 has the fastest that `features` allow.
    ///
    /// # Errors
    /// As for [`PublicKey::new`].
    pub fn with_kernel(kernel: Bound<Ops>, features: Features, bytes: &[u8]) -> Result<Self, Error> {
        let given = bytes.len();
        let length = |_| Error::Length { algorithm: NAME, what: "public key", given, takes: "57 bytes" };
        let hash = XofKernel::best(features, Xof::Shake256);
        Self::with_kernels(kernel, hash, bytes.try_into().map_err(length)?)
            .ok_or(Error::Point { algorithm: NAME })
    }

    pub(super) fn with_kernels(kernel: Bound<Ops>, hash: XofKernel, bytes: &[u8; KEY]) -> Option<Self> {
        let point = Point::decode_vartime(bytes)?;
        Some(PublicKey { kernel, hash, bytes: *bytes, point })
    }

    /// The key's 57 bytes.
    pub fn as_bytes(&self) -> &[u8; KEY] {
        &self.bytes
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Verifies a signature of Ed448 without a context.
    ///
    /// # Errors
    /// [`Error::Length`] unless the signature has 114 bytes; [`Error::Scalar`] when S is not below the order; [`Error::Signature`] when it does
    /// not verify.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        self.verify_input(&Input::plain(self.hash, message), signature)
    }

    /// Verifies a signature of either scheme.
    ///
    /// # Errors
    /// As for [`PublicKey::verify`], and [`Error::Length`] for a context that is too long.
    pub fn verify_by(&self, scheme: Scheme<'_>, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        self.verify_input(&Input::new(self.hash, scheme, message)?, signature)
    }

    /// RFC 8032 §5.2.7. The encoding of S B - k A is that of R, so R has to be the one encoding of a point.
    fn verify_input(&self, input: &Input<'_>, signature: &[u8]) -> Result<(), Error> {
        let (Some((point, s)), SIGNATURE) = (signature.split_first_chunk::<KEY>(), signature.len()) else {
            let given = signature.len();
            return Err(Error::Length { algorithm: NAME, what: "signature", given, takes: "114 bytes" });
        };
        let (s, last) = s.split_first_chunk().expect("57 bytes begin with 56");
        let s = Scalar::canonical_vartime(s).filter(|_| last[0] == 0);
        let s = s.ok_or(Error::Scalar { algorithm: NAME })?;
        let k = input.scalar(&[point, &self.bytes]);
        // SAFETY: `self.kernel` is bound.
        let difference = unsafe { (self.kernel.ops().difference)(&s, &k, &self.point) };
        if difference == *point { Ok(()) } else { Err(Error::Signature) }
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a public key of {NAME} on {}: ", self.kernel().name)?;
        self.bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
