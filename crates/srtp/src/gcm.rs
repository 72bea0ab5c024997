//! AES-GCM as libsrtp2 asks for it: the state of one cipher of a session.
//!
//! Ref. RFC 7714.

use millstream::aead::Aead;
use millstream::gcm::Gcm;
use millstream::{EngineError, Features, InOut};

use crate::count::Counter;

/// Bytes of the salt behind a key. libsrtp2 makes the nonces of it itself.
pub const SALT: usize = 12;

/// The most bytes of associated data, as in libsrtp2.
const MOST_AAD: usize = 2048;

/// The cipher of a session.
pub struct State {
    key: Gcm,
    /// Bytes of a tag: 8 or 16.
    tag_len: usize,
    nonce: [u8; 12],
    aad: Vec<u8>,
    tag: [u8; 16],
    counted: Counter,
}

impl State {
    /// Expands a key, behind which the salt comes.
    ///
    /// # Errors
    /// [`EngineError::KeyLength`].
    pub fn new(features: Features, key_and_salt: &[u8], tag_len: usize) -> Result<Self, EngineError> {
        let bytes = &key_and_salt[..key_and_salt.len().saturating_sub(SALT)];
        let key = Gcm::new(features, bytes)?;
        let counted = Counter::new(&format!("aes-{}-gcm", 8 * bytes.len()), key.kernel().name);
        Ok(State { key, tag_len, nonce: [0; 12], aad: Vec::new(), tag: [0; 16], counted })
    }

    /// Begins a packet.
    pub fn begin(&mut self, nonce: [u8; 12]) {
        self.nonce = nonce;
        self.aad.clear();
    }

    /// Adds associated data. Returns false if there is more than a packet has.
    pub fn add(&mut self, aad: &[u8]) -> bool {
        let fits = self.aad.len() + aad.len() <= MOST_AAD;
        if fits {
            self.aad.extend_from_slice(aad);
        }
        fits
    }

    /// Encrypts a packet; its tag is [`State::tag`].
    ///
    /// # Errors
    /// [`EngineError::DataLength`].
    pub fn seal(&mut self, data: &mut [u8]) -> Result<(), EngineError> {
        self.counted.add(data.len());
        self.key.seal(&self.nonce, &self.aad, InOut::in_place(data), &mut self.tag)
    }

    /// Returns the tag of the packet that was encrypted last.
    pub fn tag(&self) -> &[u8] {
        &self.tag[..self.tag_len]
    }

    /// Decrypts a packet with its tag behind it, if the tag is right; else it stays as it is. Returns the bytes without the tag.
    ///
    /// # Errors
    /// [`EngineError::Authentication`], also for a packet that is shorter than a tag.
    pub fn open(&mut self, packet: &mut [u8]) -> Result<usize, EngineError> {
        let len = packet.len().checked_sub(self.tag_len).ok_or(EngineError::Authentication)?;
        let (data, tag) = packet.split_at_mut(len);
        self.counted.add(len);
        self.key.open_cut(&self.nonce, &self.aad, InOut::in_place(data), tag, self.tag_len)?;
        Ok(len)
    }
}
