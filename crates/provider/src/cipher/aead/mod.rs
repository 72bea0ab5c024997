//! AEADs: AES-GCM and ChaCha20-Poly1305.
//!
//! [`gcm`] and [`chacha`] are the two kinds of context: the default provider differs in what it lets callers of each
//! set when, and TLS 1.2 makes their nonces in different ways. Both have [`message`]: a key, wherever it is, and the
//! message under way. [`local`] is a message whose key is in this process, [`held`] one whose key is in the service.
//!
//! The plaintext of one call is handed out before the tag is known, as by the default provider; the end of the message
//! then fails. A record of TLS 1.2 comes whole, so nothing of a forged record is handed out.

mod algorithm;
pub mod chacha;
pub mod gcm;
mod held;
mod local;
mod message;

/// Bytes of a tag.
pub use millstream::aead::TAG;

/// Associated data of a TLS 1.2 record: sequence number, type, version, length (RFC 5246 §6.2.3.3).
const RECORD_AAD: usize = 13;

/// The parameters of one AEAD of a kind.
pub struct Spec {
    /// The name under which the AEAD is counted.
    pub name: &'static str,
}

/// A record of TLS 1.2 that was announced and comes next.
#[derive(Clone, Copy)]
struct Record {
    /// The associated data, with the length of the plaintext.
    aad: [u8; RECORD_AAD],
    /// Bytes of plaintext.
    len: usize,
}

impl Record {
    /// Reads the associated data that the caller gives, whose length also counts `around` bytes that are not plaintext.
    fn announced(aad: &[u8], around: usize) -> Option<Self> {
        let mut aad: [u8; RECORD_AAD] = aad.try_into().ok()?;
        let len = u16::from_be_bytes([aad[11], aad[12]]);
        let len = len.checked_sub(around as u16)?;
        [aad[11], aad[12]] = len.to_be_bytes();
        Some(Record { aad, len: usize::from(len) })
    }
}
