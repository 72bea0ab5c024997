//! The answer of a call that does not do what it was asked: a return value of the standard.
//!
//! Ref. PKCS #11 v3.2 §5.1.

use cryptoki_sys::*;
use millstream::cwq::Status;
use millstream::isolated::{AttachError, KeyRefusal, ServiceKeyError, ServiceRefusal};
use millstream::queue::Refusal as Submission;
use millstream::{EngineError, Error as LibraryError};
use millstream_files::Error as FilesError;
use millstream_store::Error as StoreError;

/// A return value other than `CKR_OK`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal(pub CK_RV);

/// The result of an inner function.
pub type Outcome<T = ()> = Result<T, Refusal>;

/// Refuses with a return value.
pub fn refuse<T>(value: CK_RV) -> Outcome<T> {
    Err(Refusal(value))
}

/// Refuses unless a condition holds.
pub fn demand(condition: bool, value: CK_RV) -> Outcome {
    if condition { Ok(()) } else { refuse(value) }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Refusal(match error {
            StoreError::WrongPin { .. } => CKR_PIN_INCORRECT,
            StoreError::Locked(_) | StoreError::UserTries(_) => CKR_PIN_LOCKED,
            StoreError::NoUserPin => CKR_USER_PIN_NOT_INITIALIZED,
            StoreError::PinLength => CKR_PIN_LEN_RANGE,
            StoreError::TokenLabel => CKR_ARGUMENTS_BAD,
            StoreError::Full(_) => CKR_DEVICE_MEMORY,
            StoreError::Role(_) => CKR_USER_NOT_LOGGED_IN,
            StoreError::TooLong { .. } => CKR_ATTRIBUTE_VALUE_INVALID,
            StoreError::NoObject(_) => CKR_OBJECT_HANDLE_INVALID,
            StoreError::NoToken(_) => CKR_TOKEN_NOT_PRESENT,
            // A newer store, a store of another machine and a damaged one are no tokens that this module knows.
            StoreError::Newer { .. } | StoreError::OtherDevice { .. } | StoreError::NotAStore(_) => {
                CKR_TOKEN_NOT_RECOGNIZED
            }
            StoreError::Random(_) => CKR_RANDOM_NO_RNG,
            _ => CKR_DEVICE_ERROR,
        })
    }
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        Refusal(match error {
            EngineError::KeyLength { .. } => CKR_KEY_SIZE_RANGE,
            EngineError::NonceLength { .. } | EngineError::TagLength { .. } => CKR_MECHANISM_PARAM_INVALID,
            EngineError::DataLength { .. } => CKR_DATA_LEN_RANGE,
            EngineError::Authentication => CKR_AEAD_DECRYPT_FAILED,
            EngineError::Padding => CKR_ENCRYPTED_DATA_INVALID,
            EngineError::MidState => CKR_SAVED_STATE_INVALID,
            _ => CKR_FUNCTION_FAILED,
        })
    }
}

impl From<LibraryError> for Refusal {
    fn from(error: LibraryError) -> Self {
        match error {
            LibraryError::Engine(error) => error.into(),
            LibraryError::WrongPin { .. } => Refusal(CKR_PIN_INCORRECT),
            LibraryError::Key(why) => why.into(),
            LibraryError::Attach(error) => error.into(),
            LibraryError::Operation(status) => status.into(),
            LibraryError::KeySlots | LibraryError::Memory(_) => Refusal(CKR_DEVICE_MEMORY),
            LibraryError::NoAnswer(_) => Refusal(CKR_DEVICE_ERROR),
            LibraryError::Queue(why) => Refusal(match why {
                Submission::Gone | Submission::Revoked | Submission::Forked => CKR_DEVICE_REMOVED,
                Submission::Full | Submission::ArenaFull => CKR_DEVICE_MEMORY,
                _ => CKR_DATA_LEN_RANGE,
            }),
            _ => Refusal(CKR_FUNCTION_FAILED),
        }
    }
}

impl From<AttachError> for Refusal {
    fn from(error: AttachError) -> Self {
        Refusal(match error {
            AttachError::NoService { .. } | AttachError::Refused { why: ServiceRefusal::NoWorker, .. } => {
                CKR_DEVICE_REMOVED
            }
            AttachError::Refused { why: ServiceRefusal::NoTokens | ServiceRefusal::NoSuchToken, .. } => {
                CKR_TOKEN_NOT_PRESENT
            }
            AttachError::Refused {
                why: ServiceRefusal::TooMuch | ServiceRefusal::TooManyGrants | ServiceRefusal::Exhausted,
                ..
            }
            | AttachError::Memory(_)
            | AttachError::Descriptors => CKR_DEVICE_MEMORY,
            _ => CKR_DEVICE_ERROR,
        })
    }
}

impl From<KeyRefusal> for Refusal {
    fn from(why: KeyRefusal) -> Self {
        Refusal(match why {
            KeyRefusal::PinLocked | KeyRefusal::UserTries => CKR_PIN_LOCKED,
            KeyRefusal::TextLength => CKR_ARGUMENTS_BAD,
            KeyRefusal::NoUserPin => CKR_USER_PIN_NOT_INITIALIZED,
            KeyRefusal::PinLength => CKR_PIN_LEN_RANGE,
            KeyRefusal::NotManager => CKR_TOKEN_WRITE_PROTECTED,
            KeyRefusal::NotExportable | KeyRefusal::PolicyExportable => CKR_KEY_UNEXTRACTABLE,
            KeyRefusal::NoTokens | KeyRefusal::NoSuchToken => CKR_TOKEN_NOT_PRESENT,
            KeyRefusal::TokenClosed | KeyRefusal::PinRole => CKR_USER_NOT_LOGGED_IN,
            KeyRefusal::NoSuchObject => CKR_OBJECT_HANDLE_INVALID,
            KeyRefusal::OtherDevice => CKR_TOKEN_NOT_RECOGNIZED,
            KeyRefusal::StoreFull | KeyRefusal::SlotsFull | KeyRefusal::Exhausted => CKR_DEVICE_MEMORY,
            KeyRefusal::TooLong => CKR_ATTRIBUTE_VALUE_INVALID,
            KeyRefusal::KeyLength => CKR_KEY_SIZE_RANGE,
            KeyRefusal::TokenKind => CKR_KEY_TYPE_INCONSISTENT,
            KeyRefusal::Attributes => CKR_ATTRIBUTE_READ_ONLY,
            KeyRefusal::Usage
            | KeyRefusal::TwoWay
            | KeyRefusal::TokenUsage
            | KeyRefusal::Policy
            | KeyRefusal::PolicyUsages
            | KeyRefusal::PolicyNonces => CKR_KEY_FUNCTION_NOT_PERMITTED,
            _ => CKR_DEVICE_ERROR,
        })
    }
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        Refusal(match status {
            Status::Gone | Status::Revoked => CKR_DEVICE_REMOVED,
            // A mid-state is of use to the worker alone that made it.
            Status::MidState => CKR_DEVICE_REMOVED,
            Status::Authentication => CKR_AEAD_DECRYPT_FAILED,
            Status::UsageEncrypt | Status::UsageDecrypt | Status::UsageSign | Status::UsageVerify => {
                CKR_KEY_FUNCTION_NOT_PERMITTED
            }
            Status::UsesPerSecond | Status::UsesSpent => CKR_KEY_EXHAUSTED,
            Status::DataLength | Status::TooLong => CKR_DATA_LEN_RANGE,
            Status::IvLength | Status::MacLength | Status::Parameter | Status::ShortTag | Status::Peer => {
                CKR_MECHANISM_PARAM_INVALID
            }
            _ => CKR_FUNCTION_FAILED,
        })
    }
}

impl From<ServiceKeyError> for Refusal {
    fn from(error: ServiceKeyError) -> Self {
        match error {
            ServiceKeyError::Forked => Refusal(CKR_DEVICE_REMOVED),
            ServiceKeyError::Usage { .. } => Refusal(CKR_KEY_FUNCTION_NOT_PERMITTED),
            ServiceKeyError::TooLong { .. } => Refusal(CKR_DATA_LEN_RANGE),
            ServiceKeyError::Authentication => Refusal(CKR_AEAD_DECRYPT_FAILED),
            ServiceKeyError::Failed(error) => error.into(),
            _ => Refusal(CKR_FUNCTION_FAILED),
        }
    }
}

impl From<FilesError> for Refusal {
    fn from(error: FilesError) -> Self {
        Refusal(match error {
            FilesError::Random(_) => CKR_RANDOM_NO_RNG,
            _ => CKR_ATTRIBUTE_VALUE_INVALID,
        })
    }
}

impl From<millstream::publickey::Error> for Refusal {
    fn from(error: millstream::publickey::Error) -> Self {
        use millstream::publickey::Error;
        Refusal(match error {
            Error::Signature => CKR_SIGNATURE_INVALID,
            Error::Padding => CKR_ENCRYPTED_DATA_INVALID,
            Error::Message => CKR_DATA_LEN_RANGE,
            Error::Random => CKR_RANDOM_NO_RNG,
            Error::Scalar { .. } | Error::Modulus | Error::Exponent => CKR_ATTRIBUTE_VALUE_INVALID,
            Error::Length { what: "signature", .. } => CKR_SIGNATURE_LEN_RANGE,
            Error::Length { .. } => CKR_DATA_LEN_RANGE,
            Error::Point { .. } | Error::Encoding { .. } | Error::Element { .. } => {
                CKR_MECHANISM_PARAM_INVALID
            }
            _ => CKR_FUNCTION_FAILED,
        })
    }
}
