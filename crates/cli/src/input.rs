//! Inputs: standard input or a file.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use crate::error::Error;
use crate::shown;

/// An open input.
#[derive(Debug)]
pub struct Input {
    /// The open file.
    pub file: File,
    /// The name in messages.
    pub name: String,
    /// The length in bytes, where the input is a regular file read from its beginning.
    pub len: Option<u64>,
}

impl Input {
    /// Opens standard input.
    ///
    /// # Errors
    /// Fails when it is closed or a directory.
    pub fn standard() -> Result<Self, Error> {
        let name = "standard input".to_owned();
        match io::stdin().as_fd().try_clone_to_owned() {
            Ok(fd) => Input::new(fd.into(), name),
            Err(source) => Err(Error::Read { name, source }),
        }
    }

    /// Opens the file that an operand names, or standard input for a minus.
    ///
    /// # Errors
    /// The same as for [`Input::named`].
    pub fn operand(name: &OsStr) -> Result<Self, Error> {
        if name == "-" { Input::standard() } else { Input::named(Path::new(name)) }
    }

    /// Opens the file of that name.
    ///
    /// # Errors
    /// Fails when it can't be opened, or is a directory.
    pub fn named(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|source| Error::Open { path: path.to_owned(), source })?;
        Input::new(file, shown::path(path))
    }

    fn new(file: File, name: String) -> Result<Self, Error> {
        let found = file.metadata().map_err(|source| Error::Read { name: name.clone(), source })?;
        if found.is_dir() {
            return Err(Error::Directory(name.into()));
        }
        // A descriptor that somebody has read from before is treated as a stream.
        let at_start = rustix::fs::tell(&file).is_ok_and(|position| position == 0);
        // The kernel's own files (/proc) claim a length of 0 and have more.
        let len = (found.is_file() && at_start && found.len() > 0).then_some(found.len());
        Ok(Input { file, name, len })
    }

    /// Returns true while the file has the length it had when it was opened.
    pub fn is_unchanged(&self) -> bool {
        self.len.is_none_or(|len| self.file.metadata().is_ok_and(|found| found.len() == len))
    }
}
