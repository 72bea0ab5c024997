//! An odd modulus with its Montgomery constants, and multiplication modulo it on any processor.
//!
//! With `k` words in the modulus, R is 2^(64 k). The product of the operands `a` and `b` is `a b / R`.

use zeroize::{Zeroize, ZeroizeOnDrop};

#[cfg(target_arch = "x86_64")]
use super::radix52::Radix52;
use super::words;

/// An odd modulus of at most `W` words. Nothing but its length in words is taken to be public.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Modulus<const W: usize> {
    /// Words in use.
    len: usize,
    /// The inverse of the modulus, negated, modulo 2^64.
    inverse: u64,
    modulus: [u64; W],
    /// R^2.
    square: [u64; W],
    /// The constants of the kernels with limbs of 52 bits.
    #[cfg(target_arch = "x86_64")]
    pub(super) radix52: Radix52<W>,
}

impl<const W: usize> Modulus<W> {
    /// An empty modulus, to be set in its place.
    pub(crate) fn empty() -> Self {
        Modulus {
            len: 0,
            inverse: 0,
            modulus: [0; W],
            square: [0; W],
            #[cfg(target_arch = "x86_64")]
            radix52: Radix52::EMPTY,
        }
    }

    /// Takes an odd modulus of `modulus.len()` words, of which the topmost is not zero, and is used with `len` words.
    pub(crate) fn set(&mut self, modulus: &[u64], len: usize) {
        self.len = len;
        self.modulus.fill(0);
        self.modulus[..modulus.len()].copy_from_slice(modulus);
        self.inverse = negated_inverse(modulus[0]);
        self.set_square(modulus.len());
        #[cfg(target_arch = "x86_64")]
        {
            let mut constants = Radix52::EMPTY;
            constants.set(self.words(), self.inverse, |exponent, out| self.power_of_two(exponent, out));
            self.radix52.clone_from(&constants);
        }
    }

    /// The number of words in use.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The modulus.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[u64] {
        &self.modulus[..self.len]
    }

    /// The inverse of the modulus, negated, modulo 2^64.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn inverse(&self) -> u64 {
        self.inverse
    }

    /// Multiplies two numbers of which the product is below the modulus times R, and divides by R. `out` has as many words as
    /// the modulus and is wholly reduced.
    pub(crate) fn multiply(&self, a: &[u64], b: &[u64], out: &mut [u64]) {
        let n = self.len;
        let (modulus, a, b, out) = (&self.modulus[..n], &a[..n], &b[..n], &mut out[..n]);
        out.fill(0);
        let mut top = 0;
        for &digit in b {
            let (low, mut carry) = words::multiply_add(out[0], a[0], digit, 0);
            let quotient = low.wrapping_mul(self.inverse);
            let (_, mut reducing) = words::multiply_add(low, modulus[0], quotient, 0);
            for j in 1..n {
                let sum;
                (sum, carry) = words::multiply_add(out[j], a[j], digit, carry);
                (out[j - 1], reducing) = words::multiply_add(sum, modulus[j], quotient, reducing);
            }
            (out[n - 1], top) = words::multiply_add(carry, reducing, 1, top);
        }
        self.reduce_once(out, top);
    }

    /// Divides a number of twice as many words, which is below the modulus times R, by R.
    pub(crate) fn divide(&self, wide: &mut [u64], out: &mut [u64]) {
        let n = self.len;
        let (modulus, out) = (&self.modulus[..n], &mut out[..n]);
        let mut top = 0;
        for i in 0..n {
            let quotient = wide[i].wrapping_mul(self.inverse);
            let mut carry = 0;
            for (sum, &word) in wide[i..].iter_mut().zip(modulus) {
                (*sum, carry) = words::multiply_add(*sum, word, quotient, carry);
            }
            (wide[i + n], top) = words::multiply_add(wide[i + n], carry, 1, top);
        }
        out.copy_from_slice(&wide[n..2 * n]);
        self.reduce_once(out, top);
    }

    /// Reduces a number of twice as many words, which is below the modulus times R.
    pub(crate) fn reduce(&self, wide: &mut [u64], out: &mut [u64]) {
        let mut divided = zeroize::Zeroizing::new([0; W]);
        self.divide(wide, &mut divided[..]);
        self.enter(&divided[..], out);
    }

    /// Multiplies by R: takes a number into Montgomery's representation. The number may be anything below R.
    pub(crate) fn enter(&self, a: &[u64], out: &mut [u64]) {
        self.multiply(a, &self.square, out);
    }

    /// Divides by R: takes a number out of Montgomery's representation.
    pub(crate) fn leave(&self, a: &[u64], out: &mut [u64]) {
        let mut one = [0; W];
        one[0] = 1;
        self.multiply(a, &one, out);
    }

    /// Computes a difference of two reduced numbers, in place.
    pub(crate) fn subtract(&self, a: &mut [u64], b: &[u64]) {
        let borrow = words::subtract(&mut a[..self.len], &b[..self.len], u64::MAX);
        words::add(&mut a[..self.len], self.words(), words::mask(borrow));
    }

    /// Computes 2^`exponent`, where the exponent is public and at least 64 times the words of the modulus.
    #[cfg(any(test, target_arch = "x86_64"))]
    pub(crate) fn power_of_two(&self, exponent: usize, out: &mut [u64]) {
        let (n, step) = (self.len, 64 * self.len);
        let mut acc = zeroize::Zeroizing::new(self.square);
        let mut rest = exponent - step;
        while rest >= step {
            self.multiply(&acc[..], &self.square, out);
            acc[..n].copy_from_slice(&out[..n]);
            rest -= step;
        }
        let mut factor = [0; W];
        factor[rest / 64] = 1 << (rest % 64);
        self.multiply(&acc[..], &factor, out);
    }

    /// Computes R^2 from R by doubling and squaring: the square of R 2^x is R 2^(2 x).
    fn set_square(&mut self, significant: usize) {
        let (n, mut acc) = (self.len, zeroize::Zeroizing::new([0; W]));
        // One becomes R in as many doublings as R has bits. The first doublings can't reach the modulus, because its topmost
        // significant word is not zero.
        acc[significant - 1] = 1;
        for _ in 0..64 * (n + 1 - significant) {
            self.double(&mut acc[..n]);
        }
        let exponent = 64 * n;
        let mut out = zeroize::Zeroizing::new([0; W]);
        for bit in (0..=exponent.ilog2()).rev() {
            self.multiply(&acc[..], &acc[..], &mut out[..]);
            acc[..n].copy_from_slice(&out[..n]);
            if exponent >> bit & 1 == 1 {
                self.double(&mut acc[..n]);
            }
        }
        self.square = *acc;
    }

    fn double(&self, a: &mut [u64]) {
        let top = words::double(a, 0);
        self.reduce_once(a, top);
    }

    /// Subtracts the modulus from a number of one word more if it is not below.
    pub(crate) fn reduce_once(&self, a: &mut [u64], top: u64) {
        let over = words::mask(top) | !words::less(a, self.words());
        words::subtract(a, self.words(), over);
    }
}

/// Computes -1/a modulo 2^64 for an odd `a`. Each of Newton's steps doubles the number of right bits; `a` itself has three.
fn negated_inverse(a: u64) -> u64 {
    let mut inverse = a;
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(a.wrapping_mul(inverse)));
    }
    inverse.wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_testkit::Random;

    fn number(random: &mut Random, len: usize) -> Vec<u64> {
        (0..len).map(|_| random.next_u64()).collect()
    }

    #[test]
    fn products_agree_with_division() {
        let mut random = Random::new(3);
        for len in [1, 2, 3, 8, 16, 31, 32] {
            for case in 0..10 {
                let mut modulus = number(&mut random, len);
                modulus[0] |= 1;
                modulus[len - 1] = modulus[len - 1] >> (7 * case) | 1;
                let mut field = Modulus::<32>::empty();
                field.set(&modulus, len);
                let (mut a, mut b) = (vec![0; len], vec![0; len]);
                words::remainder(&number(&mut random, len), &modulus, &mut a);
                words::remainder(&number(&mut random, len), &modulus, &mut b);
                let (mut wide, mut right, mut found) = (vec![0; 2 * len], vec![0; len], vec![0; len]);
                words::multiply(&a, &b, &mut wide);
                words::remainder(&wide, &modulus, &mut right);
                let mut represented = vec![0; len];
                field.enter(&a, &mut represented);
                field.multiply(&represented, &b, &mut found);
                assert_eq!(found, right, "{len} words");
                field.reduce(&mut wide, &mut found);
                assert_eq!(found, right, "{len} words");
                let exponent = 64 * len + random.below(64 * len + 300);
                let mut power = vec![0; exponent / 64 + 1];
                power[exponent / 64] = 1 << (exponent % 64);
                words::remainder(&power, &modulus, &mut right);
                field.power_of_two(exponent, &mut found);
                assert_eq!(found, right, "2^{exponent}, {len} words");
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_scaled_modulus_is_a_multiple_less_its_limb() {
        let mut modulus = Modulus::<4>::empty();
        modulus.set(&[0xffff_ffff_ffff_fe2f, 7, 0x1234_5678], 3);
        // The modulus times its negated inverse, plus one, over 2^52; so 2^52 times it is one modulo the modulus.
        let mut scaled = [0; 4];
        scaled[..3].copy_from_slice(&modulus.radix52.scaled[..3]);
        let mut wide = [0; 6];
        words::multiply(&scaled[..3], &[1 << 52, 0, 0], &mut wide);
        let mut rest = [0; 3];
        words::remainder(&wide, modulus.words(), &mut rest);
        assert_eq!(rest, [1, 0, 0]);
    }
}
