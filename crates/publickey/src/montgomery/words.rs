//! Addition, comparison, multiplication and division of numbers, and their big-endian encodings.
//!
//! A mask is a word whose bits are all equal: all set for true, all clear for false.

use std::hint::black_box;

/// Makes a mask of a bit. The compiler can't see that a mask has two values only, and so makes no branch of it.
#[inline(always)]
pub(crate) fn mask(bit: u64) -> u64 {
    black_box(0u64.wrapping_sub(bit))
}

/// Returns `a` where the mask is set, and `b` elsewhere.
#[inline(always)]
pub(crate) fn pick(mask: u64, a: u64, b: u64) -> u64 {
    b ^ (mask & (a ^ b))
}

/// Returns the mask of two words being equal.
#[inline(always)]
pub(crate) fn equal_word(a: u64, b: u64) -> u64 {
    let x = a ^ b;
    mask(((x | x.wrapping_neg()) >> 63) ^ 1)
}

/// Computes `a + b * c + d`, which can't overflow; returns the low word and the high one.
#[inline(always)]
pub(crate) fn multiply_add(a: u64, b: u64, c: u64, d: u64) -> (u64, u64) {
    let sum =
        u128::from(a).wrapping_add(u128::from(b).wrapping_mul(u128::from(c))).wrapping_add(u128::from(d));
    (sum as u64, (sum >> 64) as u64)
}

/// Reads a big-endian number; returns false when it does not fit. Only the first bytes, which must be zero for the number to
/// fit, influence the time.
pub(crate) fn read(bytes: &[u8], out: &mut [u64]) -> bool {
    let (first, chunks) = bytes.as_rchunks::<8>();
    let mut head = [0; 8];
    head[8 - first.len()..].copy_from_slice(first);
    out.fill(0);
    for (i, chunk) in chunks.iter().rev().chain([&head]).enumerate() {
        match out.get_mut(i) {
            Some(word) => *word = u64::from_be_bytes(*chunk),
            None if *chunk != [0; 8] => return false,
            None => {}
        }
    }
    true
}

/// Writes a number big-endian. The caller gives as many bytes as the number needs.
pub(crate) fn write(words: &[u64], out: &mut [u8]) {
    let mut words = words.iter().copied().chain(std::iter::repeat(0));
    let (first, chunks) = out.as_rchunks_mut::<8>();
    for (chunk, word) in chunks.iter_mut().rev().zip(&mut words) {
        *chunk = word.to_be_bytes();
    }
    let last = words.next().unwrap_or(0).to_be_bytes();
    let len = first.len();
    first.copy_from_slice(&last[8 - len..]);
}

/// The number of significant bits of a number that is public.
pub(crate) fn bits_vartime(words: &[u64]) -> usize {
    words.iter().rposition(|&word| word != 0).map_or(0, |i| 64 * (i + 1) - words[i].leading_zeros() as usize)
}

/// Returns the mask of the number being zero.
pub(crate) fn is_zero(words: &[u64]) -> u64 {
    equal_word(words.iter().fold(0, |all, word| all | word), 0)
}

/// Returns the mask of two numbers of equally many words being equal.
pub(crate) fn equal(a: &[u64], b: &[u64]) -> u64 {
    debug_assert_eq!(a.len(), b.len());
    equal_word(a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)), 0)
}

/// Returns the mask of `a` being less than `b`, which has as many words.
pub(crate) fn less(a: &[u64], b: &[u64]) -> u64 {
    debug_assert_eq!(a.len(), b.len());
    let mut borrow = false;
    for (a, b) in a.iter().zip(b) {
        borrow = a.with_borrow(*b, borrow).1;
    }
    mask(u64::from(borrow))
}

/// Adds `b` under the mask; returns the carry, 0 or 1.
pub(crate) fn add(a: &mut [u64], b: &[u64], under: u64) -> u64 {
    let mut carry = false;
    for (i, a) in a.iter_mut().enumerate() {
        (*a, carry) = a.with_carry(b.get(i).map_or(0, |b| b & under), carry);
    }
    u64::from(carry)
}

/// Subtracts `b` under the mask; returns the borrow, 0 or 1.
pub(crate) fn subtract(a: &mut [u64], b: &[u64], under: u64) -> u64 {
    let mut borrow = false;
    for (i, a) in a.iter_mut().enumerate() {
        (*a, borrow) = a.with_borrow(b.get(i).map_or(0, |b| b & under), borrow);
    }
    u64::from(borrow)
}

/// Doubles a number and adds a bit; returns the bit that falls out.
pub(crate) fn double(a: &mut [u64], mut bit: u64) -> u64 {
    for word in a {
        (*word, bit) = (*word << 1 | bit, *word >> 63);
    }
    bit
}

/// Halves a number under a bit above it, where the mask is set.
pub(crate) fn halve(a: &mut [u64], mut bit: u64, under: u64) {
    for word in a.iter_mut().rev() {
        let halved = *word >> 1 | bit << 63;
        bit = *word & 1;
        *word = pick(under, halved, *word);
    }
}

/// Exchanges two numbers where the mask is set.
pub(crate) fn exchange(a: &mut [u64], b: &mut [u64], under: u64) {
    for (a, b) in a.iter_mut().zip(b) {
        let difference = (*a ^ *b) & under;
        *a ^= difference;
        *b ^= difference;
    }
}

/// Multiplies two numbers; the product has as many words as both have.
pub(crate) fn multiply(a: &[u64], b: &[u64], out: &mut [u64]) {
    debug_assert_eq!(out.len(), a.len() + b.len());
    out.fill(0);
    for (i, &x) in a.iter().enumerate() {
        let mut carry = 0;
        for (sum, &y) in out[i..].iter_mut().zip(b) {
            (*sum, carry) = multiply_add(*sum, x, y, carry);
        }
        out[i + b.len()] = carry;
    }
}

/// Reduces a number modulo another, a bit at a time. The remainder has as many words as the modulus, which is not zero.
pub(crate) fn remainder(a: &[u64], modulus: &[u64], out: &mut [u64]) {
    debug_assert_eq!(out.len(), modulus.len());
    out.fill(0);
    for i in (0..64 * a.len()).rev() {
        shift_in(out, a[i / 64] >> (i % 64) & 1, modulus);
    }
}

/// Divides a number by another, which is not zero, in place; returns the mask of the remainder being zero. `rest` has as many words
/// as the divisor.
pub(crate) fn divide(a: &mut [u64], divisor: &[u64], rest: &mut [u64]) -> u64 {
    debug_assert_eq!(rest.len(), divisor.len());
    rest.fill(0);
    for _ in 0..64 * a.len() {
        let bit = a[a.len() - 1] >> 63;
        let fits = shift_in(rest, bit, divisor);
        double(a, fits & 1);
    }
    is_zero(rest)
}

/// Doubles a remainder, adds a bit, and reduces it; returns the mask of the modulus having been subtracted.
fn shift_in(rest: &mut [u64], bit: u64, modulus: &[u64]) -> u64 {
    let over = double(rest, bit);
    let fits = mask(over) | !less(rest, modulus);
    subtract(rest, modulus, fits);
    fits
}

/// The remainder of a number modulo a word that is public, by the high half of a product with its reciprocal.
pub(crate) fn remainder_small(a: &[u64], modulus: u32) -> u32 {
    let divisor = u128::from(modulus);
    // Modulo numbers below 2^32 two half-words fit a word. Division instructions take a time that depends on the operands,
    // so the quotient comes from a multiplication.
    let reciprocal = u64::MAX / u64::from(modulus);
    let mut rest = 0u64;
    for &word in a.iter().rev() {
        for half in [word >> 32, word & 0xffff_ffff] {
            let value = rest << 32 | half;
            let quotient = ((u128::from(value) * u128::from(reciprocal)) >> 64) as u64;
            rest = value.wrapping_sub(quotient.wrapping_mul(divisor as u64));
            // The estimate is at most one too small.
            let over = mask(u64::from(rest >= u64::from(modulus)));
            rest = rest.wrapping_sub(over & u64::from(modulus));
        }
    }
    rest as u32
}

/// Carries and borrows of one word.
trait Carry: Sized {
    fn with_carry(self, other: Self, carry: bool) -> (Self, bool);
    fn with_borrow(self, other: Self, borrow: bool) -> (Self, bool);
}

impl Carry for u64 {
    #[inline(always)]
    fn with_carry(self, other: Self, carry: bool) -> (Self, bool) {
        let (sum, first) = self.overflowing_add(other);
        let (sum, second) = sum.overflowing_add(u64::from(carry));
        (sum, first | second)
    }

    #[inline(always)]
    fn with_borrow(self, other: Self, borrow: bool) -> (Self, bool) {
        let (difference, first) = self.overflowing_sub(other);
        let (difference, second) = difference.overflowing_sub(u64::from(borrow));
        (difference, first | second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_testkit::Random;

    #[test]
    fn division_is_the_inverse_of_multiplication() {
        let mut random = Random::new(1);
        for len in [1, 2, 5, 16] {
            for _ in 0..20 {
                let mut word = || random.next_u64();
                let (a, mut b): (Vec<u64>, Vec<u64>) =
                    ((0..len).map(|_| word()).collect(), (0..len).map(|_| word()).collect());
                b[len - 1] |= 1;
                let mut rest = b.clone();
                halve(&mut rest, 0, u64::MAX);
                let mut sum = vec![0; 2 * len];
                multiply(&a, &b, &mut sum);
                assert_eq!(add(&mut sum, &rest, u64::MAX), 0);
                let mut found = vec![0; len];
                remainder(&sum, &b, &mut found);
                assert_eq!(found, rest);
                assert_eq!(divide(&mut sum, &b, &mut found), is_zero(&rest));
                assert_eq!((&sum[..len], &found), (&a[..], &rest));
                assert_eq!(is_zero(&sum[len..]), u64::MAX);
            }
        }
    }

    #[test]
    fn small_remainders_agree() {
        let mut random = Random::new(2);
        for modulus in [1u32, 2, 3, 5, 65_537, u32::MAX, 4_294_967_291] {
            for len in 1..5 {
                let a: Vec<u64> = (0..len).map(|_| random.next_u64()).collect();
                let mut found = [0];
                remainder(&a, &[u64::from(modulus)], &mut found);
                assert_eq!(u64::from(remainder_small(&a, modulus)), found[0]);
            }
        }
    }

    #[test]
    fn encodings_go_both_ways() {
        let bytes: Vec<u8> = (1..=21).collect();
        let mut words = [0; 3];
        assert!(read(&bytes, &mut words));
        let mut back = [0; 21];
        write(&words, &mut back);
        assert_eq!(back[..], bytes);
        assert!(!read(&bytes, &mut words[..2]));
        assert!(read(&[0; 40], &mut words));
        assert_eq!((is_zero(&words), bits_vartime(&words), bits_vartime(&[0, 5])), (u64::MAX, 0, 67));
    }
}
