//! The secret part of a key.

use zeroize::Zeroize;

use super::poly::Poly;
use super::set::{MAX_RANK, SEED};
use crate::lattice::wipe;

/// The secret part of a key, which is cleared when it is dropped.
pub(super) struct Secret {
    /// The vector s, transformed.
    pub(super) vector: [Poly; MAX_RANK],
    /// The standard's z, from which come the secrets of ciphertexts that are not the key's.
    pub(super) rejection: [u8; 32],
    /// The seed, if the key came from one.
    pub(super) seed: Option<[u8; SEED]>,
}

impl Drop for Secret {
    fn drop(&mut self) {
        wipe(&mut self.vector, Poly::ZERO);
        self.rejection.zeroize();
        self.seed.zeroize();
    }
}
