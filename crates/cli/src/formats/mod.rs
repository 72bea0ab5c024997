//! The file formats of `encrypt` and `decrypt`.
//!
//! A format turns a key and a stream's header into a [`Job`]: what to write first, how to cut the
//! stream, and what computes each piece. How the pieces travel is [`crate::pipeline`]'s business.
//! Each format also has `encrypt` and `decrypt` from any reader to any writer, on the caller's thread.

use std::fmt;
use std::io::{self, Read, Write};

use crate::error::plain;
use crate::pipeline::{self, Cut, Worker};

pub mod keyset;
pub mod openssl;
pub mod passphrase;
pub mod raw;
pub mod solaris;
pub mod tink;

/// Why a stream can't be encrypted or decrypted.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Reading failed.
    Read(io::Error),
    /// Writing failed.
    Write(io::Error),
    /// The file has another length than when it was opened.
    Changed,
    /// It does not begin as this format does.
    NotThisFormat {
        /// The format, in words.
        format: &'static str,
        /// What is there instead.
        why: String,
    },
    /// It ends before the format's header does.
    Truncated,
    /// A segment was changed, moved or cut off, or the key is not the one it was encrypted with.
    Tampered {
        /// Its number, from 0.
        segment: u64,
    },
    /// The header asks for more than is allowed.
    Limit {
        /// What it asks for, with the unit.
        what: &'static str,
        /// How much.
        given: u64,
        /// How much is allowed.
        most: u64,
    },
    /// The keyset is not one that can be used, and why.
    Keyset(String),
    /// An engine refused.
    Engine(millstream_engines::Error),
    /// The system gives no random bytes.
    Random(getrandom::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Read(error) => write!(f, "error reading: {}", plain(error)),
            Error::Write(error) => write!(f, "error writing: {}", plain(error)),
            Error::Changed => f.write_str("changed while it was read"),
            Error::NotThisFormat { format, why } => {
                write!(f, "not in the {format} format: {why}; name its format with --format")
            }
            Error::Truncated => f.write_str("ends inside its header: the file was cut off"),
            Error::Tampered { segment } => write!(
                f,
                "segment {segment} does not authenticate: the file was changed or cut off, or the key, \
                 the passphrase or the associated data is not the one it was encrypted with"
            ),
            Error::Limit { what, given, most } => {
                write!(f, "asks for {given} {what}; at most {most} are allowed")
            }
            Error::Keyset(why) => f.write_str(why),
            Error::Engine(error) => error.fmt(f),
            Error::Random(error) => write!(f, "the system gives no random bytes: {error}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<millstream_engines::Error> for Error {
    fn from(error: millstream_engines::Error) -> Self {
        Error::Engine(error)
    }
}

impl From<getrandom::Error> for Error {
    fn from(error: getrandom::Error) -> Self {
        Error::Random(error)
    }
}

/// A stream to be encrypted or decrypted.
pub struct Job {
    /// Bytes that precede the output.
    pub header: Vec<u8>,
    /// How the input is cut.
    pub cut: Cut,
    /// What computes the pieces.
    pub pieces: Pieces,
}

/// How the pieces of a stream depend on each other.
pub enum Pieces {
    /// Each needs the one before.
    Chained(Worker),
    /// None needs another: any number of workers, in any order.
    Independent {
        /// How the output is cut.
        output: Cut,
        /// Makes a worker.
        worker: Box<dyn Fn() -> Worker>,
    },
}

impl Job {
    /// Does it here and now.
    ///
    /// # Errors
    /// The first thing that goes wrong; nothing of that piece or after it is written.
    pub fn run_here(self, reader: impl Read, mut writer: impl Write) -> Result<(), Error> {
        writer.write_all(&self.header).map_err(Error::Write)?;
        let worker = match self.pieces {
            Pieces::Chained(worker) => worker,
            Pieces::Independent { worker, .. } => worker(),
        };
        pipeline::run_here(reader, writer, self.cut, worker)
    }
}

/// The format a file is in, as far as its first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Tink's streaming AEAD with a key, or with a passphrase when our preamble precedes it.
    Tink,
    /// That of illumos, version 1.
    Solaris,
    /// That of `openssl enc -pbkdf2`.
    OpenSsl,
    /// Ciphertext alone.
    Raw,
}

impl Format {
    /// Whether every file in this format is authenticated, so that `decrypt` may take it for what it looks like. Of the
    /// others someone who can change the file decides what comes out, so the user has to ask for them by name.
    pub const fn is_authenticated(self) -> bool {
        matches!(self, Format::Tink)
    }
}

/// Bytes that [`detect`] looks at.
pub const DETECT_LEN: usize = 8;

/// The format that a file looks like which begins with `head`, [`DETECT_LEN`] bytes or all there are. The file alone
/// says so: see [`Format::is_authenticated`].
pub fn detect(head: &[u8]) -> Option<Format> {
    let is = |magic: &[u8]| head.starts_with(magic);
    if is(passphrase::MAGIC)
        || head.first() == Some(&tink::HEADER_LEN_256)
        || head.first() == Some(&tink::HEADER_LEN_128)
    {
        Some(Format::Tink)
    } else if is(openssl::MAGIC) {
        Some(Format::OpenSsl)
    } else if is(&solaris::VERSION.to_be_bytes()) {
        Some(Format::Solaris)
    } else {
        None
    }
}

/// Fills `buffer`, or says that the file was cut off.
pub(crate) fn read_header(reader: &mut impl Read, buffer: &mut [u8]) -> Result<(), Error> {
    reader.read_exact(buffer).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::Truncated,
        _ => Error::Read(error),
    })
}
