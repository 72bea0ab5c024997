//! The folder of a store: its file, and the device secret beside it.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::device::Origin;
use crate::secret::DeviceSecret;
use crate::{Error, File};

/// Returns the path of the store's file in its folder.
pub fn file(folder: &Path) -> PathBuf {
    folder.join("tokens.redb")
}

/// Makes the folder for a store, which its owner alone can read, if it is not there.
///
/// # Errors
/// [`Error::Io`].
pub fn make(folder: &Path) -> Result<(), Error> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| Error::Io { path: folder.to_owned(), source })
}

/// Opens the store in a folder, and makes it, the folder and the device secret if they are not there. `open` opens a file that is there,
/// and may wait until another process has closed it.
///
/// # Errors
/// [`Error`], as of [`File::create`], [`File::open`] and [`DeviceSecret::find_or_make`]; [`Error::Io`] for the folder.
pub fn open_or_make(
    folder: &Path,
    open: impl FnOnce(&Path) -> Result<File, Error>,
) -> Result<(File, DeviceSecret, Origin), Error> {
    make(folder)?;
    let path = file(folder);
    let file = match File::create(&path) {
        Err(Error::Exists(_)) => open(&path)?,
        file => file?,
    };
    // A new secret would open none of the tokens that are there.
    let (device, origin) = match file.tokens().next() {
        None => DeviceSecret::find_or_make(folder)?,
        Some(_) => DeviceSecret::find(folder)?,
    };
    Ok((file, device, origin))
}
