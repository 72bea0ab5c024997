//! The errors of backups.

use std::error::Error as _;
use std::fmt;
use std::io;

use millstream_files as files;

/// The reason why a backup can't be made, read or removed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The address of a backup can't be understood, for this reason.
    Location(String),
    /// The store failed, also when asked again.
    Store {
        /// The call, as in `store`.
        what: &'static str,
        /// The object.
        object: String,
        /// The store's error.
        source: object_store::Error,
    },
    /// There is a whole backup of that name.
    Exists(String),
    /// There is the beginning of a backup of that name.
    Partial(String),
    /// There is no backup of that name.
    Missing {
        /// The name.
        name: String,
        /// True when there is the beginning of one.
        partial: bool,
    },
    /// There is no beginning of a backup of that name.
    NothingToResume(String),
    /// The clock can't be right, for this reason.
    Clock(String),
    /// Something of a backup was removed while it was made.
    Vanished(String),
    /// An object that has the name of a backup's is none.
    Foreign(String),
    /// An object is larger than it can be.
    Large {
        /// The object.
        object: String,
        /// The bytes of the object.
        bytes: u64,
        /// The most bytes that it may have.
        most: u64,
    },
    /// A manifest or a draft can't be understood, for this reason.
    Manifest(String),
    /// A manifest's signature is wrong, or of another signer than the one that was asked for.
    Signature,
    /// A manifest was made for another name.
    Moved {
        /// The name that the manifest has.
        made_as: String,
        /// The name under which it is.
        found_as: String,
    },
    /// A segment is not what the manifest says, for this reason.
    Segment {
        /// The segment's number, from 0.
        number: u64,
        /// The object.
        object: String,
        /// The fault.
        why: String,
    },
    /// A key, an envelope or an engine failed.
    Files(files::Error),
    /// Reading the stream failed.
    Read(io::Error),
    /// Writing the stream failed.
    Write(io::Error),
    /// The range is not in the backup.
    Range {
        /// The bytes that there are.
        bytes: u64,
    },
    /// The memory does not hold two segments.
    Memory {
        /// The bytes that are allowed.
        given: u64,
        /// The bytes that are needed.
        needed: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Location(why) => f.write_str(why),
            Error::Store { what, object, source } => {
                write!(f, "can not {what} {object}: {}{}", reason(source), remedy(source))
            }
            Error::Exists(name) => {
                write!(f, "{name}: there is a backup of this name already; choose another name, or remove it first")
            }
            Error::Partial(name) => write!(
                f,
                "{name}: a backup of this name was interrupted, or is still running; go on with it by 'resume', or remove it first"
            ),
            Error::Missing { name, partial: true } => {
                write!(f, "{name}: this backup was interrupted and is not whole; go on with it by 'resume'")
            }
            Error::Missing { name, partial: false } => {
                write!(f, "{name}: there is no backup of this name; 'list' shows those that there are")
            }
            Error::NothingToResume(name) => {
                write!(f, "{name}: there is no interrupted backup of this name; begin one by 'put'")
            }
            Error::Clock(why) => f.write_str(why),
            Error::Vanished(name) => write!(
                f,
                "{name}: a part of this backup was removed from the store while it was made; it is not whole: make it again under another name"
            ),
            Error::Foreign(object) => {
                write!(f, "{object}: has the name of a part of a backup and is none; nothing was removed")
            }
            Error::Large { object, bytes, most } => write!(
                f,
                "{object} has {bytes} bytes where {most} are the most that it can have: it was replaced"
            ),
            Error::Manifest(why) => write!(f, "the manifest can't be used: {why}"),
            Error::Signature => f.write_str(
                "the manifest's signature is wrong, or not of the verifier that was named: the manifest was changed or replaced",
            ),
            Error::Moved { made_as, found_as } => write!(
                f,
                "this is the backup that was made as {made_as}, and it is found as {found_as}: it was moved or swapped; if you moved it, say --moved"
            ),
            Error::Segment { number, object, why } => write!(f, "segment {number} ({object}): {why}"),
            Error::Files(error) => error.fmt(f),
            Error::Read(error) => write!(f, "error reading: {error}"),
            Error::Write(error) => write!(f, "error writing: {error}"),
            Error::Range { bytes } => write!(f, "the range is not in the backup, which has {bytes} bytes"),
            Error::Memory { given, needed } => write!(
                f,
                "{given} bytes of memory do not hold two segments, which need {needed}; allow more with --memory, or make segments smaller with --segment"
            ),
        }
    }
}

impl std::error::Error for Error {}

impl From<files::Error> for Error {
    fn from(error: files::Error) -> Self {
        Error::Files(error)
    }
}

impl From<getrandom::Error> for Error {
    fn from(error: getrandom::Error) -> Self {
        Error::Files(error.into())
    }
}

/// Returns the innermost cause of a store's error, which is what a user can do something about.
fn reason(error: &object_store::Error) -> String {
    let (mut text, mut source) = (error.to_string(), error.source());
    while let Some(inner) = source {
        if !text.contains(&inner.to_string()) {
            text = format!("{text}: {inner}");
        }
        source = inner.source();
    }
    text
}

fn remedy(error: &object_store::Error) -> &'static str {
    match error {
        object_store::Error::PermissionDenied { .. } => {
            "; let these credentials read, write, list and delete under this name"
        }
        object_store::Error::Unauthenticated { .. } => {
            "; the credentials are wrong or have expired: renew them, and go on by 'resume'"
        }
        object_store::Error::NotFound { .. } => {
            "; see whether the bucket and the name are right, or whether it was removed"
        }
        _ => "",
    }
}
