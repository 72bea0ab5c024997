//! Poly1305 eight blocks side by side, in limbs of 44, 44 and 42 bits multiplied by AVX-512 IFMA.
//!
//! Element `l` sums every eighth block; at the end elements are multiplied by r^8 to r^1 and added up.
//! Two groups of eight share one reduction: with accumulator A and groups M, N the next
//! accumulator is A r^16 + M r^8 + N.
//!
//! Ref. RFC 8439 §2.5; Goll and Gueron, "Vectorization of Poly1305 message authentication code".
//!
//! # Safety
//! Loads stay inside the slice they are given, or are masked off where they are outside.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::poly1305::{BLOCK, Poly1305, Powers};

/// Blocks in a group, one an element.
pub(super) const GROUP: usize = 8;

/// The fewest blocks that pay for the powers of r and the final sum.
const VECTOR_BLOCKS: usize = 24;

/// The fewest blocks that pay for the final sum, where the powers are there.
const WITH_POWERS: usize = 8;

const MASK44: u64 = (1 << 44) - 1;
const MASK42: u64 = (1 << 42) - 1;

/// The block of a group in each element, in the order in which unpacking leaves them.
pub(super) const BLOCK_OF_ELEMENT: [u64; GROUP] = [0, 4, 1, 5, 2, 6, 3, 7];

/// Three limbs of eight numbers.
pub(super) type Limbs = [__m512i; 3];

/// Adds whole blocks to the MAC.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn authenticate(mac: &mut Poly1305, data: &[u8]) {
    if !mac.is_worth_vectors(data.len() / BLOCK, VECTOR_BLOCKS, WITH_POWERS) {
        return mac.blocks(data);
    }
    if mac.powers.is_none() {
        mac.powers = Some(powers(mac.r));
    }
    let Some(Powers(powers)) = &mac.powers else { return };
    let elements = [vector(&powers[0]), vector(&powers[1]), vector(&powers[2])];
    let r16 = [vector(&powers[3]), vector(&powers[4]), vector(&powers[5])];
    // Element 0 takes the first block of a group, so its power is r^8.
    let r8 = [splat(powers[0][0]), splat(powers[1][0]), splat(powers[2][0])];

    let (mut acc, mut rest) = first_group(limbs_of(mac.h), data);
    if rest.len() / (GROUP * BLOCK) % 2 == 1 {
        let (group, tail) = rest.split_at(GROUP * BLOCK);
        acc = add(reduce(multiply(acc, r8)), whole_group(group));
        rest = tail;
    }
    let pairs = rest.as_chunks::<{ 2 * GROUP * BLOCK }>().0;
    for pair in pairs {
        let (a, b) = pair.split_at(GROUP * BLOCK);
        let product = add_products(multiply(acc, r16), multiply(whole_group(a), r8));
        acc = add(reduce(product), whole_group(b));
    }
    mac.h = sum(reduce(multiply(acc, elements)));
}

/// Takes the first one to eight blocks, so that whole groups follow. They become the last blocks of a
/// group that begins with zeros, and the accumulator so far is added to the first of them.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn first_group(h: [u64; 3], data: &[u8]) -> (Limbs, &[u8]) {
    let blocks = (data.len() / BLOCK - 1) % GROUP + 1;
    let absent = GROUP - blocks;
    let (first, rest) = data.split_at(blocks * BLOCK);
    let words = !0u16 << (2 * absent);
    let start = first.as_ptr().wrapping_sub(absent * BLOCK).cast::<i64>();
    // SAFETY: only the words that are in `first` are not masked off.
    let (low, high) = unsafe {
        (
            _mm512_maskz_loadu_epi64(words as u8, start),
            _mm512_maskz_loadu_epi64((words >> 8) as u8, start.wrapping_add(GROUP)),
        )
    };
    let block_of_lane = vector(&BLOCK_OF_ELEMENT);
    let absent = splat(absent as u64);
    let present = _mm512_cmpge_epi64_mask(block_of_lane, absent);
    let begins = _mm512_cmpeq_epi64_mask(block_of_lane, absent);
    let mut limbs = split(low, high, _mm512_maskz_mov_epi64(present, splat(1 << 40)));
    for i in 0..3 {
        limbs[i] = _mm512_mask_add_epi64(limbs[i], begins, limbs[i], splat(h[i]));
    }
    (limbs, rest)
}

/// The limbs of eight blocks.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn whole_group(group: &[u8]) -> Limbs {
    assert!(group.len() == GROUP * BLOCK);
    let start = group.as_ptr().cast::<__m512i>();
    // SAFETY: two vectors of 64 bytes, loaded without alignment.
    let (low, high) = unsafe { (_mm512_loadu_si512(start), _mm512_loadu_si512(start.add(1))) };
    split(low, high, splat(1 << 40))
}

/// Blocks 0 to 3 and 4 to 7 as limbs, in the order of [`BLOCK_OF_ELEMENT`]; `top` is the bit 2^128 in
/// the third limb.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn split(blocks0: __m512i, blocks4: __m512i, top: __m512i) -> Limbs {
    let low = _mm512_unpacklo_epi64(blocks0, blocks4);
    let high = _mm512_unpackhi_epi64(blocks0, blocks4);
    let mask = splat(MASK44);
    let middle = _mm512_or_si512(_mm512_srli_epi64::<44>(low), _mm512_slli_epi64::<20>(high));
    [
        _mm512_and_si512(low, mask),
        _mm512_and_si512(middle, mask),
        _mm512_or_si512(_mm512_srli_epi64::<24>(high), top),
    ]
}

/// A product not yet carried: the lower 52 bits of each limb's sum, and what is above them.
type Product = [Limbs; 2];

/// a b modulo 2^130 - 5, limbs of `a` below 2^47.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn multiply(a: Limbs, b: Limbs) -> Product {
    // Limbs beyond 2^132 come back times 20, because 2^132 = 4 * 2^130 = 4 * 5.
    let s1 = twenty(b[1]);
    let s2 = twenty(b[2]);
    let zero = _mm512_setzero_si512();
    let mut low = [zero; 3];
    let mut high = [zero; 3];
    let rows = [[b[0], b[1], b[2]], [s2, b[0], b[1]], [s1, s2, b[0]]];
    for i in 0..3 {
        for j in 0..3 {
            low[j] = _mm512_madd52lo_epu64(low[j], a[i], rows[i][j]);
            high[j] = _mm512_madd52hi_epu64(high[j], a[i], rows[i][j]);
        }
    }
    [low, high]
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn add_products(a: Product, b: Product) -> Product {
    [add(a[0], b[0]), add(a[1], b[1])]
}

/// Carries a product: limbs of 44, 44 and 42 bits, the second up to 2^10 more.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn reduce([low, high]: Product) -> Limbs {
    let (mask44, mask42) = (splat(MASK44), splat(MASK42));
    // The upper part of limb i weighs 2^52, which is 2^8 in limb i + 1.
    let l1 = _mm512_add_epi64(low[1], _mm512_slli_epi64::<8>(high[0]));
    let l2 = _mm512_add_epi64(low[2], _mm512_slli_epi64::<8>(high[1]));
    let l1 = _mm512_add_epi64(l1, _mm512_srli_epi64::<44>(low[0]));
    let l2 = _mm512_add_epi64(l2, _mm512_srli_epi64::<44>(l1));
    // The part above 2^130: limb 2 beyond 42 bits, and its upper part at 2^140.
    let top = _mm512_add_epi64(_mm512_srli_epi64::<42>(l2), _mm512_slli_epi64::<10>(high[2]));
    let five = _mm512_add_epi64(top, _mm512_slli_epi64::<2>(top));
    let l0 = _mm512_add_epi64(_mm512_and_si512(low[0], mask44), five);
    [
        _mm512_and_si512(l0, mask44),
        _mm512_add_epi64(_mm512_and_si512(l1, mask44), _mm512_srli_epi64::<44>(l0)),
        _mm512_and_si512(l2, mask42),
    ]
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn add(a: Limbs, b: Limbs) -> Limbs {
    [_mm512_add_epi64(a[0], b[0]), _mm512_add_epi64(a[1], b[1]), _mm512_add_epi64(a[2], b[2])]
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn twenty(a: __m512i) -> __m512i {
    let four = _mm512_slli_epi64::<2>(a);
    _mm512_add_epi64(four, _mm512_slli_epi64::<2>(four))
}

/// r^8 to r^1 in the elements of the blocks they multiply, and r^16 in all elements.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn powers(r: [u64; 2]) -> Powers {
    let limbs = limbs_of([r[0], r[1], 0]);
    let r1 = [splat(limbs[0]), splat(limbs[1]), splat(limbs[2])];
    // Element l needs r to the power of e + 1 with e = 7 - block, which is built from the bits of e.
    let exponent = _mm512_sub_epi64(splat(7), vector(&BLOCK_OF_ELEMENT));
    let r2 = reduce(multiply(r1, r1));
    let r4 = reduce(multiply(r2, r2));
    let r8 = reduce(multiply(r4, r4));
    let r16 = reduce(multiply(r8, r8));
    let elements = choose(exponent, 1, r1, r2);
    let elements = choose(exponent, 2, elements, reduce(multiply(elements, r2)));
    let elements = choose(exponent, 4, elements, reduce(multiply(elements, r4)));
    let mut powers = Powers([[0; 8]; 6]);
    for i in 0..3 {
        powers.0[i] = array(elements[i]);
        powers.0[3 + i] = array(r16[i]);
    }
    powers
}

/// Returns `set` in elements whose exponent has the bit, else `clear`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn choose(exponent: __m512i, bit: u64, clear: Limbs, set: Limbs) -> Limbs {
    let mask = _mm512_test_epi64_mask(exponent, splat(bit));
    let mut limbs = clear;
    for i in 0..3 {
        limbs[i] = _mm512_mask_mov_epi64(clear[i], mask, set[i]);
    }
    limbs
}

/// The sum of all elements, in the limbs of [`Poly1305`].
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn sum(limbs: Limbs) -> [u64; 3] {
    join([
        _mm512_reduce_add_epi64(limbs[0]) as u64,
        _mm512_reduce_add_epi64(limbs[1]) as u64,
        _mm512_reduce_add_epi64(limbs[2]) as u64,
    ])
}

/// Limbs of 44, 44 and 42 bits, with what they have above, in the limbs of [`Poly1305`].
#[inline(always)]
pub(super) fn join([l0, l1, l2]: [u64; 3]) -> [u64; 3] {
    // Bits from 2^130 on come back times 5, so that what is left is below 2^130 + 2^97.
    let low = u128::from(l0) + (u128::from(l1) << 44) + u128::from(l2 >> 42) * 5;
    let (low, carry) = low.overflowing_add(u128::from(l2 & MASK42) << 88);
    let h2 = ((l2 & MASK42) >> 40) + u64::from(carry);
    [low as u64, (low >> 64) as u64, h2]
}

/// Limbs of 44, 44 and 42 bits of an accumulator.
#[inline(always)]
fn limbs_of(h: [u64; 3]) -> [u64; 3] {
    [h[0] & MASK44, (h[0] >> 44 | h[1] << 20) & MASK44, h[1] >> 24 | h[2] << 40]
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn splat(word: u64) -> __m512i {
    _mm512_set1_epi64(word as i64)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn vector(words: &[u64; 8]) -> __m512i {
    // SAFETY: eight words of an array.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn array(vector: __m512i) -> [u64; 8] {
    let mut words = [0; 8];
    // SAFETY: eight words of an array.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) };
    words
}
