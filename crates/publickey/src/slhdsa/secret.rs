//! The secret part of a key.

use zeroize::Zeroize;

use super::group::Node;
use super::set::MAX_N;

/// The secret part of a key, which is cleared when it is dropped.
#[derive(Clone)]
pub(super) struct Secret {
    /// The standard's SK.seed, from which come the secrets of all leaves.
    seed: Node,
    /// The standard's SK.prf, from which come the random bytes of signatures.
    message_key: Node,
    n: usize,
}

impl Secret {
    /// Takes both from the front of a key's seeds or encoding.
    pub(super) fn new(n: usize, bytes: &[u8]) -> Self {
        let mut secret = Secret { seed: [0; MAX_N], message_key: [0; MAX_N], n };
        secret.seed[..n].copy_from_slice(&bytes[..n]);
        secret.message_key[..n].copy_from_slice(&bytes[n..2 * n]);
        secret
    }

    pub(super) fn seed(&self) -> &[u8] {
        &self.seed[..self.n]
    }

    pub(super) fn message_key(&self) -> &[u8] {
        &self.message_key[..self.n]
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.seed.zeroize();
        self.message_key.zeroize();
    }
}
