//! The device secret: bytes of this machine without which no PIN opens a token.
//!
//! systemd gives a service the credential `millstream.device-secret`, which may be bound to the machine's TPM
//! (`LoadCredentialEncrypted=`). Without one it is beside the store: sealed by the TPM ([`crate::tpm`]), else in a file with 32 random bytes that its
//! owner alone can read.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_engines::hkdf::Hkdf;
use zeroize::Zeroizing;

use crate::Error;
use crate::file::create::make_whole;
use crate::tpm::{self, Tpm};

/// The name of the systemd credential.
pub const CREDENTIAL: &str = "millstream.device-secret";

/// The name of the file beside a store.
pub const FILE: &str = "device-secret";

/// The fewest bytes, which have to be random.
const LEAST_BYTES: usize = 32;

/// The most bytes.
const MOST_BYTES: usize = 4096;

/// The machine's secret. Zeroised on drop.
#[derive(Clone)]
pub struct DeviceSecret(Zeroizing<Vec<u8>>);

/// The place from which a device secret came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A credential that systemd gave to this service.
    Credential(PathBuf),
    /// A file beside the store, whose bytes the machine's TPM opened.
    Tpm(PathBuf),
    /// A file beside the store.
    File(PathBuf),
}

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

    /// Finds the machine's secret: the credential, else the sealed file in `folder`, else the file with the secret.
    ///
    /// # Errors
    /// [`Error::Exposed`] when others may read or write the file, [`Error::DeviceSecret`] when it is not there, has too few bytes, too
    /// many, or another owner, [`Error::Tpm`], and [`Error::Io`].
    pub fn find(folder: &Path) -> Result<(Self, Origin), Error> {
        let path = folder.join(FILE);
        let why = "it is not there; restore it from its copy, for nothing else opens the tokens";
        found(folder)?.ok_or(Error::DeviceSecret { path, why })
    }

    /// Finds the machine's secret, and makes the file if there is none.
    ///
    /// # Errors
    /// As [`DeviceSecret::find`].
    pub fn find_or_make(folder: &Path) -> Result<(Self, Origin), Error> {
        let path = folder.join(FILE);
        loop {
            if let Some(found) = found(folder)? {
                return Ok(found);
            }
            // Whoever makes the file at the same time may be the first; then that one's secret is the machine's.
            match DeviceSecret::random()?.write_copy(&path) {
                Ok(()) | Err(Error::Exists(_)) => {}
                Err(error) => return Err(error),
            }
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

/// Returns the credential, else the secret in the folder's file, if there is one.
fn found(folder: &Path) -> Result<Option<(DeviceSecret, Origin)>, Error> {
    if let Some(credentials) = std::env::var_os("CREDENTIALS_DIRECTORY") {
        let path = Path::new(&credentials).join(CREDENTIAL);
        if let Some(file) = opened(&path)? {
            return Ok(Some((read(file, &path)?, Origin::Credential(path))));
        }
    }
    let path = folder.join(tpm::FILE);
    if let Some(file) = own(&path)? {
        let sealed = bytes(file, &path, tpm::MOST_BYTES)?;
        return Ok(Some((tpm::unseal(&Tpm::of_machine()?, &path, &sealed)?, Origin::Tpm(path))));
    }
    let path = folder.join(FILE);
    let Some(file) = own(&path)? else { return Ok(None) };
    Ok(Some((read(file, &path)?, Origin::File(path))))
}

/// Opens a file if it is there, and refuses it if somebody else can read or write it.
fn own(path: &Path) -> Result<Option<File>, Error> {
    let Some(file) = opened(path)? else { return Ok(None) };
    let found = file.metadata().map_err(|source| Error::Io { path: path.to_owned(), source })?;
    if found.mode() & 0o077 != 0 {
        return Err(Error::Exposed(path.to_owned()));
    }
    if found.uid() != rustix::process::geteuid().as_raw() && found.uid() != 0 {
        return Err(Error::DeviceSecret { path: path.to_owned(), why: "it belongs to another user" });
    }
    Ok(Some(file))
}

/// Opens a file if it is there. A symbolic link is no device secret.
fn opened(path: &Path) -> Result<Option<File>, Error> {
    let nofollow = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    match OpenOptions::new().read(true).custom_flags(nofollow).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Io { path: path.to_owned(), source }),
    }
}

fn read(file: File, path: &Path) -> Result<DeviceSecret, Error> {
    let why = "it needs 32 to 4096 random bytes, as 'head -c 32 /dev/urandom' makes them";
    DeviceSecret::new(&bytes(file, path, MOST_BYTES)?)
        .ok_or(Error::DeviceSecret { path: path.to_owned(), why })
}

/// Reads a file, of which more than `most` bytes are cut to one more than that.
fn bytes(file: File, path: &Path, most: usize) -> Result<Zeroizing<Vec<u8>>, Error> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(most + 1));
    file.take(most as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| Error::Io { path: path.to_owned(), source })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn find_or_make(folder: &Path) -> Result<DeviceSecret, Error> {
        DeviceSecret::find_or_make(folder).map(|(secret, _)| secret)
    }

    #[test]
    fn the_file_is_made_once_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        assert!(matches!(DeviceSecret::find(folder.path()), Err(Error::DeviceSecret { .. })));
        let made = find_or_make(folder.path()).unwrap();
        assert_eq!(DeviceSecret::find(folder.path()).unwrap().1, Origin::File(path.clone()));
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o600);
        assert_eq!(made.bytes(), find_or_make(folder.path()).unwrap().bytes());
        assert_eq!(made.bytes().len(), 32);
        assert_ne!(made.bytes(), &[0; 32]);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        assert!(matches!(find_or_make(folder.path()), Err(Error::Exposed(_))));
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        std::fs::write(&path, [1; 31]).unwrap();
        assert!(matches!(find_or_make(folder.path()), Err(Error::DeviceSecret { .. })));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "something was left behind");
    }

    #[test]
    fn threads_that_make_the_file_at_once_have_one_secret() {
        let folder = tempfile::tempdir().unwrap();
        let secrets: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|_| scope.spawn(|| find_or_make(folder.path()).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(secrets.iter().all(|secret| secret.bytes() == secrets[0].bytes()));
    }
}
