//! The keys that the options name, each read once in a run.

use std::path::Path;

use millstream_engines::Error as EngineError;
use millstream_engines::modes::Direction;
use millstream_files::tink::Key;
use millstream_files::{self as files, Format, keyset};
use millstream_store::usage;

use super::call::Run;
use super::options::Options;
use super::token::Sealer;
use crate::commands::cautions;
use crate::error::Error;
use crate::secret::{self, Doubt, Secret};
use crate::shown;

impl Options {
    /// Returns the key in the key file or in the token, which is to be used in that format, and the name of the file or the label.
    pub(super) fn key<'a>(
        &'a self,
        run: &'a Run<'_>,
        format: Format,
    ) -> Result<Option<(&'a Secret, &'a Path)>, Error> {
        if let Some(label) = self.token.label() {
            let key = run.secrets.key.get(|| self.token.key(wanted(run.direction)))?;
            return Ok(key.as_ref().map(|key| (key, label)));
        }
        let Some(path) = self.key_file.as_deref() else { return Ok(None) };
        let key = run.secrets.key.get(|| self.read_key(run, path, format).map(Some))?;
        Ok(key.as_ref().map(|key| (key, path)))
    }

    /// Returns the key of the token that seals the keys of files.
    pub(super) fn sealer<'a>(&self, run: &'a Run<'_>) -> Result<&'a Sealer, Error> {
        run.secrets.sealer.get(|| self.token.sealer(run.features, wanted(run.direction)))
    }

    fn read_key(&self, run: &Run<'_>, path: &Path, format: Format) -> Result<Secret, Error> {
        let (key, warning) = secret::key_file(path)?;
        self.warn_always(run, warning);
        if run.direction == Direction::Encrypt {
            // A keyset is text, and arcfour of Solaris makes its key from a passphrase in the file.
            let is_text = format == Format::Tink && keyset::is_keyset(&key)
                || format == Format::Solaris && self.algorithm.as_deref() == Some("arcfour");
            let doubt = secret::doubt(&key).filter(|_| !is_text);
            if doubt == Some(Doubt::Zero) && format == Format::Tink {
                return Err(Error::secret(path, Doubt::Zero));
            }
            self.warn(run, doubt.map(|doubt| format!("{}: {doubt}", shown::path(path))));
        }
        Ok(key)
    }

    /// Returns the keys in the key file of the format tink: 32 bytes, or a keyset.
    pub(super) fn tink_keys<'a>(&'a self, run: &'a Run<'_>) -> Result<Option<&'a [Key]>, Error> {
        let keys = run.secrets.tink.get(|| {
            let Some((bytes, path)) = self.key(run, Format::Tink)? else { return Ok(None) };
            let keys = if keyset::is_keyset(bytes) {
                keyset::parse(bytes)
            } else {
                Key::new(bytes).map(|key| vec![key])
            };
            keys.map(Some).map_err(|error| match error {
                files::Error::Engine(error @ EngineError::KeyLength { .. }) => {
                    secret::length(path, bytes, error)
                }
                error => Error::secret(path, error),
            })
        })?;
        Ok(keys.as_deref())
    }

    /// Returns the passphrase, from its file or from the terminal. To encrypt, the terminal asks for it
    /// twice.
    pub(super) fn passphrase<'a>(&self, run: &'a Run<'_>) -> Result<&'a Secret, Error> {
        run.secrets.passphrase.get(|| {
            let Some(path) = &self.passphrase_file else {
                return secret::ask(run.direction == Direction::Encrypt);
            };
            let (passphrase, warning) = secret::passphrase_file(path)?;
            self.warn_always(run, warning);
            Ok(passphrase)
        })
    }

    /// Warns of a format in which nothing should be encrypted any more.
    pub(super) fn warn_of_format(&self, run: &Run<'_>) {
        if let (Direction::Encrypt, Some(format)) = (run.direction, run.asked) {
            self.warn(run, cautions::about(format, self.algorithm.as_deref()));
        }
    }

    /// Warns of weaknesses that the Solaris commands accept in silence. Under their names it stays silent,
    /// too.
    fn warn(&self, run: &Run<'_>, warning: Option<String>) {
        if !run.context.solaris {
            self.warn_always(run, warning);
        }
    }

    fn warn_always(&self, run: &Run<'_>, warning: Option<String>) {
        if let Some(warning) = warning.filter(|_| !self.quiet) {
            run.context.warn(warning);
        }
    }
}

/// Returns the usage that a key must have.
fn wanted(direction: Direction) -> u32 {
    match direction {
        Direction::Encrypt => usage::ENCRYPT,
        Direction::Decrypt => usage::DECRYPT,
    }
}
