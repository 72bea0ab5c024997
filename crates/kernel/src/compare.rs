//! Comparison of secrets in constant time.

use subtle::{Choice, ConstantTimeEq};

/// Returns true if `whole` begins with `part`, and false if it is shorter. The time depends on the
/// lengths alone.
///
/// A caller passes the computed tag as `whole` and the given tag, which may be truncated, as `part`.
///
/// ```
/// use millstream_kernel::compare::begins;
///
/// assert!(bool::from(begins(b"a tag of 16 bytes", b"a tag")));
/// assert!(!bool::from(begins(b"a tag of 16 bytes", b"a tap")));
/// assert!(!bool::from(begins(b"a tag", b"a tag of 16 bytes")));
/// ```
#[inline(always)]
pub fn begins(whole: &[u8], part: &[u8]) -> Choice {
    let Some(whole) = whole.get(..part.len()) else { return Choice::from(0) };
    let ((words, bytes), (part_words, part_bytes)) = (whole.as_chunks(), part.as_chunks());
    let mut differing = 0;
    for (a, b) in words.iter().zip(part_words) {
        differing |= u64::from_ne_bytes(*a) ^ u64::from_ne_bytes(*b);
    }
    for (a, b) in bytes.iter().zip(part_bytes) {
        differing |= u64::from(a ^ b);
    }
    // The words are collected first and hidden from the compiler once: hiding every byte takes as long
    // as the MAC of a short object.
    differing.ct_eq(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn miri_every_bit_counts() {
        // Two words and a half are all there is to see; Miri takes a minute and a half for the rest.
        let whole: Vec<u8> = (7..if cfg!(miri) { 27 } else { 77 }).collect();
        for len in 0..=whole.len() {
            let mut part = whole[..len].to_vec();
            assert!(bool::from(begins(&whole, &part)), "{len}");
            assert_eq!(bool::from(begins(&part, &whole)), len == whole.len(), "{len}");
            for bit in 0..8 * len {
                part[bit / 8] ^= 1 << (bit % 8);
                assert!(!bool::from(begins(&whole, &part)), "{len} {bit}");
                part[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}
