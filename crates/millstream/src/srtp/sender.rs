//! The side of a session that protects packets.

use crate::InOut;
use crate::aead::Aead;

use super::index::Sources;
use super::keys::{Keys, SessionKeys, nonce};
use super::packet::{RTCP_CLEAR, rtcp_source};
use super::{Error, Profile};

/// The bit of a packet of RTCP that says it is encrypted.
pub(super) const ENCRYPTED: u32 = 1 << 31;

/// The side of a session that protects packets, of any number of sources up to 1024.
pub struct Sender {
    pub(super) keys: SessionKeys,
    pub(super) rtp: Sources,
    rtcp: Sources,
}

impl Sender {
    /// Derives the keys of a session from a master key, behind which the master salt comes.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::Features`].
    pub fn new(profile: Profile, key_and_salt: &[u8]) -> Result<Self, Error> {
        let keys = SessionKeys::new(profile, key_and_salt)?;
        Ok(Sender { keys, rtp: Sources::default(), rtcp: Sources::default() })
    }

    /// Protects a packet of RTCP: encrypts what is behind its first header, and appends its number and the tag.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Sources`], [`Error::Exhausted`]: nothing has changed then.
    pub fn protect_rtcp(&mut self, packet: &mut Vec<u8>) -> Result<(), Error> {
        let source = rtcp_source(packet)?;
        let index = self.rtcp.after(source);
        // RFC 3711 §3.4: 31 bits.
        if index >= ENCRYPTED.into() {
            return Err(Error::Exhausted);
        }
        self.rtcp.check(source, index as u32)?;
        let word = (ENCRYPTED | index as u32).to_be_bytes();
        match &self.keys.rtcp {
            Keys::Counter(keys) => {
                keys.cipher.apply(&keys.counter(source, index), InOut::in_place(&mut packet[RTCP_CLEAR..]));
                packet.extend_from_slice(&word);
                let tag = keys.auth.sign(packet);
                packet.extend_from_slice(&tag[..self.keys.profile.rtcp_tag_len()]);
            }
            Keys::Gcm(key, salt) => {
                let (clear, body) = packet.split_at_mut(RTCP_CLEAR);
                let (aad, mut tag) = ([&*clear, &word[..]].concat(), [0; 16]);
                key.seal(&nonce(salt, source, index), &aad, InOut::in_place(body), &mut tag)?;
                packet.extend_from_slice(&tag);
                packet.extend_from_slice(&word);
            }
        }
        self.rtcp.note(source, index);
        Ok(())
    }
}
