//! Products modulo eight numbers of 20 limbs at once with AVX-512 IFMA, whose sums stay in registers.
//!
//! The sums of 22 places are in registers. A pass reads each limb of a number once, and adds its products with two digits: a load
//! for four multiplications. The quotients of a reduction are found between the multiplications of the pass before, because
//! four multiplications of each stand one after another, and the processor prefers what comes first in the program.
//!
//! Numbers stay below twice their modulus, of which R is at least four times as large. A limb's bits above the 52nd are what
//! was carried to the next limb: the multiplications ignore them, so nothing takes them off.
//!
//! Ref. S. Gueron, "Efficient software implementations of modular exponentiation" (2012).
//!
//! # Safety
//! An array whose address passed through an empty instruction is the same array.
#![allow(unsafe_code)]

use std::arch::asm;
use std::arch::x86_64::*;

use super::x86_64_ifma_x8_products::{Limb, load, store};
use crate::montgomery::radix52::LIMB;

/// Limbs of a number.
pub(super) const LIMBS: usize = 20;

/// A number in each lane: the limbs of a place are a vector.
pub(super) type Number = [Limb; LIMBS];
/// The square of a number, without carries.
pub(super) type Product = [Limb; 2 * LIMBS];

/// The sums of all places. Those that a pass does not reach are in memory, or not there yet.
type Sums = [__m512i; 2 * LIMBS + 2];

/// The moduli, and their negated inverses modulo 2^52.
#[derive(Clone, Copy)]
pub(super) struct Modulus<'m> {
    pub(super) limbs: &'m Number,
    pub(super) inverse: &'m Limb,
}

/// The quotients of two digits, and the sum that the second was found from.
#[derive(Clone, Copy)]
struct Quotients {
    first: __m512i,
    second: __m512i,
    sum: __m512i,
}

/// Takes off the last two limbs. A place is complete when the limb below it is done with, and carries at once.
macro_rules! last_pass {
    ($sums:expr, $modulus:expr, $quotients:expr, $out:expr) => {
        let limbs = again($modulus.limbs);
        let digits = [$quotients.first, $quotients.second];
        lowest::<18>($sums, limbs, $quotients);
        let mut carry = _mm512_setzero_si512();
        carry = carry_limb::<0>($sums, carry, $out);
        carry = carry_limb::<1>($sums, carry, $out);
        last_pass!($sums, limbs, digits, carry, $out, 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17);
        carry = carry_limb::<18>($sums, carry, $out);
        carry_limb::<19>($sums, carry, $out);
    };
    ($sums:expr, $limbs:expr, $digits:expr, $carry:ident, $out:expr, $($at:literal)*) => {
        $(
            add::<18, { $at + 2 }, { $at + 3 }>($sums, $limbs, $digits);
            $carry = carry_limb::<$at>($sums, $carry, $out);
        )*
    };
}
/// Multiplies by another number, and divides by R.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn multiply_by(a: &mut Number, b: &Number, modulus: Modulus<'_>) {
    let mut sums = [_mm512_setzero_si512(); 2 * LIMBS + 2];
    // Each pass is compiled by itself, so that the sums are registers.
    macro_rules! passes {
        ($($at:literal)*) => {
            $(
                let quotients = multiply_pass::<$at>(&mut sums, a, b, modulus);
                let limbs = again(modulus.limbs);
                lowest::<$at>(&mut sums, limbs, quotients);
                add::<$at, 4, LIMBS>(&mut sums, limbs, [quotients.first, quotients.second]);
            )*
        };
    }
    passes!(0 2 4 6 8 10 12 14 16);
    let quotients = multiply_pass::<18>(&mut sums, a, b, modulus);
    last_pass!(&mut sums, modulus, quotients, a);
}

/// Squares, and divides by R.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn square(a: &mut Number, modulus: Modulus<'_>, product: &mut Product) {
    square_wide(a, product);
    reduce(product, modulus, a);
}

/// Squares without a carry between limbs. Products of different limbs are added once, then doubled.
///
/// Compiled together with the reduction, limbs of the product would be kept for that, and spilled.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn square_wide(a: &Number, product: &mut Product) {
    let mut sums = [_mm512_setzero_si512(); 2 * LIMBS + 2];
    macro_rules! rows {
        ($($row:literal)*) => {
            $(square_row::<$row>(&mut sums, a, product);)*
        };
    }
    rows!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
}

/// Adds the products of a limb with those above it, and stores the two places that are complete.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn square_row<const ROW: usize>(sums: &mut Sums, a: &Number, product: &mut Product) {
    let a = again(a);
    let digit = load(&a[ROW]);
    let low = sums[2 * ROW];
    store(&mut product[2 * ROW], _mm512_madd52lo_epu64(_mm512_add_epi64(low, low), digit, digit));
    for j in ROW + 1..LIMBS {
        let limb = load(&a[j]);
        sums[ROW + j] = _mm512_madd52lo_epu64(sums[ROW + j], digit, limb);
        sums[ROW + j + 1] = _mm512_madd52hi_epu64(sums[ROW + j + 1], digit, limb);
    }
    let high = sums[2 * ROW + 1];
    store(&mut product[2 * ROW + 1], _mm512_madd52hi_epu64(_mm512_add_epi64(high, high), digit, digit));
}

/// Divides by R, and carries.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn reduce(product: &Product, modulus: Modulus<'_>, out: &mut Number) {
    let mut sums = [_mm512_setzero_si512(); 2 * LIMBS + 2];
    for k in 0..LIMBS {
        sums[k] = load(&product[k]);
    }
    let first = first_quotient::<0>(&sums, modulus);
    let sum = between::<0>(&sums, first, modulus.limbs);
    let mut quotients = Quotients { first, second: quotient(sum, modulus), sum };
    macro_rules! passes {
        ($($at:literal)*) => {
            $(
                sums[LIMBS + $at] = load(&product[LIMBS + $at]);
                sums[LIMBS + $at + 1] = load(&product[LIMBS + $at + 1]);
                quotients = reduce_pass::<$at, { $at + 2 }>(&mut sums, quotients, modulus);
            )*
        };
    }
    passes!(0 2 4 6 8 10 12 14 16);
    sums[LIMBS + 18] = load(&product[LIMBS + 18]);
    sums[LIMBS + 19] = load(&product[LIMBS + 19]);
    last_pass!(&mut sums, modulus, quotients, out);
}

/// Adds the products with two digits, and finds the quotients that take them off again.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn multiply_pass<const AT: usize>(
    sums: &mut Sums,
    a: &Number,
    b: &Number,
    modulus: Modulus<'_>,
) -> Quotients {
    let (a, limbs) = (again(a), again(modulus.limbs));
    let digits = [load(&b[AT]), load(&b[AT + 1])];
    add::<AT, 0, 4>(sums, a, digits);
    let first = first_quotient::<AT>(sums, modulus);
    add::<AT, 4, 8>(sums, a, digits);
    let sum = between::<AT>(sums, first, limbs);
    add::<AT, 8, 14>(sums, a, digits);
    let second = quotient(sum, modulus);
    add::<AT, 14, LIMBS>(sums, a, digits);
    Quotients { first, second, sum }
}

/// Takes off two limbs whose quotients are known, and finds the next two quotients.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn reduce_pass<const AT: usize, const NEXT: usize>(
    sums: &mut Sums,
    quotients: Quotients,
    modulus: Modulus<'_>,
) -> Quotients {
    let limbs = again(modulus.limbs);
    let digits = [quotients.first, quotients.second];
    lowest::<AT>(sums, limbs, quotients);
    add::<AT, 4, 7>(sums, limbs, digits);
    let first = first_quotient::<NEXT>(sums, modulus);
    add::<AT, 7, 10>(sums, limbs, digits);
    let sum = between::<NEXT>(sums, first, limbs);
    add::<AT, 10, 13>(sums, limbs, digits);
    let second = quotient(sum, modulus);
    add::<AT, 13, LIMBS>(sums, limbs, digits);
    Quotients { first, second, sum }
}

/// Stores a limb of the result, and returns what it carries.
#[inline]
#[target_feature(enable = "avx512f")]
fn carry_limb<const AT: usize>(sums: &mut Sums, carry: __m512i, out: &mut Number) -> __m512i {
    let sum = _mm512_add_epi64(sums[LIMBS + AT], carry);
    store(&mut out[AT], sum);
    _mm512_srli_epi64::<52>(sum)
}

/// Adds the products of two digits with the limbs `FROM` to `TO`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn add<const AT: usize, const FROM: usize, const TO: usize>(
    sums: &mut Sums,
    limbs: &Number,
    digits: [__m512i; 2],
) {
    for j in FROM..TO {
        let limb = load(&limbs[j]);
        sums[AT + j] = _mm512_madd52lo_epu64(sums[AT + j], digits[0], limb);
        sums[AT + j + 1] = _mm512_madd52hi_epu64(sums[AT + j + 1], digits[0], limb);
        sums[AT + j + 2] = _mm512_madd52hi_epu64(sums[AT + j + 2], digits[1], limb);
        sums[AT + j + 1] = _mm512_madd52lo_epu64(sums[AT + j + 1], digits[1], limb);
    }
}

/// Adds the products of two quotients with the lowest four limbs of the modulus, but for those that [`between`] has added. The sums
/// that the next quotients wait for are added in two parts.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn lowest<const AT: usize>(sums: &mut Sums, limbs: &Number, quotients: Quotients) {
    let zero = _mm512_setzero_si512();
    let Quotients { first, second, sum } = quotients;
    let limbs = [load(&limbs[0]), load(&limbs[1]), load(&limbs[2]), load(&limbs[3])];
    let mut two = [_mm512_add_epi64(sums[AT + 2], carried(sum)), zero];
    let mut three = [sums[AT + 3], zero];
    let mut four = sums[AT + 4];
    two[0] = _mm512_madd52hi_epu64(two[0], first, limbs[1]);
    two[1] = _mm512_madd52hi_epu64(two[1], second, limbs[0]);
    three[0] = _mm512_madd52hi_epu64(three[0], first, limbs[2]);
    three[1] = _mm512_madd52hi_epu64(three[1], second, limbs[1]);
    two[0] = _mm512_madd52lo_epu64(two[0], first, limbs[2]);
    two[1] = _mm512_madd52lo_epu64(two[1], second, limbs[1]);
    three[0] = _mm512_madd52lo_epu64(three[0], first, limbs[3]);
    three[1] = _mm512_madd52lo_epu64(three[1], second, limbs[2]);
    four = _mm512_madd52hi_epu64(four, first, limbs[3]);
    four = _mm512_madd52hi_epu64(four, second, limbs[2]);
    sums[AT + 5] = _mm512_madd52hi_epu64(sums[AT + 5], second, limbs[3]);
    sums[AT + 2] = _mm512_add_epi64(two[0], two[1]);
    sums[AT + 3] = _mm512_add_epi64(three[0], three[1]);
    sums[AT + 4] = _mm512_madd52lo_epu64(four, second, limbs[3]);
}

/// Returns the multiple of the modulus that makes the sum of a place zero, but for what it carries.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn first_quotient<const AT: usize>(sums: &Sums, modulus: Modulus<'_>) -> __m512i {
    quotient(sums[AT], modulus)
}

/// Returns the sum of the next place once a quotient has taken this one off.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn between<const AT: usize>(sums: &Sums, quotient: __m512i, limbs: &Number) -> __m512i {
    let low = _mm512_add_epi64(sums[AT + 1], carried(sums[AT]));
    let low = _mm512_madd52lo_epu64(low, quotient, load(&limbs[1]));
    let high = _mm512_madd52hi_epu64(_mm512_setzero_si512(), quotient, load(&limbs[0]));
    here(_mm512_add_epi64(low, high))
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn quotient(sum: __m512i, modulus: Modulus<'_>) -> __m512i {
    here(_mm512_madd52lo_epu64(_mm512_setzero_si512(), sum, load(modulus.inverse)))
}

/// Returns the carry of a limb that a quotient makes 2^52 unless it is zero: that needs no product.
#[inline]
#[target_feature(enable = "avx512f")]
fn carried(sum: __m512i) -> __m512i {
    _mm512_srli_epi64::<52>(_mm512_add_epi64(sum, _mm512_set1_epi64(LIMB as i64)))
}

/// Returns a vector unchanged. The compiler leaves its computation where it stands in the program.
#[inline]
#[target_feature(enable = "avx512f")]
fn here(mut vector: __m512i) -> __m512i {
    // SAFETY: there is no instruction.
    unsafe {
        asm!("/* {vector} */", vector = inout(zmm_reg) vector, options(pure, nomem, nostack, preserves_flags));
    }
    vector
}

/// Returns the same number. The compiler does not know that, and loads its limbs again: it would spill those that it has loaded.
// The block has no instruction, so it touches no memory.
#[allow(clippy::pointers_in_nomem_asm_block)]
#[inline]
fn again(number: &Number) -> &Number {
    let mut at: *const Number = number;
    // SAFETY: there is no instruction, so the address is still the number's, which is borrowed for as long as the result.
    unsafe {
        asm!("/* {at} */", at = inout(reg) at, options(nomem, nostack, preserves_flags));
        &*at
    }
}

#[cfg(test)]
mod tests {
    use millstream_cpu::{FeatureSet, Features};
    use millstream_testkit::{Random, skip};

    use super::super::x86_64_ifma_x8_products::{self as products, LANES, Numbers, Wide};
    use super::*;

    /// Random numbers below twice their moduli, and the greatest and the smallest limbs in some lanes.
    fn numbers(random: &mut Random, odd: u64) -> Numbers<LIMBS> {
        let mut numbers = Numbers::ZERO;
        for (i, limb) in numbers.0.iter_mut().enumerate() {
            for (lane, word) in limb.iter_mut().enumerate() {
                *word = match lane {
                    0 => LIMB,
                    1 => 0,
                    _ => random.next_u64() & LIMB,
                };
                // R is at least four times as large as the modulus.
                *word >>= if i == LIMBS - 1 { 2 } else { 0 };
                *word |= if i == 0 { odd } else { 0 };
            }
        }
        numbers
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn compare(random: &mut Random) {
        let (modulus, a, b) = (numbers(random, 1), numbers(random, 0), numbers(random, 0));
        let mut inverse = [0; LANES];
        for lane in 0..LANES {
            let word = modulus.0[0][lane];
            let found = (0..6).fold(1_u64, |x, _| x.wrapping_mul(2_u64.wrapping_sub(word.wrapping_mul(x))));
            inverse[lane] = found.wrapping_neg() & LIMB;
        }
        let (mut wide, mut right, mut product) = (Wide::ZERO, Numbers::ZERO, [[0; LANES]; 2 * LIMBS]);
        let own = Modulus { limbs: &modulus.0, inverse: &inverse };
        products::multiply(&a, &b, &mut wide);
        products::reduce(&modulus, load(&inverse), &mut wide, &mut right);
        let mut found = a;
        multiply_by(&mut found.0, &b.0, own);
        assert_eq!(found.0.map(|limb| limb.map(|word| word & LIMB)), right.0);
        // A factor whose limbs have carries above them is the same factor.
        let mut again = a;
        products::multiply(&right, &a, &mut wide);
        products::reduce(&modulus, load(&inverse), &mut wide, &mut right);
        multiply_by(&mut again.0, &found.0, own);
        assert_eq!(again.0.map(|limb| limb.map(|word| word & LIMB)), right.0);
        products::square(&right, &mut wide);
        products::reduce(&modulus, load(&inverse), &mut wide, &mut right);
        square(&mut again.0, own, &mut product);
        assert_eq!(again.0.map(|limb| limb.map(|word| word & LIMB)), right.0);
    }

    #[test]
    fn products_are_those_of_blocks() {
        if !Features::hardware().contains(FeatureSet::parse("avx512f,avx512ifma")) {
            return skip("the processor has no AVX-512 IFMA");
        }
        let mut random = Random::new(20);
        for _ in 0..200 {
            // SAFETY: the processor has the features.
            unsafe { compare(&mut random) };
        }
    }
}
