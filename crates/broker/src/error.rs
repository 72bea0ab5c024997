//! The reasons why a broker can't be started.

use std::path::PathBuf;
use std::{fmt, io};

use millstream_shm::plain;

use crate::metrics::MetricsAddress;
use crate::policy::PolicyError;

/// The reason why a broker can't be started, or go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The policy can't be used.
    Policy(PolicyError),
    /// Clients could not connect at this path.
    Socket {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Metrics could not be fetched at this address.
    Metrics {
        /// The address.
        address: MetricsAddress,
        /// The system's error.
        source: io::Error,
    },
    /// There are no workers.
    NoAccelerators,
    /// A worker could not be started.
    Worker {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A worker was started and did not become ready.
    NotReady {
        /// The worker's number.
        worker: u32,
    },
    /// The store of the tokens can't be opened.
    Store(millstream_store::Error),
    /// The system did not do something that a broker needs.
    System {
        /// The thing that failed.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::System { what, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Policy(error) => error.fmt(f),
            Error::Socket { path, source } if source.kind() == io::ErrorKind::AddrInUse => {
                write!(
                    f,
                    "{}: another broker listens there: stop it, or use another --socket",
                    path.display()
                )
            }
            Error::Socket { path, source } if source.kind() == io::ErrorKind::AlreadyExists => {
                write!(f, "{}: {}: remove it, or use another --socket", path.display(), plain(source))
            }
            Error::Socket { path, source } => {
                write!(
                    f,
                    "{}: {}: use a --socket in a directory that you may write to",
                    path.display(),
                    plain(source)
                )
            }
            Error::Metrics { address, source } => {
                write!(f, "metrics at {address}: {}: use another --metrics", plain(source))
            }
            Error::NoAccelerators => f.write_str("no accelerators: use --accelerators 1 or more"),
            Error::Worker { program, source } => {
                write!(f, "a worker can't be started from {}: {}", program.display(), plain(source))
            }
            Error::NotReady { worker } => {
                write!(f, "worker {worker} did not become ready: see its messages above")
            }
            Error::Store(error) => error.fmt(f),
            Error::System { what, source } => write!(f, "{what}: {}", plain(source)),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Policy(error) => Some(error),
            Error::Socket { source, .. }
            | Error::Metrics { source, .. }
            | Error::Worker { source, .. }
            | Error::System { source, .. } => Some(source),
            Error::Store(error) => error.source(),
            Error::NoAccelerators | Error::NotReady { .. } => None,
        }
    }
}

impl From<PolicyError> for Error {
    fn from(error: PolicyError) -> Self {
        Error::Policy(error)
    }
}
