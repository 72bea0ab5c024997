//! AEADs: AES-GCM and ChaCha20-Poly1305.
//!
//! [`gcm`] and [`chacha`] are the two kinds of context, since the default provider treats their callers differently: what may
//! be set when, and how TLS 1.2 makes its nonces. What they have in common is [`message`]: a key, wherever it is, and
//! the message under way; [`local`] is a message whose key is in this process, [`held`] one whose key is in the service.
//!
//! What one call decrypts is handed out before the tag is known, as the default provider does; the end of the message
//! then fails. A record of TLS 1.2 comes whole, so nothing of a forged one is handed out.

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

/// What one AEAD of a kind differs in from the next.
pub struct Spec {
    /// The name it is counted under.
    pub name: &'static str,
}

/// A record of TLS 1.2 that was announced and comes next.
#[derive(Clone, Copy)]
struct Record {
    /// With the length of the plaintext.
    aad: [u8; RECORD_AAD],
    /// Bytes of plaintext.
    len: usize,
}

impl Record {
    /// From the associated data that the caller gives, whose length also counts `around` bytes that are not plaintext.
    fn announced(aad: &[u8], around: usize) -> Option<Self> {
        let mut aad: [u8; RECORD_AAD] = aad.try_into().ok()?;
        let len = u16::from_be_bytes([aad[11], aad[12]]);
        let len = len.checked_sub(around as u16)?;
        [aad[11], aad[12]] = len.to_be_bytes();
        Some(Record { aad, len: usize::from(len) })
    }
}
