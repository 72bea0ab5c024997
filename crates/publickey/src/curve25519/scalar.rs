//! Numbers modulo L = 2^252 + 27742317777372353535851937790883648493, the order of the base point, in constant time.
//!
//! Ref. RFC 8032 §5.1; Menezes, van Oorschot and Vanstone, "Handbook of Applied Cryptography", algorithm 14.42 (Barrett).

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::field::{bytes, mask, words};

/// L, least word first.
const L: [u64; 4] = [0x5812_631a_5cf5_d3ed, 0x14de_f9de_a2f7_9cd6, 0, 0x1000_0000_0000_0000];

/// 2^512 / L, rounded down.
const QUOTIENT: [u64; 5] = quotient();

/// The windows of a scalar below 2^255.
pub(crate) const WINDOWS: usize = 52;
/// The bits of a window.
pub(crate) const WINDOW: usize = 5;

/// A number below 2^256, in most places below L.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Scalar([u64; 4]);

/// The digits of a scalar to base 32, from -16 to 16.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Digits(pub(crate) [i8; WINDOWS]);

impl Scalar {
    pub(crate) const ZERO: Scalar = Scalar([0; 4]);

    /// Takes the bytes as they are, without a reduction.
    #[inline]
    pub(crate) fn unreduced(bytes: &[u8; 32]) -> Scalar {
        Scalar(words(bytes))
    }

    /// Takes a number that has to be below L; nothing if it is not. The answer is public.
    #[inline]
    pub(crate) fn canonical(bytes: &[u8; 32]) -> Option<Scalar> {
        let scalar = Scalar(words(bytes));
        (subtract_words(scalar.0, L).1 == 1).then_some(scalar)
    }

    /// Reduces 64 bytes modulo L.
    #[inline]
    pub(crate) fn reduce(wide: &[u8; 64]) -> Scalar {
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(wide.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let scalar = Scalar(barrett(&words));
        words.zeroize();
        scalar
    }

    /// Returns `self` b + c modulo L.
    #[inline]
    pub(crate) fn multiply_add(&self, b: &Scalar, c: &Scalar) -> Scalar {
        let mut product = multiply::<4, 4, 8>(&self.0, &b.0);
        let mut carry = 0;
        for i in 0..8 {
            let addend = if i < 4 { c.0[i] } else { 0 };
            (product[i], carry) = add(product[i], addend, carry);
        }
        let sum = Scalar(barrett(&product));
        product.zeroize();
        sum
    }

    /// The number's words, least first.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn words(&self) -> &[u64; 4] {
        &self.0
    }

    /// The number in 32 bytes, least first.
    #[inline]
    pub(crate) fn to_bytes(&self) -> [u8; 32] {
        bytes(&self.0)
    }

    /// Returns the digits of a number below 2^255, least first. The time does not depend on it.
    #[inline]
    pub(crate) fn digits(&self) -> Digits {
        let mut digits = [0; WINDOWS];
        let mut carry = 0;
        for i in 0..WINDOWS {
            let (word, shift) = (i * WINDOW / 64, i * WINDOW % 64);
            let mut bits = self.0[word] >> shift;
            if shift > 64 - WINDOW && word < 3 {
                bits |= self.0[word + 1] << (64 - shift);
            }
            // A digit from 16 on is 32 less, and the next is one more.
            let digit = (bits & 31) as i8 + carry;
            carry = (digit + 16) >> 5;
            digits[i] = digit - (carry << 5);
        }
        Digits(digits)
    }

    /// Returns the scalar's non-adjacent form of a width, least digit first: digits are zero or odd, below 2^(width - 1),
    /// and of `width` digits that follow each other at most one is not zero. The time depends on the scalar, which is
    /// below 2^253.
    pub(crate) fn non_adjacent_form_vartime(&self, width: usize) -> [i8; 256] {
        let mut form = [0; 256];
        let [w0, w1, w2, w3] = self.0;
        let words = [w0, w1, w2, w3, 0];
        let (mut at, mut carry) = (0, 0);
        while at < 256 {
            let (word, shift) = (at / 64, at % 64);
            let pair = u128::from(words[word]) | u128::from(words[word + 1]) << 64;
            let window = carry + ((pair >> shift) as u64 & ((1 << width) - 1));
            if window & 1 == 0 {
                at += 1;
                continue;
            }
            carry = window >> (width - 1) & 1;
            form[at] = (window as i64 - ((carry as i64) << width)) as i8;
            at += width;
        }
        form
    }
}

/// Sets the bits that RFC 7748 §5 and RFC 8032 §5.1.5 set, and clears those that they clear.
#[inline]
pub(crate) fn clamp(bytes: &mut [u8; 32]) {
    bytes[0] &= 248;
    bytes[31] &= 127;
    bytes[31] |= 64;
}

/// A number of 512 bits modulo L.
#[inline]
fn barrett(x: &[u64; 8]) -> [u64; 4] {
    // Algorithm 14.42 with b = 2^64 and k = 4. Its quotient is at most two too small.
    let high: [u64; 5] = [x[3], x[4], x[5], x[6], x[7]];
    let estimate = multiply::<5, 5, 10>(&high, &QUOTIENT);
    let estimate: [u64; 5] = [estimate[5], estimate[6], estimate[7], estimate[8], estimate[9]];
    let product = multiply::<5, 4, 9>(&estimate, &L);
    let mut rest = [0; 5];
    let mut borrow = 0;
    for i in 0..5 {
        (rest[i], borrow) = subtract(x[i], product[i], borrow);
    }
    // The rest is below 3 L, and therefore below 2^256.
    let mut rest: [u64; 4] = [rest[0], rest[1], rest[2], rest[3]];
    for _ in 0..2 {
        let (less, borrow) = subtract_words(rest, L);
        let keep = mask(borrow);
        for i in 0..4 {
            rest[i] = less[i] ^ keep & (less[i] ^ rest[i]);
        }
    }
    rest
}

/// The product of two numbers. `N` is `A + B`.
#[inline(always)]
fn multiply<const A: usize, const B: usize, const N: usize>(a: &[u64; A], b: &[u64; B]) -> [u64; N] {
    let mut product = [0; N];
    for i in 0..A {
        let mut carry = 0;
        for j in 0..B {
            let sum = u128::from(a[i]) * u128::from(b[j]) + u128::from(product[i + j]) + u128::from(carry);
            product[i + j] = sum as u64;
            carry = (sum >> 64) as u64;
        }
        product[i + B] = carry;
    }
    product
}

/// a - b, and 1 if a is less than b.
#[inline(always)]
const fn subtract_words(a: [u64; 4], b: [u64; 4]) -> ([u64; 4], u64) {
    let (d0, borrow) = subtract(a[0], b[0], 0);
    let (d1, borrow) = subtract(a[1], b[1], borrow);
    let (d2, borrow) = subtract(a[2], b[2], borrow);
    let (d3, borrow) = subtract(a[3], b[3], borrow);
    ([d0, d1, d2, d3], borrow)
}

#[inline(always)]
const fn subtract(a: u64, b: u64, borrow: u64) -> (u64, u64) {
    let difference = (a as u128).wrapping_sub(b as u128 + borrow as u128);
    (difference as u64, (difference >> 64) as u64 & 1)
}

#[inline(always)]
const fn add(a: u64, b: u64, carry: u64) -> (u64, u64) {
    let sum = a as u128 + b as u128 + carry as u128;
    (sum as u64, (sum >> 64) as u64)
}

/// Divides 2^512 by L, a bit at a time.
const fn quotient() -> [u64; 5] {
    let mut quotient = [0; 5];
    // 2^512 has one bit, with which the division begins. The rest stays below L, and twice that below 2^254.
    let mut rest = [0; 4];
    let mut bit = 512;
    loop {
        let in_bit = (bit == 512) as u64;
        rest = [
            rest[0] << 1 | in_bit,
            rest[1] << 1 | rest[0] >> 63,
            rest[2] << 1 | rest[1] >> 63,
            rest[3] << 1 | rest[2] >> 63,
        ];
        let (less, borrow) = subtract_words(rest, L);
        if borrow == 0 {
            rest = less;
            quotient[bit / 64] |= 1 << (bit % 64);
        }
        if bit == 0 {
            return quotient;
        }
        bit -= 1;
    }
}

#[cfg(test)]
mod tests {
    use millstream_testkit::Random;

    use super::*;

    /// x modulo L by doubling, a bit at a time.
    fn slow(x: &[u8]) -> [u64; 4] {
        let mut rest = [0u64; 4];
        for bit in (0..8 * x.len()).rev() {
            let in_bit = u64::from(x[bit / 8] >> (bit % 8) & 1);
            for i in (0..4).rev() {
                rest[i] = rest[i] << 1 | if i == 0 { in_bit } else { rest[i - 1] >> 63 };
            }
            let (less, borrow) = subtract_words(rest, L);
            if borrow == 0 {
                rest = less;
            }
        }
        rest
    }

    #[test]
    fn miri_wide_numbers_are_reduced() {
        let mut random = Random::new(1);
        let mut wide: Vec<[u8; 64]> =
            (0..if cfg!(miri) { 4 } else { 1000 }).map(|_| random.array()).collect();
        wide.extend([[0xff; 64], [0; 64]]);
        // Multiples of L, and their neighbours.
        for factor in [1u64, 2, 3, 0xffff_ffff_ffff_ffff] {
            let multiple = multiply::<4, 1, 5>(&L, &[factor]);
            for neighbour in -1i64..=1 {
                let mut bytes = [0; 64];
                let low = multiple[0].wrapping_add_signed(neighbour);
                bytes[..8].copy_from_slice(&low.to_le_bytes());
                for i in 1..5 {
                    bytes[8 * i..8 * i + 8].copy_from_slice(&multiple[i].to_le_bytes());
                }
                wide.push(bytes);
            }
        }
        for wide in wide {
            assert_eq!(Scalar::reduce(&wide).0, slow(&wide), "{wide:?}");
        }
    }

    #[test]
    fn miri_products_and_sums() {
        let mut random = Random::new(2);
        for _ in 0..if cfg!(miri) { 2 } else { 500 } {
            let [a, b, c] = [0; 3].map(|_| Scalar::unreduced(&random.array()));
            let mut product = multiply::<4, 4, 8>(&a.0, &b.0);
            let mut carry = 0;
            for i in 0..8 {
                (product[i], carry) = add(product[i], c.0.get(i).copied().unwrap_or(0), carry);
            }
            let bytes: Vec<u8> = product.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(a.multiply_add(&b, &c).0, slow(&bytes));
        }
    }

    #[test]
    fn miri_digits_give_the_scalar() {
        let mut random = Random::new(3);
        let mut scalars: Vec<[u8; 32]> =
            (0..if cfg!(miri) { 2 } else { 200 }).map(|_| random.array()).collect();
        scalars.extend([[0xff; 32], [0; 32], [0x10; 32], [0x84; 32]]);
        for mut bytes in scalars {
            bytes[31] &= 0x7f;
            let scalar = Scalar::unreduced(&bytes);
            // Horner's rule modulo 2^256.
            let evaluate = |digits: &[i8], bits: usize| {
                digits.iter().rev().fold([0u64; 4], |sum, &digit| {
                    let mut sum = multiply::<4, 1, 5>(&sum, &[1 << bits]);
                    let extension = if digit < 0 { u64::MAX } else { 0 };
                    let mut carry = 0;
                    for i in 0..4 {
                        let word = if i == 0 { i64::from(digit) as u64 } else { extension };
                        (sum[i], carry) = add(sum[i], word, carry);
                    }
                    [sum[0], sum[1], sum[2], sum[3]]
                })
            };
            let digits = scalar.digits();
            assert!(digits.0.iter().all(|digit| (-16..=16).contains(digit)));
            assert_eq!(evaluate(&digits.0, WINDOW), scalar.0);
            bytes[31] &= 0x1f;
            let scalar = Scalar::unreduced(&bytes);
            for width in [5, 8] {
                let form = scalar.non_adjacent_form_vartime(width);
                assert!(form.iter().all(|digit| *digit == 0 || digit & 1 == 1));
                assert_eq!(evaluate(&form, 1), scalar.0, "{width}");
            }
        }
    }

    #[test]
    fn only_numbers_below_the_order_are_canonical() {
        let mut order = bytes(&L);
        assert!(Scalar::canonical(&order).is_none());
        order[0] -= 1;
        assert!(Scalar::canonical(&order).is_some());
        assert!(Scalar::canonical(&[0xff; 32]).is_none());
        assert!(Scalar::canonical(&[0; 32]).is_some());
    }
}
