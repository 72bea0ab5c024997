//! The context of the work on one file, apart from the options.

use std::path::Path;

use millstream_cpu::Features;
use millstream_engines::Error as EngineError;
use millstream_engines::modes::Direction;
use millstream_files as files;
use millstream_files::Format;

use super::list::unknown;
use super::secrets::Secrets;
use crate::commands::Context;
use crate::error::Error;
use crate::secret;

/// The context of a run, which all of its files share.
pub(super) struct Run<'a> {
    pub(super) context: &'a Context,
    pub(super) features: Features,
    pub(super) direction: Direction,
    /// The format that the options name.
    pub(super) asked: Option<Format>,
    pub(super) secrets: Secrets,
}

/// The context of the work on one file.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) run: &'a Run<'a>,
    /// The input's name in messages.
    pub(super) name: &'a str,
}

impl Call<'_> {
    pub(super) fn unknown(&self, name: &str) -> Error {
        unknown(self.run.direction, name)
    }

    /// Converts a format's error that occurs before there is an output.
    pub(super) fn failed(&self, source: files::Error) -> Error {
        Error::in_format(source, self.name, "")
    }

    /// Converts an error as [`Call::failed`] does, but blames the key file for a key of the wrong length.
    pub(super) fn failed_with_key(&self, error: files::Error, key: Option<(&[u8], &Path)>) -> Error {
        match (error, key) {
            (files::Error::Engine(error @ EngineError::KeyLength { .. }), Some((key, path))) => {
                secret::length(path, key, error)
            }
            (error, _) => self.failed(error),
        }
    }
}
