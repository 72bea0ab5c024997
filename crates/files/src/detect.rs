//! Recognition of formats.

use crate::{age, envelope, openssl, passphrase, sealed_key, solaris, tink};

/// The format of a file, as far as its first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An envelope of `millstream seal`.
    Envelope,
    /// A file of age, binary or in ASCII armour.
    Age,
    /// Tink's streaming AEAD with a key, or with a passphrase or a key of a token when a preamble of ours precedes it.
    Tink,
    /// The format of illumos, version 1.
    Solaris,
    /// The format of `openssl enc -pbkdf2`.
    OpenSsl,
    /// Ciphertext alone.
    Raw,
}

impl Format {
    /// Returns true when every file in this format is authenticated, so that `decrypt` may recognise it by
    /// its look. In the other formats, anybody who can change the file decides what comes out, so the user
    /// has to name them.
    pub const fn is_authenticated(self) -> bool {
        matches!(self, Format::Tink | Format::Envelope | Format::Age)
    }
}

/// The number of bytes that [`detect`] looks at.
pub const DETECT_LEN: usize = 16;

/// Returns the format that a file looks like, from its first [`DETECT_LEN`] bytes or all there are. This is
/// only the file's own claim: see [`Format::is_authenticated`].
pub fn detect(head: &[u8]) -> Option<Format> {
    let is = |magic: &[u8]| head.starts_with(magic);
    if is(envelope::MAGIC) {
        Some(Format::Envelope)
    } else if age::is_age(head) {
        Some(Format::Age)
    } else if is(passphrase::MAGIC)
        || is(sealed_key::MAGIC)
        || head.first() == Some(&tink::HEADER_LEN_256)
        || head.first() == Some(&tink::HEADER_LEN_128)
    {
        Some(Format::Tink)
    } else if is(openssl::MAGIC) {
        Some(Format::OpenSsl)
    } else if is(&solaris::VERSION.to_be_bytes()) {
        Some(Format::Solaris)
    } else {
        None
    }
}
