//! Public keys, and verification one at a time.
//!
//! Ref. RFC 8032 §5.1.3 and §5.1.7; ZIP 215.
//!
//! # Safety
//! Each call through a table's functions is covered by the [`Bound`] it goes through.
#![allow(unsafe_code)]

use std::fmt;

use millstream_cpu::Features;
use millstream_engines::hash::{Hash, HashKernel};

use super::check::{Affine, Check, Rules, is_canonical};
use super::scheme::{Input, Scheme, digest, reduce};
use super::{ED25519, KEY, NAME, Ops, SIGNATURE};
use crate::curve25519::scalar::Scalar;
use crate::{Bound, Error, Kernel};

/// A public key, bound to a kernel. The point is decoded once.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::ed25519::{PrivateKey, PublicKey};
///
/// let features = Features::hardware();
/// let signer = PrivateKey::new(features, &[7; 32])?;
/// let signature = signer.sign(b"a message");
/// let key = PublicKey::new(features, signer.public_bytes())?;
/// key.verify(b"a message", &signature)?;
/// # Ok::<(), millstream_publickey::Error>(())
/// ```
#[derive(Clone)]
pub struct PublicKey {
    pub(super) kernel: Bound<Ops>,
    pub(super) hash: HashKernel,
    pub(super) bytes: [u8; KEY],
    pub(super) point: Affine,
    canonical: bool,
}

impl PublicKey {
    /// Takes the 32 bytes of a key for the fastest kernels that `features` allow.
    ///
    /// # Errors
    /// - [`Error::Length`] unless there are 32 bytes;
    /// - [`Error::Encoding`] when y is not below p, or x is zero and has a sign;
    /// - [`Error::Point`] when the curve has no such point.
    pub fn new(features: Features, bytes: &[u8]) -> Result<Self, Error> {
        Self::new_zip215(features, bytes)?.under(Rules::Strict)
    }

    /// Takes the 32 bytes of a key as ZIP 215 does, in any encoding of a point. A key that [`PublicKey::new`] refuses
    /// verifies by [`PublicKey::verify_zip215`] alone.
    ///
    /// # Errors
    /// - [`Error::Length`] unless there are 32 bytes;
    /// - [`Error::Point`] when the curve has no such point.
    pub fn new_zip215(features: Features, bytes: &[u8]) -> Result<Self, Error> {
        Self::with_kernel(ED25519.best(features), features, bytes)
    }

    /// Does the same as [`PublicKey::new_zip215`], for the given kernel. SHA-512 has the fastest that `features` allow.
    ///
    /// # Errors
    /// As for [`PublicKey::new_zip215`].
    pub fn with_kernel(kernel: Bound<Ops>, features: Features, bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; KEY] = bytes.try_into().map_err(|_| Error::Length {
            algorithm: NAME,
            what: "public key",
            given: bytes.len(),
            takes: "32 bytes",
        })?;
        let hash = HashKernel::best(features, Hash::Sha512);
        Self::decoded(kernel, hash, bytes).ok_or(Error::Point { algorithm: NAME })
    }

    /// The key of a private one, whose bytes are a multiple of the base point.
    pub(super) fn of_private(kernel: Bound<Ops>, hash: HashKernel, bytes: &[u8; KEY]) -> Self {
        Self::decoded(kernel, hash, bytes).expect("a multiple of the base point is on the curve")
    }

    fn decoded(kernel: Bound<Ops>, hash: HashKernel, bytes: &[u8; KEY]) -> Option<Self> {
        Some(Self::of_point(kernel, hash, bytes, Affine::decode_vartime(bytes)?))
    }

    /// The key of bytes and of the point that they encode.
    pub(super) fn of_point(kernel: Bound<Ops>, hash: HashKernel, bytes: &[u8; KEY], point: Affine) -> Self {
        PublicKey { kernel, hash, bytes: *bytes, canonical: is_canonical(bytes), point }
    }

    /// Refuses the key if the rules are strict and its encoding is not canonical.
    pub(super) fn under(self, rules: Rules) -> Result<Self, Error> {
        if rules == Rules::Zip215 || self.canonical {
            Ok(self)
        } else {
            Err(Error::Encoding { algorithm: NAME, what: "public key" })
        }
    }

    /// The key's 32 bytes as they were given.
    pub fn as_bytes(&self) -> &[u8; KEY] {
        &self.bytes
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Verifies a signature of Ed25519 strictly.
    ///
    /// # Errors
    /// - [`Error::Length`] unless the signature has 64 bytes;
    /// - [`Error::Encoding`] when the key's encoding is one that only ZIP 215 takes;
    /// - [`Error::Scalar`] when S is not below the order;
    /// - [`Error::Signature`] when the signature does not verify.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        self.verify_by(Rules::Strict, Scheme::Pure, message, signature)
    }

    /// Verifies a signature of Ed25519 by the rules of ZIP 215.
    ///
    /// # Errors
    /// As for [`PublicKey::verify`].
    pub fn verify_zip215(&self, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        self.verify_by(Rules::Zip215, Scheme::Pure, message, signature)
    }

    /// Verifies a signature of any of the schemes, by either rules.
    ///
    /// # Errors
    /// As for [`PublicKey::verify`], and [`Error::Length`] for a context that is too long, or empty in Ed25519ctx.
    pub fn verify_by(
        &self,
        rules: Rules,
        scheme: Scheme<'_>,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        let input = Input::new(self.hash, scheme, message)?;
        let (point, s) = self.split(rules, signature)?;
        let k = reduce(digest(self.hash, &[input.domain(), point, &self.bytes, input.message()]));
        let check = Check { key: self.point, point: *point, k, s, rules };
        // SAFETY: `self.kernel` is bound.
        let holds = unsafe { (self.kernel.ops().check_vartime)(&check) };
        if holds { Ok(()) } else { Err(Error::Signature) }
    }

    /// Returns R and S of a signature, if the rules allow the key and the signature to be looked at.
    pub(super) fn split<'s>(
        &self,
        rules: Rules,
        signature: &'s [u8],
    ) -> Result<(&'s [u8; 32], Scalar), Error> {
        let (Some((point, s)), SIGNATURE) = (signature.split_first_chunk::<32>(), signature.len()) else {
            let given = signature.len();
            return Err(Error::Length { algorithm: NAME, what: "signature", given, takes: "64 bytes" });
        };
        if rules == Rules::Strict && !self.canonical {
            return Err(Error::Encoding { algorithm: NAME, what: "public key" });
        }
        let mut bytes = [0; 32];
        bytes.copy_from_slice(s);
        let s = Scalar::canonical(&bytes).ok_or(Error::Scalar { algorithm: NAME })?;
        Ok((point, s))
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
