//! What can go wrong with a stream.

use std::fmt;
use std::io;

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

/// The system's message without the number that Rust puts after it.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
