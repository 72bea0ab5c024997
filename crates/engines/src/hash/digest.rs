//! Digests and tags.

use std::fmt;
use std::ops::Deref;

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::chain::{Chaining, wipe};
use super::family::Hash;

/// The longest digest of any hash here, in bytes.
pub const MAX_DIGEST: usize = 64;

/// A digest, or the tag of an HMAC. Digests are compared in constant time.
#[derive(Clone, Copy)]
pub struct Digest {
    pub(super) bytes: [u8; MAX_DIGEST],
    pub(super) len: u8,
}

impl Digest {
    /// An empty digest, before the hash is computed.
    pub const EMPTY: Digest = Digest { bytes: [0; MAX_DIGEST], len: 0 };

    /// Takes the first bytes of a chaining value, as many as the hash gives out.
    #[inline(always)]
    pub(crate) fn new<S: Chaining>(hash: Hash, state: &S) -> Self {
        let mut bytes = [0; MAX_DIGEST];
        state.write(&mut bytes[..S::OUTPUT]);
        // The bytes that are cut off must not stay: of an HMAC they reveal more than its tag
        // does.
        bytes[hash.output_len()..S::OUTPUT].fill(0);
        Digest { bytes, len: hash.output_len() as u8 }
    }

    /// Makes this a digest of `len` bytes, and returns the room for it, which may be used to its end.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn room(&mut self, len: usize) -> &mut [u8; MAX_DIGEST] {
        self.len = len as u8;
        &mut self.bytes
    }
}

impl Deref for Digest {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl AsRef<[u8]> for Digest {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}

impl Eq for Digest {}

impl Zeroize for Digest {
    fn zeroize(&mut self) {
        wipe(std::slice::from_mut(&mut self.bytes));
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
