//! The reasons that clients are given when the store or the vault refuses.

use millstream_protocol::KeyRefusal;
use millstream_store::Error;

/// Returns what a client is told of an error.
pub(crate) fn refusal(error: &Error) -> KeyRefusal {
    match error {
        Error::NoToken(_) => KeyRefusal::NoSuchToken,
        Error::TokenExists(_) => KeyRefusal::TokenExists,
        Error::NoObject(_) => KeyRefusal::NoSuchObject,
        Error::Locked(_) => KeyRefusal::PinLocked,
        Error::UserTries(_) => KeyRefusal::UserTries,
        Error::NoUserPin => KeyRefusal::NoUserPin,
        Error::PinLength => KeyRefusal::PinLength,
        Error::OtherDevice { .. } => KeyRefusal::OtherDevice,
        Error::Role(_) => KeyRefusal::PinRole,
        Error::Forged(_) | Error::RolledBack | Error::Malformed(_) | Error::Cost => KeyRefusal::Forged,
        Error::Full(_) => KeyRefusal::StoreFull,
        Error::TokenLabel => KeyRefusal::TextLength,
        Error::TooLong { .. } => KeyRefusal::TooLong,
        Error::Stale => KeyRefusal::TokensBusy,
        _ => KeyRefusal::Store,
    }
}
