//! The reasons why a key does not get into a slot, or out of it.

use std::fmt;

use millstream_cwq::{Algorithm, UsageError};
use millstream_engines::Error;

/// No slot is free: remove a key first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotsFull;

impl fmt::Display for SlotsFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("every key slot is taken: remove a key first")
    }
}

impl std::error::Error for SlotsFull {}

/// The reason why a key did not get into a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsertError {
    /// The algorithm does not take it.
    Engine(Error),
    /// The policy of the grant does not allow the algorithm.
    Policy(Algorithm),
    /// Every slot is taken.
    SlotsFull,
    /// The memory for keys has no more room.
    Memory,
    /// There is no such grant.
    NoGrant,
    /// A key of this algorithm can't have that purpose.
    Usage(UsageError),
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InsertError::Engine(error) => error.fmt(f),
            InsertError::Policy(algorithm) => {
                write!(f, "the policy of the grant does not allow {algorithm:?}: use another algorithm")
            }
            InsertError::SlotsFull => SlotsFull.fmt(f),
            InsertError::Memory => f.write_str("the memory for keys has no more room: remove a key first"),
            InsertError::Usage(error) => error.fmt(f),
            InsertError::NoGrant => f.write_str("the grant is gone: ask for another"),
        }
    }
}

impl std::error::Error for InsertError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            InsertError::Engine(error) => Some(error),
            InsertError::Usage(error) => Some(error),
            _ => None,
        }
    }
}

impl From<Error> for InsertError {
    fn from(error: Error) -> Self {
        InsertError::Engine(error)
    }
}

/// The reason why the bytes of a key are not given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExportError {
    /// There is no such key.
    NoKey,
    /// The key was not made to be exported.
    NotExportable,
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ExportError::NoKey => "no such key",
            ExportError::NotExportable => "the key is not exportable: import or generate it as exportable",
        })
    }
}

impl std::error::Error for ExportError {}
