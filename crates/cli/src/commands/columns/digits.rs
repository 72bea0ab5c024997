//! Values encrypted with their alphabet and length kept: FF1.

use millstream::cwq::Algorithm;
use millstream::ff1::Alphabet;
use millstream_columns::{ArrayData, Fpe, Isolated, OnError, Parameter};
use millstream_tables::Aad;

use super::Digits;
use super::work::{Ends, no_key};
use crate::commands::Context;
use crate::error::Error;
use crate::secret;

/// The characters of radixes up to 36.
const CHARACTERS: &str = "0123456789abcdefghijklmnopqrstuvwxyz";

/// A key of FF1: of this process, or of the service.
enum Crypter {
    Here(Fpe),
    Isolated(Box<Isolated>, Alphabet),
}

impl Digits {
    pub(super) fn run<const DECRYPT: bool>(self, context: &Context) -> Result<(), Error> {
        let ends = Ends::open(&self.table, &self.key)?;
        let crypter = self.crypter(context)?;
        let on_error = if self.null_failed { OnError::Null } else { OnError::Fail };
        let crypted = |column: &ArrayData, tweak: Parameter<'_>, _: bool| match &crypter {
            Crypter::Here(key) if DECRYPT => key.decrypt(column, tweak, on_error),
            Crypter::Here(key) => key.encrypt(column, tweak, on_error),
            Crypter::Isolated(key, alphabet) if DECRYPT => {
                key.decrypt_digits(column, alphabet, tweak, on_error)
            }
            Crypter::Isolated(key, alphabet) => key.encrypt_digits(column, alphabet, tweak, on_error),
        };
        ends.rewrite(&crypted, |change| change.aad = self.tweak())
    }

    fn tweak(&self) -> Aad<'_> {
        match (&self.tweak, &self.tweak_column) {
            (Some(text), _) => Aad::Constant(text.as_bytes()),
            (None, Some(column)) => Aad::Column(column),
            (None, None) => Aad::None,
        }
    }

    /// Makes the key that the options name, for the alphabet that they tell.
    fn crypter(&self, context: &Context) -> Result<Crypter, Error> {
        let alphabet = match (&self.alphabet, self.radix) {
            (Some(alphabet), _) => alphabet,
            (None, radix) => &CHARACTERS[..usize::from(radix.unwrap_or(10))],
        };
        let known = Alphabet::new(alphabet).map_err(|error| Error::Usage(format!("--alphabet: {error}")))?;
        if let Some(name) = &self.key.isolated {
            let key = self.key.attach_for(name, Algorithm::AesFf1)?;
            return Ok(Crypter::Isolated(Box::new(key), known));
        }
        let Some((path, bytes)) = self.key.bytes(context)? else { return Err(no_key()) };
        Fpe::new(&bytes, alphabet).map(Crypter::Here).map_err(|error| secret::length(path, &bytes, error))
    }
}
