//! The preamble of a file that was encrypted under a key of a token: the key of the file itself, sealed by that key, which never leaves its token.
//!
//! | offset | bytes | meaning |
//! | ---: | ---: | --- |
//! | 0 | 8 | `Millstrk` |
//! | 8 | 1 | version, 1 |
//! | 9 | 3 | zero |
//! | 12 | 12 | nonce, random |
//! | 24 | 32 | the file's key, random, under AES-GCM with the token's key |
//! | 56 | 16 | tag |
//!
//! The first 12 bytes are the associated data of the sealed key. A stream of Tink's AES256-GCM-HKDF with 1 MB segments follows, under the file's key. Its associated data are
//! the 72 bytes of the preamble followed by the user's associated data, so no bit of the preamble can be changed unnoticed.
//!
//! Ref. NIST SP 800-38D §8.2.2 (random nonces): a key of a token may seal 2³² preambles.

use zeroize::Zeroizing;

use crate::error::Error;
use crate::tink::Key;

/// The first bytes of the preamble.
pub const MAGIC: &[u8; 8] = b"Millstrk";

/// The length of the preamble.
pub const LEN: usize = 72;

const VERSION: u8 = 1;
const FORMAT: &str = "Millstream sealed key";

/// The parts of a preamble that are not its key: magic, version and zeros.
const FRONT: usize = 12;
const NONCE: usize = 12;
const KEY: usize = 32;

/// A sealed key in front of a file.
///
/// ```
/// use millstream_files::sealed_key::SealedKey;
///
/// // This key of a token does nothing at all.
/// let (sealed, key) = SealedKey::seal(|_nonce, _aad, _key| Ok::<_, millstream_files::Error>([7; 16]))?;
/// let again = SealedKey::from_bytes(&sealed.to_bytes())?;
/// let opened = again.open(|_nonce, _aad, _key, tag| {
///     assert_eq!(tag, &[7; 16]);
///     Ok::<_, millstream_files::Error>(())
/// })?;
/// assert_eq!(again, sealed);
/// # let _ = (key, opened);
/// # Ok::<(), millstream_files::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedKey([u8; LEN]);

impl SealedKey {
    /// Returns true if a file begins as one with a sealed key does.
    pub fn begins(head: &[u8]) -> bool {
        head.starts_with(MAGIC)
    }

    /// Makes a key for a file, which `seal` seals in place under a key of a token, with a nonce of 12 bytes and associated data. It returns the tag.
    ///
    /// # Errors
    /// The system's, when it has no random bytes; those of `seal`.
    pub fn seal<E: From<getrandom::Error>>(
        seal: impl FnOnce(&[u8], &[u8], &mut [u8]) -> Result<[u8; 16], E>,
    ) -> Result<(Self, Key), E> {
        let mut key = Zeroizing::new([0; KEY]);
        getrandom::fill(&mut *key)?;
        let mut bytes = [0; LEN];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8] = VERSION;
        getrandom::fill(&mut bytes[FRONT..FRONT + NONCE])?;
        let mut sealed = key.clone();
        let (front, rest) = bytes.split_at_mut(FRONT);
        let (nonce, rest) = rest.split_at_mut(NONCE);
        let tag = seal(nonce, front, &mut *sealed)?;
        rest[..KEY].copy_from_slice(&*sealed);
        rest[KEY..].copy_from_slice(&tag);
        Ok((SealedKey(bytes), file_key(&key)))
    }

    /// Reads a preamble.
    ///
    /// # Errors
    /// [`Error::NotThisFormat`].
    pub fn from_bytes(bytes: &[u8; LEN]) -> Result<Self, Error> {
        let not = |why: String| Error::NotThisFormat { format: FORMAT, why };
        if !SealedKey::begins(bytes) {
            return Err(not("it does not begin with 'Millstrk'".into()));
        }
        if bytes[8..FRONT] != [VERSION, 0, 0, 0] {
            return Err(not(format!("version {} is not known here", bytes[8])));
        }
        Ok(SealedKey(*bytes))
    }

    /// Returns the preamble.
    pub fn to_bytes(&self) -> [u8; LEN] {
        self.0
    }

    /// Returns the key of the file, which `open` opens in place with the nonce, the associated data and the tag.
    ///
    /// # Errors
    /// Those of `open`.
    pub fn open<E>(
        &self,
        open: impl FnOnce(&[u8], &[u8], &mut [u8], &[u8; 16]) -> Result<(), E>,
    ) -> Result<Key, E> {
        let (front, rest) = self.0.split_at(FRONT);
        let (nonce, rest) = rest.split_at(NONCE);
        let (sealed, tag) = rest.split_at(KEY);
        let mut key = Zeroizing::new([0; KEY]);
        key.copy_from_slice(sealed);
        open(nonce, front, &mut *key, tag.try_into().expect("16 bytes are left"))?;
        Ok(file_key(&key))
    }

    /// Returns the stream's associated data: the preamble, then the user's.
    pub fn bind(&self, associated_data: &[u8]) -> Vec<u8> {
        [&self.0, associated_data].concat()
    }
}

fn file_key(key: &[u8; KEY]) -> Key {
    Key::new(key).expect("32 bytes are a key")
}

#[cfg(test)]
mod tests {
    use millstream_cpu::Features;
    use millstream_engines::InOut;
    use millstream_engines::aead::Aead;
    use millstream_engines::gcm::Gcm;

    use super::*;
    use crate::tink;

    fn seal_under(gcm: &Gcm) -> (SealedKey, Key) {
        SealedKey::seal(|nonce, aad, key| {
            let mut tag = [0; 16];
            gcm.seal(nonce, aad, InOut::in_place(key), &mut tag)?;
            Ok::<_, Error>(tag)
        })
        .unwrap()
    }

    fn opened(gcm: &Gcm, sealed: &SealedKey) -> Result<Key, Error> {
        sealed.open(|nonce, aad, key, tag| Ok(gcm.open(nonce, aad, InOut::in_place(key), tag)?))
    }

    #[test]
    fn a_key_comes_back_and_a_changed_envelope_does_not_open() {
        let gcm = Gcm::new(Features::hardware(), &[3; 32]).unwrap();
        let (sealed, key) = seal_under(&gcm);
        let (mut stream, mut data) = (Vec::new(), Vec::new());
        tink::encrypt(Features::hardware(), &b"an object"[..], &mut stream, &key, b"").unwrap();
        let again = opened(&gcm, &sealed).unwrap();
        tink::decrypt(Features::hardware(), &stream[..], &mut data, &again, b"").unwrap();
        assert_eq!(data, b"an object");
        let (other, _) = seal_under(&gcm);
        assert_ne!(other, sealed);
        for at in 0..LEN {
            let mut bytes = sealed.to_bytes();
            bytes[at] ^= 1;
            let read = SealedKey::from_bytes(&bytes);
            assert_eq!(read.is_err(), at < FRONT, "{at}");
            assert!(read.is_err() || opened(&gcm, &read.unwrap()).is_err(), "{at}");
        }
    }
}
