//! One message to sign in the lanes.
//!
//! Ref. RFC 2104 §2 and §4.

use super::key::{HmacKey, check_length, compare};
use crate::Error;
use crate::hash::Digest;

/// A message to sign, and its tag after that.
#[derive(Debug)]
pub struct HmacJob<'a> {
    /// The key, of the same hash as the [`HmacLanes`](super::HmacLanes).
    pub key: &'a HmacKey,
    /// The message.
    pub data: &'a [u8],
    /// The tag, empty before. A protocol that truncates takes its first bytes.
    pub tag: Digest,
}

impl<'a> HmacJob<'a> {
    /// A message not signed yet.
    #[inline(always)]
    pub const fn new(key: &'a HmacKey, data: &'a [u8]) -> Self {
        HmacJob { key, data, tag: Digest::EMPTY }
    }

    /// Compares the computed tag, or as much of it as is given, with `tag` in constant time.
    ///
    /// # Errors
    /// The errors of [`HmacKey::verify`].
    pub fn verify(&self, tag: &[u8]) -> Result<(), Error> {
        check_length(self.key.hash, tag)?;
        if self.tag.len() < tag.len() {
            return Err(Error::Authentication);
        }
        compare(&self.tag, tag)
    }
}
