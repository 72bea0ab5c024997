//! The preamble of a file that was encrypted with a passphrase. It says how the key is made from it.
//!
//! | offset | bytes | meaning |
//! | ---: | ---: | --- |
//! | 0 | 8 | `Millstrm` |
//! | 8 | 1 | version, 1 |
//! | 9 | 1 | key derivation, 1 = Argon2id version 0x13 |
//! | 10 | 2 | zero |
//! | 12 | 4 | memory in KiB, big-endian |
//! | 16 | 4 | passes, big-endian |
//! | 20 | 4 | lanes, big-endian |
//! | 24 | 16 | salt |
//!
//! A stream of Tink's AES256-GCM-HKDF with 1 MB segments follows. Its associated data are the 40 bytes of the
//! preamble followed by the user's associated data, so no bit of the preamble can be changed unnoticed. The
//! numbers are limited before they are used, because they are used before they are authenticated.
//!
//! Ref. RFC 9106 (Argon2), §4: new files use the second recommended parameters.

use argon2::{Algorithm, Argon2, Params, Version};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::tink::Key;

/// The first bytes of the preamble.
pub const MAGIC: &[u8] = b"Millstrm";

/// The length of the preamble.
pub const LEN: usize = 40;

const VERSION: u8 = 1;
const ARGON2ID: u8 = 1;
const FORMAT: &str = "Millstream passphrase";

/// The highest cost of making a key.
mod most {
    /// 1 GiB.
    pub const MEMORY_KIB: u32 = 1 << 20;
    pub const PASSES: u32 = 16;
    pub const LANES: u32 = 16;
    /// The limit of memory times passes: 4 GiB written in all, which takes a few seconds.
    pub const WORK_KIB: u64 = 4 << 20;
}

/// The parameters that make a key from a passphrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preamble {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    salt: [u8; 16],
}

impl Preamble {
    /// Makes parameters for a new file: 64 MiB, 3 passes, 4 lanes, and a new salt.
    ///
    /// # Errors
    /// [`Error::Random`].
    pub fn new() -> Result<Self, Error> {
        let mut salt = [0; 16];
        getrandom::fill(&mut salt)?;
        Ok(Preamble { memory_kib: 64 << 10, passes: 3, lanes: 4, salt })
    }

    /// Encodes the preamble.
    pub fn to_bytes(self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8] = VERSION;
        bytes[9] = ARGON2ID;
        bytes[12..16].copy_from_slice(&self.memory_kib.to_be_bytes());
        bytes[16..20].copy_from_slice(&self.passes.to_be_bytes());
        bytes[20..24].copy_from_slice(&self.lanes.to_be_bytes());
        bytes[24..].copy_from_slice(&self.salt);
        bytes
    }

    /// Reads a preamble and checks its numbers.
    ///
    /// # Errors
    /// [`Error::NotThisFormat`]; [`Error::Limit`] when it asks for more than a file may cost.
    pub fn from_bytes(bytes: &[u8; LEN]) -> Result<Self, Error> {
        let not = |why: String| Error::NotThisFormat { format: FORMAT, why };
        if !bytes.starts_with(MAGIC) {
            return Err(not("it does not begin with 'Millstrm'".into()));
        }
        if bytes[8..12] != [VERSION, ARGON2ID, 0, 0] {
            return Err(not(format!(
                "version {} and key derivation {} are not known here",
                bytes[8], bytes[9]
            )));
        }
        let number = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let mut salt = [0; 16];
        salt.copy_from_slice(&bytes[24..]);
        let preamble = Preamble { memory_kib: number(12), passes: number(16), lanes: number(20), salt };
        preamble.check()?;
        Ok(preamble)
    }

    fn check(&self) -> Result<(), Error> {
        let limit = |what, given: u64, most: u64| {
            if given > most { Err(Error::Limit { what, given, most }) } else { Ok(()) }
        };
        limit("KiB of memory for its key", self.memory_kib.into(), most::MEMORY_KIB.into())?;
        limit("passes for its key", self.passes.into(), most::PASSES.into())?;
        limit("lanes for its key", self.lanes.into(), most::LANES.into())?;
        let work = u64::from(self.memory_kib) * u64::from(self.passes);
        limit("KiB to be written for its key", work, most::WORK_KIB)?;
        self.parameters().map(|_| ())
    }

    fn parameters(&self) -> Result<Params, Error> {
        Params::new(self.memory_kib, self.passes, self.lanes, Some(32)).map_err(|error| {
            Error::NotThisFormat { format: FORMAT, why: format!("Argon2 parameters: {error}") }
        })
    }

    /// Makes the key. This takes some tenths of a second and 64 MiB for files made here.
    ///
    /// # Errors
    /// [`Error::NotThisFormat`] when Argon2 does not accept the parameters or the passphrase.
    pub fn key(&self, passphrase: &[u8]) -> Result<Key, Error> {
        Key::new(&*self.derive(passphrase)?)
    }

    /// Makes the 32 bytes of which [`Preamble::key`] is made.
    ///
    /// # Errors
    /// As for [`Preamble::key`].
    pub fn derive(&self, passphrase: &[u8]) -> Result<Zeroizing<[u8; 32]>, Error> {
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, self.parameters()?);
        let mut key = Zeroizing::new([0; 32]);
        argon2
            .hash_password_into(passphrase, &self.salt, &mut *key)
            .map_err(|error| Error::NotThisFormat { format: FORMAT, why: format!("Argon2: {error}") })?;
        Ok(key)
    }

    /// Returns the stream's associated data: the preamble, then the user's.
    pub fn bind(self, associated_data: &[u8]) -> Vec<u8> {
        [&self.to_bytes(), associated_data].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Preamble {
        Preamble { memory_kib: 64, passes: 1, lanes: 2, salt: *b"salt of 16 bytes" }
    }

    #[test]
    fn bytes_and_back() {
        assert_eq!(Preamble::from_bytes(&example().to_bytes()).unwrap(), example());
        let new = Preamble::new().unwrap();
        assert_eq!(Preamble::from_bytes(&new.to_bytes()).unwrap(), new);
    }

    #[test]
    fn costly_numbers_are_refused_before_they_are_used() {
        for (memory_kib, passes, lanes) in [
            (u32::MAX, 1, 1),
            (64, u32::MAX, 1),
            (1 << 20, 5, 4),
            (1 << 20, 1, 17),
            (8, 1, 16),
            (0, 0, 0),
            (64, 0, 1),
            (64, 1, 0),
        ] {
            let bytes = Preamble { memory_kib, passes, lanes, ..example() }.to_bytes();
            let error = Preamble::from_bytes(&bytes).unwrap_err();
            assert!(matches!(error, Error::Limit { .. } | Error::NotThisFormat { .. }), "{error}");
        }
    }

    #[test]
    fn another_version_is_not_guessed_at() {
        for at in [0, 7, 8, 9, 10, 11] {
            let mut bytes = example().to_bytes();
            bytes[at] ^= 1;
            assert!(matches!(Preamble::from_bytes(&bytes), Err(Error::NotThisFormat { .. })), "byte {at}");
        }
    }
}
