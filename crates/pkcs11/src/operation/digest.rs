//! Digests in a session.
//!
//! Ref. PKCS #11 v3.2 §5.12.

use millstream::Features;
use millstream::hash::{Hash, Hasher};

use crate::abi::Mechanism;
use crate::mechanism::{self, Way};
use crate::refusal::{Outcome, Refusal, refuse};

use cryptoki_sys::*;

/// A digest under way.
#[derive(Clone)]
pub struct Digesting {
    hasher: Hasher,
    /// True once a part was added: the digest can't be of a single part then.
    pub in_parts: bool,
}

impl Digesting {
    /// Begins a digest.
    ///
    /// # Errors
    /// `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`.
    pub fn begin(features: Features, mechanism: &Mechanism<'_>) -> Outcome<Self> {
        let row = mechanism::find(mechanism.kind, CKF_DIGEST)?;
        let Way::Digest(hash) = row.way else { return refuse(CKR_MECHANISM_INVALID) };
        mechanism.bare()?;
        Ok(Digesting { hasher: Hasher::new(features, hash), in_parts: false })
    }

    /// Returns the length of the digest.
    pub fn len(&self) -> usize {
        self.hasher.hash().output_len()
    }

    /// Adds a part.
    pub fn update(&mut self, part: &[u8]) {
        self.hasher.update(part);
        self.in_parts = true;
    }

    /// Returns the digest.
    pub fn finish(self) -> Vec<u8> {
        self.hasher.finish().to_vec()
    }

    /// Returns the state as a program may keep it: a letter that tells it from others', whether parts were added, and the mid-state.
    pub fn save(&self) -> Vec<u8> {
        let mut state = vec![b'D', u8::from(self.in_parts), self.hasher.hash() as u8];
        state.extend(self.hasher.export().iter());
        state
    }

    /// Takes a state up.
    ///
    /// # Errors
    /// `CKR_SAVED_STATE_INVALID`.
    pub fn resume(features: Features, state: &[u8]) -> Outcome<Self> {
        let [b'D', in_parts @ (0 | 1), hash, saved @ ..] = state else {
            return refuse(CKR_SAVED_STATE_INVALID);
        };
        let hash = Hash::ALL.get(usize::from(*hash)).ok_or(Refusal(CKR_SAVED_STATE_INVALID))?;
        Ok(Digesting { hasher: Hasher::import(features, *hash, saved)?, in_parts: *in_parts == 1 })
    }
}
