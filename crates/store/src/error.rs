//! The reasons why a store, a token or an object can't be used.

use std::fmt;
use std::io;
use std::path::PathBuf;

use millstream_protocol::AttributesError;

use crate::MOST_TOKEN_LABEL_BYTES;
use crate::names::Role;
use crate::tpm::TpmFault;

/// The reason why an operation on a store failed. The text names the thing and the remedy.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// There is no store of that name.
    Missing(PathBuf),
    /// There is a store of that name already.
    Exists(PathBuf),
    /// Another process has the store open.
    InUse(PathBuf),
    /// The file is no store.
    NotAStore(PathBuf),
    /// A newer version of the program wrote the store, or a part of it.
    Newer {
        /// The file.
        path: PathBuf,
        /// The version that the file has.
        version: u32,
    },
    /// The database is damaged. Nothing was changed.
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault, in the words of the database.
        why: String,
    },
    /// The disk is full, or a quota is. The operation had no effect.
    Full(PathBuf),
    /// The system could not read or write. The store is read again before the next operation.
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Others than its owner may read or write the device secret.
    Exposed(PathBuf),
    /// The device secret can't be one.
    DeviceSecret {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: &'static str,
    },
    /// The TPM does not seal the device secret, or does not give it back.
    Tpm {
        /// The TPM, or the file with the sealed secret.
        place: String,
        /// The fault.
        why: TpmFault,
    },
    /// The token was made with another device secret than this machine has.
    OtherDevice {
        /// The token's label.
        token: String,
    },
    /// No token has that label.
    NoToken(String),
    /// A token has that label already.
    TokenExists(String),
    /// No object is there under that name.
    NoObject(String),
    /// Several objects have that label.
    Ambiguous(String),
    /// The PIN is wrong.
    WrongPin {
        /// The role whose PIN it is.
        role: Role,
        /// Tries that are left.
        left: u8,
    },
    /// The PIN was wrong too often.
    Locked(Role),
    /// One user's tries of the PIN were wrong too often.
    UserTries(Role),
    /// The token has no user PIN yet.
    NoUserPin,
    /// A PIN has a length that is not allowed.
    PinLength,
    /// The store can be read, and not written.
    ReadOnly(PathBuf),
    /// A token's label has a length that such labels don't have.
    TokenLabel,
    /// The role may not do that.
    Role(Role),
    /// A sealed part of the token is not what was sealed: it was changed, or comes from another place.
    Forged(&'static str),
    /// Objects of the token were removed, replaced or brought back without its key.
    RolledBack,
    /// The token has changed since the session began.
    Stale,
    /// A record can't be understood.
    Malformed(&'static str),
    /// A label, an attribute or a secret is longer than a store takes.
    TooLong {
        /// The thing.
        what: &'static str,
        /// The most bytes.
        most: usize,
    },
    /// A cost of the PIN's derivation is out of range.
    Cost,
    /// The system gives no random bytes.
    Random(getrandom::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Missing(path) => {
                write!(f, "{}: no such store; 'millstream token init' makes one", path.display())
            }
            Error::Exists(path) => write!(f, "{}: is there already; open it", path.display()),
            Error::InUse(path) => {
                write!(f, "{}: another process has this store open; wait until it is done", path.display())
            }
            Error::NotAStore(path) => {
                write!(f, "{}: not a store of tokens; name another file", path.display())
            }
            Error::Newer { path, version } => write!(
                f,
                "{}: version {version} of the format, which a newer millstream wrote; use that one",
                path.display()
            ),
            Error::Damaged { path, why } => write!(
                f,
                "{}: the store is damaged ({why}); nothing was changed: copy the file, then restore a backup",
                path.display()
            ),
            Error::Full(path) => {
                write!(
                    f,
                    "{}: no space left; nothing was lost: free some space and try again",
                    path.display()
                )
            }
            Error::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Error::Exposed(path) => write!(
                f,
                "{0}: others may read or write this device secret; chmod 600 {0}, and make new tokens if they did",
                path.display()
            ),
            Error::DeviceSecret { path, why } => {
                write!(f, "{}: not a device secret: {why}", path.display())
            }
            Error::Tpm { place, why } => write!(f, "{place}: {why}"),
            Error::OtherDevice { token } => write!(
                f,
                "token {token:?} was made with another device secret; restore the one of the machine that made it"
            ),
            Error::NoToken(label) => {
                write!(f, "no token is labelled {label:?}; 'millstream token list' shows those there are")
            }
            Error::TokenExists(label) => {
                write!(f, "a token is labelled {label:?} already; choose another label, or remove that token")
            }
            Error::NoObject(name) => {
                write!(f, "the token has no key labelled {name:?}; 'millstream key list' shows its keys")
            }
            Error::Ambiguous(label) => {
                write!(f, "several keys are labelled {label:?}; name the one you mean by its id")
            }
            Error::WrongPin { role, left } => match left {
                0 => write!(f, "wrong {role}, and the last try; {}", locked(*role)),
                1 => write!(f, "wrong {role}; 1 try is left"),
                _ => write!(f, "wrong {role}; {left} tries are left"),
            },
            Error::Locked(role) => {
                write!(f, "the {role} was wrong too often and is locked; {}", locked(*role))
            }
            Error::UserTries(role) => write!(
                f,
                "the {role} was wrong five times in a row for this user, who tries no more; {}",
                locked(*role)
            ),
            Error::NoUserPin => {
                f.write_str("the token has no user PIN yet; 'millstream token pin --reset' sets one")
            }
            Error::PinLength => f.write_str("a PIN has 4 to 255 bytes; choose another"),
            Error::ReadOnly(path) => {
                write!(f, "{}: can be read and not written; change its mode, or the user", path.display())
            }
            Error::TokenLabel => {
                write!(
                    f,
                    "a label of a token has 1 to {MOST_TOKEN_LABEL_BYTES} bytes, as in PKCS #11; choose another"
                )
            }
            Error::Role(role) => write!(f, "the {role} does not allow that; use the other PIN"),
            Error::Forged(what) => {
                write!(
                    f,
                    "{what} is not what this token sealed; the file was tampered with: restore a backup"
                )
            }
            Error::RolledBack => f.write_str(
                "keys of this token were removed, replaced or brought back behind its back; restore a backup",
            ),
            Error::Stale => f.write_str("the token has changed meanwhile; try again"),
            Error::Malformed(what) => write!(f, "{what} can't be understood; it stays as it is"),
            Error::TooLong { what, most } => write!(f, "{what}: {most} bytes at most"),
            Error::Cost => f.write_str("the cost of the PIN's derivation is out of range"),
            Error::Random(error) => write!(f, "the system gives no random bytes: {error}"),
        }
    }
}

/// Returns the remedy for a locked PIN.
fn locked(role: Role) -> &'static str {
    match role {
        Role::User => "the security officer resets it with 'millstream token pin --reset'",
        Role::Officer => "the user PIN still opens the token; copy its keys to a new one",
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            Error::Random(source) => Some(source),
            _ => None,
        }
    }
}

impl From<AttributesError> for Error {
    fn from(error: AttributesError) -> Self {
        match error {
            AttributesError::TooLong { what, most } => Error::TooLong { what, most },
            AttributesError::Tag(_) => Error::Malformed("an attribute's tag"),
            _ => Error::Malformed("the attributes of an object"),
        }
    }
}

impl From<getrandom::Error> for Error {
    fn from(error: getrandom::Error) -> Self {
        Error::Random(error)
    }
}
