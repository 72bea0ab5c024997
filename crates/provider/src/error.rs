//! The reasons of failures, in OpenSSL's words: its own reasons where it has one, so that texts are the default
//! provider's.
//!
//! Ref. provider(7), ERR_raise(3); the numbers are those of `openssl/proverr.h`.

use std::borrow::Cow;

use millstream::EngineError;

/// OpenSSL's library number for the reasons of providers.
const LIB_PROVIDER: u32 = 57;

/// The reason why something failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    number: u32,
    /// The detail that the number alone does not say: it names the object and the remedy.
    pub detail: Option<Cow<'static, str>>,
}

/// A result that may fail with a [`Reason`].
pub type Result<T> = std::result::Result<T, Reason>;

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => {
        impl Reason {
            $($(#[$doc])* pub const $name: Reason = Reason { number: $number, detail: None };)*
        }
    };
}

reasons! {
    BAD_DECRYPT = 100;
    KEY_SETUP_FAILED = 101;
    CIPHER_OPERATION_FAILED = 102;
    FAILED_TO_GET_PARAMETER = 103;
    FAILED_TO_SET_PARAMETER = 104;
    INVALID_KEY_LENGTH = 105;
    OUTPUT_BUFFER_TOO_SMALL = 106;
    WRONG_FINAL_BLOCK_LENGTH = 107;
    INVALID_AAD = 108;
    INVALID_IV_LENGTH = 109;
    INVALID_TAG = 110;
    NOT_XOF_OR_INVALID_LENGTH = 113;
    NO_KEY_SET = 114;
    INVALID_DATA = 115;
    INVALID_TAG_LENGTH = 118;
    TAG_NOT_SET = 119;
    TAG_NOT_NEEDED = 120;
    INVALID_DIGEST = 122;
    INVALID_MODE = 125;
    MISSING_KEY = 128;
    MISSING_MESSAGE_DIGEST = 129;
    INVALID_SALT_LENGTH = 112;
    MISSING_CIPHER = 155;
    FAILED_TO_GENERATE_KEY = 121;
    XTS_DATA_UNIT_IS_TOO_LARGE = 148;
    XTS_DUPLICATED_KEYS = 149;
    INVALID_MAC = 151;
    INVALID_OUTPUT_LENGTH = 217;
    INVALID_INPUT_LENGTH = 230;
    LENGTH_TOO_LARGE = 202;
    TOO_MANY_RECORDS = 126;
    NOT_SUPPORTED = 136;
    UNSUPPORTED_MAC_TYPE = 137;
    INVALID_DIGEST_LENGTH = 166;
    UPDATE_CALL_OUT_OF_ORDER = 240;
    FINAL_CALL_OUT_OF_ORDER = 237;
    WRONG_OUTPUT_BUFFER_SIZE = 139;
    XOF_DIGESTS_NOT_ALLOWED = 183;
    INVALID_KEY = 158;
    INVALID_SEED_LENGTH = 154;
    OPERATION_NOT_SUPPORTED_FOR_THIS_KEYTYPE = 178;
    NULL_LENGTH_POINTER = 247;
    NULL_OUTPUT_BUFFER = 248;
    WRONG_CIPHERTEXT_SIZE = 251;
    FAILED_DURING_DERIVATION = 164;
    FAILED_TO_SIGN = 175;
    NOT_A_PUBLIC_KEY = 220;
    NOT_A_PRIVATE_KEY = 221;
    BAD_ENCODING = 141;
    BAD_LENGTH = 142;
    UNABLE_TO_GET_PASSPHRASE = 159;
    UNEXPECTED_KEY_PARAMETERS = 249;
    NO_INSTANCE_ALLOWED = 242;
    INVALID_EDDSA_INSTANCE = 243;
}

impl Reason {
    /// An internal error: a panic was caught.
    pub const INTERNAL: Reason = Reason {
        number: Reason::CIPHER_OPERATION_FAILED.number,
        detail: Some(Cow::Borrowed("internal error in the millstream provider: please report it")),
    };

    /// A refusal for which the default provider returns failure and raises no error, such as a wrong tag: callers who
    /// go on after it, as DTLS does, would take an error in the queue for one of theirs.
    pub const SILENT: Reason = Reason { number: 0, detail: None };

    /// A failure for which another function has raised the error already.
    pub const TOLD: Reason = Reason::SILENT;

    /// The same, where that function returned a number below zero, which some callers distinguish from zero.
    pub const TOLD_BELOW_ZERO: Reason = Reason { number: u32::MAX, detail: None };

    /// Adds a detail to the reason.
    pub fn because(self, detail: impl Into<Cow<'static, str>>) -> Self {
        Reason { detail: Some(detail.into()), ..self }
    }

    /// Adds a detail that is a static text.
    pub const fn with(self, detail: &'static str) -> Self {
        let number = self.number;
        std::mem::forget(self);
        Reason { number, detail: Some(Cow::Borrowed(detail)) }
    }

    /// Returns library and reason in one number, as OpenSSL packs them.
    pub fn packed(&self) -> u32 {
        LIB_PROVIDER << 23 | self.number
    }
}

impl From<EngineError> for Reason {
    fn from(error: EngineError) -> Self {
        let reason = match error {
            EngineError::KeyLength { .. } => Reason::INVALID_KEY_LENGTH,
            EngineError::NonceLength { .. } => Reason::INVALID_IV_LENGTH,
            EngineError::Padding => Reason::BAD_DECRYPT,
            EngineError::Authentication => return Reason::CIPHER_OPERATION_FAILED,
            _ => Reason::CIPHER_OPERATION_FAILED,
        };
        reason.because(error.to_string())
    }
}

impl From<millstream::publickey::Error> for Reason {
    fn from(error: millstream::publickey::Error) -> Self {
        Reason::INVALID_KEY.because(error.to_string())
    }
}

impl From<millstream::Error> for Reason {
    fn from(error: millstream::Error) -> Self {
        match error {
            millstream::Error::Engine(error) => error.into(),
            error => Reason::CIPHER_OPERATION_FAILED.because(error.to_string()),
        }
    }
}
