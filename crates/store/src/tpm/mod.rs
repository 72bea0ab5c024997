//! The device secret in a TPM 2.0: sealed there, with the sealed bytes in a file of the store's folder.
//!
//! The TPM alone can open those bytes again, so a folder that is copied to another machine opens no token. What the TPM does is in `chip.rs`,
//! and the file's format in `blob.rs`. Both are told apart from the cargo feature `tpm`: without it a store whose secret is sealed says so.
//!
//! Ref. TCG, *Trusted Platform Module Library*, part 3, family 2.0: TPM2_CreatePrimary (§24.1), TPM2_Create (§12.1), TPM2_Unseal (§12.7), TPM2_PolicyPCR
//! (§23.7).

mod blob;
#[cfg(feature = "tpm")]
mod chip;
#[cfg(not(feature = "tpm"))]
#[path = "absent.rs"]
mod chip;
mod fault;
mod names;
mod pcrs;

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use subtle::ConstantTimeEq;

use crate::file::create::make_whole;
use crate::secret::DeviceSecret;
use crate::{DEVICE_FILE, Error};
use blob::Blob;
pub use blob::MOST_BYTES;
pub use fault::TpmFault;
pub use names::{DEVICE, FILE, MOST_SECRET_BYTES, VARIABLE};
pub use pcrs::Pcrs;

/// A TPM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tpm {
    /// A device.
    Device(PathBuf),
    /// The emulator swtpm behind TCP, as `host=127.0.0.1,port=2321`. Its control channel has the next port.
    Emulator(String),
}

impl Tpm {
    /// Returns the TPM that `MILLSTREAM_TPM` names, else [`DEVICE`]. A program that has more rights than who started it does not look at the variable.
    ///
    /// # Errors
    /// [`TpmFault::Name`].
    pub fn of_machine() -> Result<Self, Error> {
        match std::env::var_os(VARIABLE)
            .filter(|name| !name.is_empty() && !millstream_protocol::has_more_rights())
        {
            None => Ok(Tpm::Device(DEVICE.into())),
            Some(name) => {
                let name = name.to_string_lossy();
                Tpm::named(&name).ok_or(Error::Tpm { place: name.into_owned(), why: TpmFault::Name })
            }
        }
    }

    /// Returns the TPM of a name: the path of a device from the root, or `swtpm:` and where the emulator listens.
    pub fn named(name: &str) -> Option<Self> {
        match name.strip_prefix("swtpm:") {
            Some(address) => Some(Tpm::Emulator(address.to_owned())),
            None => name.starts_with('/').then(|| Tpm::Device(name.into())),
        }
    }
}

impl fmt::Display for Tpm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tpm::Device(path) => path.display().fmt(f),
            Tpm::Emulator(address) => write!(f, "swtpm:{address}"),
        }
    }
}

/// Seals a secret to a TPM, and puts the sealed bytes into a folder in place of the secret's file. The TPM opens it only while the PCRs have the
/// values that they have now. Before the file is removed, the sealed secret was opened and compared.
///
/// Interrupted at any time, the folder has the secret as it was, or sealed, or both; called again, it goes on from there.
///
/// # Errors
/// [`Error::Tpm`]; [`Error::Io`], after which the folder is as it was, or has both.
pub fn seal(tpm: &Tpm, folder: &Path, secret: &DeviceSecret, pcrs: Pcrs) -> Result<(), Error> {
    let path = folder.join(FILE);
    let fail = |why| Error::Tpm { place: path.display().to_string(), why };
    if secret.bytes().len() > MOST_SECRET_BYTES {
        return Err(fail(TpmFault::TooLong));
    }
    let sealed = chip::seal(tpm, secret, pcrs)?;
    let opened = chip::unseal(tpm, &sealed).map_err(|why| at(tpm, &path, why))?;
    if !bool::from(opened.bytes().ct_eq(secret.bytes())) {
        return Err(fail(TpmFault::Failed("it gave another secret back".into())));
    }
    put(&path, &sealed.encode()).map_err(|source| Error::Io { path, source })?;
    let plain = folder.join(DEVICE_FILE);
    match std::fs::remove_file(&plain) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::Io { path: plain, source: error })
        }
        _ => Ok(()),
    }
}

/// Opens the sealed secret of the file `path`, whose bytes these are.
///
/// # Errors
/// [`Error::Tpm`], which says whether the TPM is another one, was cleared, or measured another system.
pub(crate) fn unseal(tpm: &Tpm, path: &Path, bytes: &[u8]) -> Result<DeviceSecret, Error> {
    let blob = Blob::decode(bytes).map_err(|why| at(tpm, path, why))?;
    chip::unseal(tpm, &blob).map_err(|why| at(tpm, path, why))
}

/// Names the place of a fault: the file where it is the reason, and else the TPM.
fn at(tpm: &Tpm, path: &Path, why: TpmFault) -> Error {
    let place = if why.is_of_file() { path.display().to_string() } else { tpm.to_string() };
    Error::Tpm { place, why }
}

/// Puts a file in the place of another one, in one step. Root leaves it to the owner of the folder.
fn put(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let hidden = folder.join(format!(".{FILE}.{:016x}", getrandom::u64().map_err(std::io::Error::other)?));
    let owner = folder.metadata()?;
    make_whole(&hidden, |file| {
        file.write_all(bytes)?;
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::fchown(file, Some(owner.uid()), Some(owner.gid()))?;
        }
        Ok(())
    })?;
    std::fs::rename(&hidden, path).inspect_err(|_| drop(std::fs::remove_file(&hidden)))?;
    File::open(folder)?.sync_all()
}
