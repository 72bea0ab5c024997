//! A token in its parts, whose data another computes: as [`FernetLanes`](super::FernetLanes) or a worker that has the key.
//!
//! Ref. the Fernet specification, "Token Format".

use super::lanes::{NONCE, TAG};
use super::{Age, HEAD, VERSION, base64, check_age, is_formed};
use crate::Error;

/// The bytes of a token that is well formed. Nothing tells yet whether it was made under a key.
///
/// ```
/// use millstream_engines::fernet::Parts;
///
/// let token = Parts::join(&[7; 24], &[8; 16], &[9; 32]);
/// let parts = Parts::of(&token).expect("a token");
/// assert_eq!((parts.nonce(), parts.data(), parts.tag()), (&[7; 24], &[8; 16][..], &[9; 32]));
/// assert!(Parts::of("gAAAAA").is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Parts {
    raw: Vec<u8>,
}

impl Parts {
    /// Returns the parts of a token, if it is one.
    pub fn of(token: &str) -> Option<Self> {
        let mut raw = Vec::new();
        base64::decode(token.as_bytes(), &mut raw)?;
        is_formed(&raw).then_some(Parts { raw })
    }

    /// Returns the token that has these parts.
    pub fn join(nonce: &[u8; NONCE], data: &[u8], tag: &[u8; TAG]) -> String {
        let mut text = Vec::new();
        base64::encode(&[&[VERSION], &nonce[..], data, tag].concat(), &mut text);
        String::from_utf8(text).expect("base64 is text")
    }

    /// The time, eight bytes, big-endian, and the initialisation vector.
    pub fn nonce(&self) -> &[u8; NONCE] {
        self.raw[1..].first_chunk().expect("a token's length was checked")
    }

    /// The encrypted value, in whole blocks of 16 bytes.
    pub fn data(&self) -> &[u8] {
        &self.raw[HEAD..self.raw.len() - TAG]
    }

    /// The tag.
    pub fn tag(&self) -> &[u8; TAG] {
        self.raw.last_chunk().expect("a token's length was checked")
    }

    /// Checks the time of a token that was found to be right.
    ///
    /// # Errors
    /// [`Error::Parameter`] when it is outside of the limits.
    pub fn check_age(&self, age: Option<Age>) -> Result<(), Error> {
        let time = self.nonce().first_chunk().copied().unwrap_or_default();
        check_age(u64::from_be_bytes(time), age)
    }
}

/// Appends the padding of a value: 1 to 16 bytes that tell their number (PKCS #7).
pub fn pad(value: &mut Vec<u8>) {
    let padding = 16 - value.len() % 16;
    value.resize(value.len() + padding, padding as u8);
}

/// Returns the value before its padding. The token's tag was right, so what is wrong here tells nothing to those who lack the key.
///
/// # Errors
/// [`Error::Padding`] when who has the key made it wrong.
pub fn unpadded(plain: &[u8]) -> Result<&[u8], Error> {
    let padding = usize::from(plain.last().copied().unwrap_or_default());
    let len =
        plain.len().checked_sub(padding).filter(|_| (1..=16).contains(&padding)).ok_or(Error::Padding)?;
    let (value, padded) = plain.split_at(len);
    if padded.iter().all(|byte| usize::from(*byte) == padding) { Ok(value) } else { Err(Error::Padding) }
}
