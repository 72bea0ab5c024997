//! A scalar as signed digits.
//!
//! Ref. A. D. Booth, "A signed binary multiplication technique", 1951, for windows of several bits.

use core::hint::black_box;

use super::barrier::hidden;

/// A digit from -2^(w-1) to 2^(w-1).
#[derive(Clone, Copy)]
pub(crate) struct Digit {
    /// The absolute value.
    pub(crate) size: u64,
    /// Ones if the digit is negative.
    pub(crate) negative: u64,
}

/// Returns the number of digits of `window` bits of a scalar of `bits` bits.
pub(crate) const fn count(bits: usize, window: usize) -> usize {
    bits / window + 1
}

/// Returns digit `index`, least first. The sum of the digits times 2^(`window` * `index`) is the scalar. The time depends
/// on `index` and `window` alone.
#[inline(always)]
pub(crate) fn digit(scalar: &[u64], window: usize, index: usize) -> Digit {
    // The bits of the digit with the highest bit of the one before.
    let bits = if index == 0 { scalar[0] << 1 } else { bits_from(scalar, index * window - 1) };
    let bits = bits & ((2 << window) - 1);
    let negative = 0u64.wrapping_sub(bits >> window);
    // The compiler must not trace how the size came about.
    let negative = hidden(negative);
    let distance = (bits & !negative) | (((2 << window) - 1 - bits) & negative);
    Digit { size: hidden((distance + 1) >> 1), negative }
}

/// Returns bits of the scalar from bit `from` on, at least 32 where there are so many.
#[inline(always)]
fn bits_from(scalar: &[u64], from: usize) -> u64 {
    let (limb, shift) = (from / 64, from % 64);
    let low = scalar.get(limb).map_or(0, |limb| limb >> shift);
    let high = scalar.get(limb + 1).map_or(0, |limb| limb << 1 << (63 - shift));
    low | high
}

/// Returns a mask for each number from one on, which is all ones for the number that is `size`.
///
/// The compiler must not know that at most one of them is: it would make branches of what they select.
#[inline(always)]
pub(crate) fn masks<const COUNT: usize>(size: u64) -> [u64; COUNT] {
    let mut masks = [0; COUNT];
    for i in 0..COUNT {
        let different = size ^ (i as u64 + 1);
        masks[i] = ((different.wrapping_sub(1) & !different) as i64 >> 63) as u64;
    }
    black_box(masks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_make_the_scalar() {
        let mut random = millstream_testkit::Random::new(3);
        for case in 0..200 {
            let scalar = match case {
                0 => u64::MAX,
                1 => 0,
                _ => random.next_u64(),
            };
            for window in [4, 5, 6, 7] {
                let mut sum = 0i128;
                for index in (0..count(64, window)).rev() {
                    let digit = digit(&[scalar], window, index);
                    assert!(digit.size <= 1 << (window - 1));
                    let value = if digit.negative != 0 { -(digit.size as i128) } else { digit.size as i128 };
                    sum = (sum << window) + value;
                }
                assert_eq!(sum, i128::from(scalar), "{window}");
            }
        }
    }
}
