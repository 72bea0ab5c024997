//! The constants of a modulus for kernels that multiply 52 bits at a time, and the change of radix.
//!
//! A kernel takes one of a few sizes, the smallest that has room for the modulus. Its R is 2^(52 limbs).

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::words;

/// Bits of a limb.
pub(crate) const RADIX: usize = 52;
/// The bits of a limb, set.
pub(crate) const LIMB: u64 = (1 << RADIX) - 1;

/// The constants, each in words of 64 bits.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Radix52<const W: usize> {
    /// With the modulus N and its negated inverse I modulo 2^52, this is (N I + 1) / 2^52. A multiple of the modulus that ends
    /// with 52 bits that are set is 2^52 times this number, less one.
    pub(super) scaled: [u64; W],
    /// R^2 for one number in a vector.
    pub(super) square_alone: [u64; W],
    /// R^2 for eight numbers in the lanes of vectors.
    pub(super) square_lanes: [u64; W],
}

impl<const W: usize> Radix52<W> {
    pub(super) const EMPTY: Self = Radix52 { scaled: [0; W], square_alone: [0; W], square_lanes: [0; W] };

    /// Computes the constants from a modulus, its negated inverse modulo 2^64, and a function that gives powers of two.
    pub(super) fn set(&mut self, modulus: &[u64], inverse: u64, power_of_two: impl Fn(usize, &mut [u64])) {
        let n = modulus.len();
        let inverse = inverse & LIMB;
        // One more than a number that ends with 52 set bits divides without a rest.
        let mut carry = 1;
        let mut below = 0;
        for i in 0..=n {
            let word = modulus.get(i).copied().unwrap_or(0);
            let low;
            (low, carry) = words::multiply_add(carry, word, inverse, 0);
            if i > 0 {
                self.scaled[i - 1] = below >> RADIX | low << (64 - RADIX);
            }
            below = low;
        }
        power_of_two(2 * RADIX * limbs_alone(n), &mut self.square_alone);
        power_of_two(2 * RADIX * limbs_lanes(n), &mut self.square_lanes);
    }
}

/// Limbs of a number in a vector, by the words of the modulus: room for 52 bits more than the modulus has, by which the kernel scales
/// it, and for two bits that it leaves unreduced.
pub(crate) fn limbs_alone(words: usize) -> usize {
    (64 * words + RADIX + 2).div_ceil(RADIX)
}

/// Limbs of a number in a lane, by the words of the modulus: a multiple of ten, with room for two bits that are left unreduced.
pub(crate) fn limbs_lanes(words: usize) -> usize {
    (64 * words + 2).div_ceil(RADIX).next_multiple_of(10)
}

/// Cuts words into limbs. Limbs beyond the number are zero.
#[inline(always)]
pub(crate) fn limb(words: &[u64], i: usize) -> u64 {
    let (word, shift) = (i * RADIX / 64, i * RADIX % 64);
    let low = words.get(word).map_or(0, |word| word >> shift);
    let high = words.get(word + 1).map_or(0, |word| word << 1 << (63 - shift));
    (low | high) & LIMB
}

/// Joins limbs to words.
pub(crate) fn join(limbs: impl Iterator<Item = u64>, words: &mut [u64]) {
    words.fill(0);
    for (i, limb) in limbs.enumerate() {
        let (word, shift) = (i * RADIX / 64, i * RADIX % 64);
        if let Some(word) = words.get_mut(word) {
            *word |= limb << shift;
        }
        if let Some(word) = words.get_mut(word + 1) {
            *word |= limb >> 1 >> (63 - shift);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radix_changes_both_ways() {
        let words: Vec<u64> = (1..=16u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let mut back = [0; 16];
        join((0..20).map(|i| limb(&words, i)), &mut back);
        assert_eq!(back[..], words);
    }

    #[test]
    fn sizes_are_those_of_the_kernels() {
        assert_eq!([8, 16, 24, 32, 48, 64].map(limbs_alone), [11, 21, 31, 41, 61, 80]);
        assert_eq!([8, 16, 24, 32, 48, 64].map(limbs_lanes), [10, 20, 30, 40, 60, 80]);
    }
}
