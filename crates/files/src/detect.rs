//! Which format a file looks like.

use crate::{openssl, passphrase, solaris, tink};

/// The format a file is in, as far as its first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Tink's streaming AEAD with a key, or with a passphrase when our preamble precedes it.
    Tink,
    /// That of illumos, version 1.
    Solaris,
    /// That of `openssl enc -pbkdf2`.
    OpenSsl,
    /// Ciphertext alone.
    Raw,
}

impl Format {
    /// Whether every file in this format is authenticated, so that `decrypt` may take it for what it looks like. Of the
    /// others someone who can change the file decides what comes out, so the user has to ask for them by name.
    pub const fn is_authenticated(self) -> bool {
        matches!(self, Format::Tink)
    }
}

/// Bytes that [`detect`] looks at.
pub const DETECT_LEN: usize = 8;

/// The format that a file looks like which begins with `head`, [`DETECT_LEN`] bytes or all there are. The file alone
/// says so: see [`Format::is_authenticated`].
pub fn detect(head: &[u8]) -> Option<Format> {
    let is = |magic: &[u8]| head.starts_with(magic);
    if is(passphrase::MAGIC)
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
