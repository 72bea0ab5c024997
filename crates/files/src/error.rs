//! The errors of streams.

use std::fmt;
use std::io;

/// The reason why a stream can't be encrypted or decrypted.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Reading failed.
    Read(io::Error),
    /// Writing failed.
    Write(io::Error),
    /// The file has another length than when it was opened.
    Changed,
    /// The stream does not begin as this format does.
    NotThisFormat {
        /// The format, in words.
        format: &'static str,
        /// A description of what is there instead.
        why: String,
    },
    /// The stream ends before the format's header does.
    Truncated,
    /// A segment was changed, moved or cut off, or the key is not the one it was encrypted with.
    Tampered {
        /// The segment's number, from 0.
        segment: u64,
    },
    /// The stream ends without the short chunk that its format has at the end.
    CutOff,
    /// The message is not of this key and context.
    Committed,
    /// None of the keys at hand opens the file.
    NoKey {
        /// The kinds of keys that do, in words.
        kinds: String,
        /// True when keys of such a kind were tried.
        fitting: bool,
    },
    /// The service that holds the key failed, for this reason.
    Service(String),
    /// The header asks for more than is allowed.
    Limit {
        /// The quantity, with its unit.
        what: &'static str,
        /// The amount that the header asks for.
        given: u64,
        /// The amount that is allowed.
        most: u64,
    },
    /// The keyset can't be used, for this reason.
    Keyset(String),
    /// A key can't be used, for this reason.
    Key(String),
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
            Error::CutOff => f.write_str("ends without its last chunk: the file was cut off"),
            Error::Committed => f.write_str(
                "was not made with this key, or what stands in front of the message was changed; name the key it was made with",
            ),
            Error::NoKey { kinds, fitting: true } => {
                write!(f, "the key or the passphrase is not the one it was sealed for ({kinds})")
            }
            Error::NoKey { kinds, fitting: false } => {
                write!(f, "it was sealed for {kinds}; name that with -k, --passphrase-file, --identity or --isolated")
            }
            Error::Limit { what, given, most } => {
                write!(f, "asks for {given} {what}; at most {most} are allowed")
            }
            Error::Keyset(why) | Error::Key(why) | Error::Service(why) => f.write_str(why),
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

/// Returns the system's message without the number that Rust appends.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
