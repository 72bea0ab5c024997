//! The device secret: bytes of this machine without which no PIN opens a token.
//!
//! systemd gives a service the credential `millstream.device-secret`, which may be bound to the machine's TPM
//! (`LoadCredentialEncrypted=`). Without one it is beside the store: sealed by the TPM ([`crate::tpm`]), else in a file with 32 random bytes that its
//! owner alone can read.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::secret::{DeviceSecret, FILE, bytes, opened, read};
use crate::tpm::{self, Tpm};

/// The name of the systemd credential.
pub const CREDENTIAL: &str = "millstream.device-secret";

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
