//! The secret part of a key.

use zeroize::Zeroize;

use super::poly::Poly;
use super::set::{SEED, Set};
use crate::lattice::wipe;

/// The secret part of a key, which is cleared when it is dropped.
#[derive(Clone)]
pub(super) struct Secret {
    /// The vectors s1, s2 and t0, transformed.
    pub(super) vectors: Box<[Poly]>,
    /// The standard's K, from which come the random bytes of signatures.
    pub(super) key: [u8; 32],
    /// The seed, if the key came from one.
    pub(super) seed: Option<[u8; SEED]>,
}

impl Secret {
    pub(super) fn empty(set: Set) -> Self {
        let vectors = vec![Poly::ZERO; set.columns() + 2 * set.rows()].into_boxed_slice();
        Secret { vectors, key: [0; 32], seed: None }
    }

    pub(super) fn s1(&self, set: Set) -> &[Poly] {
        &self.vectors[..set.columns()]
    }

    pub(super) fn s2(&self, set: Set) -> &[Poly] {
        &self.vectors[set.columns()..set.columns() + set.rows()]
    }

    pub(super) fn t0(&self, set: Set) -> &[Poly] {
        &self.vectors[set.columns() + set.rows()..]
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        wipe(&mut self.vectors, Poly::ZERO);
        self.key.zeroize();
        self.seed.zeroize();
    }
}
