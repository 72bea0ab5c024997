//! The base point times a secret scalar, one at a time.
//!
//! A scalar has 52 signed digits to base 32, and the table has every multiple for each, so the product is 52 additions and
//! no doubling. All 16 entries of a digit are read under masks, whatever the digit is.
//!
//! Ref. Bernstein, Duif, Lange, Schwabe and Yang, "High-speed high-security signatures" (2011), §4, for signed digits.

use subtle::BlackBox;

use super::edwards::{Extended, Niels};
use super::field::{Fe, mask};
use super::scalar::Scalar;
use super::tables::{COMB, ENTRIES, WORDS};

/// Returns s B for a scalar below 2^255, in constant time.
#[inline(always)]
pub(crate) fn multiply(scalar: &Scalar) -> Extended {
    let digits = scalar.digits();
    let mut sum = Extended::IDENTITY;
    for (words, &digit) in COMB.0.iter().zip(&digits.0) {
        sum = sum.add_niels(&select(words, digit));
    }
    sum
}

/// The multiple of a digit from -16 to 16.
#[inline(always)]
fn select(words: &[[u64; ENTRIES]; WORDS], digit: i8) -> Niels {
    let negative = digit >> 7;
    let magnitude = ((digit ^ negative) - negative) as u64;
    let mut masks = [0; ENTRIES];
    for entry in 0..ENTRIES {
        // The difference is below 2^5, and only zero has a sign after one is taken off.
        let equal = (magnitude ^ (entry as u64 + 1)).wrapping_sub(1) >> 63;
        masks[entry] = 0u64.wrapping_sub(equal);
    }
    // The compiler would make a branch for each mask if it knew where they come from.
    let masks = BlackBox::new(masks).get();
    let mut chosen = [0; WORDS];
    for word in 0..WORDS {
        for entry in 0..ENTRIES {
            chosen[word] |= masks[entry] & words[word][entry];
        }
    }
    // Zero chooses nothing, and the neutral point is (1, 1, 0).
    let zero = magnitude.wrapping_sub(1) >> 63;
    let number = |at: usize, low: u64| {
        Fe::from_words([chosen[at] | low, chosen[at + 1], chosen[at + 2], chosen[at + 3]])
    };
    let (mut plus, mut minus, xy2d) = (number(0, zero), number(4, zero), number(8, 0));
    let negative = mask((negative & 1) as u64);
    Fe::swap(negative, &mut plus, &mut minus);
    Niels { plus, minus, xy2d: Fe::select(negative, xy2d, xy2d.neg()) }
}
