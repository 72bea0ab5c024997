//! The bytes of a device secret, and copies of them in files.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_engines::hkdf::Hkdf;
use zeroize::Zeroizing;

use crate::Error;
use crate::file::create::make_whole;

/// The name of the file beside a store.
pub const FILE: &str = "device-secret";

/// The fewest bytes, which have to be random.
const LEAST_BYTES: usize = 32;

/// The most bytes.
const MOST_BYTES: usize = 4096;

/// The machine's secret. Zeroised on drop.
#[derive(Clone)]
pub struct DeviceSecret(Zeroizing<Vec<u8>>);

impl DeviceSecret {
    /// Takes a secret of 32 to 4096 random bytes; none if the length is another.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let takes = LEAST_BYTES..=MOST_BYTES;
        takes.contains(&bytes.len()).then(|| DeviceSecret(Zeroizing::new(bytes.to_vec())))
    }

    /// Draws a new secret.
    ///
    /// # Errors
    /// [`Error::Random`].
    pub fn random() -> Result<Self, Error> {
        let mut secret = Zeroizing::new(vec![0; LEAST_BYTES]);
        getrandom::fill(&mut secret)?;
        Ok(DeviceSecret(secret))
    }

    /// Reads a copy of a secret. A symbolic link is none.
    ///
    /// # Errors
    /// [`Error::DeviceSecret`] when the file is not there or has too few bytes or too many, and [`Error::Io`].
    pub fn read_copy(path: &Path) -> Result<Self, Error> {
        let missing = || Error::DeviceSecret { path: path.to_owned(), why: "it is not there" };
        read(opened(path)?.ok_or_else(missing)?, path)
    }

    /// Writes a copy of the secret into a new file that its owner alone can read.
    ///
    /// # Errors
    /// [`Error::Exists`] and [`Error::Io`].
    pub fn write_copy(&self, path: &Path) -> Result<(), Error> {
        let made = make_whole(path, |file| file.write_all(&self.0));
        match made.map_err(|source| Error::Io { path: path.to_owned(), source })? {
            true => Ok(()),
            false => Err(Error::Exists(path.to_owned())),
        }
    }

    /// Returns the secret's bytes, for another process that is this one's vault.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns a name of the secret that tells nothing about it, so that a token of another machine is known for one before a PIN
    /// is tried.
    pub(crate) fn fingerprint(&self, features: Features) -> [u8; 8] {
        let mut name = [0; 8];
        let hkdf = Hkdf::extract(features, Hash::Sha256, b"", &self.0);
        hkdf.expand(b"millstream device fingerprint v1", &mut name)
            .expect("8 bytes are less than 255 digests");
        name
    }
}

impl fmt::Debug for DeviceSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeviceSecret")
    }
}

/// Opens a file if it is there. A symbolic link is no device secret.
pub(crate) fn opened(path: &Path) -> Result<Option<File>, Error> {
    let nofollow = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    match OpenOptions::new().read(true).custom_flags(nofollow).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Io { path: path.to_owned(), source }),
    }
}

/// Reads a secret.
pub(crate) fn read(file: File, path: &Path) -> Result<DeviceSecret, Error> {
    let why = "it needs 32 to 4096 random bytes, as 'head -c 32 /dev/urandom' makes them";
    DeviceSecret::new(&bytes(file, path, MOST_BYTES)?)
        .ok_or(Error::DeviceSecret { path: path.to_owned(), why })
}

/// Reads a file, of which more than `most` bytes are cut to one more than that.
pub(crate) fn bytes(file: File, path: &Path, most: usize) -> Result<Zeroizing<Vec<u8>>, Error> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(most + 1));
    file.take(most as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| Error::Io { path: path.to_owned(), source })?;
    Ok(bytes)
}
