//! Numbers modulo p = 2^255 - 19 in five limbs of 51 bits, in constant time.
//!
//! A product has *tight* limbs, below 2^51 + 2^14. Sums and differences are not carried: they have *loose* limbs, below
//! 2^54, which a multiplication takes. Each function says what it takes. Everything is `const`, because the tables of the
//! base point are computed by the compiler.
//!
//! Ref. RFC 7748 §4.1; Bernstein, "Curve25519: new Diffie-Hellman speed records" (2006), for limbs that are carried late.

use subtle::BlackBox;
use zeroize::Zeroize;

use super::inverse;

const BITS: u32 = 51;
const MASK: u64 = (1 << BITS) - 1;

/// A number modulo p.
#[derive(Clone, Copy, Debug, Zeroize)]
pub(crate) struct Fe([u64; 5]);

impl Fe {
    pub(crate) const ZERO: Fe = Fe([0; 5]);
    pub(crate) const ONE: Fe = Fe::small(1);

    /// A small number.
    pub(crate) const fn small(number: u32) -> Fe {
        Fe([number as u64, 0, 0, 0, 0])
    }

    /// Takes 255 bits in four words, least first. The top bit is ignored, and numbers from p on are reduced.
    #[inline(always)]
    pub(crate) const fn from_words([w0, w1, w2, w3]: [u64; 4]) -> Fe {
        Fe([
            w0 & MASK,
            (w0 >> 51 | w1 << 13) & MASK,
            (w1 >> 38 | w2 << 26) & MASK,
            (w2 >> 25 | w3 << 39) & MASK,
            (w3 >> 12) & MASK,
        ])
    }

    /// Takes 32 bytes as RFC 7748 §5 and RFC 8032 §5.1.3 do: least first, and without the top bit.
    #[inline(always)]
    pub(crate) fn from_bytes(bytes: &[u8; 32]) -> Fe {
        Fe::from_words(words(bytes))
    }

    /// Returns the number below p in four words, least first. Limbs may be loose.
    #[inline(always)]
    pub(crate) const fn to_words(self) -> [u64; 4] {
        let Fe([l0, l1, l2, l3, l4]) = self.carried();
        // The quotient by p is 0 or 1 now: it is the carry out of the number + 19.
        let q = (l0 + 19) >> BITS;
        let q = (l1 + q) >> BITS;
        let q = (l2 + q) >> BITS;
        let q = (l3 + q) >> BITS;
        let q = (l4 + q) >> BITS;
        let l0 = l0 + 19 * q;
        let l1 = l1 + (l0 >> BITS);
        let l2 = l2 + (l1 >> BITS);
        let l3 = l3 + (l2 >> BITS);
        let l4 = l4 + (l3 >> BITS);
        let [l0, l1, l2, l3, l4] = [l0 & MASK, l1 & MASK, l2 & MASK, l3 & MASK, l4 & MASK];
        [l0 | l1 << 51, l1 >> 13 | l2 << 38, l2 >> 26 | l3 << 25, l3 >> 39 | l4 << 12]
    }

    /// Returns the number below p in 32 bytes, least first.
    #[inline(always)]
    pub(crate) fn to_bytes(self) -> [u8; 32] {
        bytes(&self.to_words())
    }

    /// Carries each limb once: loose limbs become tight.
    #[inline(always)]
    const fn carried(self) -> Fe {
        let Fe([l0, l1, l2, l3, l4]) = self;
        Fe([
            (l0 & MASK) + 19 * (l4 >> BITS),
            (l1 & MASK) + (l0 >> BITS),
            (l2 & MASK) + (l1 >> BITS),
            (l3 & MASK) + (l2 >> BITS),
            (l4 & MASK) + (l3 >> BITS),
        ])
    }

    /// The sum, not carried: tight numbers give limbs below 2^52 + 2^15.
    #[inline(always)]
    pub(crate) const fn add(self, other: Fe) -> Fe {
        let (Fe(a), Fe(b)) = (self, other);
        Fe([a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4]])
    }

    /// The difference, not carried. `self` has limbs below 2^53, and `other` has limbs up to 2^53 - 76.
    #[inline(always)]
    pub(crate) const fn sub(self, other: Fe) -> Fe {
        let (Fe(a), Fe(b)) = (self, other);
        // 4 p, so that no limb falls below zero.
        const LOW: u64 = (1 << 53) - 76;
        const HIGH: u64 = (1 << 53) - 4;
        Fe([
            a[0] + LOW - b[0],
            a[1] + HIGH - b[1],
            a[2] + HIGH - b[2],
            a[3] + HIGH - b[3],
            a[4] + HIGH - b[4],
        ])
    }

    /// The negative of a number with limbs up to 2^53 - 76.
    #[inline(always)]
    pub(crate) const fn neg(self) -> Fe {
        Fe::ZERO.sub(self)
    }

    /// The product, tight. Limbs may be loose.
    #[inline(always)]
    pub(crate) const fn mul(self, other: Fe) -> Fe {
        let (Fe([a0, a1, a2, a3, a4]), Fe([b0, b1, b2, b3, b4])) = (self, other);
        // 2^255 is 19 modulo p.
        let (b1_19, b2_19, b3_19, b4_19) = (19 * b1, 19 * b2, 19 * b3, 19 * b4);
        carry([
            m(a0, b0) + m(a1, b4_19) + m(a2, b3_19) + m(a3, b2_19) + m(a4, b1_19),
            m(a0, b1) + m(a1, b0) + m(a2, b4_19) + m(a3, b3_19) + m(a4, b2_19),
            m(a0, b2) + m(a1, b1) + m(a2, b0) + m(a3, b4_19) + m(a4, b3_19),
            m(a0, b3) + m(a1, b2) + m(a2, b1) + m(a3, b0) + m(a4, b4_19),
            m(a0, b4) + m(a1, b3) + m(a2, b2) + m(a3, b1) + m(a4, b0),
        ])
    }

    /// The square, tight. Limbs may be loose.
    #[inline(always)]
    pub(crate) const fn square(self) -> Fe {
        let Fe([a0, a1, a2, a3, a4]) = self;
        let (a0_2, a1_2) = (2 * a0, 2 * a1);
        let (a3_19, a4_19) = (19 * a3, 19 * a4);
        carry([
            m(a0, a0) + m(a1_2, a4_19) + m(2 * a2, a3_19),
            m(a0_2, a1) + m(2 * a2, a4_19) + m(a3, a3_19),
            m(a0_2, a2) + m(a1, a1) + m(2 * a3, a4_19),
            m(a0_2, a3) + m(a1_2, a2) + m(a4, a4_19),
            m(a0_2, a4) + m(a1_2, a3) + m(a2, a2),
        ])
    }

    /// Squares `times` times.
    #[inline(always)]
    pub(crate) const fn square_times(self, times: u32) -> Fe {
        let mut square = self;
        let mut i = 0;
        while i < times {
            square = square.square();
            i += 1;
        }
        square
    }

    /// The product with a small number, tight. Limbs may be loose.
    #[inline(always)]
    pub(crate) const fn times_small(self, number: u32) -> Fe {
        let (Fe([a0, a1, a2, a3, a4]), b) = (self, number as u64);
        carry([m(a0, b), m(a1, b), m(a2, b), m(a3, b), m(a4, b)])
    }

    /// Returns the number to the power of 2^250 - 1, and to that of 11: the beginning of both long powers.
    #[inline(always)]
    const fn power_of_ones(self) -> (Fe, Fe) {
        let z2 = self.square();
        let z9 = z2.square_times(2).mul(self);
        let z11 = z9.mul(z2);
        // The exponents 2^5 - 1, 2^10 - 1, and so on.
        let ones5 = z11.square().mul(z9);
        let ones10 = ones5.square_times(5).mul(ones5);
        let ones20 = ones10.square_times(10).mul(ones10);
        let ones40 = ones20.square_times(20).mul(ones20);
        let ones50 = ones40.square_times(10).mul(ones10);
        let ones100 = ones50.square_times(50).mul(ones50);
        let ones200 = ones100.square_times(100).mul(ones100);
        (ones200.square_times(50).mul(ones50), z11)
    }

    /// The inverse, and zero for zero. Limbs may be loose.
    #[inline]
    pub(crate) fn invert(self) -> Fe {
        Fe::from_words(inverse::invert(self.to_words()))
    }

    /// The inverse, and zero for zero, as the power of p - 2 = 2^255 - 21. The compiler can compute it.
    pub(crate) const fn power_for_inverse(self) -> Fe {
        let (ones250, z11) = self.power_of_ones();
        ones250.square_times(5).mul(z11)
    }

    /// The power of (p - 5) / 8 = 2^252 - 3 (RFC 8032 §5.1.3, step 2).
    #[inline(always)]
    pub(crate) const fn power_for_root(self) -> Fe {
        let (ones250, _) = self.power_of_ones();
        ones250.square_times(2).mul(self)
    }

    /// Returns true if both are the same modulo p. The result is public.
    #[inline(always)]
    pub(crate) const fn equals(self, other: Fe) -> bool {
        let (a, b) = (self.to_words(), other.to_words());
        (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) == 0
    }

    /// Returns the sign as RFC 8032 §5.1.2 has it: the least bit of the number below p.
    #[inline(always)]
    pub(crate) const fn sign(self) -> u64 {
        self.to_words()[0] & 1
    }

    /// Exchanges two numbers where `mask` is all ones, and nothing where it is zero.
    #[inline(always)]
    pub(crate) fn swap(mask: u64, a: &mut Fe, b: &mut Fe) {
        for i in 0..5 {
            let differing = mask & (a.0[i] ^ b.0[i]);
            a.0[i] ^= differing;
            b.0[i] ^= differing;
        }
    }

    /// Returns `set` where `mask` is all ones, and `clear` where it is zero.
    #[inline(always)]
    pub(crate) fn select(mask: u64, clear: Fe, set: Fe) -> Fe {
        let mut number = clear;
        for i in 0..5 {
            number.0[i] ^= mask & (clear.0[i] ^ set.0[i]);
        }
        number
    }
}

/// The product of two words.
#[inline(always)]
const fn m(a: u64, b: u64) -> u128 {
    a as u128 * b as u128
}

/// Carries sums of products to tight limbs.
#[inline(always)]
const fn carry([c0, c1, c2, c3, c4]: [u128; 5]) -> Fe {
    let c1 = c1 + (c0 >> BITS);
    let c2 = c2 + (c1 >> BITS);
    let c3 = c3 + (c2 >> BITS);
    let c4 = c4 + (c3 >> BITS);
    let l0 = (c0 as u64 & MASK) + 19 * (c4 >> BITS) as u64;
    Fe([l0 & MASK, (c1 as u64 & MASK) + (l0 >> BITS), c2 as u64 & MASK, c3 as u64 & MASK, c4 as u64 & MASK])
}

/// A mask of all ones for 1 and of zeros for 0, about which the compiler can assume nothing.
#[inline(always)]
pub(crate) fn mask(bit: u64) -> u64 {
    BlackBox::new(0u64.wrapping_sub(bit)).get()
}

/// Four words of 32 bytes, least first.
#[inline(always)]
pub(crate) fn words(bytes: &[u8; 32]) -> [u64; 4] {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

/// The 32 bytes of four words, least first.
#[inline(always)]
pub(crate) fn bytes(words: &[u64; 4]) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use millstream_testkit::Random;

    use super::*;

    /// p, and numbers beside it.
    fn at_the_edge() -> Vec<[u8; 32]> {
        let mut all = Vec::new();
        for low in 0..=255u8 {
            let mut bytes = [0xff; 32];
            bytes[0] = low;
            bytes[31] = 0x7f;
            all.push(bytes);
            let mut bytes = [0; 32];
            bytes[0] = low;
            all.push(bytes);
        }
        all
    }

    #[test]
    fn miri_bytes_are_reduced() {
        for bytes in at_the_edge() {
            let number = Fe::from_bytes(&bytes).to_bytes();
            if bytes[31] == 0x7f && bytes[0] >= 0xed {
                let mut reduced = [0; 32];
                reduced[0] = bytes[0] - 0xed;
                assert_eq!(number, reduced);
            } else {
                assert_eq!(number, bytes);
            }
        }
    }

    #[test]
    fn miri_long_the_field_is_one() {
        let mut random = Random::new(1);
        let mut numbers: Vec<_> = (0..20).map(|_| Fe::from_bytes(&random.array())).collect();
        numbers.extend([[0xff; 32], [0; 32]].map(|bytes| Fe::from_bytes(&bytes)));
        for &a in &numbers {
            assert!(a.square().equals(a.mul(a)));
            assert!(a.times_small(121_665).equals(a.mul(Fe::small(121_665))));
            assert!(a.sub(a).equals(Fe::ZERO));
            assert!(a.neg().add(a).equals(Fe::ZERO));
            assert!(a.equals(Fe::ZERO) || a.invert().mul(a).equals(Fe::ONE));
            for &b in &numbers {
                assert!(a.mul(b).equals(b.mul(a)));
                // Loose numbers on both sides.
                let (sum, difference) = (a.add(b), a.sub(b));
                assert!(sum.mul(difference).equals(a.square().sub(b.square())));
                assert!(difference.square().equals(difference.mul(difference)));
            }
        }
    }

    #[test]
    fn miri_masks_choose() {
        let (a, b) = (Fe::small(3), Fe::small(4));
        assert!(Fe::select(mask(0), a, b).equals(a));
        assert!(Fe::select(mask(1), a, b).equals(b));
        let (mut x, mut y) = (a, b);
        Fe::swap(mask(0), &mut x, &mut y);
        assert!(x.equals(a) && y.equals(b));
        Fe::swap(mask(1), &mut x, &mut y);
        assert!(x.equals(b) && y.equals(a));
    }
}
