//! Eight elements of P-256's field of coordinates side by side, in five limbs of 52 bits.
//!
//! Elements are kept as `a * 2^260` modulo the prime. An element that is multiplied has limbs below 2^52 and a value below
//! 2^260, which is 16 times the prime. The result is below `ab / 16 + 1` times the prime where the operands are below `a` and
//! `b` times; [`Fe::fold`] makes anything a value from once to twice the prime. Sums and differences have limbs of any
//! size and sign below 2^62 until they are carried or folded.
//!
//! Ref. S. Gueron, V. Krasnov, "Software implementation of modular exponentiation, using advanced vector instructions
//! architectures", 2012 (limbs for multiply-adds); SP 800-186 §G.1.2 (the form of the prime).
//!
//! # Safety
//! Loads and stores are of whole arrays that are borrowed.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use zeroize::Zeroize;

use super::super::curve::P256_B;
use super::super::field::Modulus;
use super::super::limbs::{power_of_two, reduce_once, times_power_of_two};
use super::super::primes::P256Field;
use super::element::{LANES, field};

/// Limbs of an element.
const LIMBS: usize = 5;
/// Bits of a limb.
const BITS: u32 = 52;
const MASK: i64 = (1 << BITS) - 1;

/// Eight elements, one in each lane.
#[derive(Clone, Copy)]
pub(super) struct Fe([__m512i; LIMBS]);

/// The prime and twice the prime.
const PRIMES: [[i64; LIMBS]; 2] = {
    let [a, b, c, d, e] = split(&P256Field::MODULUS);
    let twice = [(2 * a) & MASK, 2 * b + 1, 2 * c, 2 * d, 2 * e];
    [[a, b, c, d, e], twice]
};
/// 2^260 modulo the prime, which is the number one.
const ONE: [i64; LIMBS] = split(&power_of_two(260, &P256Field::MODULUS));
/// 2^520 modulo the prime, by which a number is brought into the form of an element.
const SQUARE: [i64; LIMBS] = split(&power_of_two(520, &P256Field::MODULUS));
/// The coefficient b in the form of an element.
const B: [i64; LIMBS] = split(&times_power_of_two(&P256_B, 260, &P256Field::MODULUS));

/// Cuts a number into limbs.
const fn split(number: &[u64; 4]) -> [i64; LIMBS] {
    let [a, b, c, d] = *number;
    [
        a as i64 & MASK,
        (a >> 52 | b << 12) as i64 & MASK,
        (b >> 40 | c << 24) as i64 & MASK,
        (c >> 28 | d << 36) as i64 & MASK,
        (d >> 16) as i64,
    ]
}

field!([] Fe, [u64; 4]);

impl Fe {
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn zero() -> Self {
        Fe([_mm512_setzero_si512(); LIMBS])
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn one() -> Self {
        Fe::constant(&ONE)
    }

    /// Returns the coefficient b.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn b() -> Self {
        Fe::constant(&B)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn constant(limbs: &[i64; LIMBS]) -> Self {
        Fe([
            _mm512_set1_epi64(limbs[0]),
            _mm512_set1_epi64(limbs[1]),
            _mm512_set1_epi64(limbs[2]),
            _mm512_set1_epi64(limbs[3]),
            _mm512_set1_epi64(limbs[4]),
        ])
    }

    /// Takes a number below the prime for each lane.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn new(numbers: &[[u64; 4]; LANES]) -> Self {
        let mut limbs = [[0; LANES]; LIMBS];
        for (lane, number) in numbers.iter().enumerate() {
            for (row, limb) in limbs.iter_mut().zip(split(number)) {
                row[lane] = limb as u64;
            }
        }
        let mut element = Fe::zero();
        for i in 0..LIMBS {
            element.0[i] = load(&limbs[i]);
        }
        limbs.zeroize();
        element.mul(&Fe::constant(&SQUARE))
    }

    /// Returns the number of each lane, which is below the prime.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn numbers(&self) -> [[u64; 4]; LANES] {
        let mut one = Fe::zero();
        one.0[0] = _mm512_set1_epi64(1);
        // The product with one is at most the prime.
        let reduced = self.mul(&one);
        let mut limbs = [[0; LANES]; LIMBS];
        for i in 0..LIMBS {
            limbs[i] = store(reduced.0[i]);
        }
        let mut numbers = [[0; 4]; LANES];
        for (lane, number) in numbers.iter_mut().enumerate() {
            let [a, b, c, d, e] = limbs.map(|row| row[lane]);
            let joined = [a | b << 52, b >> 12 | c << 40, c >> 24 | d << 28, d >> 36 | e << 16];
            *number = reduce_once(&joined, 0, &P256Field::MODULUS);
        }
        limbs.zeroize();
        numbers
    }

    /// Makes elements of numbers of four 64-bit limbs that are in Montgomery form for 2^256: 16 times such a number is in
    /// the form for 2^260.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn of_table(words: &[__m512i]) -> Self {
        let [a, b, c, d] = [words[0], words[1], words[2], words[3]];
        let mask = _mm512_set1_epi64(MASK);
        let limbs = [
            _mm512_and_si512(_mm512_slli_epi64::<4>(a), mask),
            _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64::<48>(a), _mm512_slli_epi64::<16>(b)), mask),
            _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64::<36>(b), _mm512_slli_epi64::<28>(c)), mask),
            _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64::<24>(c), _mm512_slli_epi64::<40>(d)), mask),
            _mm512_srli_epi64::<12>(d),
        ];
        Fe(limbs).fold()
    }

    /// Makes limbs below 2^52 of any. The value must not be negative and must be below 2^260.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn carry(&self) -> Self {
        let mask = _mm512_set1_epi64(MASK);
        let mut carried = *self;
        for i in 0..LIMBS - 1 {
            let carry = _mm512_srai_epi64::<BITS>(carried.0[i]);
            carried.0[i] = _mm512_and_si512(carried.0[i], mask);
            carried.0[i + 1] = _mm512_add_epi64(carried.0[i + 1], carry);
        }
        carried
    }

    /// Makes any value one from once to twice the prime, with limbs below 2^52. `t` times the prime is taken away, where `t` is one less
    /// than the bits from 2^256 on say.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn fold(&self) -> Self {
        let [mut a, mut b, c, mut d, mut e] = self.0;
        // Carries from below can't be much against the top limb, so they can't change `t` by more than one.
        let t = _mm512_sub_epi64(_mm512_srai_epi64::<48>(e), _mm512_set1_epi64(1));
        // t * (2^256 - 2^224 + 2^192 + 2^96 - 1)
        e = _mm512_sub_epi64(e, _mm512_slli_epi64::<48>(t));
        e = _mm512_add_epi64(e, _mm512_slli_epi64::<16>(t));
        d = _mm512_sub_epi64(d, _mm512_slli_epi64::<36>(t));
        b = _mm512_sub_epi64(b, _mm512_slli_epi64::<44>(t));
        a = _mm512_add_epi64(a, t);
        Fe([a, b, c, d, e]).carry()
    }

    /// Returns a mask of the lanes that hold zero, of a product or zero itself.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn zero_mask(&self) -> __mmask8 {
        let folded = self.fold();
        let mut zero = 0;
        for prime in &PRIMES {
            let mut equal = 0xff;
            for i in 0..LIMBS {
                equal &= _mm512_cmpeq_epi64_mask(folded.0[i], _mm512_set1_epi64(prime[i]));
            }
            zero |= equal;
        }
        zero
    }

    /// Returns the product.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn mul(&self, other: &Self) -> Self {
        reduce(multiply_add([_mm512_setzero_si512(); 2 * LIMBS], &self.0, &other.0))
    }

    /// Returns `self * other + a * b`, with one reduction.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn mul_add(&self, other: &Self, a: &Self, b: &Self) -> Self {
        let first = multiply_add([_mm512_setzero_si512(); 2 * LIMBS], &self.0, &other.0);
        reduce(multiply_add(first, &a.0, &b.0))
    }

    /// Returns the square.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn square(&self) -> Self {
        let a = &self.0;
        let mut t = [_mm512_setzero_si512(); 2 * LIMBS];
        for i in 0..LIMBS {
            for j in i + 1..LIMBS {
                t[i + j] = _mm512_madd52lo_epu64(t[i + j], a[i], a[j]);
                t[i + j + 1] = _mm512_madd52hi_epu64(t[i + j + 1], a[i], a[j]);
            }
        }
        for i in 1..2 * LIMBS - 1 {
            t[i] = _mm512_add_epi64(t[i], t[i]);
        }
        for i in 0..LIMBS {
            t[2 * i] = _mm512_madd52lo_epu64(t[2 * i], a[i], a[i]);
            t[2 * i + 1] = _mm512_madd52hi_epu64(t[2 * i + 1], a[i], a[i]);
        }
        reduce(t)
    }
}

/// Adds the product of two elements to ten columns.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn multiply_add(
    mut t: [__m512i; 2 * LIMBS],
    a: &[__m512i; LIMBS],
    b: &[__m512i; LIMBS],
) -> [__m512i; 2 * LIMBS] {
    for i in 0..LIMBS {
        for j in 0..LIMBS {
            t[i + j] = _mm512_madd52lo_epu64(t[i + j], a[i], b[j]);
        }
        for j in 0..LIMBS {
            t[i + j + 1] = _mm512_madd52hi_epu64(t[i + j + 1], a[i], b[j]);
        }
    }
    t
}

/// Divides by 2^260 modulo the prime, and carries.
///
/// The lowest limb `q` says itself how often the prime is added, because -1/prime is 1 modulo 2^52. That adds
/// `q * (2^96 + 2^192 + 2^208 (2^48 - 2^16))` less `q`. The multiply-adds look at the low 52 bits of `q` alone.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn reduce(mut t: [__m512i; 2 * LIMBS]) -> Fe {
    let mask = _mm512_set1_epi64(MASK);
    // 2^96 is 2^44 in the second limb, and 2^192 is 2^36 in the fourth.
    let (second, fourth) = (_mm512_set1_epi64(1 << 44), _mm512_set1_epi64(1 << 36));
    let fifth = _mm512_set1_epi64((1 << 48) - (1 << 16));
    for i in 0..LIMBS {
        let q = t[i];
        let low = _mm512_and_si512(_mm512_slli_epi64::<44>(q), mask);
        let sum = _mm512_add_epi64(_mm512_srli_epi64::<BITS>(q), low);
        t[i + 1] = _mm512_add_epi64(t[i + 1], sum);
        t[i + 2] = _mm512_madd52hi_epu64(t[i + 2], q, second);
        t[i + 3] = _mm512_madd52lo_epu64(t[i + 3], q, fourth);
        t[i + 4] = _mm512_madd52hi_epu64(t[i + 4], q, fourth);
        t[i + 4] = _mm512_madd52lo_epu64(t[i + 4], q, fifth);
        t[i + 5] = _mm512_madd52hi_epu64(t[i + 5], q, fifth);
    }
    Fe([t[5], t[6], t[7], t[8], t[9]]).carry()
}

/// Loads a value for each lane.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load(values: &[u64; LANES]) -> __m512i {
    // SAFETY: the array has as many bytes as the vector.
    unsafe { _mm512_loadu_si512(values.as_ptr().cast()) }
}

/// Stores the value of each lane.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store(vector: __m512i) -> [u64; LANES] {
    let mut values = [0; LANES];
    // SAFETY: the array has as many bytes as the vector.
    unsafe { _mm512_storeu_si512(values.as_mut_ptr().cast(), vector) };
    values
}

#[cfg(test)]
mod tests {
    use millstream_cpu::Features;

    use super::super::super::field::Element;
    use super::*;

    type Scalar = Element<P256Field, 4>;

    /// Numbers at the edges of limbs of both sizes and of the prime, and others.
    fn numbers() -> Vec<[u64; 4]> {
        let mut numbers = vec![[0; 4], [1, 0, 0, 0]];
        for bit in (0..256)
            .filter(|bit| [0, 1, 51, 63].contains(&(bit % 52)) || [0, 31, 32, 63].contains(&(bit % 64)))
        {
            let power = power_of_two(bit, &P256Field::MODULUS);
            numbers.push(power);
            numbers.push((-Scalar::from_raw(power)).0);
        }
        let mut random = millstream_testkit::Random::new(1);
        for _ in 0..100 {
            let mut number = [0; 4].map(|_: u64| random.next_u64());
            number[3] >>= 1;
            numbers.push(number);
        }
        numbers
    }

    /// Compares what lanes compute with what `Element` does, for pairs of numbers that differ from lane to lane.
    #[test]
    fn like_one_at_a_time() {
        if !Features::hardware().contains(super::super::x8::REQUIRES) {
            return millstream_testkit::skip("p256-lanes: fields of x86_64-avx512ifma-x8");
        }
        #[target_feature(enable = "avx512f,avx512ifma")]
        fn compare(a: &[[u64; 4]; LANES], b: &[[u64; 4]; LANES]) {
            let (x, y) = (Fe::new(a), Fe::new(b));
            // Four times the value is as much as a multiplication is given anywhere.
            let (most_x, most_y) = (x.fold().times_power::<1>().carry(), y.fold().times_power::<1>().carry());
            let results = [
                x.mul(&y),
                x.square(),
                x.plus(&y).carry(),
                x.minus(&y).fold(),
                Fe::zero().minus(&x).fold(),
                x.minus(&y).triple().fold(),
                most_x.mul(&most_y),
                most_x.square(),
                most_x.mul_add(&most_y, &most_y, &most_y),
            ];
            for (operation, result) in results.iter().enumerate() {
                for (lane, number) in result.numbers().iter().enumerate() {
                    let (x, y) = (Scalar::new(&a[lane]), Scalar::new(&b[lane]));
                    let four = |x: Scalar| x.double().double();
                    let expected = match operation {
                        0 => x * y,
                        1 => x.square(),
                        2 => x + y,
                        3 => x - y,
                        4 => -x,
                        5 => (x - y).triple(),
                        6 => four(x * y),
                        7 => four(x.square()),
                        _ => four(x * y + y * y),
                    };
                    assert_eq!(*number, expected.number(), "{operation} {:x?} {:x?}", a[lane], b[lane]);
                    let zero = result.zero_mask() >> lane & 1 == 1;
                    assert_eq!(zero, *number == [0; 4], "{operation} {:x?} {:x?}", a[lane], b[lane]);
                }
            }
        }
        let numbers = numbers();
        for (i, &a) in numbers.iter().enumerate() {
            for j in 0..numbers.len() {
                let number = |lane: usize, from: usize| numbers[(from + lane) % numbers.len()];
                let a = core::array::from_fn(|lane| if lane % 2 == 0 { a } else { number(lane, i) });
                // SAFETY: the features were looked for above.
                unsafe { compare(&a, &core::array::from_fn(|lane| number(lane, j))) };
            }
        }
    }
}
