//! Signatures of messages: the algorithm hashes by itself, and no digest is named.
//!
//! Ref. provider-signature(7), "Message Signing Functions".

use super::KeyType;
use crate::abi::OsslParam;
use crate::error::{Reason, Result};
use crate::params::Params;
use crate::provider::Provider;

/// The purpose for which a context was initialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To sign, or to verify with `EVP_DigestVerify` and its like.
    SignOrDigestVerify,
    /// To verify, by `EVP_PKEY_verify_message_init`: the signature may be a parameter.
    VerifyMessage,
}

/// The context of a signature.
pub trait MessageSignature: Clone + 'static {
    /// The keys.
    type Key: KeyType;
    /// The parameters of a context that can be set, and those where it verifies.
    const SETTABLE: &'static [OsslParam];
    const SETTABLE_TO_VERIFY: &'static [OsslParam];
    /// The parameters that tell about a context.
    const GETTABLE: &'static [OsslParam];

    fn new(provider: Provider) -> Self;
    /// Returns the provider that the context belongs to.
    fn provider(&self) -> Provider;
    /// Returns the purpose of a context that has one.
    fn purpose(&self) -> Purpose;
    /// Begins with a key. Without one the context goes on with the key that it has.
    fn begin(&mut self, purpose: Purpose, key: Option<&Self::Key>, params: Params<'_>) -> Result<()>;
    /// Sets parameters.
    fn set(&mut self, params: Params<'_>) -> Result<()>;
    /// Answers questions about the context.
    fn get(&self, params: Params<'_>) -> Result<()>;
    /// Returns the bytes of a signature.
    fn len(&self) -> usize;
    /// Signs a whole message.
    fn sign(&mut self, message: &[u8]) -> Result<Vec<u8>>;
    /// Verifies the signature of a whole message. Fails without a reason where it does not verify.
    fn verify(&mut self, message: &[u8], signature: &[u8]) -> Result<()>;
    /// Takes the next piece of a message.
    fn update(&mut self, piece: &[u8]) -> Result<()>;
    /// Signs the pieces that came.
    fn sign_pieces(&mut self) -> Result<Vec<u8>>;
    /// Verifies a signature of the pieces that came: the given one, or that which was set as a parameter.
    fn verify_pieces(&mut self, signature: Option<&[u8]>) -> Result<()>;
}

/// Names a digest, which no such algorithm takes.
pub const NO_DIGEST: Reason = Reason::INVALID_DIGEST.with("the algorithm hashes by itself: name no digest");
