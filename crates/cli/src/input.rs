//! Where data comes from: standard input or a file.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use crate::error::Error;

/// An open input.
#[derive(Debug)]
pub struct Input {
    /// The open file.
    pub file: File,
    /// What messages call it.
    pub name: String,
    /// Its length in bytes, where it is a regular file read from its beginning.
    pub len: Option<u64>,
}

impl Input {
    /// Standard input.
    ///
    /// # Errors
    /// When it is closed or a directory.
    pub fn standard() -> Result<Self, Error> {
        let name = "standard input".to_owned();
        match io::stdin().as_fd().try_clone_to_owned() {
            Ok(fd) => Input::new(fd.into(), name),
            Err(source) => Err(Error::Read { name, source }),
        }
    }

    /// The file of that name.
    ///
    /// # Errors
    /// When it can't be opened, or is a directory.
    pub fn named(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|source| Error::Open { path: path.to_owned(), source })?;
        Input::new(file, path.display().to_string())
    }

    fn new(file: File, name: String) -> Result<Self, Error> {
        let found = file.metadata().map_err(|source| Error::Read { name: name.clone(), source })?;
        if found.is_dir() {
            return Err(Error::Directory(name.into()));
        }
        // A descriptor that someone has read from before is a stream like any other.
        let at_start = rustix::fs::tell(&file).is_ok_and(|position| position == 0);
        // The kernel's own files (/proc) say 0 and have more.
        let len = (found.is_file() && at_start && found.len() > 0).then_some(found.len());
        Ok(Input { file, name, len })
    }

    /// Whether the file still has the length it had when it was opened.
    pub fn is_unchanged(&self) -> bool {
        self.len.is_none_or(|len| self.file.metadata().is_ok_and(|found| found.len() == len))
    }
}
