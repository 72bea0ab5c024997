//! The errors of tables.

use std::fmt;

use crate::format::Format;

/// Why a table could not be rewritten. What was written by then is no table.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The table can't be read.
    Read {
        /// The format that it was taken for.
        format: Format,
        /// The reader's reason.
        why: String,
    },
    /// The table can't be written.
    Write {
        /// The format of the output.
        format: Format,
        /// The writer's reason.
        why: String,
    },
    /// A pipe, where the end of a file is needed first.
    Pipe(Format),
    /// No column has the name.
    NoColumn {
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        names: Vec<String>,
    },
    /// More than one column has the name.
    ManyColumns(String),
    /// A column is to be changed, and is also the associated data or named again.
    Twice(String),
    /// The column could not be computed.
    Column {
        /// The name.
        name: String,
        /// The reason.
        error: millstream_columns::Error,
    },
    /// A value is not the text of bytes.
    NotEncoded {
        /// The column's name.
        name: String,
        /// The row, counted from 0.
        row: u64,
        /// The encoding, as in `base64`.
        encoding: &'static str,
    },
}

impl Error {
    pub(crate) fn read(format: Format, why: impl fmt::Display) -> Self {
        Error::Read { format, why: why.to_string() }
    }

    pub(crate) fn write(format: Format, why: impl fmt::Display) -> Self {
        Error::Write { format, why: why.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Read { format, why } => write!(f, "it can't be read as {format}: {why}"),
            Error::Write { format, why } => write!(f, "{format} can't be written: {why}"),
            Error::Pipe(format) => {
                write!(
                    f,
                    "a table in {format} can't come through a pipe, because its end is read first; give a file"
                )
            }
            Error::NoColumn { name, names } => {
                write!(f, "no column is called {name:?}; there are {}", names.join(", "))
            }
            Error::ManyColumns(name) => {
                write!(f, "more than one column is called {name:?}; give them different names")
            }
            Error::Twice(name) => write!(
                f,
                "the column {name:?} is named twice: a column is changed once, and is not its own associated data"
            ),
            Error::Column { name, error } => write!(f, "column {name:?}: {error}"),
            Error::NotEncoded { name, row, encoding } => {
                write!(
                    f,
                    "column {name:?}: row {row}: the value is not {encoding}, so it was not sealed; name its encoding"
                )
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Column { error, .. } => Some(error),
            _ => None,
        }
    }
}
