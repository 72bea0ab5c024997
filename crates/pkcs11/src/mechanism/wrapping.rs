//! The parameters of keys that are wrapped with associated data.
//!
//! AES-GCM takes three structures: that of one message (`CK_GCM_MESSAGE_PARAMS`), whose tag is apart, that of wrapping (`CK_GCM_WRAP_PARAMS`), and that of
//! encryption (`CK_GCM_PARAMS`), with which the tag follows the ciphertext. ChaCha20-Poly1305 has the first and the last of these.
//!
//! Ref. PKCS #11 v3.2 §5.18 (C_WrapKeyAuthenticated, C_UnwrapKeyAuthenticated), §6 (the parameters of AES-GCM and of ChaCha20-Poly1305).
//!
//! # Safety
//! As of `parameters.rs`.
#![allow(unsafe_code)]

use cryptoki_sys::*;
use zeroize::Zeroizing;

use super::parameters::{self, Aead, LOWEST_ADDRESS, Message};
use crate::abi::{Mechanism, pointed};
use crate::object::engine::Engine;
use crate::refusal::{Outcome, Refusal, demand};

/// The bytes of a key.
type Secret = Zeroizing<Vec<u8>>;

/// The parameter of a mechanism by which a key is wrapped and authenticated.
pub struct Wrapping {
    nonce: Nonce,
    aad: Vec<u8>,
    /// The bytes of the tag.
    tag: usize,
    /// True if the tag is in a place of its own, and does not follow the ciphertext.
    apart: bool,
}

enum Nonce {
    /// The nonce that the program gave.
    Given(Vec<u8>),
    /// The place where the nonce is, or where it goes.
    At(Message),
}

impl Wrapping {
    /// Reads the parameter of AES-GCM (`gcm`) or ChaCha20-Poly1305. The associated data is an argument of the function or stands in the parameter.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`.
    pub fn read(mechanism: &Mechanism<'_>, gcm: bool, aad: &[u8]) -> Outcome<Self> {
        let at = |message: Message, aad: &[u8], apart| {
            let tag = message.tag_len;
            Wrapping { nonce: Nonce::At(message), aad: aad.to_vec(), tag, apart }
        };
        let mut wrapping = if has_tag_apart(mechanism, gcm)? {
            let (parameter, len) = (mechanism.parameter.as_ptr(), mechanism.parameter.len() as CK_ULONG);
            // SAFETY: the program's promise; the parameter has as many bytes.
            at(unsafe { Message::read(gcm, parameter.cast_mut().cast(), len)? }, &[], true)
        } else if gcm && is_for_wrapping(mechanism) {
            // SAFETY: the head of the file.
            let given = unsafe { mechanism.parameter::<CK_GCM_WRAP_PARAMS>()? };
            // SAFETY: the head of the file.
            let aad = unsafe { pointed(given.pAAD, given.ulAADLen)? };
            at(Message::of_wrapping(&given)?, aad, false)
        } else {
            let Aead { nonce, aad, tag } =
                if gcm { parameters::gcm(mechanism)? } else { parameters::chacha(mechanism)? };
            Wrapping { nonce: Nonce::Given(nonce), aad, tag, apart: false }
        };
        demand(aad.is_empty() || wrapping.aad.is_empty(), CKR_MECHANISM_PARAM_INVALID)?;
        wrapping.aad.extend_from_slice(aad);
        Ok(wrapping)
    }

    /// Returns the bytes of a wrapped key.
    pub fn wrapped_len(&self, len: usize) -> usize {
        if self.apart { len } else { len + self.tag }
    }

    /// Wraps the bytes of a key. A nonce that is to be made, and a tag that is apart, go to the program.
    ///
    /// # Errors
    /// Those of the engine; `CKR_RANDOM_NO_RNG`.
    pub fn wrap(&self, engine: &Engine, key: &[u8]) -> Outcome<Secret> {
        let mut data = Zeroizing::new(key.to_vec());
        let tag = engine.seal(&self.nonce(true)?, &self.aad, &mut data)?;
        match &self.nonce {
            // SAFETY: the program's promise.
            Nonce::At(message) if self.apart => unsafe { message.give_tag(&tag) },
            _ => data.extend_from_slice(&tag[..self.tag]),
        }
        Ok(data)
    }

    /// Opens a wrapped key.
    ///
    /// # Errors
    /// `CKR_WRAPPED_KEY_LEN_RANGE`; those of the engine.
    pub fn unwrap(&self, engine: &Engine, wrapped: &[u8]) -> Outcome<Secret> {
        let mut data = Zeroizing::new(wrapped.to_vec());
        let tag = match &self.nonce {
            // SAFETY: the program's promise.
            Nonce::At(message) if self.apart => unsafe { message.tag()? },
            _ => {
                let len = data.len().checked_sub(self.tag).ok_or(Refusal(CKR_WRAPPED_KEY_LEN_RANGE))?;
                data.split_off(len)
            }
        };
        engine.open(&self.nonce(false)?, &self.aad, &mut data, &tag)?;
        Ok(data)
    }

    fn nonce(&self, wraps: bool) -> Outcome<Vec<u8>> {
        match &self.nonce {
            Nonce::Given(nonce) => Ok(nonce.clone()),
            // SAFETY: the program's promise.
            Nonce::At(message) => unsafe { message.nonce(wraps) },
        }
    }
}

/// Returns true for the parameter of AES-GCM that is for wrapping alone.
pub fn is_for_wrapping(mechanism: &Mechanism<'_>) -> bool {
    mechanism.parameter.len() == size_of::<CK_GCM_WRAP_PARAMS>()
}

/// Returns true for the parameter of a message. That of AES-GCM is as long as the one of an encryption, which has a length where the message has the address of its
/// tag, and an address where the message has a small number.
fn has_tag_apart(mechanism: &Mechanism<'_>, gcm: bool) -> Outcome<bool> {
    let len = mechanism.parameter.len();
    if !gcm {
        return Ok(len == size_of::<CK_SALSA20_CHACHA20_POLY1305_MSG_PARAMS>());
    }
    if len != size_of::<CK_GCM_MESSAGE_PARAMS>() {
        return Ok(false);
    }
    // SAFETY: the head of the file.
    let given = unsafe { mechanism.parameter::<CK_GCM_MESSAGE_PARAMS>()? };
    // Addresses of a program are in the lower half; a length of all ones is none.
    let addresses = LOWEST_ADDRESS..=isize::MAX as CK_ULONG;
    Ok(given.ivGenerator <= CKG_GENERATE_COUNTER_XOR && addresses.contains(&(given.pTag.addr() as CK_ULONG)))
}
