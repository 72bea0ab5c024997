//! Arithmetic on numbers of `N` 64-bit limbs, least limb first, in constant time.
//!
//! Ref. P. L. Montgomery, "Modular multiplication without trial division", 1985; Ç. K. Koç, T. Acar, B. S. Kaliski,
//! "Analyzing and comparing Montgomery multiplication algorithms", 1996, §5 (CIOS).

use super::barrier::hidden;

/// Returns `t + a * b + carry`, which always fits in two limbs, as its low and its high limb.
#[inline(always)]
pub(crate) const fn multiply_add(t: u64, a: u64, b: u64, carry: u64) -> (u64, u64) {
    let wide = a as u128 * b as u128 + t as u128 + carry as u128;
    (wide as u64, (wide >> 64) as u64)
}

/// Returns `a + b + carry`, with the new carry, which is 0 or 1.
#[inline(always)]
pub(crate) const fn add_carry(a: u64, b: u64, carry: u64) -> (u64, u64) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(carry);
    (sum, (first | second) as u64)
}

/// Returns `a - b - borrow`, with the new borrow, which is 0 or 1.
#[inline(always)]
pub(crate) const fn subtract_borrow(a: u64, b: u64, borrow: u64) -> (u64, u64) {
    let (difference, first) = a.overflowing_sub(b);
    let (difference, second) = difference.overflowing_sub(borrow);
    (difference, (first | second) as u64)
}

/// Returns `a + b` and the carry.
#[inline(always)]
pub(crate) const fn add<const N: usize>(a: &[u64; N], b: &[u64; N]) -> ([u64; N], u64) {
    let (mut sum, mut carry, mut i) = ([0; N], 0, 0);
    while i < N {
        (sum[i], carry) = add_carry(a[i], b[i], carry);
        i += 1;
    }
    (sum, carry)
}

/// Returns `a - b` and the borrow.
#[inline(always)]
pub(crate) const fn subtract<const N: usize>(a: &[u64; N], b: &[u64; N]) -> ([u64; N], u64) {
    let (mut difference, mut borrow, mut i) = ([0; N], 0, 0);
    while i < N {
        (difference[i], borrow) = subtract_borrow(a[i], b[i], borrow);
        i += 1;
    }
    (difference, borrow)
}

/// Returns `a`, or `b` if `mask` is all ones; `mask` is otherwise zero.
#[inline(always)]
pub(crate) fn select<const N: usize>(a: &[u64; N], b: &[u64; N], mask: u64) -> [u64; N] {
    let (mut chosen, mut i) = ([0; N], 0);
    while i < N {
        chosen[i] = a[i] ^ (mask & (a[i] ^ b[i]));
        i += 1;
    }
    chosen
}

/// Reduces a number below twice the modulus, whose bit above the limbs is `top`.
#[inline(always)]
pub(crate) fn reduce_once<const N: usize>(a: &[u64; N], top: u64, modulus: &[u64; N]) -> [u64; N] {
    let (less, borrow) = subtract(a, modulus);
    // The difference is negative only if the subtraction borrows and no top bit covers it.
    let (_, negative) = subtract_borrow(top, 0, borrow);
    select(&less, a, hidden(0u64.wrapping_sub(negative)))
}

/// Returns `a + b` modulo the modulus, of operands below it.
#[inline(always)]
pub(crate) fn add_modulo<const N: usize>(a: &[u64; N], b: &[u64; N], modulus: &[u64; N]) -> [u64; N] {
    let (sum, carry) = add(a, b);
    reduce_once(&sum, carry, modulus)
}

/// Returns `a - b` modulo the modulus, of operands below it.
#[inline(always)]
pub(crate) fn subtract_modulo<const N: usize>(a: &[u64; N], b: &[u64; N], modulus: &[u64; N]) -> [u64; N] {
    let (difference, borrow) = subtract(a, b);
    let (mut result, mut carry, mut i) = ([0; N], 0, 0);
    let mask = hidden(0u64.wrapping_sub(borrow));
    while i < N {
        (result[i], carry) = add_carry(difference[i], modulus[i] & mask, carry);
        i += 1;
    }
    result
}

/// Returns `a * b / 2^(64 N)` modulo an odd modulus; `inverse` is -1/modulus modulo 2^64. The product of the operands
/// must be below the modulus times 2^(64 N).
#[inline(always)]
pub(crate) fn montgomery_multiply<const N: usize>(
    a: &[u64; N],
    b: &[u64; N],
    modulus: &[u64; N],
    inverse: u64,
) -> [u64; N] {
    let (mut t, mut top, mut i) = ([0; N], 0, 0);
    while i < N {
        let (mut carry, mut j) = (0, 0);
        while j < N {
            (t[j], carry) = multiply_add(t[j], a[i], b[j], carry);
            j += 1;
        }
        let (high, above) = add_carry(top, carry, 0);
        let m = t[0].wrapping_mul(inverse);
        (_, carry) = multiply_add(t[0], m, modulus[0], 0);
        j = 1;
        while j < N {
            (t[j - 1], carry) = multiply_add(t[j], m, modulus[j], carry);
            j += 1;
        }
        (t[N - 1], carry) = add_carry(high, carry, 0);
        top = above + carry;
        i += 1;
    }
    reduce_once(&t, top, modulus)
}

/// Returns -1/modulus modulo 2^64 by Newton's iteration, each step of which doubles the number of right bits.
pub(crate) const fn negative_inverse(modulus: u64) -> u64 {
    // The square of an odd number is 1 modulo 8, so the first three bits are right.
    let (mut inverse, mut i) = (modulus, 0);
    while i < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(modulus.wrapping_mul(inverse)));
        i += 1;
    }
    inverse.wrapping_neg()
}

/// Returns 2^`exponent` modulo the modulus.
pub(crate) const fn power_of_two<const N: usize>(exponent: usize, modulus: &[u64; N]) -> [u64; N] {
    let mut one = [0; N];
    one[0] = 1;
    times_power_of_two(&one, exponent, modulus)
}

/// Returns `number * 2^exponent` modulo the modulus, for constants: it branches.
pub(crate) const fn times_power_of_two<const N: usize>(
    number: &[u64; N],
    exponent: usize,
    modulus: &[u64; N],
) -> [u64; N] {
    let (mut product, mut i) = (*number, 0);
    while i < exponent {
        let (twice, carry) = add(&product, &product);
        let (less, borrow) = subtract(&twice, modulus);
        product = if carry >= borrow { less } else { twice };
        i += 1;
    }
    product
}

/// Returns a mask of ones if the number is zero.
#[inline(always)]
pub(crate) fn zero_mask<const N: usize>(a: &[u64; N]) -> u64 {
    let any = a.iter().fold(0, |any, limb| any | limb);
    hidden(((any | any.wrapping_neg()) >> 63).wrapping_sub(1))
}

/// Returns a mask of ones if `a` is below `b`.
#[inline(always)]
pub(crate) fn below_mask<const N: usize>(a: &[u64; N], b: &[u64; N]) -> u64 {
    let (_, borrow) = subtract(a, b);
    hidden(0u64.wrapping_sub(borrow))
}

/// Reads a big-endian number. Bytes above the limbs are left out.
pub(crate) fn from_bytes<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let mut limbs = [0; N];
    for (limb, bytes) in limbs.iter_mut().zip(bytes.rchunks(8)) {
        *limb = bytes.iter().fold(0, |limb, &byte| limb << 8 | u64::from(byte));
    }
    limbs
}

/// Writes the low bytes of a number in big-endian order, as many as there is room for.
pub(crate) fn to_bytes(limbs: &[u64], bytes: &mut [u8]) {
    for (bytes, limb) in bytes.rchunks_mut(8).zip(limbs) {
        let len = bytes.len();
        bytes.copy_from_slice(&limb.to_be_bytes()[8 - len..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_of_a_limb() {
        for modulus in [1, 3, 0xf3b9_cac2_fc63_2551, u64::MAX] {
            assert_eq!(negative_inverse(modulus).wrapping_mul(modulus), u64::MAX, "{modulus:x}");
        }
    }

    #[test]
    fn bytes_and_limbs() {
        let bytes: [u8; 18] = std::array::from_fn(|i| i as u8 + 1);
        let limbs: [u64; 3] = from_bytes(&bytes);
        assert_eq!(limbs, [0x0b0c_0d0e_0f10_1112, 0x0304_0506_0708_090a, 0x0102]);
        let mut back = [0; 18];
        to_bytes(&limbs, &mut back);
        assert_eq!(back, bytes);
    }

    #[test]
    fn masks() {
        assert_eq!((zero_mask(&[0, 0]), zero_mask(&[0, 1 << 63]), zero_mask(&[1, 0])), (u64::MAX, 0, 0));
        assert_eq!((below_mask(&[5, 1], &[4, 2]), below_mask(&[5, 1], &[5, 1])), (u64::MAX, 0));
    }
}
