//! The primes of the curves: of the coordinates, and of the groups' orders.
//!
//! Ref. SP 800-186 §3.2.1.3 to §3.2.1.5; §G.1 for the form of the primes.

use super::field::Modulus;
use super::inversion;
use super::limbs::{add_carry, multiply_add, reduce_once};

/// The prime of P-256's coordinates, 2^256 - 2^224 + 2^192 + 2^96 - 1.
#[derive(Clone, Copy)]
pub(crate) struct P256Field;

impl Modulus<4> for P256Field {
    const MODULUS: [u64; 4] = [0xffff_ffff_ffff_ffff, 0x0000_0000_ffff_ffff, 0, 0xffff_ffff_0000_0001];

    #[inline(always)]
    fn multiply(a: &[u64; 4], b: &[u64; 4]) -> [u64; 4] {
        let mut t = [0; 8];
        for i in 0..4 {
            let mut carry = 0;
            for j in 0..4 {
                (t[i + j], carry) = multiply_add(t[i + j], a[i], b[j], carry);
            }
            t[i + 4] = carry;
        }
        reduce_p256(t)
    }

    #[inline(always)]
    fn square(a: &[u64; 4]) -> [u64; 4] {
        reduce_p256(square_wide_4(a))
    }

    fn invert(a: &[u64; 4]) -> [u64; 4] {
        inversion::invert::<4, 5>(a, &Self::MODULUS, 256)
    }
}

/// Squares a number of four limbs.
#[inline(always)]
fn square_wide_4(a: &[u64; 4]) -> [u64; 8] {
    let mut t = [0; 8];
    // The products of different limbs, once.
    let mut carry = 0;
    for j in 1..4 {
        (t[j], carry) = multiply_add(0, a[0], a[j], carry);
    }
    t[4] = carry;
    (t[3], carry) = multiply_add(t[3], a[1], a[2], 0);
    (t[4], carry) = multiply_add(t[4], a[1], a[3], carry);
    t[5] = carry;
    (t[5], carry) = multiply_add(t[5], a[2], a[3], 0);
    t[6] = carry;
    // Twice these, and the squares of the limbs.
    t[7] = t[6] >> 63;
    for i in (2..7).rev() {
        t[i] = t[i] << 1 | t[i - 1] >> 63;
    }
    t[1] <<= 1;
    let mut carry = 0;
    for i in 0..4 {
        let square = u128::from(a[i]) * u128::from(a[i]);
        (t[2 * i], carry) = add_carry(t[2 * i], square as u64, carry);
        (t[2 * i + 1], carry) = add_carry(t[2 * i + 1], (square >> 64) as u64, carry);
    }
    t
}

/// Divides by 2^256 modulo the prime. As -1/prime is 1 modulo 2^64, the lowest limb `m` says itself how often the prime
/// is added: `m * prime + m` is `m * (2^96 + 2^192 (2^64 - 2^32 + 1))`.
#[inline(always)]
fn reduce_p256(mut t: [u64; 8]) -> [u64; 4] {
    let mut top = 0;
    for i in 0..4 {
        let m = t[i];
        let mut carry;
        (t[i + 1], carry) = add_carry(t[i + 1], m << 32, 0);
        (t[i + 2], carry) = add_carry(t[i + 2], m >> 32, carry);
        (t[i + 3], carry) = multiply_add(t[i + 3], m, 0xffff_ffff_0000_0001, carry);
        (t[i + 4], top) = add_carry(t[i + 4], carry, top);
    }
    reduce_once(&[t[4], t[5], t[6], t[7]], top, &P256Field::MODULUS)
}

/// The order of P-256.
#[derive(Clone, Copy)]
pub(crate) struct P256Order;

impl Modulus<4> for P256Order {
    const MODULUS: [u64; 4] =
        [0xf3b9_cac2_fc63_2551, 0xbce6_faad_a717_9e84, 0xffff_ffff_ffff_ffff, 0xffff_ffff_0000_0000];

    fn invert(a: &[u64; 4]) -> [u64; 4] {
        inversion::invert::<4, 5>(a, &Self::MODULUS, 256)
    }
}

/// The prime of P-384's coordinates, 2^384 - 2^128 - 2^96 + 2^32 - 1.
#[derive(Clone, Copy)]
pub(crate) struct P384Field;

impl Modulus<6> for P384Field {
    const MODULUS: [u64; 6] =
        [0x0000_0000_ffff_ffff, 0xffff_ffff_0000_0000, 0xffff_ffff_ffff_fffe, u64::MAX, u64::MAX, u64::MAX];

    fn invert(a: &[u64; 6]) -> [u64; 6] {
        inversion::invert::<6, 7>(a, &Self::MODULUS, 384)
    }
}

/// The order of P-384.
#[derive(Clone, Copy)]
pub(crate) struct P384Order;

impl Modulus<6> for P384Order {
    const MODULUS: [u64; 6] =
        [0xecec_196a_ccc5_2973, 0x581a_0db2_48b0_a77a, 0xc763_4d81_f437_2ddf, u64::MAX, u64::MAX, u64::MAX];

    fn invert(a: &[u64; 6]) -> [u64; 6] {
        inversion::invert::<6, 7>(a, &Self::MODULUS, 384)
    }
}

/// Repeats a block for each of nine limbs. The compiler leaves nested loops of this size as they are, and the limbs in memory.
macro_rules! each_limb {
    ($i:ident, $block:block) => {
        each_limb!($i, $block, 0 1 2 3 4 5 6 7 8)
    };
    ($i:ident, $block:block, $($limb:literal)+) => {
        $({
            const $i: usize = $limb;
            $block
        })+
    };
}

/// The prime of P-521's coordinates, 2^521 - 1, which reduces by a shift: `R` is 1.
#[derive(Clone, Copy)]
pub(crate) struct P521Field;

/// The bits of the prime in its highest limb.
const TOP_BITS: u32 = 521 % 64;

impl Modulus<9> for P521Field {
    const MODULUS: [u64; 9] = {
        let mut modulus = [u64::MAX; 9];
        modulus[8] = (1 << TOP_BITS) - 1;
        modulus
    };
    const ONE: [u64; 9] = [1, 0, 0, 0, 0, 0, 0, 0, 0];
    const SQUARE: [u64; 9] = Self::ONE;

    #[inline(always)]
    fn multiply(a: &[u64; 9], b: &[u64; 9]) -> [u64; 9] {
        let mut t = [0; 18];
        each_limb!(I, {
            let mut carry = 0;
            for j in 0..9 {
                (t[I + j], carry) = multiply_add(t[I + j], a[I], b[j], carry);
            }
            t[I + 9] = carry;
        });
        reduce_p521(&t)
    }

    #[inline(always)]
    fn square(a: &[u64; 9]) -> [u64; 9] {
        let mut t = [0; 18];
        // The products of different limbs, once.
        each_limb!(I, {
            let mut carry = 0;
            // The last limb has none above it.
            #[allow(clippy::reversed_empty_ranges)]
            for j in I + 1..9 {
                (t[I + j], carry) = multiply_add(t[I + j], a[I], a[j], carry);
            }
            t[I + 9] = carry;
        });
        // Twice these, and the squares of the limbs.
        let (mut above, mut carry) = (0, 0);
        for i in 0..9 {
            let square = u128::from(a[i]) * u128::from(a[i]);
            let (low, high) = (t[2 * i] << 1 | above, t[2 * i + 1] << 1 | t[2 * i] >> 63);
            above = t[2 * i + 1] >> 63;
            (t[2 * i], carry) = add_carry(low, square as u64, carry);
            (t[2 * i + 1], carry) = add_carry(high, (square >> 64) as u64, carry);
        }
        reduce_p521(&t)
    }

    fn invert(a: &[u64; 9]) -> [u64; 9] {
        inversion::invert::<9, 9>(a, &Self::MODULUS, 521)
    }
}

/// Reduces a number below 2^1042: the bits from 521 on count for as much as those from 0 on.
#[inline(always)]
fn reduce_p521(t: &[u64; 18]) -> [u64; 9] {
    let (mut low, mut carry) = ([0; 9], 0);
    for i in 0..8 {
        let high = t[i + 8] >> TOP_BITS | t[i + 9] << (64 - TOP_BITS);
        (low[i], carry) = add_carry(t[i], high, carry);
    }
    let high = t[16] >> TOP_BITS | t[17] << (64 - TOP_BITS);
    low[8] = (t[8] & ((1 << TOP_BITS) - 1)) + high + carry;
    let mut carry = low[8] >> TOP_BITS;
    low[8] &= (1 << TOP_BITS) - 1;
    for limb in &mut low {
        (*limb, carry) = add_carry(*limb, carry, 0);
    }
    reduce_once(&low, 0, &P521Field::MODULUS)
}

/// The order of P-521.
#[derive(Clone, Copy)]
pub(crate) struct P521Order;

impl Modulus<9> for P521Order {
    const MODULUS: [u64; 9] = [
        0xbb6f_b71e_9138_6409,
        0x3bb5_c9b8_899c_47ae,
        0x7fcc_0148_f709_a5d0,
        0x5186_8783_bf2f_966b,
        0xffff_ffff_ffff_fffa,
        u64::MAX,
        u64::MAX,
        u64::MAX,
        0x1ff,
    ];

    fn invert(a: &[u64; 9]) -> [u64; 9] {
        inversion::invert::<9, 9>(a, &Self::MODULUS, 521)
    }
}

#[cfg(test)]
mod tests {
    use super::super::field::Element;
    use super::super::limbs::{montgomery_multiply, power_of_two};
    use super::*;

    /// The plainest multiplication: bit by bit.
    fn by_doubling<M: Modulus<N>, const N: usize>(a: &[u64; N], b: &[u64; N]) -> [u64; N] {
        let (mut sum, a) = (Element::<M, N>::ZERO, Element::<M, N>::from_raw(*a));
        for i in (0..64 * N).rev() {
            sum = sum.double();
            if b[i / 64] >> (i % 64) & 1 != 0 {
                sum = sum + a;
            }
        }
        sum.0
    }

    fn numbers<M: Modulus<N>, const N: usize>() -> Vec<[u64; N]> {
        let mut numbers = vec![[0; N], M::ONE, M::SQUARE];
        for bit in [0, 1, 31, 32, 63, 64, 95, 96, 127, 128, 191, 192, 223, 224] {
            numbers.push(power_of_two(bit, &M::MODULUS));
            numbers.push((-Element::<M, N>::from_raw(power_of_two(bit, &M::MODULUS))).0);
        }
        let mut random = millstream_testkit::Random::new(7);
        for _ in 0..20 {
            let mut number: [u64; N] = std::array::from_fn(|_| random.next_u64());
            number[N - 1] %= M::MODULUS[N - 1];
            numbers.push(number);
        }
        numbers
    }

    fn check<M: Modulus<N>, const N: usize>() {
        for a in &numbers::<M, N>() {
            for b in &numbers::<M, N>() {
                // The product of numbers in the form of the field, times R, is their product as numbers.
                let product = M::multiply(&M::multiply(a, b), &M::SQUARE);
                assert_eq!(product, by_doubling::<M, N>(a, b), "{a:x?} {b:x?}");
            }
            assert_eq!(M::square(a), M::multiply(a, a), "{a:x?}");
            let element = Element::<M, N>::from_raw(*a);
            let zero = element.zero_mask() != 0;
            let one = element.invert() * element;
            assert!(one == if zero { Element::ZERO } else { Element::ONE }, "{a:x?}");
            assert_eq!(Element::<M, N>::new(&element.number()).0, *a);
        }
    }

    #[test]
    fn multiplication_and_inversion() {
        check::<P256Field, 4>();
        check::<P256Order, 4>();
        check::<P384Field, 6>();
        check::<P384Order, 6>();
        check::<P521Field, 9>();
        check::<P521Order, 9>();
    }

    #[test]
    fn the_form_of_a_prime_makes_no_difference() {
        for a in &numbers::<P256Field, 4>() {
            for b in &numbers::<P256Field, 4>() {
                let (modulus, inverse) = (&P256Field::MODULUS, P256Field::INVERSE);
                assert_eq!(P256Field::multiply(a, b), montgomery_multiply(a, b, modulus, inverse));
            }
        }
    }
}
