//! The keys of a session, which are derived from a master key.
//!
//! Ref. RFC 3711 §4.3 (key derivation), RFC 6188 §2 (with AES-256), RFC 7714 §8 and §9 (nonces), §11 (key derivation).

use crate::aes::{Ctr, srtp_counter};
use crate::gcm::Gcm;
use crate::hash::Hash;
use crate::hmac::HmacKey;
use crate::{EngineError, Features, InOut};
use zeroize::Zeroizing;

use super::{Error, Profile};

/// Bytes of a session's key for HMAC-SHA1.
const AUTH_KEY: usize = 20;

/// The purpose of derived keys: the first of three labels.
#[derive(Clone, Copy)]
enum For {
    Rtp = 0,
    Rtcp = 3,
}

/// The keys for packets of RTP, or of RTCP.
pub(super) enum Keys {
    /// Counter mode and HMAC-SHA1.
    Counter(Box<CounterKeys>),
    /// AES-GCM, and the salt of its nonces.
    Gcm(Box<Gcm>, [u8; 12]),
}

/// The keys of counter mode and HMAC-SHA1.
pub(super) struct CounterKeys {
    pub(super) cipher: Ctr,
    salt: [u8; 14],
    pub(super) auth: HmacKey,
}

impl CounterKeys {
    /// Returns the first counter block of a packet.
    pub(super) fn counter(&self, source: u32, index: u64) -> [u8; 16] {
        srtp_counter(&self.salt, source, index)
    }
}

/// Returns the nonce of a packet: two zeros, the source and 48 bits, XORed with the salt.
pub(super) fn nonce(salt: &[u8; 12], source: u32, index: u64) -> [u8; 12] {
    let mut nonce = *salt;
    let bytes = source.to_be_bytes().into_iter().chain(index.to_be_bytes().into_iter().skip(2));
    nonce[2..].iter_mut().zip(bytes).for_each(|(nonce, byte)| *nonce ^= byte);
    nonce
}

/// The keys of a session.
pub(super) struct SessionKeys {
    pub(super) profile: Profile,
    pub(super) rtp: Keys,
    pub(super) rtcp: Keys,
}

impl SessionKeys {
    /// Derives the keys from a master key, behind which the master salt comes.
    pub(super) fn new(profile: Profile, key_and_salt: &[u8]) -> Result<Self, Error> {
        let (given, takes) = (key_and_salt.len(), profile.key_len() + profile.salt_len());
        if given != takes {
            return Err(Error::KeyLength { given, takes });
        }
        let features = crate::features().map_err(|_| Error::Features)?;
        let (key, salt) = key_and_salt.split_at(profile.key_len());
        let mut master = Master { features, key: Ctr::new(features, key)?, salt: [0; 14] };
        // The salt of GCM is shorter, and zeros follow it.
        master.salt[..salt.len()].copy_from_slice(salt);
        Ok(SessionKeys {
            profile,
            rtp: master.keys(profile, For::Rtp)?,
            rtcp: master.keys(profile, For::Rtcp)?,
        })
    }
}

struct Master {
    features: Features,
    key: Ctr,
    salt: [u8; 14],
}

impl Master {
    /// Derives bytes with a label.
    fn derive(&self, label: u8, bytes: &mut [u8]) {
        let mut block = [0; 16];
        block[..14].copy_from_slice(&self.salt);
        block[7] ^= label;
        bytes.fill(0);
        self.key.apply(&block, InOut::in_place(bytes));
    }

    fn keys(&self, profile: Profile, which: For) -> Result<Keys, EngineError> {
        let label = which as u8;
        let mut key = Zeroizing::new([0; 32]);
        let key = &mut key[..profile.key_len()];
        self.derive(label, key);
        if profile.is_aead() {
            let mut salt = [0; 12];
            self.derive(label + 2, &mut salt);
            return Ok(Keys::Gcm(Box::new(Gcm::new(self.features, key)?), salt));
        }
        let (mut auth, mut salt) = (Zeroizing::new([0; AUTH_KEY]), [0; 14]);
        self.derive(label + 1, &mut *auth);
        self.derive(label + 2, &mut salt);
        Ok(Keys::Counter(Box::new(CounterKeys {
            cipher: Ctr::new(self.features, key)?,
            salt,
            auth: HmacKey::new(self.features, Hash::Sha1, &*auth),
        })))
    }
}

#[cfg(test)]
mod tests {
    use millstream_testkit::hex;

    use super::*;

    /// RFC 3711 appendix B.3.
    #[test]
    fn derivation_is_that_of_the_standard() {
        let features = crate::features().unwrap();
        let key = Ctr::new(features, &hex("e1f97a0d3e018be0d64fa32c06de4139")).unwrap();
        let salt = hex("0ec675ad498afeebb6960b3aabe6").try_into().unwrap();
        let master = Master { features, key, salt };
        let derived = |label, len| {
            let mut bytes = vec![0; len];
            master.derive(label, &mut bytes);
            bytes
        };
        assert_eq!(derived(0, 16), hex("c61e7a93744f39ee10734afe3ff7a087"));
        assert_eq!(derived(2, 14), hex("30cbbc08863d8c85d49db34a9ae1"));
        assert_eq!(derived(1, 20), hex("cebe321f6ff7716b6fd4ab49af256a156d38baa4"));
    }
}
