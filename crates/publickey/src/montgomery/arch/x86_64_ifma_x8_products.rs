//! Products modulo eight numbers at once with AVX-512 IFMA, and their reduction.
//!
//! A product is summed in blocks of ten by five limbs, whose fifteen sums stay in registers; a square needs half of the blocks.
//! Reduction then takes off five limbs at a time. Numbers stay below twice their modulus, of which R is at least four times as
//! large: no comparison is needed between two products (almost Montgomery multiplication).
//!
//! Ref. S. Gueron, "Efficient software implementations of modular exponentiation" (2012).
//!
//! # Safety
//! Loads and stores are of whole vectors in arrays of theirs.
#![allow(unsafe_code)]

use std::arch::asm;
use std::arch::x86_64::*;

use zeroize::Zeroize;

use crate::montgomery::radix52::{LIMB, limb};

/// Lanes of a vector.
pub(crate) const LANES: usize = 8;

/// Limbs of the second factor in a block of products.
const BLOCK: usize = 5;
/// Limbs of the first factor in a block of products.
const ROW: usize = 10;

/// A number in each lane: the limbs of a place are a vector.
#[derive(Clone, Copy, Zeroize)]
#[repr(C, align(64))]
pub(super) struct Numbers<const K: usize>(pub(super) [Limb; K]);

impl<const K: usize> Numbers<K> {
    pub(super) const ZERO: Self = Numbers([[0; LANES]; K]);

    pub(super) fn set(&mut self, lane: usize, words: &[u64]) {
        for i in 0..K {
            self.0[i][lane] = limb(words, i);
        }
    }
}

/// Twice as many limbs.
#[derive(Clone, Copy, Zeroize)]
#[repr(C, align(64))]
pub(super) struct Wide<const K: usize>([[Limb; K]; 2]);

impl<const K: usize> Wide<K> {
    pub(super) const ZERO: Self = Wide([[[0; LANES]; K]; 2]);

    /// Returns the limbs of all places.
    pub(super) fn limbs(&mut self) -> &mut [Limb] {
        self.0.as_flattened_mut()
    }
}

/// The limbs of one place in all lanes.
pub(super) type Limb = [u64; LANES];

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load(limb: &Limb) -> __m512i {
    // SAFETY: an array of eight words is a vector.
    unsafe { _mm512_loadu_si512(limb.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store(limb: &mut Limb, vector: __m512i) {
    // SAFETY: an array of eight words is a vector.
    unsafe { _mm512_storeu_si512(limb.as_mut_ptr().cast(), vector) };
}

/// The sums of the places that a block of products reaches.
type Sums = [__m512i; ROW + BLOCK];

/// Loads the limbs from a place on into `N` sums.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_sums<const N: usize>(sums: &mut Sums, at: usize, limbs: &[Limb], from: usize) {
    let limbs = &limbs[from..from + N];
    for k in 0..N {
        sums[at + k] = load(&limbs[k]);
    }
}

/// Clears `N` sums.
#[inline]
#[target_feature(enable = "avx512f")]
fn clear_sums<const N: usize>(sums: &mut Sums, at: usize) {
    for k in 0..N {
        sums[at + k] = _mm512_setzero_si512();
    }
}

/// Stores the lowest `N` sums, and moves those above them down.
#[inline]
#[target_feature(enable = "avx512f")]
fn store_sums<const N: usize>(sums: &mut Sums, limbs: &mut [Limb], at: usize) {
    let limbs = &mut limbs[at..at + N];
    for k in 0..N {
        store(&mut limbs[k], sums[k]);
    }
    for k in 0..BLOCK {
        sums[k] = sums[N + k];
    }
}

/// The digits from a place on.
#[inline]
#[target_feature(enable = "avx512f")]
fn digits(limbs: &[Limb], at: usize) -> [__m512i; ROW] {
    let mut digits = [_mm512_setzero_si512(); ROW];
    let limbs = &limbs[at..at + BLOCK];
    for k in 0..BLOCK {
        digits[k] = load(&limbs[k]);
    }
    digits
}

/// Adds the products of a block's digits with `N` limbs to the sums. Each product has a lower and a higher part. A sum is not
/// touched again before the multipliers have done with it.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn add_products<const N: usize>(sums: &mut Sums, digits: &[__m512i; ROW], limbs: &[Limb], at: usize) {
    let limbs = &limbs[at..at + N];
    for i in 0..BLOCK {
        for j in 0..N {
            sums[i + j] = _mm512_madd52lo_epu64(sums[i + j], digits[i], load(&limbs[j]));
        }
        for j in 0..N {
            sums[i + j + 1] = _mm512_madd52hi_epu64(sums[i + j + 1], digits[i], load(&limbs[j]));
        }
    }
}

/// Multiplies without a carry between limbs.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn multiply<const K: usize>(a: &Numbers<K>, b: &Numbers<K>, product: &mut Wide<K>) {
    let product = product.limbs();
    let mut sums = [_mm512_setzero_si512(); ROW + BLOCK];
    for i in (0..K).step_by(BLOCK) {
        let digits = digits(&b.0, i);
        // Beyond the end of the row before, nothing is stored yet.
        clear_sums::<{ ROW + BLOCK }>(&mut sums, 0);
        if i > 0 {
            load_sums::<BLOCK>(&mut sums, 0, product, i);
        }
        for j in (0..K).step_by(ROW) {
            clear_sums::<ROW>(&mut sums, BLOCK);
            if i > 0 {
                load_sums::<BLOCK>(&mut sums, BLOCK, product, i + j + BLOCK);
            }
            if i > 0 && j + ROW < K {
                load_sums::<BLOCK>(&mut sums, ROW, product, i + j + ROW);
            }
            add_products::<ROW>(&mut sums, &digits, &a.0, j);
            store_sums::<ROW>(&mut sums, product, i + j);
        }
        store_sums::<BLOCK>(&mut sums, product, i + K);
    }
}

/// Squares without a carry between limbs: products of different limbs once, then doubled, then the squares of the limbs.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn square<const K: usize>(a: &Numbers<K>, product: &mut Wide<K>) {
    let product = product.limbs();
    for i in (0..K).step_by(BLOCK) {
        let digits = digits(&a.0, i);
        let mut sums = [_mm512_setzero_si512(); ROW + BLOCK];
        // Beyond the end of the row before, nothing is stored yet.
        if i > 0 {
            load_sums::<BLOCK>(&mut sums, 0, product, 2 * i);
        }
        if i > 0 && i + BLOCK < K {
            load_sums::<BLOCK>(&mut sums, BLOCK, product, 2 * i + BLOCK);
        }
        add_mixed(&mut sums, &digits);
        store_sums::<BLOCK>(&mut sums, product, 2 * i);
        let mut j = i + BLOCK;
        if !(K - j).is_multiple_of(ROW) {
            clear_sums::<ROW>(&mut sums, BLOCK);
            if i > 0 && j + BLOCK < K {
                load_sums::<BLOCK>(&mut sums, BLOCK, product, i + j + BLOCK);
            }
            add_products::<BLOCK>(&mut sums, &digits, &a.0, j);
            store_sums::<BLOCK>(&mut sums, product, i + j);
            j += BLOCK;
        }
        while j < K {
            clear_sums::<ROW>(&mut sums, BLOCK);
            if i > 0 {
                load_sums::<BLOCK>(&mut sums, BLOCK, product, i + j + BLOCK);
            }
            if i > 0 && j + ROW < K {
                load_sums::<BLOCK>(&mut sums, ROW, product, i + j + ROW);
            }
            add_products::<ROW>(&mut sums, &digits, &a.0, j);
            store_sums::<ROW>(&mut sums, product, i + j);
            j += ROW;
        }
        store_sums::<BLOCK>(&mut sums, product, i + K);
    }
    let (pairs, _) = product.as_chunks_mut::<2>();
    for (pair, digit) in pairs.iter_mut().zip(&a.0) {
        let (digit, low, high) = (load(digit), load(&pair[0]), load(&pair[1]));
        store(&mut pair[0], _mm512_madd52lo_epu64(_mm512_add_epi64(low, low), digit, digit));
        store(&mut pair[1], _mm512_madd52hi_epu64(_mm512_add_epi64(high, high), digit, digit));
    }
}

/// Adds the products of a block's digits with those above them.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn add_mixed(sums: &mut Sums, digits: &[__m512i; ROW]) {
    for i in 0..BLOCK {
        for j in i + 1..BLOCK {
            sums[i + j] = _mm512_madd52lo_epu64(sums[i + j], digits[i], digits[j]);
        }
        for j in i + 1..BLOCK {
            sums[i + j + 1] = _mm512_madd52hi_epu64(sums[i + j + 1], digits[i], digits[j]);
        }
    }
}

/// Divides by R, and carries.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn reduce<const K: usize>(
    modulus: &Numbers<K>,
    inverse: __m512i,
    product: &mut Wide<K>,
    out: &mut Numbers<K>,
) {
    let product = product.limbs();
    let mut sums = [_mm512_setzero_si512(); ROW + BLOCK];
    for i in (0..K).step_by(BLOCK) {
        load_sums::<{ ROW + BLOCK }>(&mut sums, 0, product, i);
        let quotients = take_off(&mut sums, &modulus.0, inverse);
        // The limbs that were taken off are stored and never read again.
        store_sums::<ROW>(&mut sums, product, i);
        for j in (ROW..K).step_by(ROW) {
            load_sums::<ROW>(&mut sums, BLOCK, product, i + j + BLOCK);
            add_products::<ROW>(&mut sums, &quotients, &modulus.0, j);
            store_sums::<ROW>(&mut sums, product, i + j);
        }
        store_sums::<BLOCK>(&mut sums, product, i + K);
    }
    let mask = _mm512_set1_epi64(LIMB as i64);
    let mut carry = _mm512_setzero_si512();
    for (out, sum) in out.0.iter_mut().zip(&product[K..]) {
        let sum = _mm512_add_epi64(load(sum), carry);
        store(out, _mm512_and_si512(sum, mask));
        carry = _mm512_srli_epi64::<52>(sum);
    }
}

/// Adds the multiples of the modulus's lowest limbs that make the lowest sums zero, but for what they carry. Returns the quotients.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn take_off(sums: &mut Sums, modulus: &[Limb], inverse: __m512i) -> [__m512i; ROW] {
    let modulus = &modulus[..ROW];
    let mut quotients = [_mm512_setzero_si512(); ROW];
    // The digits are compiled one after another, so that the sums are registers.
    quotients[0] = take_off_digit::<0>(sums, modulus, inverse);
    quotients[1] = take_off_digit::<1>(sums, modulus, inverse);
    quotients[2] = take_off_digit::<2>(sums, modulus, inverse);
    quotients[3] = take_off_digit::<3>(sums, modulus, inverse);
    quotients[4] = take_off_digit::<4>(sums, modulus, inverse);
    quotients
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn take_off_digit<const I: usize>(sums: &mut Sums, modulus: &[Limb], inverse: __m512i) -> __m512i {
    let quotient = _mm512_madd52lo_epu64(_mm512_setzero_si512(), sums[I], inverse);
    // The lowest limb becomes 2^52 unless it is zero, so the carry needs no product.
    let carried = _mm512_srli_epi64::<52>(_mm512_add_epi64(sums[I], _mm512_set1_epi64(LIMB as i64)));
    let low = _mm512_madd52lo_epu64(_mm512_add_epi64(sums[I + 1], carried), quotient, load(&modulus[1]));
    let high = _mm512_madd52hi_epu64(_mm512_setzero_si512(), quotient, load(&modulus[0]));
    let (next, quotient) = before(_mm512_add_epi64(low, high), quotient);
    sums[I + 1] = next;
    for j in 2..ROW {
        sums[I + j] = _mm512_madd52lo_epu64(sums[I + j], quotient, load(&modulus[j]));
    }
    for j in 1..ROW {
        sums[I + j + 1] = _mm512_madd52hi_epu64(sums[I + j + 1], quotient, load(&modulus[j]));
    }
    quotient
}

/// Returns both vectors unchanged. Whatever uses the second one is executed after the first one is computed: the compiler would
/// put off what the next digit waits for.
#[inline]
#[target_feature(enable = "avx512f")]
fn before(mut first: __m512i, mut second: __m512i) -> (__m512i, __m512i) {
    // SAFETY: there is no instruction.
    unsafe {
        asm!(
            "/* {first} {second} */",
            first = inout(zmm_reg) first,
            second = inout(zmm_reg) second,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    (first, second)
}
