//! Scalars: numbers modulo the order of the group, L = 2^446 - c.
//!
//! A number is reduced by folding: what is from 2^446 on counts c times.
//!
//! Ref. RFC 8032 §5.2.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::weierstrass::barrier::hidden;

const LIMBS: usize = 7;
/// The limbs of what is reduced: 912 bits of a digest, or of a product with a sum.
const WIDE: usize = 16;

/// Bytes of a scalar in a multiplication, and of a digest to be reduced.
pub(crate) const BYTES: usize = 56;
pub(crate) const DIGEST: usize = 114;

const C: [u64; 4] = [0xdc87_3d6d_54a7_bb0d, 0xde93_3d8d_723a_70aa, 0x3bb1_24b6_5129_c96f, 0x8335_dc16];
const ORDER: [u64; LIMBS] = [
    0x2378_c292_ab58_44f3,
    0x216c_c272_8dc5_8f55,
    0xc44e_db49_aed6_3690,
    0xffff_ffff_7cca_23e9,
    0xffff_ffff_ffff_ffff,
    0xffff_ffff_ffff_ffff,
    0x3fff_ffff_ffff_ffff,
];

/// A scalar of at most 448 bits. What is computed here is below the order.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Scalar([u64; LIMBS]);

impl Scalar {
    /// Takes 448 bits as they are.
    pub(crate) fn unreduced(bytes: &[u8; BYTES]) -> Self {
        let mut scalar = Scalar([0; LIMBS]);
        for (limb, bytes) in scalar.0.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *limb = u64::from_le_bytes(*bytes);
        }
        scalar
    }

    /// Reads a number that is public, if it is below the order.
    pub(crate) fn canonical_vartime(bytes: &[u8; BYTES]) -> Option<Self> {
        let scalar = Scalar::unreduced(bytes);
        let below = scalar.0.iter().rev().lt(ORDER.iter().rev());
        below.then_some(scalar)
    }

    /// Reduces a digest.
    pub(crate) fn reduce(digest: &[u8; DIGEST]) -> Self {
        let mut wide = [0; WIDE];
        for (limb, bytes) in wide.iter_mut().zip(digest.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            *limb = u64::from_le_bytes(whole);
            whole.zeroize();
        }
        let scalar = fold(&mut wide);
        wide.zeroize();
        scalar
    }

    /// Computes `self` times `factor` plus `summand`.
    pub(crate) fn multiply_add(&self, factor: &Scalar, summand: &Scalar) -> Self {
        let mut wide = [0; WIDE];
        wide[..LIMBS].copy_from_slice(&summand.0);
        multiply_onto(&mut wide, &self.0, &factor.0);
        let scalar = fold(&mut wide);
        wide.zeroize();
        scalar
    }

    pub(crate) fn to_bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        for (bytes, limb) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.0) {
            *bytes = limb.to_le_bytes();
        }
        bytes
    }

    /// Returns the digits of four bits, the lowest first.
    pub(crate) fn digits(&self) -> [u8; 2 * BYTES] {
        let mut bytes = self.to_bytes();
        let mut digits = [0; 2 * BYTES];
        for (digits, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
            *digits = [byte & 15, byte >> 4];
        }
        bytes.zeroize();
        digits
    }
}

/// Adds a product to `wide`, which has room for it.
fn multiply_onto(wide: &mut [u64; WIDE], a: &[u64], b: &[u64]) {
    for (i, a) in a.iter().enumerate() {
        let mut carry = 0;
        for (j, limb) in wide[i..].iter_mut().enumerate() {
            let factor = b.get(j).copied().unwrap_or(0);
            let sum = u128::from(*a) * u128::from(factor) + u128::from(*limb) + u128::from(carry);
            *limb = sum as u64;
            carry = (sum >> 64) as u64;
        }
    }
}

/// Reduces a number below 2^912.
fn fold(wide: &mut [u64; WIDE]) -> Scalar {
    // The folds leave 691 of 912 bits, then 470, 447, and at last not more than the order and c.
    for _ in 0..4 {
        let mut high = [0; WIDE - LIMBS + 1];
        for (i, limb) in high.iter_mut().enumerate() {
            let next = wide.get(LIMBS + i).copied().unwrap_or(0);
            *limb = wide[LIMBS - 1 + i] >> 62 | next << 2;
        }
        wide[LIMBS - 1] &= u64::MAX >> 2;
        wide[LIMBS..].fill(0);
        multiply_onto(wide, &C, &high);
        high.zeroize();
    }
    let mut scalar = Scalar([0; LIMBS]);
    let mut borrow = 0;
    for (i, out) in scalar.0.iter_mut().enumerate() {
        let (less, first) = wide[i].overflowing_sub(ORDER[i]);
        let (less, second) = less.overflowing_sub(borrow);
        // A compiler that knows where the borrow comes from branches on it.
        borrow = hidden(u64::from(first) | u64::from(second));
        *out = less;
    }
    let below = borrow.wrapping_neg();
    for (out, limb) in scalar.0.iter_mut().zip(wide.iter()) {
        *out = *out & !below | limb & below;
    }
    scalar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_near_the_order_are_reduced() {
        let mut digest = [0; DIGEST];
        for (bytes, limb) in digest.chunks_mut(8).zip(ORDER) {
            bytes.copy_from_slice(&limb.to_le_bytes());
        }
        assert_eq!(Scalar::reduce(&digest).0, [0; LIMBS]);
        assert!(Scalar::canonical_vartime(digest.first_chunk().expect("56 of 114")).is_none());
        digest[0] -= 1;
        let largest = Scalar::reduce(&digest);
        assert_eq!(largest.0[0], ORDER[0] - 1);
        assert!(Scalar::canonical_vartime(&largest.to_bytes()).is_some());
        // (L - 1)^2 + 1 = 2, modulo L.
        let one = Scalar::unreduced(&{
            let mut bytes = [0; BYTES];
            bytes[0] = 1;
            bytes
        });
        assert_eq!(largest.multiply_add(&largest, &one).0, [2, 0, 0, 0, 0, 0, 0]);
        // 2^912 - 1 is below what is folded; twice the way through gives the same.
        let most = Scalar::reduce(&[0xff; DIGEST]);
        let mut again = [0; DIGEST];
        again[..BYTES].copy_from_slice(&most.to_bytes());
        assert_eq!(Scalar::reduce(&again).0, most.0);
    }
}
