//! The errors of columns: of a whole call, and of one row.

use std::fmt;

use arrow_schema::{ArrowError, DataType};
use millstream::EngineError;

/// Why a column could not be made. No value of it is returned then.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The column's type is none that the function takes.
    Type {
        /// The column's name in the function, as in `the column`.
        column: &'static str,
        /// The type of the column.
        given: DataType,
    },
    /// Two columns that belong together have different lengths.
    Length {
        /// The second column's name in the function, as in `associated data`.
        column: &'static str,
        /// The rows of that column.
        given: usize,
        /// The rows of the first column.
        needed: usize,
    },
    /// One row failed, the first of those that did.
    Row {
        /// The row, counted from 0.
        row: u64,
        /// The fault of the row.
        fault: Fault,
    },
    /// The results have more bytes than 32-bit offsets reach.
    TooLarge {
        /// The bytes.
        bytes: u64,
    },
    /// A parameter does not fit the algorithm.
    Parameter {
        /// The rule that was broken, in words.
        rule: &'static str,
    },
    /// An engine refused a key.
    Engine(EngineError),
    /// `MILLSTREAM_THREADS` is not a number of threads.
    Threads {
        /// The variable's value.
        given: String,
    },
    /// The environment: `MILLSTREAM_HWCAP` can't be understood, or there are no random bytes.
    Environment(millstream::Error),
    /// The service, or the queue of an [`Isolated`](crate::Isolated) key, refused or ended.
    Isolated(millstream::Error),
    /// No key of the service, or more than one, has a name.
    Name {
        /// The name that was asked for.
        name: String,
        /// The reason, and the remedy.
        why: String,
    },
    /// A keyset can't be used, for this reason.
    Keyset(String),
    /// A structure of the Arrow C data interface, or an array, is not well formed.
    Malformed {
        /// The rule that was broken, in words.
        rule: String,
    },
}

impl Error {
    pub(crate) fn name(name: &str, why: String) -> Self {
        Error::Name { name: name.to_owned(), why }
    }

    /// Returns the same error for a column that is a part of a larger one and begins at its row `first`.
    #[must_use]
    pub fn from_row(self, first: u64) -> Self {
        match self {
            Error::Row { row, fault } => Error::Row { row: row + first, fault },
            other => other,
        }
    }

    pub(crate) fn malformed(rule: impl Into<String>) -> Self {
        Error::Malformed { rule: rule.into() }
    }
}

/// Faults of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The value is not what was sealed under this key with this associated data.
    Authentication,
    /// The value is too short to be sealed.
    TooShort {
        /// The bytes of the value.
        given: usize,
        /// The bytes of the shortest one.
        least: usize,
    },
    /// A nonce has another length than the algorithm's.
    NonceLength {
        /// The bytes of the nonce.
        given: usize,
        /// The bytes of the algorithm's nonces.
        needed: usize,
    },
    /// Another column that belongs to this one has a null in this row.
    Null {
        /// The other column.
        column: &'static str,
    },
    /// The value, or what it was opened to, is not text in UTF-8.
    NotText,
    /// The engine refused the value.
    Refused(EngineError),
}

impl From<EngineError> for Fault {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Authentication => Fault::Authentication,
            other => Fault::Refused(other),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Type { column, given } => write!(
                f,
                "{column} is of type {given}; give text (Utf8, LargeUtf8, Utf8View), binary (Binary, LargeBinary, \
                 BinaryView, FixedSizeBinary), or a dictionary of them"
            ),
            Error::Length { column, given, needed } => {
                write!(f, "{column} has {given} rows; give {needed}, one for each value")
            }
            Error::Row { row, fault } => write!(f, "row {row}: {fault}"),
            Error::TooLarge { bytes } => write!(
                f,
                "the results have {bytes} bytes, and 32-bit offsets reach 2147483647: \
                 cast the column to LargeUtf8 or LargeBinary, or give it in chunks"
            ),
            Error::Parameter { rule } => f.write_str(rule),
            Error::Engine(error) => error.fmt(f),
            Error::Threads { given } => {
                write!(
                    f,
                    "MILLSTREAM_THREADS is {given:?}; set it to the most threads, 1 or more, or unset it"
                )
            }
            Error::Environment(error) | Error::Isolated(error) => error.fmt(f),
            Error::Name { name, why } => write!(f, "the key {name:?}: {why}"),
            Error::Keyset(why) => f.write_str(why),
            Error::Malformed { rule } => write!(f, "the column is not well formed: {rule}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Authentication => EngineError::Authentication.fmt(f),
            Fault::TooShort { given, least } => {
                write!(
                    f,
                    "authentication failed: a value of {given} bytes was not sealed; the shortest has {least}"
                )
            }
            Fault::NonceLength { given, needed } => {
                write!(f, "the nonce has {given} bytes; give {needed}")
            }
            Fault::Null { column } => write!(f, "{column} is null; give a value wherever the column has one"),
            Fault::NotText => f.write_str("the value is not text in UTF-8; open it as binary"),
            Fault::Refused(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        Error::Engine(error)
    }
}

impl From<millstream::Error> for Error {
    fn from(error: millstream::Error) -> Self {
        match error {
            millstream::Error::Engine(error) => Error::Engine(error),
            other => Error::Environment(other),
        }
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        Error::malformed(error.to_string())
    }
}
