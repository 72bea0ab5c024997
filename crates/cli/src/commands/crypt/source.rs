//! An input, and how far it was read.

use std::fs::File;
use std::io::{self, Read};

use millstream_files as files;

use crate::input::Input;

/// The input of a job.
pub(in crate::commands) struct Source {
    pub(in crate::commands) reader: Box<dyn Read + Send>,
    /// A second handle of the file and its length, where it is a regular one read from its beginning.
    pub(super) file: Option<(File, u64)>,
    /// True when more was looked at than the headers that will be read from `reader`.
    pub(super) is_ahead: bool,
}

impl Source {
    pub(super) fn new(input: &Input) -> Result<Self, files::Error> {
        let clone = || input.file.try_clone().map_err(files::Error::Read);
        let file = input.len.map(|len| clone().map(|file| (file, len))).transpose()?;
        Ok(Source { reader: Box::new(clone()?), file, is_ahead: false })
    }

    /// Returns the next `len` bytes, or all there are, without consuming them.
    pub(in crate::commands) fn peek(&mut self, len: usize) -> Result<Vec<u8>, files::Error> {
        let mut head = Vec::new();
        (&mut self.reader).take(len as u64).read_to_end(&mut head).map_err(files::Error::Read)?;
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        self.reader = Box::new(io::Cursor::new(head.clone()).chain(rest));
        self.is_ahead |= len > files::DETECT_LEN;
        Ok(head)
    }

    /// Replaces all of the input by other bytes.
    pub(super) fn replace(
        &mut self,
        with: impl FnOnce(&[u8]) -> Result<Vec<u8>, files::Error>,
    ) -> Result<(), files::Error> {
        let mut all = Vec::new();
        self.reader.read_to_end(&mut all).map_err(files::Error::Read)?;
        self.reader = Box::new(io::Cursor::new(with(&all)?));
        self.file = None;
        Ok(())
    }
}
