//! The functions that a kernel may have for a Feistel network whose function is AES, FF1, on many values side by side.
//!
//! Ref. NIST SP 800-38G §5.1 step 6.

use super::schedule::{Block, Schedule};

/// The most values side by side.
pub(crate) const VALUES: usize = 32;

/// One integer of each value.
pub(crate) type Integers = [u64; VALUES];

/// The places of the digits of both integers.
pub(crate) type BothPlaces = [Places; 2];

/// The rounds of values that are two integers below 2^32 each.
pub(crate) struct FeistelRounds<'a> {
    /// The number of rounds.
    pub(crate) count: u8,
    /// The bits by which a round's number lies above the integer in the block that is encrypted.
    pub(crate) shift: u32,
    /// The moduli of even and of odd rounds, each with floor((2^64 - 1) / modulus).
    pub(crate) moduli: [(u32, u64); 2],
    /// The last block of each value, without the number and the integer. The blocks after those of the values are not used.
    pub(crate) before: &'a [Block; VALUES],
    /// The number of values.
    pub(crate) values: usize,
    /// True if the rounds are undone.
    pub(crate) decrypt: bool,
}

/// The most digits of an integer that a kernel reads and writes.
pub(crate) const DIGITS: usize = 8;

/// The places of up to [`DIGITS`] digits, the most significant first, in an integer below 2^32.
pub(crate) struct Places {
    /// The number of digits.
    pub(crate) len: usize,
    pub(crate) radix: u32,
    /// The radix to the power that belongs to each place. There is no digit where it is zero.
    pub(crate) weights: [u64; DIGITS],
    /// ceil(2^64 / weight) for weights above 1. The product with an integer below 2^32 is the exact quotient, 2^64 times as large.
    pub(crate) reciprocals: [u64; DIGITS],
}

impl Places {
    /// Returns nothing for more digits than a kernel takes. The radix to the power of `len` is below 2^32.
    pub(crate) fn new(radix: u32, len: usize) -> Option<Self> {
        let (mut weights, mut reciprocals) = ([0; DIGITS], [0; DIGITS]);
        let mut weight = 1;
        for place in (0..len).rev() {
            *weights.get_mut(place)? = weight;
            if weight > 1 {
                reciprocals[place] = u64::MAX / weight + 1;
            }
            weight *= u64::from(radix);
        }
        Some(Places { len, radix, weights, reciprocals })
    }
}

/// A value's digits: two bytes each, in the order of the processor's own numbers. A value without digits is passed over.
pub(crate) type Digits<'a> = &'a mut [[u8; 2]];

/// The functions of a kernel. The digits of each value are those of the first integer, and then those of the second.
#[derive(Clone, Copy)]
pub(crate) struct Feistel {
    /// Reads the two integers of each value.
    pub(crate) read: unsafe fn(&BothPlaces, &[Digits<'_>], &mut Integers, &mut Integers),
    /// Turns the two integers of each value into those that they are after the rounds.
    pub(crate) rounds: unsafe fn(&Schedule, &FeistelRounds<'_>, &mut Integers, &mut Integers),
    /// Writes the two integers of each value.
    pub(crate) write: unsafe fn(&BothPlaces, &Integers, &Integers, &mut [Digits<'_>]),
}
