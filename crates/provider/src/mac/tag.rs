//! The value of a MAC.

use std::ops::Deref;

/// A MAC of up to 64 bytes.
#[derive(Clone)]
pub struct Tag {
    bytes: [u8; 64],
    len: usize,
}

impl Tag {
    pub fn new(tag: &[u8]) -> Self {
        let mut bytes = [0; 64];
        bytes[..tag.len()].copy_from_slice(tag);
        Tag { bytes, len: tag.len() }
    }
}

impl Deref for Tag {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
