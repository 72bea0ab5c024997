//! Poly1305 four blocks side by side with AVX2, in limbs of 26 bits: the widest that the 32-bit
//! multiplication takes with room to add up a row of products.
//!
//! Element `l` sums every fourth block; at the end elements are multiplied by r^4 to r and added up. Two
//! groups of four share one reduction: with accumulator A and groups M, N the next accumulator is
//! A r^8 + M r^4 + N.
//!
//! Ref. RFC 8439 §2.5; Goll and Gueron, "Vectorization of Poly1305 message authentication code".
//!
//! # Safety
//! Loads stay inside the slice or array they are given.
#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::hint::black_box;

use super::super::poly1305::{BLOCK, Poly1305, Powers, step};

/// Blocks in a group, one an element.
pub(super) const GROUP: usize = 4;

/// The fewest blocks that pay for the powers of r and the final sum.
const VECTOR_BLOCKS: usize = 24;

/// The fewest blocks that pay for the final sum, where the powers are there.
const WITH_POWERS: usize = 2 * GROUP;

const MASK26: u64 = (1 << 26) - 1;

/// Five limbs of four numbers.
pub(super) type Limbs = [__m256i; 5];

/// Adds whole blocks to the MAC.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn authenticate(mac: &mut Poly1305, data: &[u8]) {
    if !mac.is_worth_vectors(data.len() / BLOCK, VECTOR_BLOCKS, WITH_POWERS) {
        return mac.blocks(data);
    }
    if mac.powers.is_none() {
        mac.powers = Some(powers(mac.r));
    }
    // Blocks that fill no group go first, so that the last group ends the message.
    let (first, rest) = data.split_at(data.len() % (GROUP * BLOCK));
    mac.blocks(first);
    let Some(Powers(powers)) = &mac.powers else { return };
    let mut limbs = [[_mm256_setzero_si256(); 5]; 3];
    for i in 0..5 {
        limbs[0][i] = vector(&powers[i]);
        limbs[1][i] = splat(powers[i][0]);
        limbs[2][i] = splat(powers[i][4]);
    }
    let [elements, r4, r8] = [factor(limbs[0]), factor(limbs[1]), factor(limbs[2])];

    let (group, mut rest) = rest.split_at(GROUP * BLOCK);
    let h = limbs_of(mac.h);
    let mut acc = split(group);
    for i in 0..5 {
        acc[i] = _mm256_add_epi64(acc[i], _mm256_set_epi64x(0, 0, 0, h[i] as i64));
    }
    if rest.len() / (GROUP * BLOCK) % 2 == 1 {
        let (group, tail) = rest.split_at(GROUP * BLOCK);
        acc = add(multiply(reduce(acc), &r4), split(group));
        rest = tail;
    }
    for pair in rest.as_chunks::<{ 2 * GROUP * BLOCK }>().0 {
        let (a, b) = pair.split_at(GROUP * BLOCK);
        // The compiler must see in the loop itself that 32 bits of each limb are enough, or it
        // multiplies 64 by 64. So carries come right before the product, and the factors are
        // loaded here, from memory that it can't see through.
        let (r4, r8) = (black_box(&r4), black_box(&r8));
        let product = add(multiply(reduce(acc), r8), multiply(split(a), r4));
        acc = add(product, split(b));
    }
    mac.h = sum(reduce(multiply(reduce(acc), &elements)));
}

/// The limbs of four blocks, which unpacking leaves in the order 0, 2, 1, 3.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn split(group: &[u8]) -> Limbs {
    assert!(group.len() == GROUP * BLOCK);
    let start = group.as_ptr().cast::<__m256i>();
    // SAFETY: two vectors of 32 bytes, loaded without alignment.
    let (blocks0, blocks2) = unsafe { (_mm256_loadu_si256(start), _mm256_loadu_si256(start.add(1))) };
    let low = _mm256_unpacklo_epi64(blocks0, blocks2);
    let high = _mm256_unpackhi_epi64(blocks0, blocks2);
    let mask = splat(MASK26);
    let middle = _mm256_or_si256(_mm256_srli_epi64::<52>(low), _mm256_slli_epi64::<12>(high));
    [
        _mm256_and_si256(low, mask),
        _mm256_and_si256(_mm256_srli_epi64::<26>(low), mask),
        _mm256_and_si256(middle, mask),
        _mm256_and_si256(_mm256_srli_epi64::<14>(high), mask),
        // The bit 2^128 that marks a whole block.
        _mm256_or_si256(_mm256_srli_epi64::<40>(high), splat(1 << 24)),
    ]
}

/// The second factor of a multiplication: limbs 0 to 4, then limbs 1 to 4 times 5 for products that pass
/// 2^130.
pub(super) type Factor = [__m256i; 9];

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn factor([b0, b1, b2, b3, b4]: Limbs) -> Factor {
    [b0, b1, b2, b3, b4, five(b1), five(b2), five(b3), five(b4)]
}

/// a b modulo 2^130 - 5, not yet carried: below 2^57 with limbs of both a little above 2^26.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn multiply(a: Limbs, b: &Factor) -> Limbs {
    let mut product = [_mm256_setzero_si256(); 5];
    for i in 0..5 {
        for j in 0..5 {
            let (k, part) = if i + j < 5 { (i + j, b[j]) } else { (i + j - 5, b[4 + j]) };
            product[k] = _mm256_add_epi64(product[k], _mm256_mul_epu32(a[i], part));
        }
    }
    product
}

/// Carries a product: limbs of 26 bits, the second and the last a little more.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn reduce([d0, d1, d2, d3, d4]: Limbs) -> Limbs {
    // Two chains side by side: 0 to 3, and 3 to 0 and 1.
    let (d0, d1) = carry(d0, d1);
    let (d3, d4) = carry(d3, d4);
    let (d1, d2) = carry(d1, d2);
    let top = _mm256_srli_epi64::<26>(d4);
    let d4 = _mm256_and_si256(d4, splat(MASK26));
    let d0 = _mm256_add_epi64(d0, five(top));
    let (d2, d3) = carry(d2, d3);
    let (d0, d1) = carry(d0, d1);
    let (d3, d4) = carry(d3, d4);
    [d0, d1, d2, d3, d4]
}

/// Moves what is above 26 bits to the next limb.
#[inline]
#[target_feature(enable = "avx2")]
fn carry(limb: __m256i, next: __m256i) -> (__m256i, __m256i) {
    (_mm256_and_si256(limb, splat(MASK26)), _mm256_add_epi64(next, _mm256_srli_epi64::<26>(limb)))
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn add(mut a: Limbs, b: Limbs) -> Limbs {
    for i in 0..5 {
        a[i] = _mm256_add_epi64(a[i], b[i]);
    }
    a
}

#[inline]
#[target_feature(enable = "avx2")]
fn five(a: __m256i) -> __m256i {
    _mm256_add_epi64(a, _mm256_slli_epi64::<2>(a))
}

/// Limb by limb: r^4, r^2, r^3 and r, for the elements in the order of [`split`]; then r^8.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn powers(r: [u64; 2]) -> Powers {
    let r1 = [r[0], r[1], 0];
    let r2 = step(r1, r, 0, 0);
    let r3 = step(r2, r, 0, 0);
    let r4 = step(r3, r, 0, 0);
    let mut r8 = r4;
    for _ in 0..4 {
        r8 = step(r8, r, 0, 0);
    }
    let columns = [limbs_of(r4), limbs_of(r2), limbs_of(r3), limbs_of(r1), limbs_of(r8)];
    let mut powers = Powers([[0; 8]; 6]);
    for i in 0..5 {
        for (element, column) in columns.iter().enumerate() {
            powers.0[i][element] = column[i];
        }
    }
    powers
}

/// The sum of all elements, in the limbs of [`Poly1305`].
#[inline]
#[target_feature(enable = "avx2")]
fn sum(limbs: Limbs) -> [u64; 3] {
    let mut l = [0; 5];
    for i in 0..5 {
        let halves = _mm_add_epi64(_mm256_castsi256_si128(limbs[i]), _mm256_extracti128_si256::<1>(limbs[i]));
        l[i] = _mm_cvtsi128_si64(_mm_add_epi64(halves, _mm_unpackhi_epi64(halves, halves))) as u64;
    }
    join(l)
}

/// Limbs of 26 bits, with what they have above, in the limbs of [`Poly1305`].
#[inline(always)]
pub(super) fn join(l: [u64; 5]) -> [u64; 3] {
    let part = |limb: u64, at: u32| u128::from(limb) << at;
    // Bits from 2^130 on come back times 5, so that what is left is below 2^130 + 2^107.
    let low = part(l[0], 0) + part(l[1], 26) + part(l[2], 52) + part(l[3], 78) + part((l[4] >> 26) * 5, 0);
    let top = l[4] & MASK26;
    let (low, carry) = low.overflowing_add(part(top, 104));
    [low as u64, (low >> 64) as u64, (top >> 24) + u64::from(carry)]
}

/// Limbs of 26 bits of an accumulator.
#[inline(always)]
fn limbs_of(h: [u64; 3]) -> [u64; 5] {
    [
        h[0] & MASK26,
        (h[0] >> 26) & MASK26,
        (h[0] >> 52 | h[1] << 12) & MASK26,
        (h[1] >> 14) & MASK26,
        h[1] >> 40 | h[2] << 24,
    ]
}

#[inline]
#[target_feature(enable = "avx2")]
fn splat(word: u64) -> __m256i {
    _mm256_set1_epi64x(word as i64)
}

#[inline]
#[target_feature(enable = "avx2")]
fn vector(words: &[u64; 8]) -> __m256i {
    // SAFETY: four of eight words.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}
