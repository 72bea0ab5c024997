//! Jobs of a lane manager: an operation, with its key and its result.

use std::fmt;

use super::message::Scheme;
use super::private::PrivateKey;
use super::public::PublicKey;
use super::set::Set;
use crate::Error;

/// A key pair to make of its seeds.
pub struct KeyJob<'a> {
    /// The parameter set.
    pub set: Set,
    /// The three seeds, one behind the other.
    pub seeds: &'a [u8],
    /// The key, nothing before the job has run. The errors are those of [`PrivateKey::from_seeds`].
    pub key: Option<Result<PrivateKey, Error>>,
}

impl<'a> KeyJob<'a> {
    /// A key not made yet.
    pub const fn new(set: Set, seeds: &'a [u8]) -> Self {
        KeyJob { set, seeds, key: None }
    }
}

impl fmt::Debug for KeyJob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a key of {} to make", self.set)
    }
}

/// A message to sign.
pub struct SignJob<'a> {
    /// The private key.
    pub key: &'a PrivateKey,
    /// The way in which the message is signed.
    pub scheme: Scheme<'a>,
    /// The message, or what the scheme says.
    pub message: &'a [u8],
    /// [`Set::node_len`] fresh random bytes, or none for a signature that depends on the key and the message alone.
    pub randomness: Option<&'a [u8]>,
    /// The signature, nothing before the job has run. The errors are those of [`PrivateKey::sign_with`].
    pub signature: Option<Result<Vec<u8>, Error>>,
}

impl<'a> SignJob<'a> {
    /// A message not signed yet.
    pub const fn new(
        key: &'a PrivateKey,
        scheme: Scheme<'a>,
        message: &'a [u8],
        randomness: Option<&'a [u8]>,
    ) -> Self {
        SignJob { key, scheme, message, randomness, signature: None }
    }
}

impl fmt::Debug for SignJob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a message to sign by {}", self.key.set())
    }
}

/// A signature to verify.
#[derive(Debug)]
pub struct VerifyJob<'a> {
    /// The public key.
    pub key: &'a PublicKey,
    /// The way in which the message was signed.
    pub scheme: Scheme<'a>,
    /// The message, or what the scheme says.
    pub message: &'a [u8],
    /// The signature.
    pub signature: &'a [u8],
    /// The verdict, nothing before the job has run. The errors are those of [`PublicKey::verify_by`].
    pub verdict: Option<Result<(), Error>>,
}

impl<'a> VerifyJob<'a> {
    /// A signature not verified yet.
    pub const fn new(key: &'a PublicKey, scheme: Scheme<'a>, message: &'a [u8], signature: &'a [u8]) -> Self {
        VerifyJob { key, scheme, message, signature, verdict: None }
    }
}
