//! Powers modulo an odd number, on any processor.

use zeroize::{Zeroize, Zeroizing};

use super::modulus::Modulus;
use super::{HALF, WORDS, words};

/// Bits of the exponent that are taken in one step.
pub(crate) const WINDOW: usize = 5;
/// Powers of the base that are kept for a step.
pub(crate) const TABLE: usize = 1 << WINDOW;

/// A power to be computed in a lane, with a secret exponent.
pub(crate) struct SecretPower<'a> {
    pub(crate) modulus: &'a Modulus<HALF>,
    /// The base, which is reduced.
    pub(crate) base: [u64; HALF],
    pub(crate) exponent: &'a [u64; HALF],
    pub(crate) out: [u64; HALF],
}

impl Drop for SecretPower<'_> {
    fn drop(&mut self) {
        self.base.zeroize();
        self.out.zeroize();
    }
}

/// A power to be computed in a lane, with a public exponent that is odd and not one.
pub(crate) struct PublicPower<'a> {
    pub(crate) modulus: &'a Modulus<WORDS>,
    /// The base, which is reduced.
    pub(crate) base: [u64; WORDS],
    pub(crate) exponent: u64,
    pub(crate) out: [u64; WORDS],
}

impl Drop for PublicPower<'_> {
    fn drop(&mut self) {
        self.base.zeroize();
        self.out.zeroize();
    }
}

/// The steps for an exponent of that many words, with `bits` bits in each.
#[inline(always)]
pub(crate) fn windows(words: usize, bits: usize) -> usize {
    (64 * words).div_ceil(bits)
}

/// The bits of an exponent that belong to a step, 0 being the lowest.
#[inline(always)]
pub(crate) fn window(exponent: &[u64], step: usize, bits: usize) -> u64 {
    let (word, shift) = (step * bits / 64, step * bits % 64);
    let above = exponent.get(word + 1).map_or(0, |above| above << 1 << (63 - shift));
    (exponent[word] >> shift | above) & ((1 << bits) - 1)
}

/// Computes a power with a secret exponent, which has as many words as the modulus. Each step reads the whole table, and all
/// steps are alike.
pub(crate) fn power<const W: usize>(modulus: &Modulus<W>, base: &[u64], exponent: &[u64], out: &mut [u64]) {
    power_short(modulus, base, &exponent[..modulus.len()], out);
}

/// Does the same with an exponent of any number of words. That number influences the time.
pub(crate) fn power_short<const W: usize>(
    modulus: &Modulus<W>,
    base: &[u64],
    exponent: &[u64],
    out: &mut [u64],
) {
    let n = modulus.len();
    let mut table = Zeroizing::new([[0; W]; TABLE]);
    table[0][0] = 1;
    let mut acc = Zeroizing::new([0; W]);
    modulus.enter(&table[0], &mut acc[..]);
    table[0] = *acc;
    modulus.enter(base, &mut table[1]);
    for i in 2..TABLE {
        let (below, this) = table.split_at_mut(i);
        modulus.multiply(&below[i - 1], &below[1], &mut this[0]);
    }
    let mut other = Zeroizing::new([0; W]);
    for step in (0..windows(exponent.len(), WINDOW)).rev() {
        for _ in 0..WINDOW {
            modulus.multiply(&acc[..], &acc[..], &mut other[..]);
            std::mem::swap(&mut acc, &mut other);
        }
        let mut factor = Zeroizing::new([0; W]);
        look_up(&table, n, window(exponent, step, WINDOW), &mut factor);
        modulus.multiply(&acc[..], &factor[..], &mut other[..]);
        std::mem::swap(&mut acc, &mut other);
    }
    modulus.leave(&acc[..], out);
}

/// Reads an entry of the table, and all others under a mask.
fn look_up<const W: usize>(table: &[[u64; W]; TABLE], n: usize, index: u64, out: &mut [u64; W]) {
    for (i, entry) in table.iter().enumerate() {
        let here = words::equal_word(i as u64, index);
        for (out, word) in out[..n].iter_mut().zip(&entry[..n]) {
            *out |= word & here;
        }
    }
}

/// Computes a power with a public exponent that is not zero. Only the exponent influences the time.
pub(crate) fn power_public<const W: usize>(
    modulus: &Modulus<W>,
    base: &[u64],
    exponent: u64,
    out: &mut [u64],
) {
    let mut entered = Zeroizing::new([0; W]);
    modulus.enter(base, &mut entered[..]);
    let (mut acc, mut other) = (entered.clone(), Zeroizing::new([0; W]));
    for bit in (0..exponent.ilog2()).rev() {
        modulus.multiply(&acc[..], &acc[..], &mut other[..]);
        std::mem::swap(&mut acc, &mut other);
        if exponent >> bit & 1 == 1 {
            modulus.multiply(&acc[..], &entered[..], &mut other[..]);
            std::mem::swap(&mut acc, &mut other);
        }
    }
    modulus.leave(&acc[..], out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_agree_with_multiplication() {
        let mut modulus = Modulus::<4>::empty();
        modulus.set(&[0xffff_ffff_ffff_fe2f, 7, 0x1234_5678], 3);
        let base = [5, 6, 7];
        let (mut right, mut next, mut found, mut entered) = ([1, 0, 0], [0; 3], [0; 3], [0; 3]);
        modulus.enter(&base, &mut entered);
        for exponent in 1..200u64 {
            modulus.multiply(&right, &entered, &mut next);
            right = next;
            power_public(&modulus, &base, exponent, &mut found);
            assert_eq!(found, right);
            power(&modulus, &base, &[exponent, 0, 0], &mut found);
            assert_eq!(found, right);
        }
    }
}
