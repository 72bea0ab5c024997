//! The side of a session that accepts packets.

use crate::InOut;
use crate::aead::Aead;

use super::index::Sources;
use super::keys::{Keys, SessionKeys, nonce};
use super::many::roll_over;
use super::packet::{RTCP_CLEAR, Rtp, rtcp_source};
use super::sender::ENCRYPTED;
use super::{Error, Profile};

/// The side of a session that accepts packets, of any number of sources up to 1024. A source is known from its first authentic packet on.
pub struct Receiver {
    pub(super) keys: SessionKeys,
    pub(super) rtp: Sources,
    rtcp: Sources,
}

impl Receiver {
    /// Derives the keys of a session from a master key, behind which the master salt comes.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::Features`].
    pub fn new(profile: Profile, key_and_salt: &[u8]) -> Result<Self, Error> {
        let keys = SessionKeys::new(profile, key_and_salt)?;
        Ok(Receiver { keys, rtp: Sources::default(), rtcp: Sources::default() })
    }

    /// Accepts a packet of RTP: checks its tag and that it comes once, and decrypts what is behind its header. Returns the bytes of the
    /// packet, which are in front.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Authentication`], [`Error::Replayed`], [`Error::Old`], [`Error::Sources`]: the packet is as it came
    /// then.
    pub fn unprotect(&mut self, packet: &mut [u8]) -> Result<usize, Error> {
        let profile = self.keys.profile;
        let len = packet.len().checked_sub(profile.tag_len()).ok_or(Error::Malformed)?;
        let rtp = Rtp::parse(&packet[..len])?;
        let index = self.rtp.next(rtp.source, rtp.sequence)?;
        let (packet, tag) = packet.split_at_mut(len);
        match &self.keys.rtp {
            Keys::Counter(keys) => {
                let mut message = keys.auth.start();
                message.update(packet);
                message.update(&roll_over(index));
                message.verify(tag)?;
                let body = InOut::in_place(&mut packet[rtp.header..]);
                keys.cipher.apply(&keys.counter(rtp.source, index), body);
            }
            Keys::Gcm(key, salt) => {
                let (header, body) = packet.split_at_mut(rtp.header);
                let nonce = nonce(salt, rtp.source, index);
                key.open(&nonce, header, InOut::in_place(body), tag.first_chunk().ok_or(Error::Malformed)?)?;
            }
        }
        self.rtp.note(rtp.source, index);
        Ok(len)
    }

    /// Accepts a packet of RTCP, as [`Receiver::unprotect`] does one of RTP.
    ///
    /// # Errors
    /// As for [`Receiver::unprotect`].
    pub fn unprotect_rtcp(&mut self, packet: &mut [u8]) -> Result<usize, Error> {
        let tag_len = self.keys.profile.rtcp_tag_len();
        let len = packet.len().checked_sub(tag_len + 4).ok_or(Error::Malformed)?;
        let source = rtcp_source(&packet[..len])?;
        // The number comes before the tag of HMAC, and behind that of GCM.
        let is_aead = matches!(self.keys.rtcp, Keys::Gcm(..));
        let at = if is_aead { len + tag_len } else { len };
        let word: [u8; 4] = *packet[at..].first_chunk().ok_or(Error::Malformed)?;
        let number = u32::from_be_bytes(word);
        let (encrypted, index) = (number & ENCRYPTED != 0, number & !ENCRYPTED);
        self.rtcp.check(source, index)?;
        match &self.keys.rtcp {
            Keys::Counter(keys) => {
                let (message, tag) = packet.split_at_mut(len + 4);
                keys.auth.verify(message, tag)?;
                if encrypted {
                    let body = InOut::in_place(&mut message[RTCP_CLEAR..len]);
                    keys.cipher.apply(&keys.counter(source, index.into()), body);
                }
            }
            Keys::Gcm(key, salt) => {
                let nonce = nonce(salt, source, index.into());
                let (packet, tag) = packet.split_at_mut(len);
                let tag = tag.first_chunk().ok_or(Error::Malformed)?;
                if encrypted {
                    let (clear, body) = packet.split_at_mut(RTCP_CLEAR);
                    key.open(&nonce, &[&*clear, &word[..]].concat(), InOut::in_place(body), tag)?;
                } else {
                    // RFC 7714 §9.2: all of it is associated data.
                    key.open(&nonce, &[&*packet, &word[..]].concat(), InOut::in_place(&mut []), tag)?;
                }
            }
        }
        self.rtcp.note(source, index.into());
        Ok(len)
    }
}
