//! The message interface: one key for many messages, each with a nonce, associated data and a tag of its own.
//!
//! A message that is encrypted in parts is given out part by part. One that is decrypted is given out with its last part, when the tag
//! has been compared.
//!
//! Ref. PKCS #11 v3.2 §5.9, §5.11.

use std::sync::Arc;

use cryptoki_sys::*;
use millstream::InOut;
use millstream::aead::AeadState;
use millstream::{chacha20poly1305, gcm};

use crate::object::PIECE;
use crate::object::engine::Engine;
use crate::refusal::{Outcome, Refusal, demand, refuse};
use crate::text::Text;

/// The most bytes of one message that is decrypted in parts.
const MOST_KEPT: usize = 1 << 30;

/// Messages under way.
pub struct Messages {
    /// The key.
    pub engine: Arc<Engine>,
    /// True for AES-GCM, false for ChaCha20-Poly1305.
    pub gcm: bool,
    /// The message that was begun in parts.
    pub begun: Option<Begun>,
}

/// A message in parts.
pub enum Begun {
    /// A message that is encrypted.
    Seal(State),
    /// A message that is decrypted: all parts so far.
    Open(Opening),
}

/// The state of a message that is encrypted.
pub enum State {
    /// With AES-GCM.
    Gcm(Box<gcm::State>),
    /// With ChaCha20-Poly1305.
    ChaCha(Box<chacha20poly1305::State>),
    /// With a key in the service: the mid-state.
    Remote(Vec<u8>),
}

/// A message that is decrypted.
pub struct Opening {
    /// The nonce.
    pub nonce: Vec<u8>,
    /// The associated data.
    pub aad: Vec<u8>,
    /// The ciphertext so far.
    pub data: Text,
}

impl State {
    /// Begins a message.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`.
    pub fn begin(engine: &Engine, nonce: &[u8], aad: &[u8]) -> Outcome<Self> {
        match engine {
            Engine::Gcm(key) => {
                let mut state = key.begin(nonce)?;
                state.aad(key, aad)?;
                Ok(State::Gcm(Box::new(state)))
            }
            Engine::ChaCha(key) => {
                let mut state = key.begin(nonce)?;
                state.aad(key, aad)?;
                Ok(State::ChaCha(Box::new(state)))
            }
            Engine::Remote(key) => {
                let mut state = Vec::new();
                key.seal_piece(nonce, aad, &mut state, &mut [])?;
                Ok(State::Remote(state))
            }
            _ => refuse(CKR_KEY_TYPE_INCONSISTENT),
        }
    }

    /// Encrypts a part.
    ///
    /// # Errors
    /// `CKR_DATA_LEN_RANGE`.
    pub fn seal(&mut self, engine: &Engine, part: &[u8]) -> Outcome<Vec<u8>> {
        let mut data = part.to_vec();
        if let (State::Remote(state), Engine::Remote(key)) = (&mut *self, engine) {
            for piece in data.chunks_mut(PIECE) {
                key.seal_piece(&[], &[], state, piece)?;
            }
            return Ok(data);
        }
        let text = InOut::in_place(&mut data);
        match (self, engine) {
            (State::Gcm(state), Engine::Gcm(key)) => state.encrypt(key, text)?,
            (State::ChaCha(state), Engine::ChaCha(key)) => state.encrypt(key, text)?,
            _ => return refuse(CKR_KEY_TYPE_INCONSISTENT),
        }
        Ok(data)
    }

    /// Returns the tag.
    ///
    /// # Errors
    /// None for the key that the message was begun with.
    pub fn tag(&self, engine: &Engine) -> Outcome<[u8; 16]> {
        match (self, engine) {
            (State::Gcm(state), Engine::Gcm(key)) => Ok(state.tag(key)),
            (State::ChaCha(state), Engine::ChaCha(key)) => Ok(state.tag(key)),
            (State::Remote(state), Engine::Remote(key)) => key.tag(state),
            _ => refuse(CKR_KEY_TYPE_INCONSISTENT),
        }
    }
}

impl Opening {
    /// Adds a part.
    ///
    /// # Errors
    /// `CKR_ENCRYPTED_DATA_LEN_RANGE`.
    pub fn add(&mut self, part: &[u8]) -> Outcome {
        let fits = self.data.len().saturating_add(part.len()) <= MOST_KEPT;
        demand(fits, CKR_ENCRYPTED_DATA_LEN_RANGE)?;
        self.data.add(part);
        Ok(())
    }

    /// Opens the message.
    ///
    /// # Errors
    /// `CKR_AEAD_DECRYPT_FAILED`.
    pub fn open(mut self, engine: &Engine, tag: &[u8]) -> Outcome<Text> {
        engine.open(&self.nonce, &self.aad, &mut self.data, tag).map_err(|refusal| match refusal {
            Refusal(CKR_DATA_LEN_RANGE) => Refusal(CKR_MECHANISM_PARAM_INVALID),
            refusal => refusal,
        })?;
        Ok(self.data)
    }
}
