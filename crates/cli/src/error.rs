//! The errors of commands, and the exit code of each.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use millstream::isolated::{ServiceError, ServiceKeyError};
use millstream::tally::TallyError;
use millstream_cpu::MaskError;
use millstream_files as files;
pub(crate) use millstream_shm::plain;

use crate::{names, shown};

/// The exit codes, which are those of the Solaris commands (digest(1), encrypt(1)).
pub mod exit {
    /// Everything was done.
    pub const SUCCESS: u8 = 0;
    /// Something failed; no output was left under its final name.
    pub const FAILURE: u8 = 1;
    /// The command was called wrongly, or (`digest`, `mac`) an input could not be opened.
    pub const USAGE: u8 = 2;
}

/// The reason why a command failed. The text names the thing and, where there is one, the remedy.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The command was called wrongly.
    Usage(String),
    /// No algorithm of that name is offered by this command.
    UnknownAlgorithm {
        /// The name given.
        name: String,
        /// The command whose `-l` lists the known ones.
        command: &'static str,
        /// The name that was probably meant.
        near: Option<String>,
    },
    /// A processor mask that can't be understood.
    Mask(MaskError),
    /// An input that can't be opened.
    Open {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file where a new one was to be made, which must replace none.
    Exists {
        /// The path.
        path: PathBuf,
        /// The remedy.
        remedy: &'static str,
    },
    /// A directory where a file is needed.
    Directory(PathBuf),
    /// Reading failed after it began.
    Read {
        /// The input.
        name: String,
        /// The system's error.
        source: io::Error,
    },
    /// Writing failed.
    Write {
        /// The output.
        name: String,
        /// The system's error.
        source: io::Error,
    },
    /// The input has another length than when it was opened.
    Changed(String),
    /// A key, passphrase or vector file that can't be used.
    Secret {
        /// The file.
        path: PathBuf,
        /// The fault, and the remedy.
        why: String,
    },
    /// No passphrase could be asked for, or none was given.
    Passphrase(String),
    /// The system gives no random bytes.
    Random(getrandom::Error),
    /// A file's contents are not what the format says.
    Format {
        /// The input.
        name: String,
        /// The format's error.
        source: files::Error,
    },
    /// A library that was to be measured can't be used.
    Library {
        /// The library.
        path: Box<Path>,
        /// The fault.
        why: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// A measured way computed another result than our direct call.
    Mismatch {
        /// The ways, the results and the input.
        what: String,
    },
    /// An input is longer than one operation of the service can have.
    TooLong {
        /// The input.
        name: String,
        /// The most bytes.
        most: u32,
    },
    /// A queue could not be made, or refused.
    Queue(millstream::Error),
    /// An engine refused.
    Engine(millstream_engines::Error),
    /// The service can't be reached, or refused.
    Service(ServiceError),
    /// The counters can't be made or read.
    Tally(TallyError),
    /// The service can't be started, or ended by itself.
    Serve(String),
    /// A program can't be traced.
    Trace(String),
    /// A backup can't be made, read or removed.
    Backup(millstream_backup::Error),
    /// A table can't be read, changed or written.
    #[cfg(feature = "tables")]
    Table {
        /// The table.
        name: String,
        /// The reason.
        error: Box<millstream_tables::Error>,
    },
    /// A token or its store can't be used.
    Store(millstream_store::Error),
    /// The keys of SoftHSM2 can't be read.
    SoftHsm(files::softhsm::Error),
    /// A key can't be used like that, or not be made.
    Key(String),
    /// Known answers were wrong: the number of kernels that failed.
    SelfTest(usize),
    /// Some of the files failed; each was reported when it did.
    Reported(u8),
}

impl Error {
    /// Returns the exit code that reports this error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Usage(_) | Error::Mask(_) | Error::Queue(millstream::Error::Way(_)) => exit::USAGE,
            Error::Reported(code) => *code,
            _ => exit::FAILURE,
        }
    }

    pub(crate) fn secret(path: &Path, why: impl fmt::Display) -> Self {
        Error::Secret { path: path.to_owned(), why: why.to_string() }
    }

    /// Converts a format's error, with the names of the input and output.
    pub(crate) fn in_format(source: files::Error, input: &str, output: &str) -> Self {
        match source {
            files::Error::Read(source) => Error::Read { name: input.to_owned(), source },
            files::Error::Write(source) => Error::Write { name: output.to_owned(), source },
            files::Error::Changed => Error::Changed(input.to_owned()),
            files::Error::Random(error) => Error::Random(error),
            source => Error::Format { name: input.to_owned(), source },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Usage(text) | Error::Passphrase(text) => f.write_str(text),
            Error::UnknownAlgorithm { name, command, near } => {
                let near = near.as_deref().map_or(";".to_owned(), |near| names::did_you_mean(Some(near)));
                write!(
                    f,
                    "unknown algorithm -- {}{near} '{command} -l' lists the known ones",
                    shown::text(name)
                )
            }
            Error::Mask(error) => error.fmt(f),
            Error::Open { path, source } => {
                write!(f, "can not open input file {}: {}", shown::path(path), plain(source))
            }
            Error::Exists { path, remedy } => {
                write!(f, "{}: is there already; {remedy}", shown::path(path))
            }
            Error::Directory(path) => {
                write!(f, "{}: is a directory; name a file", shown::path(path))
            }
            Error::Read { name, source } => write!(f, "error reading {name}: {}", plain(source)),
            Error::Write { name, source } => write!(f, "error writing {name}: {}", plain(source)),
            Error::Changed(name) => {
                write!(f, "{name}: changed while it was read; run again when nothing writes to it")
            }
            Error::Secret { path, why } => write!(f, "{}: {why}", shown::path(path)),
            Error::Random(error) => write!(f, "the system gives no random bytes: {error}"),
            Error::Format { name, source } => write!(f, "{name}: {source}"),
            Error::Library { path, why, remedy } => write!(f, "{}: {why}; {remedy}", shown::path(path)),
            Error::Mismatch { what } => write!(f, "{what}; nothing was timed"),
            Error::TooLong { name, most } => {
                let mib = most >> 20;
                write!(
                    f,
                    "{name}: more than the {mib} MiB that the service computes at once; leave out --isolated"
                )
            }
            Error::Queue(error) => error.fmt(f),
            Error::Engine(error) => error.fmt(f),
            Error::Service(error) => error.fmt(f),
            Error::Tally(error) => error.fmt(f),
            Error::Store(error) => error.fmt(f),
            // The store chose the text of its error, so it may be anything.
            #[cfg(feature = "tables")]
            Error::Table { name, error } => {
                write!(f, "{}: {}", shown::text(name), shown::lines(&error.to_string()))
            }
            Error::Backup(error) => f.write_str(&shown::lines(&error.to_string())),
            // Labels of tokens are anyone's text.
            Error::SoftHsm(error) => f.write_str(&shown::text(&error.to_string())),
            Error::Serve(why) | Error::Trace(why) | Error::Key(why) => f.write_str(why),
            Error::SelfTest(failed) => {
                write!(
                    f,
                    "{failed} kernels gave a wrong answer; do not use this machine's results before \
                     masking what they require with MILLSTREAM_HWCAP"
                )
            }
            Error::Reported(_) => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

impl From<MaskError> for Error {
    fn from(error: MaskError) -> Self {
        Error::Mask(error)
    }
}

impl From<millstream::Error> for Error {
    fn from(error: millstream::Error) -> Self {
        match error {
            millstream::Error::Mask(error) => Error::Mask(error),
            millstream::Error::Engine(error) => Error::Engine(error),
            millstream::Error::Attach(error) => Error::Service(error),
            error => Error::Queue(error),
        }
    }
}

impl From<ServiceKeyError> for Error {
    fn from(error: ServiceKeyError) -> Self {
        match error {
            ServiceKeyError::Failed(error) => error.into(),
            error => Error::Key(error.to_string()),
        }
    }
}

impl From<millstream_backup::Error> for Error {
    fn from(error: millstream_backup::Error) -> Self {
        match error {
            error @ millstream_backup::Error::Location(_) => Error::Usage(error.to_string()),
            error => Error::Backup(error),
        }
    }
}

impl From<millstream_store::Error> for Error {
    fn from(error: millstream_store::Error) -> Self {
        Error::Store(error)
    }
}

impl From<files::softhsm::Error> for Error {
    fn from(error: files::softhsm::Error) -> Self {
        Error::SoftHsm(error)
    }
}

impl From<ServiceError> for Error {
    fn from(error: ServiceError) -> Self {
        Error::Service(error)
    }
}

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
