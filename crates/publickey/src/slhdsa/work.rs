//! The operations that run side by side: what is known of each, and where its parts go.
//!
//! Ref. FIPS 205 §9.2 and §9.3.

use super::group::Seed;
use super::message::Choice;
use super::secret::Secret;
use super::set::Shape;

/// A message to sign.
pub(super) struct Sign<'a> {
    pub(super) seed: &'a Seed,
    pub(super) secret: &'a Secret,
    /// The uppermost tree, level by level.
    pub(super) uppermost: &'a [u8],
    pub(super) choice: &'a Choice,
    /// The signature, of which the random bytes at the front are there.
    pub(super) signature: &'a mut [u8],
}

impl Sign<'_> {
    /// Returns the place of a layer's one-time signature.
    pub(super) fn one_time(&mut self, shape: &Shape, layer: usize) -> &mut [u8] {
        let at = shape.n + shape.fors_len() + layer * shape.layer_len();
        &mut self.signature[at..at + shape.chains() * shape.n]
    }

    /// Returns the place of a node of a layer's path.
    pub(super) fn neighbour(&mut self, shape: &Shape, layer: usize, height: usize) -> &mut [u8] {
        let first = shape.n + shape.fors_len() + layer * shape.layer_len();
        let at = first + (shape.chains() + height) * shape.n;
        &mut self.signature[at..at + shape.n]
    }

    /// Writes the path of the uppermost layer.
    pub(super) fn keep_path(&mut self, shape: &Shape, leaf: usize) {
        let mut level = self.uppermost;
        for height in 0..shape.height {
            let (now, above) = level.split_at(shape.n << (shape.height - height));
            let node = (leaf >> height) ^ 1;
            let out = self.neighbour(shape, shape.layers - 1, height);
            // A leaf's number is public.
            out.copy_from_slice(&now[shape.n * node..shape.n * (node + 1)]);
            level = above;
        }
    }
}

/// A signature to verify.
pub(super) struct Verify<'a> {
    pub(super) seed: &'a Seed,
    /// The root in the public key.
    pub(super) root: &'a [u8],
    pub(super) choice: &'a Choice,
    /// The signature, as long as it has to be.
    pub(super) signature: &'a [u8],
    pub(super) valid: bool,
}
