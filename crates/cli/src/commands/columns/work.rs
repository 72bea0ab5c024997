//! The work of `millstream columns`, in a build that has tables.

use std::io::BufWriter;
use std::path::Path;

use millstream::cwq::Algorithm;
use millstream::hash;
use millstream::isolated::Attach;
use millstream_columns::{
    Aead, ArrayData, Encoding, Hmac, Isolated, Keyset, OnError, Parameter, Siv, digest,
};
use millstream_files::keyset;
use millstream_tables::{self as tables, Aad, Change, Format, Function, Reading, Values, Writing};

use super::{Cipher, Form, Hash, Key, Open, Seal, Table};
use crate::commands::{Context, cautions};
use crate::error::Error;
use crate::input::Input;
use crate::names;
use crate::output::Output;
use crate::progress::Progress;
use crate::secret;

/// The cipher whose results are equal for equal values.
const SIV: &str = "aes-siv";

/// The most bytes of a key for a cipher. Every keyset has more.
const MOST_KEY_BYTES: usize = 64;

/// A key for sealing and opening.
enum Sealer {
    Aead(Aead),
    Siv(Siv),
    Keyset(Keyset),
    Isolated(Box<Isolated>),
}

impl Hash {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let known = hash::Hash::ALL.map(hash::Hash::name);
        let hash = named(&known, &self.algorithm, "hash").map(|at| hash::Hash::ALL[at])?;
        let ends = Ends::open(&self.table, &self.key)?;
        let encoding = ends.encoding(self.encoding, Encoding::Hex);
        if let Some(name) = &self.key.isolated {
            let key = self.key.attach(name, hash)?;
            return ends.rewrite(&|column, _, _| key.sign(column, encoding), |_| {});
        }
        match self.key.bytes(context)? {
            Some((path, bytes)) => {
                let key = Hmac::new(hash, &bytes).map_err(|error| secret::length(path, &bytes, error))?;
                ends.rewrite(&|column, _, _| key.sign(column, encoding), |_| {})
            }
            None => ends.rewrite(&|column, _, _| digest(hash, column, encoding), |_| {}),
        }
    }
}

impl Seal {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let ends = Ends::open(&self.table, &self.cipher.key)?;
        let encoding = ends.encoding(self.encoding, Encoding::Base64);
        let sealer = self.cipher.sealer(context)?;
        ends.rewrite(&|column, aad, _| sealer.seal(column, aad, encoding), |change| {
            change.values = Values::Sealed;
            change.aad = self.cipher.aad();
        })
    }
}

impl Open {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let ends = Ends::open(&self.table, &self.cipher.key)?;
        let sealer = self.cipher.sealer(context)?;
        let on_error = if self.null_failed { OnError::Null } else { OnError::Fail };
        let opened = |column: &ArrayData, aad: Parameter<'_>, text: bool| {
            sealer.open(column, &millstream_columns::Open { aad, on_error, text })
        };
        ends.rewrite(&opened, |change| {
            change.values = Values::Opened { encoding: self.encoding.encoding() };
            change.aad = self.cipher.aad();
            change.text = self.text;
        })
    }
}

impl Sealer {
    fn seal(
        &self,
        column: &ArrayData,
        aad: Parameter<'_>,
        encoding: Encoding,
    ) -> Result<ArrayData, millstream_columns::Error> {
        let how = millstream_columns::Seal { aad, encoding, ..millstream_columns::Seal::default() };
        match self {
            Sealer::Aead(key) => key.seal(column, &how),
            Sealer::Siv(key) => key.seal(column, aad, encoding),
            Sealer::Keyset(keys) => keys.seal(column, aad, encoding),
            Sealer::Isolated(key) => key.seal(column, &how),
        }
    }

    fn open(
        &self,
        column: &ArrayData,
        how: &millstream_columns::Open<'_>,
    ) -> Result<ArrayData, millstream_columns::Error> {
        match self {
            Sealer::Aead(key) => key.open(column, how),
            Sealer::Siv(key) => key.open(column, how),
            Sealer::Keyset(keys) => keys.open(column, how),
            Sealer::Isolated(key) => key.open(column, how),
        }
    }
}

impl Cipher {
    fn aad(&self) -> Aad<'_> {
        match (&self.aad, &self.aad_column) {
            (Some(text), _) => Aad::Constant(text.as_bytes()),
            (None, Some(column)) => Aad::Column(column),
            (None, None) => Aad::None,
        }
    }

    /// Makes the key that the options name.
    fn sealer(&self, context: &Context) -> Result<Sealer, Error> {
        if let Some(name) = &self.key.isolated {
            if self.algorithm.is_some() {
                return Err(Error::Usage("--isolated: the key says what it is for; leave out -a".into()));
            }
            return self.key.attach(name, hash::Hash::Sha256).map(|key| Sealer::Isolated(Box::new(key)));
        }
        let Some((path, bytes)) = self.key.bytes(context)? else { return Err(no_key()) };
        if bytes.len() > MOST_KEY_BYTES && keyset::is_keyset(&bytes) {
            if self.algorithm.is_some() {
                return Err(Error::Usage("-k: the keyset says what its keys are for; leave out -a".into()));
            }
            return Keyset::from_tink(&bytes).map(Sealer::Keyset).map_err(|error| Error::secret(path, error));
        }
        let ciphers = millstream_columns::Cipher::ALL;
        let known: Vec<&str> =
            ciphers.map(millstream_columns::Cipher::name).into_iter().chain([SIV]).collect();
        let at = named(&known, self.algorithm.as_deref().unwrap_or(known[0]), "cipher")?;
        let key = match ciphers.get(at) {
            Some(cipher) => Aead::new(*cipher, &bytes).map(Sealer::Aead),
            None => Siv::new(&bytes).map(Sealer::Siv),
        };
        key.map_err(|error| secret::length(path, &bytes, format!("{}: {error}", known[at])))
    }
}

pub(super) fn no_key() -> Error {
    Error::Usage("a key is needed; name its file with -k, or a key of the service with --isolated".into())
}

impl Key {
    /// Reads the key file, if one is named.
    pub(super) fn bytes(&self, context: &Context) -> Result<Option<(&Path, secret::Secret)>, Error> {
        let Some(path) = &self.key_file else { return Ok(None) };
        let (bytes, warning) = secret::key_file(path)?;
        warning.into_iter().for_each(|warning| context.warn(warning));
        Ok(Some((path, bytes)))
    }

    /// Loads a key of a token in the service.
    fn attach(&self, name: &str, hash: hash::Hash) -> Result<Isolated, Error> {
        Isolated::attach(&self.service(), name, &self.pin.get()?, hash)
            .map_err(|error| Error::Key(error.to_string()))
    }

    /// Loads a key of a token in the service for an algorithm.
    pub(super) fn attach_for(&self, name: &str, algorithm: Algorithm) -> Result<Isolated, Error> {
        Isolated::attach_for(&self.service(), name, &self.pin.get()?, algorithm)
            .map_err(|error| Error::Key(error.to_string()))
    }

    fn service(&self) -> Attach {
        Attach { socket: self.socket.clone(), ..Attach::default() }
    }
}

impl Form {
    fn encoding(self) -> Encoding {
        match self {
            Form::Binary => Encoding::Binary,
            Form::Hex => Encoding::Hex,
            Form::Base64 => Encoding::Base64,
        }
    }
}

/// The open input, the output, and what is said of them.
pub(super) struct Ends<'a> {
    table: &'a Table,
    name: String,
    bytes: Option<u64>,
    opened: tables::Table,
    output: Output,
    writing: Writing,
}

impl<'a> Ends<'a> {
    pub(super) fn open(table: &'a Table, key: &Key) -> Result<Self, Error> {
        let delimiter = u8::try_from(table.delimiter).ok().filter(u8::is_ascii);
        let delimiter =
            delimiter.ok_or_else(|| Error::Usage("--delimiter: give a character of ASCII".into()))?;
        let path = cautions::file(Some(&table.output));
        cautions::spare_secrets(path, &[("key file", key.key_file.as_deref())])?;
        let input = Input::operand(table.input.as_os_str())?;
        let output = match path {
            Some(path) => Output::as_private_as(path, &input.file)?,
            None => Output::standard()?,
        };
        let Input { file, name, len: bytes } = input;
        let reading = Reading { format: table.from.as_deref().map(format).transpose()?, delimiter };
        let opened = tables::Table::open(file, &reading).map_err(|error| failed(&name, error))?;
        let to = table.to.as_deref().map(format).transpose()?;
        let format = to.or_else(|| path.and_then(Format::from_path)).unwrap_or(opened.format());
        let writing = Writing { format: Some(format), delimiter };
        Ok(Ends { table, name, bytes, opened, output, writing })
    }

    /// Returns the form that was asked for, or the output's usual one.
    fn encoding(&self, given: Option<Form>, of_text: Encoding) -> Encoding {
        let is_text = self.writing.format.is_some_and(Format::is_text);
        given.map_or(if is_text { of_text } else { Encoding::Binary }, Form::encoding)
    }

    /// Writes the table with its columns changed.
    pub(super) fn rewrite<'f>(
        mut self,
        function: &'f Function<'f>,
        adapt: impl FnOnce(&mut Change<'f>),
    ) -> Result<(), Error>
    where
        'a: 'f,
    {
        let mut change = Change::new(&self.table.column, function);
        adapt(&mut change);
        let progress = Progress::bar(self.bytes, self.table.quiet);
        let out = BufWriter::with_capacity(1 << 20, self.output.file());
        let done =
            tables::rewrite(&mut self.opened, out, &self.writing, &change, &|bytes| progress.advance(bytes));
        progress.finish(done.is_ok());
        let output = self.output.name();
        done.map_err(|error| match error {
            error @ tables::Error::Write { .. } => failed(&output, error),
            error => failed(&self.name, error),
        })?;
        self.output.finish()
    }
}

/// Names the table that failed.
fn failed(name: &str, error: tables::Error) -> Error {
    Error::Table { name: name.to_owned(), error: Box::new(error) }
}

fn format(name: &str) -> Result<Format, Error> {
    let known = Format::ALL.map(Format::name);
    named(&known, name, "format").map(|at| Format::ALL[at])
}

/// Returns the place of a name among the known ones.
fn named(known: &[&str], name: &str, what: &str) -> Result<usize, Error> {
    known.iter().position(|known| names::is_same(known, name)).ok_or_else(|| {
        let near = names::did_you_mean(names::nearest(name, known.iter().copied()));
        Error::Usage(format!("no {what} is called {name:?}{near}; there are {}", known.join(", ")))
    })
}
