//! The operands and results of kernels, as limbs of a length that serves every curve.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// Limbs of the longest number.
pub(crate) const LIMBS: usize = 9;

/// A public number as limbs, least first, with zeros above those of its curve.
pub(crate) type Words = [u64; LIMBS];

/// A secret number.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Secret(pub(crate) Words);

/// A point's coordinates as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) x: Words,
    pub(crate) y: Words,
}

/// A signature's numbers. One of them may be zero, which no signature has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) r: Words,
    pub(crate) s: Words,
}

/// Returns the limbs of a curve's number.
#[inline(always)]
pub(crate) fn narrow<const N: usize>(words: &Words) -> &[u64; N] {
    words.first_chunk().expect("no curve has more limbs")
}

/// Adds the limbs that a curve's numbers don't have.
#[inline(always)]
pub(crate) const fn widened<const N: usize>(limbs: &[u64; N]) -> Words {
    let (mut words, mut i) = ([0; LIMBS], 0);
    while i < N {
        words[i] = limbs[i];
        i += 1;
    }
    words
}
