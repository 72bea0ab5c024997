//! Numbers modulo p = 2^448 - 2^224 - 1, in eight limbs of 56 bits.
//!
//! With φ = 2^224, p is φ^2 - φ - 1. So a product of two halves each takes three products of halves, and reducing it takes additions
//! alone (Hamburg, "Ed448-Goldilocks, a new elliptic curve").
//!
//! A limb is below 2^57 before and after each operation here; only `to_bytes` and what compares are exact.

use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroize;

const LIMBS: usize = 8;
const BITS: u32 = 56;
const LOW: u64 = (1 << BITS) - 1;

/// Bytes of an encoded number.
pub(crate) const BYTES: usize = 56;

/// The limbs of p.
const P: [u64; LIMBS] = [LOW, LOW, LOW, LOW, LOW - 1, LOW, LOW, LOW];

/// A number modulo p.
#[derive(Clone, Copy, Zeroize)]
pub(crate) struct Fe([u64; LIMBS]);

impl Fe {
    pub(crate) const ZERO: Fe = Fe([0; LIMBS]);
    pub(crate) const ONE: Fe = Fe::small(1);

    pub(crate) const fn small(number: u64) -> Fe {
        let mut limbs = [0; LIMBS];
        limbs[0] = number;
        Fe(limbs)
    }

    pub(crate) const fn from_limbs(limbs: [u64; LIMBS]) -> Fe {
        Fe(limbs)
    }

    /// Reads a number, which is reduced if it is not below p.
    pub(crate) fn from_bytes(bytes: &[u8; BYTES]) -> Fe {
        let mut limbs = [0; LIMBS];
        for (limb, bytes) in limbs.iter_mut().zip(bytes.as_chunks::<7>().0) {
            let mut wide = [0; 8];
            wide[..7].copy_from_slice(bytes);
            *limb = u64::from_le_bytes(wide);
            wide.zeroize();
        }
        Fe(limbs)
    }

    /// Writes the number, reduced.
    pub(crate) fn to_bytes(self) -> [u8; BYTES] {
        let limbs = self.reduced();
        let mut bytes = [0; BYTES];
        for (bytes, limb) in bytes.as_chunks_mut::<7>().0.iter_mut().zip(limbs) {
            bytes.copy_from_slice(&limb.to_le_bytes()[..7]);
        }
        bytes
    }

    /// Returns limbs of 56 bits of the number below p.
    fn reduced(self) -> [u64; LIMBS] {
        let mut limbs = self.0;
        // The carry out of the top is at most 1 after the first round, and nothing after the second: the rest is small then.
        for _ in 0..3 {
            let mut carry = 0;
            for limb in &mut limbs {
                *limb += carry;
                carry = *limb >> BITS;
                *limb &= LOW;
            }
            limbs[0] += carry;
            limbs[4] += carry;
        }
        // The number is p or more if adding 2^448 - p = 2^224 + 1 carries out of the top. No comparison tells it, because a compiler
        // makes branches of those.
        let mut carry = 1;
        for (i, limb) in limbs.iter().enumerate() {
            carry = (*limb + carry + u64::from(i == 4)) >> BITS;
        }
        let (at_least_p, mut carry) = (carry, carry);
        for (i, limb) in limbs.iter_mut().enumerate() {
            *limb += carry + if i == 4 { at_least_p } else { 0 };
            carry = *limb >> BITS;
            *limb &= LOW;
        }
        limbs
    }

    /// Brings limbs below 2^63 near 2^56 again.
    fn carried(limbs: [u64; LIMBS]) -> Fe {
        let mut out = [0; LIMBS];
        for i in 0..LIMBS {
            out[i] = (limbs[i] & LOW) + (limbs[(i + LIMBS - 1) % LIMBS] >> BITS);
        }
        out[4] += limbs[LIMBS - 1] >> BITS;
        Fe(out)
    }

    pub(crate) fn add(self, other: Fe) -> Fe {
        let mut limbs = self.0;
        for (limb, other) in limbs.iter_mut().zip(other.0) {
            *limb += other;
        }
        Fe::carried(limbs)
    }

    pub(crate) fn sub(self, other: Fe) -> Fe {
        let mut limbs = self.0;
        for ((limb, other), p) in limbs.iter_mut().zip(other.0).zip(P) {
            // 4 p is more than any number that this one may be, limb by limb.
            *limb = *limb + 4 * p - other;
        }
        Fe::carried(limbs)
    }

    pub(crate) fn negate(self) -> Fe {
        Fe::ZERO.sub(self)
    }

    pub(crate) fn square(self) -> Fe {
        self.mul(self)
    }

    pub(crate) fn mul(self, other: Fe) -> Fe {
        let (a, b) = (&self.0, &other.0);
        let (mut low, mut high, mut sums) = ([0u128; 8], [0u128; 8], [0u128; 8]);
        for i in 0..4 {
            for j in 0..4 {
                low[i + j] += u128::from(a[i]) * u128::from(b[j]);
                high[i + j] += u128::from(a[i + 4]) * u128::from(b[j + 4]);
                sums[i + j] += u128::from(a[i] + a[i + 4]) * u128::from(b[j] + b[j + 4]);
            }
        }
        let mut wide = [0u128; LIMBS];
        for i in 0..4 {
            // The products below φ, and those from φ^2 on, which count as φ + 1.
            wide[i] = low[i] + high[i] + (sums[i + 4] - low[i + 4]);
            wide[i + 4] = high[i + 4] + (sums[i] - low[i]) + sums[i + 4];
        }
        Fe::narrowed(wide)
    }

    /// Multiplies by a small number.
    pub(crate) fn times_small(self, number: u32) -> Fe {
        let mut wide = [0u128; LIMBS];
        for (wide, limb) in wide.iter_mut().zip(self.0) {
            *wide = u128::from(limb) * u128::from(number);
        }
        Fe::narrowed(wide)
    }

    /// Carries limbs below 2^120.
    fn narrowed(mut wide: [u128; LIMBS]) -> Fe {
        let mut carry = 0;
        let mut limbs = [0; LIMBS];
        for (limb, wide) in limbs.iter_mut().zip(&mut wide) {
            *wide += carry;
            carry = *wide >> BITS;
            *limb = *wide as u64 & LOW;
        }
        // The top limb has no part from φ^2 on, so what leaves it is below 2^63.
        limbs[0] += carry as u64;
        limbs[4] += carry as u64;
        Fe::carried(limbs)
    }

    /// Raises to the power (p - 3) / 4 = 2^446 - 2^222 - 1.
    pub(crate) fn power_of_root(self) -> Fe {
        let again = |mut power: Fe, times: u32| {
            for _ in 0..times {
                power = power.square();
            }
            power
        };
        // Each name says how many ones the exponent has.
        let ones_3 = again(again(self, 1).mul(self), 1).mul(self);
        let ones_6 = again(ones_3, 3).mul(ones_3);
        let ones_9 = again(ones_6, 3).mul(ones_3);
        let ones_18 = again(ones_9, 9).mul(ones_9);
        let ones_19 = again(ones_18, 1).mul(self);
        let ones_37 = again(ones_19, 18).mul(ones_18);
        let ones_74 = again(ones_37, 37).mul(ones_37);
        let ones_111 = again(ones_74, 37).mul(ones_37);
        let ones_222 = again(ones_111, 111).mul(ones_111);
        let ones_223 = again(ones_222, 1).mul(self);
        again(ones_223, 223).mul(ones_222)
    }

    /// Returns the inverse, and 0 for 0: the power p - 2, which is 4 (p - 3) / 4 + 1.
    pub(crate) fn invert(self) -> Fe {
        self.power_of_root().square().square().mul(self)
    }

    /// Swaps two numbers where `mask` has ones.
    pub(crate) fn swap(mask: u64, a: &mut Fe, b: &mut Fe) {
        for (a, b) in a.0.iter_mut().zip(&mut b.0) {
            let both = (*a ^ *b) & mask;
            *a ^= both;
            *b ^= both;
        }
    }

    /// Takes over the bits of another number where `mask` has ones.
    pub(crate) fn take(&mut self, mask: u64, other: &Fe) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = *own & !mask | other & mask;
        }
    }

    /// Returns the lowest bit of the number, which the standard takes for its sign.
    pub(crate) fn sign(self) -> u8 {
        self.reduced()[0] as u8 & 1
    }

    pub(crate) fn equals(self, other: Fe) -> Choice {
        self.reduced().ct_eq(&other.reduced())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(seed: u64) -> Fe {
        let mut state = seed;
        let mut bytes = [0; BYTES];
        bytes.fill_with(|| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 56) as u8
        });
        Fe::from_bytes(&bytes)
    }

    fn same(a: Fe, b: Fe) -> bool {
        a.to_bytes() == b.to_bytes()
    }

    #[test]
    fn the_laws_of_a_field_hold_at_every_edge() {
        let edges = [
            Fe::ZERO,
            Fe::ONE,
            Fe::ONE.negate(),
            Fe(P),
            Fe([LOW; LIMBS]),
            Fe([(1 << 57) - 1; LIMBS]),
            number(1),
            number(2),
        ];
        for a in edges {
            for b in edges {
                assert!(same(a.mul(b), b.mul(a)));
                assert!(same(a.add(b).sub(b), a));
                assert!(same(a.sub(b).add(b), a));
                for c in edges {
                    assert!(same(a.mul(b.add(c)), a.mul(b).add(a.mul(c))));
                    assert!(same(a.mul(b).mul(c), a.mul(b.mul(c))));
                }
            }
            let zero = bool::from(a.equals(Fe::ZERO));
            assert!(same(a.mul(a.invert()), if zero { Fe::ZERO } else { Fe::ONE }));
            assert!(same(a.times_small(39_081), a.mul(Fe::small(39_081))));
            assert!(same(Fe::from_bytes(&a.to_bytes()), a));
        }
        assert!(same(Fe(P), Fe::ZERO));
        assert_eq!(Fe::ONE.negate().to_bytes()[0], 0xfe);
    }
}
