//! The statuses of completions.

use millstream_cwq::{Completion, Status};
use millstream_engines::Error;

/// The completion of a word that failed.
pub(crate) fn failed(tag: u64, status: Status) -> Completion {
    Completion { tag, status: status as u16, ..Completion::default() }
}

/// The status that reports an engine's error.
#[cold]
pub fn status_of(error: Error) -> Status {
    match error {
        Error::KeyLength { .. } | Error::WeakKey { .. } => Status::KeyLength,
        Error::NonceLength { .. } => Status::IvLength,
        Error::TagLength { .. } => Status::MacLength,
        Error::DataLength { .. } => Status::DataLength,
        Error::OutputLength { .. } => Status::DestinationRange,
        Error::Authentication => Status::Authentication,
        Error::MidState => Status::MidState,
        Error::Peer { .. } => Status::Peer,
        Error::Random => Status::Random,
        _ => Status::Parameter,
    }
}
